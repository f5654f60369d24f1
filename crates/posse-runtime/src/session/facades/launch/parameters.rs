//! Parses the parameters of a launch, in any format that models write.

use posse_core::arguments::ArgumentReader;
use posse_core::board::Priority;
use posse_core::text::{nearest, prefix};
use posse_messages::{LocalizedText, localized};
use serde_json::{Map, Value};

use crate::delegation::{ACTIONS, SPAWN_OPTIONS, SpawnOptions};

const WALL_MS_MIN: f64 = 1_000.0;
/// Maximum wall time of a launch.
pub const WALL_MS_MAX: f64 = 300_000.0;
/// Parameters of a launch alone; it takes those of a spawn too.
const LAUNCH: &[&str] = &[
    "description",
    "prompt",
    "writePermissions",
    "allowedWritePaths",
    "maxExecutionTime",
    "priority",
    "outputSchema",
];
/// Parameters that choose the agent. Rules match on them, so they stand beside `_text`, never inside of it.
const AGENT: [&str; 2] = ["agent", "type"];
/// Synonyms: the names of a launch and those of a spawn.
const SYNONYMS: [(&str, &str); 3] = [
    ("allowedWritePaths", "write_paths"),
    ("maxExecutionTime", "timeout_ms"),
    ("outputSchema", "output_schema"),
];

/// Validated parameters of a launch.
#[derive(Debug, PartialEq)]
pub struct LaunchParameters {
    pub description: String,
    pub prompt: String,
    /// `None`: nothing may be written.
    pub write_paths: Option<Vec<String>>,
    pub wall_ms: u64,
    pub priority: Priority,
    /// A schema, or words about what is expected.
    pub output: Option<Value>,
    /// Parameters of a spawn.
    pub options: SpawnOptions,
}

impl LaunchParameters {
    /// Parses and validates the arguments. The error is for the model.
    pub fn parse(arguments: &Map<String, Value>) -> Result<Self, LocalizedText> {
        let body = arguments.get("_text").and_then(Value::as_str).map(unwrapped);
        let beside = || arguments.iter().filter(|(name, _)| *name != "_text" && *name != "action");
        let raw = match body.filter(|body| !body.is_empty()) {
            Some(body) if body.starts_with('{') => joined(from_json(body)?, beside())?,
            Some(body) => required(joined(from_tags(body)?, beside())?)?,
            None => required(beside().map(|(name, value)| (name.clone(), value.clone())).collect())?,
        };
        let raw = coerced(raw);
        let mut errors = complaints(&raw);
        let options = options(&raw).unwrap_or_else(|why| {
            errors.push(why);
            SpawnOptions::default()
        });
        if !errors.is_empty() {
            return Err(format!("Invalid parameters: {}", errors.join(", ")).into());
        }
        Ok(Self::of(&raw, options))
    }

    /// Reads parameters from validated values.
    fn of(raw: &Map<String, Value>, mut options: SpawnOptions) -> Self {
        let text = |name: &str| raw.get(name).and_then(Value::as_str).unwrap_or_default();
        let paths = raw
            .get("allowedWritePaths")
            .and_then(Value::as_array)
            .map(|paths| paths.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<String>>());
        let writes = raw.get("writePermissions").and_then(Value::as_bool);
        // Write paths under a spawn's name need no `writePermissions`.
        let write_paths = match options.write_paths.take() {
            Some(paths) => Some(paths).filter(|paths| writes != Some(false) && !paths.is_empty()),
            None => paths.filter(|_| writes == Some(true)),
        };
        let wall_ms = raw.get("maxExecutionTime").and_then(Value::as_f64).map(|ms| ms as u64);
        options.bounds.wall_ms = options.bounds.wall_ms.or(wall_ms);
        Self {
            description: text("description").trim().to_owned(),
            prompt: text("prompt").to_owned(),
            write_paths,
            wall_ms: options.bounds.wall_ms.unwrap_or(u64::MAX).min(WALL_MS_MAX as u64),
            priority: match text("priority") {
                "low" => Priority::Low,
                "high" => Priority::High,
                _ => Priority::Normal,
            },
            output: raw.get("outputSchema").filter(|output| !output.is_null()).cloned(),
            options,
        }
    }
}

