//! The parameters of a launch, from whatever a model wrote.

use posse_core::board::Priority;
use posse_messages::{LocalizedText, fixed, localized};
use serde_json::{Map, Value};

const WALL_MS_MIN: f64 = 1_000.0;
const WALL_MS_MAX: f64 = 300_000.0;
const NAMES: &[&str] = &[
    "description",
    "prompt",
    "writePermissions",
    "allowedWritePaths",
    "maxExecutionTime",
    "priority",
    "outputSchema",
];

#[derive(Debug, PartialEq)]
pub struct Parameters {
    pub description: String,
    pub prompt: String,
    /// `None`: nothing may be written.
    pub write_paths: Option<Vec<String>>,
    pub wall_ms: u64,
    pub priority: Priority,
    /// A schema, or words about what is expected.
    pub output: Option<Value>,
}

impl Parameters {
    /// The error is what the model is told.
    pub fn parse(arguments: &Map<String, Value>) -> Result<Self, LocalizedText> {
        let body = arguments.get("_text").and_then(Value::as_str).map(unwrapped);
        let raw = match body.filter(|body| !body.is_empty()) {
            Some(body) if body.starts_with('{') => from_json(body)?,
            Some(body) => required(from_tags(body)?)?,
            None => required(arguments.clone())?,
        };
        let raw = coerced(raw);
        let errors = complaints(&raw);
        if !errors.is_empty() {
            return Err(fixed!("parameters-invalid", errors = errors.join(", ")).into());
        }
        Ok(Self::of(&raw))
    }

    /// Of values that were found right.
    fn of(raw: &Map<String, Value>) -> Self {
        let text = |name: &str| raw.get(name).and_then(Value::as_str).unwrap_or_default();
        let paths = raw
            .get("allowedWritePaths")
            .and_then(Value::as_array)
            .map(|paths| paths.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<String>>());
        let writes = raw.get("writePermissions").and_then(Value::as_bool).unwrap_or(false);
        let wall_ms = raw.get("maxExecutionTime").and_then(Value::as_f64).unwrap_or(WALL_MS_MAX);
        Self {
            description: text("description").trim().to_owned(),
            prompt: text("prompt").to_owned(),
            write_paths: paths.filter(|_| writes),
            wall_ms: wall_ms as u64,
            priority: match text("priority") {
                "low" => Priority::Low,
                "high" => Priority::High,
                _ => Priority::Normal,
            },
            output: raw.get("outputSchema").filter(|output| !output.is_null()).cloned(),
        }
    }
}

/// The text inside of `<subagent>`, if it is inside of one.
fn unwrapped(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("<subagent>").and_then(|rest| rest.strip_suffix("</subagent>"));
    inner.unwrap_or(text).trim()
}

fn from_json(body: &str) -> Result<Map<String, Value>, LocalizedText> {
    let wrong = |why: String| localized!("launch-invalid-json").map(|text| format!("{text}: {why}"));
    let raw: Map<String, Value> = serde_json::from_str(body).map_err(|e| wrong(e.to_string()))?;
    match missing(&raw) {
        None => Ok(raw),
        Some(_) => Err(wrong(fixed!("parameters-missing-json"))),
    }
}

fn required(raw: Map<String, Value>) -> Result<Map<String, Value>, LocalizedText> {
    match missing(&raw) {
        None => Ok(raw),
        Some(name) => {
            let why = match name {
                "prompt" => localized!("launch-missing-prompt"),
                _ => localized!("launch-missing-description"),
            };
            Err(localized!("parameter-missing", name, why))
        }
    }
}

fn missing(raw: &Map<String, Value>) -> Option<&'static str> {
    let is_there = |name: &&str| !matches!(raw.get(*name), None | Some(Value::Null)) && raw[*name] != "";
    ["description", "prompt"].into_iter().find(|name| !is_there(name))
}

/// One tag for each parameter. A prompt may contain tags of its own, so it goes on to the last end there is.
fn from_tags(body: &str) -> Result<Map<String, Value>, LocalizedText> {
    let mut raw = Map::new();
    let mut rest = body;
    while let Some((at, name)) = next_tag(rest) {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let inner = &rest[at + open.len()..];
        let end = if name == "prompt" { inner.rfind(&close) } else { inner.find(&close) };
        // Half a value is another value.
        let Some(end) = end else {
            return Err(fixed!("parameter-not-closed", name).into());
        };
        raw.entry(name).or_insert_with(|| Value::String(inner[..end].trim().to_owned()));
        rest = &inner[end + close.len()..];
    }
    Ok(raw)
}

fn next_tag(text: &str) -> Option<(usize, &'static str)> {
    let places = NAMES.iter().filter_map(|name| Some((text.find(&format!("<{name}>"))?, *name)));
    places.min()
}

