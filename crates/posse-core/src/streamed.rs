//! What can be said of a call to delegate while its arguments are still being written. It is for whoever watches; nothing is
//! executed from it.

/// As far as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamedText {
    pub description: Option<String>,
    pub prompt: Option<String>,
    /// The body of a call that has its parameters as one text.
    pub text: Option<String>,
}

impl StreamedText {
    /// From the beginning of the arguments' JSON. Whatever cannot be read is not there yet.
    pub fn of(arguments: &str) -> Self {
        let text = string_field(arguments, "_text");
        let named = |name: &str| {
            let in_text = |text: &str| in_tag(text, name).or_else(|| string_field(text, name));
            string_field(arguments, name).or_else(|| text.as_deref().and_then(in_text))
        };
        Self { description: named("description"), prompt: named("prompt"), text: text.clone() }
    }
}

/// The text of a field, up to its end or to where the JSON ends so far. Inside of a text a quote is escaped, so the name of a
/// field cannot be found there.
fn string_field(json: &str, name: &str) -> Option<String> {
    let (_, rest) = json.split_once(&format!("\"{name}\""))?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let mut end = None;
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                end = Some(at);
                break;
            }
            _ => {}
        }
    }
    let mut raw = &rest[..end.unwrap_or(rest.len())];
    // Half an escape, or half of a pair of them, comes later.
    loop {
        if let Ok(text) = serde_json::from_str(&format!("\"{raw}\"")) {
            return Some(text);
        }
        raw = &raw[..raw.rfind('\\')?];
    }
}

/// The text of a tag, up to its end or to where the text ends so far.
fn in_tag(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let closing = format!("</{name}>");
    let inner = rest.split_once(&closing).map_or_else(|| without_closing_tag(rest, name), |(inner, _)| inner);
    Some(inner.trim().to_owned())
}

/// Without the beginning of a closing tag at its end, which is not part of the value.
pub fn without_closing_tag<'a>(value: &'a str, name: &str) -> &'a str {
    let closing = format!("</{name}>");
    let half = (1..closing.len()).rev().find(|length| value.ends_with(&closing[..*length]));
    &value[..value.len() - half.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(arguments: &str) -> (Option<String>, Option<String>) {
        let StreamedText { description, prompt, .. } = StreamedText::of(arguments);
        (description, prompt)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    // R390
    #[test]
    fn a_call_is_seen_while_it_is_written() {
        for (arguments, description, prompt) in [
            ("", None, None),
            ("{\"descr", None, None),
            ("{\"description\": \"Anal", some("Anal"), None),
            (r#"{"description":"Analyze","prompt":"Say \"hi"#, some("Analyze"), some("Say \"hi")),
            (r#"{"description":"Analyze","prompt":"Say \"#, some("Analyze"), some("Say ")),
            (r#"{"prompt":"The \"description\": \"x\" \u00e"#, None, some("The \"description\": \"x\" ")),
            (
                r#"{"_text":"<description>Fix it</description><prompt>All of</pro"#,
                some("Fix it"),
                some("All of"),
            ),
            (r#"{"_text":"{\"description\": \"Fix it\", \"prompt\": \"All"#, some("Fix it"), some("All")),
            ("not JSON", None, None),
        ] {
            assert_eq!(seen(arguments), (description, prompt), "{arguments}");
        }
    }

    // R391
    #[test]
    fn half_a_closing_tag_is_not_part_of_the_value() {
        for (value, expected) in [
            ("All", "All"),
            ("All<", "All"),
            ("All</", "All"),
            ("All</prompt", "All"),
            ("a < b", "a < b"),
            ("x</other", "x</other"),
        ] {
            assert_eq!(without_closing_tag(value, "prompt"), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_seen_only_grows_into_the_value(prompt in "\\PC{0,40}", upto in 0usize..200) {
            let whole = serde_json::json!({ "description": "d", "prompt": prompt }).to_string();
            let part = &whole[..whole.floor_char_boundary(upto)];
            let seen = StreamedText::of(part).prompt.unwrap_or_default();
            prop_assert!(prompt.starts_with(&seen), "{seen:?} of {prompt:?}");
            prop_assert_eq!(StreamedText::of(&whole).prompt, Some(prompt));
        }
    }
}
