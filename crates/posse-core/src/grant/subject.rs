//! What a call is about: the command, the path or the agent that patterns are compared with.

use std::borrow::Cow;

use serde_json::Value;

use super::shell;
use crate::pattern::CallSubject;
use crate::task::agent_named;
use crate::tool::{DELEGATION, FILE_TOOLS};
use crate::web::WebAddress;

/// One for each simple command of a line; one alone for every other call. `root` is the workspace, if it is known.
pub fn of(tool: &str, arguments: &str, root: &str) -> Vec<CallSubject<'static>> {
    let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else {
        return vec![CallSubject::Unclear("the arguments cannot be read")];
    };
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let subject = match tool {
        "bash" => {
            return match text("command").map(shell::commands) {
                None => vec![CallSubject::Unclear("there is no command")],
                Some(Err(why)) => {
                    let pieces = text("command").map(shell::pieces).unwrap_or_default();
                    vec![CallSubject::Line { why, pieces }]
                }
                Some(Ok(commands)) => commands.into_iter().map(CallSubject::Command).collect(),
            };
        }
        _ if FILE_TOOLS.contains(&tool) => {
            path(text("path").or_else(|| text("file_path")).unwrap_or("."), root)
        }
        DELEGATION => match text("action") {
            Some("spawn") | None => {
                let agent = agent_named(&arguments);
                agent.map_or(CallSubject::Unclear("no agent is named"), |agent| plain(agent.to_owned()))
            }
            Some(_) => CallSubject::Free,
        },
        "fetch" => match text("url").map(WebAddress::parse) {
            None => CallSubject::Unclear("there is no address"),
            Some(Err(why)) => CallSubject::Unclear(why),
            Some(Ok(address)) => CallSubject::Address(address),
        },
        "skill" => text("name").map_or(CallSubject::Free, |name| plain(name.to_owned())),
        _ => match text("url") {
            Some(url) => plain(url.to_owned()),
            None => CallSubject::Unclear("no rule can tell what this call is about"),
        },
    };
    vec![subject]
}

fn plain(text: String) -> CallSubject<'static> {
    CallSubject::Text(Cow::Owned(text))
}

/// By spelling alone: `a/../b` is `b`, and an absolute path below the workspace is one of it. What leads out of the
/// workspace is no path of it.
fn path(raw: &str, root: &str) -> CallSubject<'static> {
    let below = match root.trim_end_matches('/') {
        "" => None,
        root => raw.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/')),
    };
    // Relative to the workspace from here on, or absolute and elsewhere.
    let (raw, is_absolute) = match below.filter(|_| root.starts_with('/')) {
        Some(rest) => (rest, false),
        None => (raw, raw.starts_with('/')),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in raw.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return CallSubject::Unclear("the path leads out of the workspace");
                }
            }
            name => parts.push(name),
        }
    }
    let root = if is_absolute { "/" } else { "" };
    CallSubject::Path(format!("{root}{}", parts.join("/")))
}

/// A directory or file as an absolute path, `.` and `..` resolved by their spelling; `None` if it leads out of everything.
pub fn absolute(root: &str, workspace: &str) -> Option<String> {
    let whole = if root.starts_with('/') { root.to_owned() } else { format!("{workspace}/{root}") };
    match path(&format!("/{whole}"), "") {
        CallSubject::Path(path) => Some(path),
        _ => None,
    }
}

/// Returns the roots that lie below a root of both lists.
pub fn common(one: &[String], other: &[String]) -> Vec<String> {
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    let mut all: Vec<String> = pairs
        .filter_map(|(a, b)| if holds(b, a) { Some(a) } else { holds(a, b).then_some(b) })
        .cloned()
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Tells whether a path of a call (relative to the workspace, or absolute) is the root or below it.
pub fn is_below(root: &str, path: &str, workspace: &str) -> bool {
    match (absolute(root, workspace), absolute(path, workspace)) {
        (Some(root), Some(path)) => holds(&root, &path),
        _ => false,
    }
}

/// By whole names: `/a` does not hold `/ab`.
fn holds(root: &str, path: &str) -> bool {
    let root = root.trim_end_matches('/');
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
