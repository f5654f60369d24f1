//! Tools by name and pattern, as a person lists them. A name that means no tool is an error: a misspelling must not
//! allow anything, nor ask about nothing.

use posse_messages::{LocalizedText, localized};

use crate::error::{Error, ErrorCode, Result};
use crate::pattern::ToolPattern;
use crate::text::nearest;
use crate::tool::expand;

/// Resolves names, and the groups among them, to tools that are there.
pub fn named_tools<'a>(list: impl IntoIterator<Item = &'a String>, there: &[&str]) -> Result<Vec<String>> {
    let names: Vec<String> = list.into_iter().flat_map(|name| expand(name)).collect();
    match names.iter().find(|name| !there.contains(&name.as_str())) {
        Some(unknown) => {
            let error = Error::new(ErrorCode::InvalidTool, localized!("tool-to-allow-unknown", unknown));
            Err(error.hint(suggestion(unknown, there)))
        }
        None => Ok(names),
    }
}

/// Parses patterns that match tools which are there. Patterns of MCP tools are not checked: those tools are known only
/// when their server runs.
pub fn patterns_of(list: &[String], there: &[&str]) -> Result<Vec<ToolPattern>> {
    let mut all = Vec::new();
    for raw in list {
        for pattern in ToolPattern::parse(raw)? {
            let name = pattern.name();
            if !name.starts_with("mcp__") && !there.iter().any(|tool| pattern.names(tool)) {
                return Err(not_there(name, there));
            }
            all.push(pattern);
        }
    }
    Ok(all)
}

fn not_there(unknown: &str, there: &[&str]) -> Error {
    Error::new(ErrorCode::InvalidTool, localized!("tool-not-there", unknown)).hint(suggestion(unknown, there))
}

/// Names the one of several names that was probably meant, and all that are there.
pub fn suggestion(unknown: &str, there: &[&str]) -> LocalizedText {
    let near = nearest(unknown, there.iter().copied()).map(|name| localized!("did-you-mean", name));
    let there_are = localized!("there-are", names = there.join(", "));
    LocalizedText::join(near.iter().chain([&there_are]), " ")
}
