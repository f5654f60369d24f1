//! The one JSON value of an answer that has to be JSON. Models wrap it in a fence or in a sentence although they were
//! asked not to; that is tolerated as long as it is clear which value is meant.

use serde_json::Value;

/// Places at which a value is looked for in prose. Each try is cheap, and an answer with more is not meant as JSON.
const TRIES_MAX: usize = 200;

/// A JSON value found in an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedJson {
    pub value: Value,
    /// The text around the value, for a warning; `None` if there was none.
    pub wrapping: Option<&'static str>,
}

/// The error says what is wrong with the answer, for whoever has to correct it.
pub fn extract(text: &str) -> Result<ExtractedJson, String> {
    let text = text.trim();
    let why = match serde_json::from_str(text) {
        Ok(value) => return Ok(ExtractedJson { value, wrapping: None }),
        Err(e) => e,
    };
    let fenced: Vec<Value> =
        fences(text).filter_map(|block| serde_json::from_str(block.trim()).ok()).collect();
    let (found, wrapping) = match fenced.is_empty() {
        false => (fenced, "in a fenced block"),
        true => (embedded(text), "inside other text"),
    };
    let count = found.len();
    match <[Value; 1]>::try_from(found) {
        Ok([value]) => Ok(ExtractedJson { value, wrapping: Some(wrapping) }),
        Err(_) if count == 0 => Err(format!("the answer is not JSON: {why}")),
        Err(_) => Err(format!("the answer has {count} JSON values; exactly one is wanted")),
    }
}

/// Rewrites what a schema leaves no doubt about, and returns the places that it changed: `"High"` where `high` is the only such
/// value of an `enum`, `"10"` where an integer is wanted, the `default` of a required property that is missing or `null`.
/// A value that satisfies the schema is never changed.
pub fn normalize(value: &mut Value, schema: &Value) -> Vec<String> {
    let mut changed = Vec::new();
    normalize_at(value, schema, "", &mut changed);
    changed
}

