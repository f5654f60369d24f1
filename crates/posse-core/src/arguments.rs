//! Reads the arguments of a tool call, field by field. Every error names its field, says what was expected and shows what was
//! found; none of them names a Rust type or a position. Only models read these errors, so they are English.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::error::{Error, ErrorCode, Result};
use crate::text::{nearest, prefix};

/// Longest value that an error shows.
const SHOWN_MAX: usize = 40;

/// One action of a tool and the fields that it takes, beside `action` itself.
#[derive(Debug, Clone, Copy)]
pub struct ActionFields {
    pub action: &'static str,
    pub fields: &'static [&'static str],
}

/// The arguments of one call. A field that is `null` counts as absent.
#[derive(Debug, Clone)]
pub struct ArgumentReader {
    /// The action, or the tool where there are none; errors name it.
    action: String,
    fields: Map<String, Value>,
}

impl ArgumentReader {
    /// Reads the arguments of a tool that has one action.
    pub fn of_tool(tool: &str, fields: Map<String, Value>) -> Self {
        Self { action: tool.to_owned(), fields }
    }

    /// Reads which action is meant, and refuses a field that it does not take.
    pub fn of_action(fields: Map<String, Value>, actions: &[ActionFields]) -> Result<Self> {
        let names = || actions.iter().map(|known| known.action);
        let given = fields.get("action").filter(|given| !given.is_null());
        let known = given.and_then(Value::as_str);
        let known = known.and_then(|given| actions.iter().find(|known| known.action == given));
        let Some(known) = known else { return Err(no_action(given, names())) };
        let reader = Self { action: known.action.to_owned(), fields };
        reader.check_fields(known.fields, |name| {
            name == "action" || actions.iter().any(|other| other.fields.contains(&name))
        })?;
        Ok(reader)
    }

    pub fn action(&self) -> &str {
        &self.action
    }

    /// Refuses fields that are not in this list. Models like to fill in every field of a schema, so a field that is known
    /// elsewhere and says nothing here counts as absent.
    pub fn check_fields(&self, takes: &[&str], is_known: impl Fn(&str) -> bool) -> Result<()> {
        let fits =
            |name: &str, value: &Value| takes.contains(&name) || (is_known(name) && says_nothing(value));
        let unknown = self.fields.iter().find(|(name, value)| *name != "action" && !fits(name, value));
        match unknown {
            Some((name, _)) => Err(self.not_taken(name, takes)),
            None => Ok(()),
        }
    }

    fn not_taken(&self, name: &str, takes: &[&str]) -> Error {
        let (action, shown) = (&self.action, prefix(name, SHOWN_MAX));
        let takes_all = match takes.is_empty() {
            true => format!("`{action}` takes no fields"),
            false => format!("`{action}` takes: {}", takes.join(", ")),
        };
        let near = nearest(name, takes.iter().copied()).map(|name| format!("did you mean `{name}`?"));
        let hint = near.map_or_else(|| takes_all.clone(), |near| format!("{near} {takes_all}"));
        invalid(format!("`{action}` does not take `{shown}`")).hint(hint)
    }

