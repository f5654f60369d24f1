//! The one JSON value of an answer that has to be JSON. Models wrap it in a fence or in a sentence although they were
//! asked not to; that is tolerated as long as it is clear which value is meant.

use posse_messages::fixed;
use serde_json::Value;

/// Places at which a value is looked for in prose. Each try is cheap, and an answer with more is not meant as JSON.
const TRIES_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    pub value: Value,
    /// What stood around it, for a warning; `None` if nothing did.
    pub wrapping: Option<&'static str>,
}

/// The error says what is wrong with the answer, for whoever has to correct it.
pub fn extract(text: &str) -> Result<Extracted, String> {
    let text = text.trim();
    let why = match serde_json::from_str(text) {
        Ok(value) => return Ok(Extracted { value, wrapping: None }),
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
        Ok([value]) => Ok(Extracted { value, wrapping: Some(wrapping) }),
        Err(_) if count == 0 => Err(fixed!("answer-not-json", why)),
        Err(_) => Err(fixed!("answer-many-json", count)),
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
            assert_eq!(extract(text), Ok(Extracted { value: value.clone(), wrapping }), "{text}");
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