/// Tags have only text, and models write values as text elsewhere too. What cannot be read stays as it is and is told.
fn coerced(mut raw: Map<String, Value>) -> Map<String, Value> {
    let mut change = |name: &str, read: fn(&str) -> Option<Value>| {
        if let Some(value) = raw.get_mut(name)
            && let Some(better) = value.as_str().and_then(read)
        {
            *value = better;
        }
    };
    change("writePermissions", |text| match text.trim().to_ascii_lowercase().as_str() {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    });
    change("maxExecutionTime", |text| {
        text.trim().parse().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
    });
    change("allowedWritePaths", |text| {
        let listed: Option<Value> = serde_json::from_str(text).ok().filter(Value::is_array);
        Some(listed.unwrap_or_else(|| split(text).into_iter().map(Value::String).collect()))
    });
    change("outputSchema", |text| serde_json::from_str(text).ok());
    change("priority", |text| Some(Value::String(text.trim().to_owned())));
    raw
}

/// By lines and commas, but not inside of `{a,b}`.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0u32;
    let parts = text.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '\n' || (c == ',' && depth == 0)
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Everything that is wrong.
fn complaints(raw: &Map<String, Value>) -> Vec<String> {
    let mut errors: Vec<String> = Vec::new();
    let mut tell = |error: String| errors.push(error);
    match raw.get("description").and_then(Value::as_str) {
        None => tell(fixed!("description-not-text")),
        Some(text) if text.trim().chars().count() < 3 => tell(fixed!("description-too-short")),
        Some(text) if text.split_whitespace().count() > 10 => tell(fixed!("description-too-long")),
        Some(_) => {}
    }
    match raw.get("prompt").and_then(Value::as_str) {
        None => tell(fixed!("prompt-not-text")),
        Some(text) if text.trim().chars().count() < 10 => tell(fixed!("prompt-too-short")),
        Some(_) => {}
    }
    let given = |name: &str| raw.get(name).filter(|value| !value.is_null());
    let writes = given("writePermissions");
    if writes.is_some_and(|value| !value.is_boolean()) {
        tell(fixed!("write-permissions-not-boolean"));
    }
    let paths = given("allowedWritePaths");
    match paths.map(Value::as_array) {
        Some(None) => tell(fixed!("write-paths-not-list")),
        Some(Some(paths)) => {
            let wrong = paths.iter().enumerate().filter(|(_, path)| !path.is_string());
            wrong.for_each(|(index, _)| tell(fixed!("write-path-not-text", index)));
        }
        None => {}
    }
    let nowhere = paths.is_none_or(|paths| paths.as_array().is_some_and(Vec::is_empty));
    if writes == Some(&Value::Bool(true)) && nowhere {
        tell(fixed!("write-paths-missing"));
    }
    match given("maxExecutionTime").map(Value::as_f64) {
        Some(None) => tell(fixed!("execution-time-not-number")),
        Some(Some(ms)) if !(WALL_MS_MIN..=WALL_MS_MAX).contains(&ms) => {
            tell(fixed!("execution-time-out-of-range"));
        }
        Some(Some(_)) | None => {}
    }
    let priority = given("priority");
    if priority.is_some_and(|priority| !["low", "normal", "high"].iter().any(|known| priority == known)) {
        tell(fixed!("priority-unknown"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(arguments: Value) -> Result<Parameters, String> {
        Parameters::parse(arguments.as_object().unwrap()).map_err(|why| why.english().to_owned())
    }

    fn wrong(arguments: Value) -> String {
        parse(arguments).unwrap_err()
    }

    fn usual() -> Parameters {
        Parameters {
            description: "Analyze auth code".to_owned(),
            prompt: "Search for all of it.".to_owned(),
            write_paths: None,
            wall_ms: 300_000,
            priority: Priority::Normal,
            output: None,
        }
    }

    fn whole() -> Parameters {
        Parameters {
            write_paths: Some(vec!["src/**/*.{ts,tsx}".to_owned(), "docs/*.md".to_owned()]),
            wall_ms: 180_000,
            priority: Priority::High,
            output: Some(json!({ "type": "object" })),
            ..usual()
        }
    }

    // R377 R378 R379 R380 R381 R382 R383 R384 R385 R386
    #[test]
    fn fields_have_their_defaults() {
        let few = json!({ "description": "Analyze auth code", "prompt": "Search for all of it." });
        assert_eq!(parse(few), Ok(usual()));
        let all = json!({
            "description": "Analyze auth code", "prompt": "Search for all of it.", "writePermissions": true,
            "allowedWritePaths": ["src/**/*.{ts,tsx}", "docs/*.md"], "maxExecutionTime": 180_000, "priority": "high",
            "outputSchema": { "type": "object" },
        });
        assert_eq!(parse(all), Ok(whole()));
    }

    // R387 R388 R389 R438
    #[test]
    fn tags_and_json_say_the_same_as_fields() {
        let tags = "<subagent>\n<description>Analyze auth code</description>\n<prompt>Search for all of it.</prompt>\n\
                    <writePermissions>TRUE</writePermissions><allowedWritePaths>src/**/*.{ts,tsx},\n docs/*.md\n</allowedWritePaths>\
                    <maxExecutionTime>180000</maxExecutionTime><priority> high </priority>\
                    <outputSchema>{\"type\":\"object\"}</outputSchema></subagent>";
        assert_eq!(parse(json!({ "_text": tags })), Ok(whole()));
        let json_list =
            tags.replace("src/**/*.{ts,tsx},\n docs/*.md\n", r#"["src/**/*.{ts,tsx}", "docs/*.md"]"#);
        assert_eq!(parse(json!({ "_text": json_list })), Ok(whole()));
        let body =
            r#" <subagent>{"description":"Analyze auth code","prompt":"Search for all of it."}</subagent> "#;
        assert_eq!(parse(json!({ "_text": body })), Ok(usual()));
    }

    #[test]
    fn a_prompt_may_speak_of_tags() {
        let prompt = "Explain <description>x</description> and </prompt> in the guide.";
        let tags = format!("<description>Analyze auth code</description><prompt>{prompt}</prompt>");
        assert_eq!(parse(json!({ "_text": tags })).unwrap().prompt, prompt);
        let cut_off = "<description>Analyze auth code</description><prompt>Delete everything in the dir";
        assert!(wrong(json!({ "_text": cut_off })).contains("<prompt> is not closed"));
    }

    // R392 R394 R439
    #[test]
    fn what_is_missing_is_named() {
        let text = |text: &str| wrong(json!({ "_text": text }));
        assert!(text("{").starts_with("Invalid JSON parameters: "));
        assert_eq!(
            text(r#"{"description":"abc"}"#),
            "Invalid JSON parameters: Missing required parameters in JSON"
        );
        assert!(
            text("<prompt>Search for it</prompt>")
                .starts_with("Missing value for required parameter 'description'")
        );
        let no_prompt = wrong(json!({ "description": "Test task" }));
        assert!(no_prompt.starts_with("Missing value for required parameter 'prompt'"), "{no_prompt}");
        assert!(text("just some words").contains("'description'"));
    }

    // R396 R397 R398 R401 R403 R404 R406 R407 R409
    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let all = json!({
            "description": 5, "prompt": [1], "writePermissions": "maybe", "allowedWritePaths": 7,
            "maxExecutionTime": "soon", "priority": "urgent",
        });
        assert_eq!(
            wrong(all),
            "Invalid parameters: Description is required and must be a string, Prompt is required and must be a string, \
             writePermissions must be a boolean, allowedWritePaths must be an array, maxExecutionTime must be a number, \
             priority must be 'low', 'normal', or 'high'"
        );
    }

    // R399 R400 R402 R405 R406 R408
    #[test]
    fn each_bound_has_its_message() {
        let base = json!({ "description": "Test task", "prompt": "Do something useful" });
        let with = |name: &str, value: Value| {
            let mut arguments = base.clone();
            arguments[name] = value;
            parse(arguments).map_err(|why| why.replacen("Invalid parameters: ", "", 1))
        };
        let says = |name: &str, value: Value, text: &str| assert_eq!(with(name, value), Err(text.to_owned()));
        says("description", json!("  ab  "), "Description must be at least 3 characters");
        says("description", json!("a b c d e f g h i j k"), "Description should be 3-5 words");
        assert!(with("description", json!("a b c d e f g h i j")).is_ok());
        says("prompt", json!("  123456789 "), "Prompt must be at least 10 characters");
        says("allowedWritePaths", json!(["a", 1]), "allowedWritePaths[1] must be a string");
        let nowhere = "writePermissions requires allowedWritePaths to be specified";
        says("writePermissions", json!(true), nowhere);
        for ms in [999, 300_001] {
            let text = "maxExecutionTime must be between 1000-300000 ms (1-300 seconds)";
            says("maxExecutionTime", json!(ms), text);
        }
        assert!(
            with("maxExecutionTime", json!(1000)).is_ok() && with("maxExecutionTime", json!(300_000)).is_ok()
        );
        assert_eq!(
            with("allowedWritePaths", json!(["a"])).unwrap().write_paths,
            None,
            "paths alone give nothing"
        );
    }
}
