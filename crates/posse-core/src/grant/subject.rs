//! What a call is about: the command, the path or the agent that patterns are compared with.

use std::borrow::Cow;

use serde_json::Value;

use crate::pattern::Subject;
use crate::task::agent_named;
use crate::tool::DELEGATION;

/// What lets one command line do several things, or something else than it says. Such a line is never compared with a
/// pattern.
const SHELL_SYNTAX: &[char] = &[
    ';', '&', '|', '<', '>', '(', ')', '{', '}', '$', '`', '\\', '\n', '\r', '!', '#', '~', '*', '?', '[',
    ']', '"', '\'',
];

pub fn of(tool: &str, arguments: &str) -> Subject<'static> {
    let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else {
        return Subject::Unclear("the arguments cannot be read");
    };
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    match tool {
        "bash" => text("command").map_or(Subject::Unclear("there is no command"), command),
        "read" | "write" | "edit" | "grep" | "glob" | "ls" | "directory_tree" => {
            path(text("path").or_else(|| text("file_path")).unwrap_or("."))
        }
        DELEGATION => match text("action") {
            Some("spawn") | None => {
                let agent = agent_named(&arguments);
                agent.map_or(Subject::Unclear("no agent is named"), |agent| plain(agent.to_owned()))
            }
            Some(_) => Subject::Free,
        },
        "skill" => text("name").map_or(Subject::Free, |name| plain(name.to_owned())),
        _ => match text("url") {
            Some(url) => plain(url.to_owned()),
            None => Subject::Unclear("no rule can tell what this call is about"),
        },
    }
}

fn plain(text: String) -> Subject<'static> {
    Subject::Text(Cow::Owned(text))
}

/// Only a plain command is compared: words without anything that a shell would act on.
fn command(text: &str) -> Subject<'static> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if text.contains(SHELL_SYNTAX) {
        return Subject::Unclear(
            "only a plain command without shell syntax can be checked; run one at a time",
        );
    }
    match words.first() {
        None => Subject::Unclear("the command is empty"),
        Some(first) if first.contains('=') => {
            Subject::Unclear("a command that sets variables cannot be checked")
        }
        Some(_) => plain(words.join(" ")),
    }
}

/// By spelling alone: `a/../b` is `b`. What leads out of the workspace is no path of it.
fn path(raw: &str) -> Subject<'static> {
    let mut parts: Vec<&str> = Vec::new();
    for part in raw.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Subject::Unclear("the path leads out of the workspace");
                }
            }
            name => parts.push(name),
        }
    }
    let root = if raw.starts_with('/') { "/" } else { "" };
    Subject::Path(format!("{root}{}", parts.join("/")))
}