    /// The value given for a field.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub fn text(&self, name: &str) -> Result<Option<String>> {
        self.read(name, |value| value.as_str().map(str::to_owned), || "a string".to_owned())
    }

    /// A text that has to be there and to say something.
    pub fn words(&self, name: &str) -> Result<String> {
        let text = self.needed(name, self.text(name)?)?;
        self.check_words(name, &text)?;
        Ok(text)
    }

    /// A text that may be left out, but not empty.
    pub fn optional_words(&self, name: &str) -> Result<Option<String>> {
        let text = self.text(name)?;
        text.as_deref().map_or(Ok(()), |text| self.check_words(name, text))?;
        Ok(text)
    }

    fn check_words(&self, name: &str, text: &str) -> Result<()> {
        match text.trim().is_empty() {
            true => Err(invalid(format!("{name}: it is empty"))),
            false => Ok(()),
        }
    }

    pub fn truth(&self, name: &str) -> Result<Option<bool>> {
        self.read(name, Value::as_bool, || "true or false".to_owned())
    }

    /// A whole number within these bounds.
    pub fn integer(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let within = |value: &Value| {
            let number = u64::try_from(whole(value)?).ok()?;
            range.contains(&number).then_some(number)
        };
        self.read(name, within, || expected_integer(&range))
    }

    /// A whole number, also outside of these bounds: the caller takes the nearest one that is inside. Everything else is
    /// refused as if the bounds held.
    pub fn any_integer(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<i128>> {
        self.read(name, whole, || expected_integer(&range))
    }

    /// A number above zero.
    pub fn positive(&self, name: &str) -> Result<Option<f64>> {
        let above_zero = |value: &Value| value.as_f64().filter(|number| number.is_finite() && *number > 0.0);
        self.read(name, above_zero, || "a number above 0".to_owned())
    }

    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>> {
        let expected = || "a list of strings".to_owned();
        let Some(list) = self.read(name, |value| value.as_array().cloned(), expected)? else {
            return Ok(None);
        };
        let text = |(at, item): (usize, Value)| match item {
            Value::String(text) => Ok(text),
            other => Err(misfit(&format!("{name}[{at}]"), "a string", &other)),
        };
        list.into_iter().enumerate().map(text).collect::<Result<_>>().map(Some)
    }

    pub fn object(&self, name: &str) -> Result<Option<Value>> {
        self.read(name, |value| value.is_object().then(|| value.clone()), || "an object".to_owned())
    }

    /// An object whose values are whole numbers.
    pub fn integers(&self, name: &str) -> Result<Option<BTreeMap<String, u64>>> {
        let integers = |value: &Value| {
            let object = value.as_object()?;
            object.iter().map(|(key, value)| Some((key.clone(), value.as_u64()?))).collect()
        };
        self.read(name, integers, || "an object of integers".to_owned())
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>> {
        let chosen = |value: &Value| {
            let word = value.as_str()?;
            choices.iter().find(|(known, _)| *known == word).map(|(_, choice)| *choice)
        };
        let words = || choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        self.read(name, chosen, || format!("one of {}", words()))
    }

    /// Refuses a call without this field.
    pub fn needed<T>(&self, name: &str, value: Option<T>) -> Result<T> {
        let action = &self.action;
        value.ok_or_else(|| invalid(format!("`{action}` needs `{name}`")))
    }

    fn read<T>(
        &self,
        name: &str,
        read: impl Fn(&Value) -> Option<T>,
        expected: impl Fn() -> String,
    ) -> Result<Option<T>> {
        let Some(value) = self.value(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| misfit(name, &expected(), value))
    }
}

/// Parses arguments that are an object; an empty text counts as an empty object.
pub fn parse_object(arguments: &str) -> Result<Map<String, Value>> {
    if arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(arguments) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => Err(misfit("arguments", "an object", &other)),
        Err(_) => Err(invalid("arguments: they are not valid JSON".to_owned())),
    }
}

fn no_action<'a>(given: Option<&Value>, names: impl Iterator<Item = &'a str>) -> Error {
    let names: Vec<&str> = names.collect();
    let near = given.and_then(Value::as_str).and_then(|given| nearest(given, names.iter().copied()));
    let there_are = format!("there are: {}", names.join(", "));
    let hint = match near.map(|name| format!("did you mean `{name}`?")) {
        Some(near) => format!("{near} {there_are}"),
        None => there_are,
    };
    let text = match given {
        None => "action: it is missing".to_owned(),
        Some(given) => format!("action: there is no {}", found(given)),
    };
    Error::new(ErrorCode::InvalidAction, text).hint(hint)
}

/// The error about a field that is not what it should be.
fn misfit(name: &str, expected: &str, value: &Value) -> Error {
    invalid(format!("{name}: expected {expected}, found {}", found(value)))
}

fn invalid(text: String) -> Error {
    Error::new(ErrorCode::InvalidRequest, text)
}

