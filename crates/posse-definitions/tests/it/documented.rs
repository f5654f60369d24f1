//! Checks that the documentation matches the code.

use std::collections::BTreeSet;

use posse_core::definition::{DefinitionScope, Format};
use posse_definitions::schema::schema;
use posse_definitions::{DefinitionFile, read};
use serde_json::Value;

const BEGIN: &str = "<!-- fields: begin -->\n";
const END: &str = "<!-- fields: end -->";

/// `UPDATE=1` rewrites the table.
#[test]
fn the_table_of_keys_in_the_documentation_is_the_one_of_the_schema() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the marker where the table begins");
    let (table, after) = rest.split_once(END).expect("the marker where the table ends");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", fields_table())).unwrap();
        return;
    }
    assert_eq!(table, fields_table(), "run this test with UPDATE=1 to write the table anew");
}

#[test]
fn the_schema_has_exactly_the_keys_that_are_read() {
    let schema = schema();
    let documented: BTreeSet<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    let lines: String =
        documented.iter().filter(|key| *key != "name").map(|key| format!("{key}: [[1]]\n")).collect();
    let known = keys_that_are_known(&lines);
    assert_eq!(known, documented, "every documented key is taken by the reader");
    let fixture = include_str!("../fixtures/posse/everything.md");
    let in_fixture = fixture.split("---").nth(1).unwrap().lines().filter(|line| !line.starts_with(' '));
    let in_fixture: BTreeSet<String> =
        in_fixture.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect();
    assert_eq!(in_fixture, documented, "the fixture with every key has every key");
}

/// Returns the keys that are not reported as unknown.
fn keys_that_are_known(lines: &str) -> BTreeSet<String> {
    let text = format!("---\nname: a\n{lines}---\nBody\n");
    let file = DefinitionFile {
        path: "a.md",
        relative: "a.md",
        format: Some(Format::Native),
        scope: DefinitionScope::User,
        bytes: text.as_bytes(),
    };
    let unknown =
        |fate: &posse_core::definition::FieldFate| format!("{fate:?}").contains("not a key of this format");
    read(file)
        .remove(0)
        .fields
        .into_iter()
        .filter(|field| !unknown(&field.fate))
        .map(|field| field.key)
        .collect()
}

#[test]
fn the_schema_refuses_what_the_reader_warns_about() {
    let schema = schema();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], serde_json::json!(["name", "description"]));
    let property = |key: &str| schema["properties"][key].to_string();
    assert!(property("temperature").contains("\"maximum\":2"), "{}", property("temperature"));
    assert!(property("access").contains("read-only"), "{}", property("access"));
    assert!(property("budget").contains("max_cost_usd"), "{}", property("budget"));
}

/// Renders the table for the documentation: one line per key, required keys first.
fn fields_table() -> String {
    let schema = schema();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let is_required = |property: &Value| property["x-default"] == "required";
    let (required, others): (Vec<_>, Vec<_>) = properties.partition(|(_, property)| is_required(property));
    let mut table = "| key | value | default | meaning |\n|---|---|---|---|\n".to_owned();
    // `name` before `description`.
    for (key, property) in required.into_iter().rev().chain(others) {
        let text = |name: &str| property[name].as_str().unwrap_or_default().replace('\n', " ");
        table.push_str(&format!(
            "| `{key}` | {} | {} | {} |\n",
            value_of(property),
            text("x-default"),
            text("description")
        ));
    }
    table
}

/// Describes the values of a key in words.
fn value_of(property: &Value) -> String {
    if let Some(words) = property["enum"].as_array() {
        let words: Vec<String> =
            words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    if let Some(choices) = property["anyOf"].as_array() {
        let mut choices: Vec<String> =
            choices.iter().map(value_of).filter(|choice| !choice.is_empty()).collect();
        choices.dedup();
        return choices.join(" or ").replace("list or text", "list, or text with commas");
    }
    let kind = match &property["type"] {
        Value::Array(kinds) => kinds.iter().find_map(|kind| kind.as_str().filter(|kind| *kind != "null")),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => "text".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("array") => "list".to_owned(),
        Some("object") => match property["properties"].as_object() {
            Some(keys) => {
                let keys: Vec<String> = keys.keys().map(|key| format!("`{key}`")).collect();
                format!("map of {}", keys.join(", "))
            }
            None => "map".to_owned(),
        },
        Some("integer" | "number") => match (&property["minimum"], &property["maximum"]) {
            (Value::Number(least), Value::Number(most)) => format!("{least} to {most}"),
            _ => "number".to_owned(),
        },
        _ => String::new(),
    }
}