/// Parses the parameters of a spawn; refuses unknown ones.
fn options(raw: &Map<String, Value>) -> Result<SpawnOptions, String> {
    let takes: Vec<&str> = LAUNCH
        .iter()
        .chain(&AGENT)
        .chain(SPAWN_OPTIONS.iter().filter(|name| **name != "priority"))
        .copied()
        .collect();
    let reader = ArgumentReader::of_tool("launch", raw.clone());
    let is_known = |name: &str| ACTIONS.iter().any(|action| action.fields.contains(&name));
    let read = reader.check_fields(&takes, is_known).and_then(|()| {
        let spawn =
            raw.iter().filter(|(name, _)| SPAWN_OPTIONS.contains(&name.as_str()) && *name != "priority");
        let spawn = spawn.map(|(name, value)| (name.clone(), value.clone())).collect();
        SpawnOptions::read(&ArgumentReader::of_tool("launch", spawn))
    });
    read.map_err(|e| match e.advice() {
        Some(hint) => format!("{} ({})", e.message().english(), hint.english()),
        None => e.message().english().to_owned(),
    })
}

/// Joins parameters of the body and those beside it. None is dropped: duplicates are refused.
fn joined<'a>(
    mut body: Map<String, Value>,
    beside: impl Iterator<Item = (&'a String, &'a Value)>,
) -> Result<Map<String, Value>, LocalizedText> {
    if let Some(name) = AGENT.iter().find(|name| body.contains_key(**name)) {
        return Err(format!("'{name}' stands beside `_text`, not inside of it").into());
    }
    for (name, value) in beside.filter(|(_, value)| !value.is_null()) {
        if body.insert(name.clone(), value.clone()).is_some() {
            return Err(format!("'{name}' is given twice").into());
        }
    }
    Ok(body)
}

/// Returns the text inside `<subagent>`, if there is one.
fn unwrapped(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix("<subagent>").unwrap_or(text);
    text.strip_suffix("</subagent>").unwrap_or(text).trim()
}