/// A short value as it was written, a long one by its kind: it may be the text of a prompt.
fn found(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().count() > SHOWN_MAX => "a long string".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn expected_integer(range: &RangeInclusive<u64>) -> String {
    let (least, most) = (*range.start(), *range.end());
    // Larger bounds are those of the type, which nobody chose.
    match most >= u64::from(u32::MAX) {
        true => format!("an integer of {least} or more"),
        false => format!("an integer from {least} to {most}"),
    }
}

/// `10.0` is whole too: JSON has one kind of number.
fn whole(value: &Value) -> Option<i128> {
    let number = value.as_number()?;
    if let Some(number) = number.as_i128() {
        return Some(number);
    }
    let number = number.as_f64().filter(|number| number.fract() == 0.0)?;
    Some(number as i128)
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Number(_) => false,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ACTIONS: &[ActionFields] = &[
        ActionFields { action: "spawn", fields: &["task", "depends_on", "max_turns", "queue", "mode"] },
        ActionFields { action: "status", fields: &["task_id"] },
        ActionFields { action: "list", fields: &[] },
    ];

    fn read(arguments: Value) -> Result<ArgumentReader> {
        ArgumentReader::of_action(parse_object(&arguments.to_string())?, ACTIONS)
    }

    fn told<T: std::fmt::Debug>(result: Result<T>) -> (String, String) {
        let error = result.unwrap_err();
        let hint = error.advice().map_or("", |hint| hint.english());
        (error.message().english().to_owned(), hint.to_owned())
    }

    #[test]
    fn a_field_that_is_wrong_is_named_with_what_was_expected_and_found() {
        let reader = |name: &str, value: Value| read(json!({ "action": "spawn", name: value })).unwrap();
        let turns = |value: Value| told(reader("max_turns", value).integer("max_turns", 1..=25)).0;
        assert_eq!(turns(json!("ten")), "max_turns: expected an integer from 1 to 25, found \"ten\"");
        assert_eq!(turns(json!(0)), "max_turns: expected an integer from 1 to 25, found 0");
        assert_eq!(turns(json!(2.5)), "max_turns: expected an integer from 1 to 25, found 2.5");
        assert_eq!(turns(json!([1])), "max_turns: expected an integer from 1 to 25, found a list");
        let list = told(reader("depends_on", json!("t_01")).texts("depends_on")).0;
        assert_eq!(list, "depends_on: expected a list of strings, found \"t_01\"");
        let item = told(reader("depends_on", json!(["t_01", 2])).texts("depends_on")).0;
        assert_eq!(item, "depends_on[1]: expected a string, found 2");
        let mode = told(reader("mode", json!("some")).choice("mode", &[("any", 1), ("all", 2)])).0;
        assert_eq!(mode, "mode: expected one of any, all, found \"some\"");
        let long = told(reader("task", json!({ "text": "x" })).text("task")).0;
        assert_eq!(long, "task: expected a string, found an object");
        let secret = told(reader("queue", json!("s".repeat(50))).truth("queue")).0;
        assert_eq!(secret, "queue: expected true or false, found a long string");
    }

    #[test]
    fn whole_numbers_are_read_however_they_are_written() {
        let reader = |value: Value| read(json!({ "action": "spawn", "max_turns": value })).unwrap();
        assert_eq!(reader(json!(10.0)).integer("max_turns", 1..=25).unwrap(), Some(10));
        assert_eq!(reader(json!(null)).integer("max_turns", 1..=25).unwrap(), None);
        assert_eq!(reader(json!(-3)).any_integer("max_turns", 1..=25).unwrap(), Some(-3));
        assert_eq!(reader(json!(1e30)).any_integer("max_turns", 1..=25).unwrap(), Some(1e30 as i128));
    }

    #[test]
    fn a_field_that_nobody_knows_is_refused_with_the_one_that_was_meant() {
        let near = told(read(json!({ "action": "spawn", "depend_on": ["t_01"] })));
        assert_eq!(near.0, "`spawn` does not take `depend_on`");
        assert!(near.1.starts_with("did you mean `depends_on`? "), "{}", near.1);
        let other = told(read(json!({ "action": "status", "max_turns": 3 })));
        assert_eq!(
            other,
            ("`status` does not take `max_turns`".to_owned(), "`status` takes: task_id".to_owned())
        );
        assert_eq!(told(read(json!({ "action": "list", "color": null }))).1, "`list` takes no fields");
        let filled_in =
            json!({ "action": "status", "task_id": "t_01", "task": "", "queue": false, "depends_on": [] });
        assert!(read(filled_in).is_ok(), "a field that says nothing counts as absent");
    }

    #[test]
    fn an_action_that_does_not_exist_is_told_with_all_that_do() {
        let all = "there are: spawn, status, list";
        for (arguments, message, hint) in [
            (json!({}), "action: it is missing", all.to_owned()),
            (json!({ "action": 5 }), "action: there is no 5", all.to_owned()),
            (
                json!({ "action": "spwn" }),
                "action: there is no \"spwn\"",
                format!("did you mean `spawn`? {all}"),
            ),
        ] {
            let error = read(arguments).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidAction);
            assert_eq!(told::<()>(Err(error)), (message.to_owned(), hint));
        }
    }

    #[test]
    fn arguments_that_are_no_object_are_told_without_positions() {
        let of = |arguments: &str| {
            told(parse_object(arguments).and_then(|fields| ArgumentReader::of_action(fields, ACTIONS))).0
        };
        assert_eq!(of("{"), "arguments: they are not valid JSON");
        assert_eq!(of("[1]"), "arguments: expected an object, found a list");
        assert_eq!(of(""), "action: it is missing");
    }
}