fn normalize_at(value: &mut Value, schema: &Value, place: &str, changed: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            for (name, property) in properties {
                let place = format!("{place}/{name}");
                if is_to_be_filled(fields.get(name), name, schema) {
                    fields.insert(name.clone(), property["default"].clone());
                    changed.push(place);
                } else if let Some(field) = fields.get_mut(name) {
                    normalize_at(field, property, &place, changed);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                normalize_at(item, &schema["items"], &format!("{place}/{at}"), changed);
            }
        }
        Value::String(text) => {
            if let Some(meant) = meant_by(text, schema) {
                *value = meant;
                changed.push(place.to_owned());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A required property without a value, for which the schema has one.
fn is_to_be_filled(field: Option<&Value>, name: &str, schema: &Value) -> bool {
    let is_required = schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let property = &schema["properties"][name];
    // `null` is missing where the only type that is wanted is another one.
    let is_missing = match field {
        None => true,
        Some(Value::Null) => property["type"].as_str().is_some_and(|wanted| wanted != "null"),
        Some(_) => false,
    };
    is_required && is_missing && property.get("default").is_some()
}

/// The one value that a text of the wrong form stands for.
fn meant_by(text: &str, schema: &Value) -> Option<Value> {
    let told = text.trim();
    if let Some(known) = schema["enum"].as_array() {
        let is_exact = known.iter().any(|one| one == text);
        let mut alike =
            known.iter().filter(|one| one.as_str().is_some_and(|one| one.eq_ignore_ascii_case(told)));
        return match (alike.next(), alike.next()) {
            (Some(one), None) if !is_exact => Some(one.clone()),
            _ => None,
        };
    }
    match schema["type"].as_str()? {
        "integer" => told.parse::<i64>().ok().map(Value::from),
        "number" => told.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
        "boolean" => told.to_ascii_lowercase().parse::<bool>().ok().map(Value::from),
        _ => None,
    }
}

/// The contents of blocks between lines that begin with three backticks.
fn fences(text: &str) -> impl Iterator<Item = &str> {
    let mut begun: Option<usize> = None;
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let (start, end) = (at, at + line.len());
        at = end;
        if !line.trim_start().starts_with("```") {
            return None;
        }
        match begun.take() {
            Some(begun) => Some(&text[begun..start]),
            None => {
                begun = Some(end);
                None
            }
        }
    })
}

/// Whole objects and arrays in prose, the outermost ones.
fn embedded(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..TRIES_MAX {
        let Some(start) = text[at..].find(['{', '[']).map(|offset| at + offset) else { break };
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset();
                found.push(value);
            }
            Some(Err(_)) | None => at = start + 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_value_is_found_alone_in_a_fence_or_in_a_sentence() {
        let value = json!({ "n": 1, "list": [{}] });
        for (text, wrapping) in [
            (r#" {"n":1,"list":[{}]} "#, None),
            ("Here:\n```json\n{\"n\":1,\"list\":[{}]}\n```\nDone {really}.", Some("in a fenced block")),
            ("```sh\nls {a}\n```\n```\n{\"n\":1,\n\"list\":[{}]}\n```", Some("in a fenced block")),
            ("I {think} it is {\"n\":1,\"list\":[{}]}, no more.", Some("inside other text")),
        ] {
            assert_eq!(extract(text), Ok(ExtractedJson { value: value.clone(), wrapping }), "{text}");
        }
        assert_eq!(extract("null").unwrap().value, Value::Null);
        assert_eq!(extract("\"text\"").unwrap().value, json!("text"));
    }

    #[test]
    fn none_or_several_values_are_complained_about() {
        for (text, why) in [
            ("all good", "the answer is not JSON: expected value at line 1 column 1"),
            (r#"{"n": 1"#, "the answer is not JSON: EOF while parsing an object at line 1 column 7"),
            ("{\"a\":1} or {\"a\":2}", "the answer has 2 JSON values; exactly one is wanted"),
            ("```\n1\n```\n```\n2\n```", "the answer has 2 JSON values; exactly one is wanted"),
        ] {
            assert_eq!(extract(text).unwrap_err(), why, "{text}");
        }
        assert!(extract(&"{[".repeat(100_000)).is_err());
    }

    #[test]
    fn only_what_a_schema_leaves_no_doubt_about_is_normalized() {
        let schema = json!({ "type": "object", "required": ["kind", "line", "why", "more"], "properties": {
            "kind": { "type": "string", "enum": ["high", "low", "Mixed", "mixed"] },
            "line": { "type": "integer", "default": 0 },
            "why": { "type": "string", "default": "" },
            "more": { "type": "array", "items": { "type": "boolean" } },
            "free": { "type": "string", "default": "x" },
        }});
        let mut told = json!({ "kind": " High ", "line": "10", "more": ["True", false] });
        assert_eq!(normalize(&mut told, &schema), ["/kind", "/line", "/more/0", "/why"]);
        assert_eq!(told, json!({ "kind": "high", "line": 10, "more": [true, false], "why": "" }));
        for unclear in [
            json!({ "kind": "MIXED", "line": "ten", "why": 5, "more": ["yes"] }),
            json!({ "kind": "mixed", "line": 1, "why": "", "more": [] }),
            json!([{ "kind": "High" }]),
        ] {
            let mut told = unclear.clone();
            assert_eq!(normalize(&mut told, &schema), [""; 0], "{unclear}");
            assert_eq!(told, unclear);
        }
        let mut null = json!({ "kind": "low", "line": null, "why": "w", "more": [] });
        assert_eq!(normalize(&mut null, &schema), ["/line"]);
    }

    proptest! {
        #[test]
        fn a_value_in_prose_is_found_whatever_the_prose(before in "[a-z{\\[ \\n,:]{0,30}", after in "[a-z}\\] \\n,:]{0,30}", n in any::<i64>()) {
            let text = format!("{before} {{\"n\":{n}}} {after}");
            let mut found = extract(&text).unwrap().value;
            // Brackets of the prose may happen to close around it.
            while let Value::Array(mut inside) = found {
                found = inside.remove(0);
            }
            prop_assert_eq!(found, json!({ "n": n }));
        }
    }
}