fn from_json(body: &str) -> Result<Map<String, Value>, LocalizedText> {
    let wrong = |why: String| localized!("launch-invalid-json").map(|text| format!("{text}: {why}"));
    let raw: Map<String, Value> = serde_json::from_str(body).map_err(|e| wrong(e.to_string()))?;
    match missing(&raw) {
        None => Ok(raw),
        Some(_) => Err(wrong("Missing required parameters in JSON".to_owned())),
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

/// Parses one tag for each parameter. A prompt may contain tags of its own, so it extends to its last end tag.
fn from_tags(body: &str) -> Result<Map<String, Value>, LocalizedText> {
    let mut raw = Map::new();
    let mut rest = body;
    while let Some((at, name)) = next_tag(rest) {
        outside(&rest[..at], &raw)?;
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let inner = &rest[at + open.len()..];
        let end = if name == "prompt" { inner.rfind(&close) } else { inner.find(&close) };
        // A truncated value is another value.
        let Some(end) = end else {
            return Err(
                format!("Missing value for required parameter '{name}': <{name}> is not closed.").into()
            );
        };
        if raw.insert(name.to_owned(), Value::String(inner[..end].trim().to_owned())).is_some() {
            return Err(format!("'{name}' is given twice").into());
        }
        rest = &inner[end + close.len()..];
    }
    outside(rest, &raw)?;
    Ok(raw)
}

/// Refuses text between the tags, which would be dropped. Text without any tag is reported as a missing parameter.
fn outside(text: &str, raw: &Map<String, Value>) -> Result<(), LocalizedText> {
    let text = text.trim();
    let is_tag = text.starts_with('<') && text.contains('>');
    if text.is_empty() || (raw.is_empty() && !is_tag) {
        return Ok(());
    }
    let name = text.trim_start_matches(['<', '/']).split(['<', '>']).next().unwrap_or_default();
    let names = LAUNCH.iter().chain(SPAWN_OPTIONS).copied();
    let near = nearest(name, names).filter(|_| is_tag).map(|name| format!("did you mean `{name}`?"));
    let shown = prefix(text, 40).escape_debug();
    Err(format!("text outside of the tags: \"{shown}\". {}", near.unwrap_or_default())
        .trim_end()
        .to_owned()
        .into())
}

fn next_tag(text: &str) -> Option<(usize, &'static str)> {
    let names = LAUNCH.iter().chain(&AGENT).chain(SPAWN_OPTIONS);
    let places = names.filter_map(|name| Some((text.find(&format!("<{name}>"))?, *name)));
    places.min()
}

/// Converts texts to their types, because tags have only text. Texts that cannot be converted stay and are reported.
fn coerced(mut raw: Map<String, Value>) -> Map<String, Value> {
    let mut change = |name: &str, read: fn(&str) -> Option<Value>| {
        if let Some(value) = raw.get_mut(name)
            && let Some(better) = value.as_str().and_then(read)
        {
            *value = better;
        }
    };
    for name in ["writePermissions", "queue", "detached"] {
        change(name, |text| match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        });
    }
    for name in NUMBERS {
        change(name, |text| {
            text.trim().parse().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
        });
    }
    for name in ["allowedWritePaths", "write_paths", "depends_on"] {
        change(name, |text| Some(list(text, split)));
    }
    // A command may have commas.
    change("verify", |text| Some(list(text, lines)));
    for name in ["outputSchema", "output_schema"] {
        change(name, |text| serde_json::from_str(text).ok());
    }
    for name in ["priority", "on_conflict", "isolation"] {
        change(name, |text| Some(Value::String(text.trim().to_owned())));
    }
    raw
}

const NUMBERS: [&str; 7] = [
    "maxExecutionTime",
    "max_turns",
    "max_tool_calls",
    "timeout_ms",
    "max_input_tokens",
    "max_output_tokens",
    "max_cost_usd",
];

/// Parses a list in JSON, as children such as `<path>…</path>`, or as text that is split.
fn list(text: &str, split: fn(&str) -> Vec<String>) -> Value {
    let listed: Option<Value> = serde_json::from_str(text).ok().filter(Value::is_array);
    let items = || children(text).unwrap_or_else(|| split(text)).into_iter().map(Value::String).collect();
    listed.unwrap_or_else(items)
}

/// Returns the texts of child tags, if there is nothing else.
fn children(text: &str) -> Option<Vec<String>> {
    let (mut rest, mut found) = (text.trim(), Vec::new());
    while !rest.is_empty() {
        let (name, after) = rest.strip_prefix('<')?.split_once('>')?;
        let (inner, after) = after.split_once(&format!("</{name}>"))?;
        found.push(inner.trim().to_owned());
        rest = after.trim_start();
    }
    Some(found)
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Splits at lines and commas, but not inside of `{a,b}`.
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

/// Lists all mistakes.
fn complaints(raw: &Map<String, Value>) -> Vec<String> {
    let mut errors: Vec<String> = Vec::new();
    let mut tell = |error: String| errors.push(error);
    match raw.get("description").and_then(Value::as_str) {
        None => tell("Description is required and must be a string".to_owned()),
        Some(text) if text.trim().chars().count() < 3 => {
            tell("Description must be at least 3 characters".to_owned())
        }
        Some(text) if text.split_whitespace().count() > 10 => {
            tell("Description should be 3-5 words".to_owned())
        }
        Some(_) => {}
    }
    match raw.get("prompt").and_then(Value::as_str) {
        None => tell("Prompt is required and must be a string".to_owned()),
        Some(text) if text.trim().chars().count() < 10 => {
            tell("Prompt must be at least 10 characters".to_owned())
        }
        Some(_) => {}
    }
    let given = |name: &str| raw.get(name).filter(|value| !value.is_null());
    let writes = given("writePermissions");
    if writes.is_some_and(|value| !value.is_boolean()) {
        tell("writePermissions must be a boolean".to_owned());
    }
    let paths = given("allowedWritePaths");
    match paths.map(Value::as_array) {
        Some(None) => tell("allowedWritePaths must be an array".to_owned()),
        Some(Some(paths)) => {
            let wrong = paths.iter().enumerate().filter(|(_, path)| !path.is_string());
            wrong.for_each(|(index, _)| tell(format!("allowedWritePaths[{index}] must be a string")));
        }
        None => {}
    }
    let nowhere = paths.is_none_or(|paths| paths.as_array().is_some_and(Vec::is_empty));
    if writes == Some(&Value::Bool(true)) && nowhere && given("write_paths").is_none() {
        tell("writePermissions requires allowedWritePaths to be specified".to_owned());
    }
    match given("maxExecutionTime").map(Value::as_f64) {
        Some(None) => tell("maxExecutionTime must be a number".to_owned()),
        Some(Some(ms)) if !(WALL_MS_MIN..=WALL_MS_MAX).contains(&ms) => {
            tell("maxExecutionTime must be between 1000-300000 ms (1-300 seconds)".to_owned());
        }
        Some(Some(_)) | None => {}
    }
    let priority = given("priority");
    if priority.is_some_and(|priority| !["low", "normal", "high"].iter().any(|known| priority == known)) {
        tell("priority must be 'low', 'normal', or 'high'".to_owned());
    }
    for (one, other) in SYNONYMS {
        if given(one).is_some() && given(other).is_some() {
            tell(format!("{one} and {other} mean the same; give one of them"));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use posse_core::task::TaskBounds;
    use serde_json::json;

    fn parse(arguments: Value) -> Result<LaunchParameters, String> {
        LaunchParameters::parse(arguments.as_object().unwrap()).map_err(|why| why.english().to_owned())
    }

    fn wrong(arguments: Value) -> String {
        parse(arguments).unwrap_err()
    }

    fn usual() -> LaunchParameters {
        LaunchParameters {
            description: "Analyze auth code".to_owned(),
            prompt: "Search for all of it.".to_owned(),
            write_paths: None,
            wall_ms: 300_000,
            priority: Priority::Normal,
            output: None,
            options: SpawnOptions::default(),
        }
    }

    fn whole() -> LaunchParameters {
        LaunchParameters {
            write_paths: Some(vec!["src/**/*.{ts,tsx}".to_owned(), "docs/*.md".to_owned()]),
            wall_ms: 180_000,
            priority: Priority::High,
            output: Some(json!({ "type": "object" })),
            options: SpawnOptions {
                bounds: TaskBounds { wall_ms: Some(180_000), ..TaskBounds::default() },
                ..SpawnOptions::default()
            },
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
    fn paths_that_are_children_are_a_list() {
        let tags = "<description>Analyze auth code</description><prompt>Search for all of it.</prompt>\
                    <writePermissions>true</writePermissions><allowedWritePaths>\n  <path>src/**/*.{ts,tsx}</path>\n\
                    <path>docs/*.md</path>\n</allowedWritePaths>";
        let paths = parse(json!({ "_text": tags })).unwrap().write_paths.unwrap();
        assert_eq!(paths, ["src/**/*.{ts,tsx}", "docs/*.md"]);
    }

    #[test]
    fn a_launch_takes_what_a_spawn_takes_however_it_is_written() {
        let fields = json!({
            "description": "Analyze auth code", "prompt": "Search for all of it.", "max_turns": 7, "max_cost_usd": 0.5,
            "isolation": "worktree", "depends_on": ["t_01", "t_02"], "context": "as it is", "queue": true,
            "on_conflict": "wait", "verify": ["cargo test, all"], "output_schema": { "type": "object" },
            "write_paths": ["src/**"], "timeout_ms": 60_000,
        });
        let tags = "<description>Analyze auth code</description><prompt>Search for all of it.</prompt>\
                    <max_turns>7</max_turns><max_cost_usd>0.5</max_cost_usd><isolation> worktree </isolation>\
                    <depends_on>t_01, t_02</depends_on><context>as it is</context><queue>true</queue>\
                    <on_conflict>wait</on_conflict><verify>cargo test, all</verify>\
                    <output_schema>{\"type\":\"object\"}</output_schema><write_paths><path>src/**</path></write_paths>\
                    <timeout_ms>60000</timeout_ms>";
        let read = parse(fields).unwrap();
        assert_eq!(parse(json!({ "_text": tags })).unwrap(), read);
        let options = &read.options;
        assert_eq!((options.bounds.turns, options.bounds.caps.cost_micros), (Some(7), Some(500_000)));
        assert_eq!((&options.verify, options.queue), (&vec!["cargo test, all".to_owned()], Some(true)));
        assert_eq!((read.write_paths, read.wall_ms), (Some(vec!["src/**".to_owned()]), 60_000));
    }

    #[test]
    fn nothing_that_a_launch_says_is_dropped() {
        let base = json!({ "description": "Analyze auth code", "prompt": "Search for all of it." });
        let with = |name: &str, value: Value| {
            let mut arguments = base.clone();
            arguments[name] = value;
            wrong(arguments)
        };
        let near = with("depend_on", json!(["t_01"]));
        assert!(near.contains("`launch` does not take `depend_on` (did you mean `depends_on`?"), "{near}");
        let turns = with("max_turns", json!("ten"));
        assert_eq!(turns, "Invalid parameters: max_turns: expected an integer of 1 or more, found \"ten\"");
        let mut twice = base.clone();
        twice["_text"] = json!("<description>Analyze</description><prompt>Search for all of it.</prompt>");
        assert_eq!(wrong(twice), "'description' is given twice");
        let mut both = base.clone();
        (both["maxExecutionTime"], both["timeout_ms"]) = (json!(5_000), json!(6_000));
        assert_eq!(
            wrong(both),
            "Invalid parameters: maxExecutionTime and timeout_ms mean the same; give one of them"
        );
        let text = |more: &str| {
            let body = "<description>Analyze auth</description><prompt>Search for all of it.</prompt>";
            wrong(json!({ "_text": format!("{body}{more}") }))
        };
        assert!(
            text("<max_turn>3</max_turn>").contains("did you mean `max_turns`?"),
            "{}",
            text("<max_turn>3</max_turn>")
        );
        assert!(text(" and be quick").contains("and be quick"));
        assert!(text("<agent>writer</agent>").contains("beside `_text`"));
        let mut beside = json!({ "_text": "<description>Analyze auth</description><prompt>Search for all of it.</prompt>" });
        (beside["max_turns"], beside["agent"]) = (json!(3), json!("writer"));
        assert_eq!(parse(beside).unwrap().options.bounds.turns, Some(3));
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
