//! The built-in agents. They are files in our own format, read like any other, and serve as examples of it.

use posse_core::definition::{DefinitionScope, Format};

use crate::read::DefinitionFile;

/// Placeholder below `## Context from Parent Analysis` of the `investigator`; a delegation with a context
/// replaces it.
pub const CONTEXT_PLACEHOLDER: &str = "No additional context provided";

const FILES: &[(&str, &str)] = &[
    ("code-reviewer.md", include_str!("../agents/code-reviewer.md")),
    ("general.md", include_str!("../agents/general.md")),
    ("investigator.md", include_str!("../agents/investigator.md")),
    ("researcher.md", include_str!("../agents/researcher.md")),
    ("test-writer.md", include_str!("../agents/test-writer.md")),
    ("writer.md", include_str!("../agents/writer.md")),
];

/// Lists the built-in agent files.
pub fn files() -> impl Iterator<Item = DefinitionFile<'static>> {
    FILES.iter().map(|(name, text)| DefinitionFile {
        path: "built-in",
        relative: name,
        format: Some(Format::Native),
        scope: DefinitionScope::BuiltIn,
        bytes: text.as_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // R265-R270, R272-R276, R307
    #[test]
    fn the_investigator_asks_for_what_the_specification_lists_in_its_order() {
        let (_, text) = FILES.iter().find(|(name, _)| *name == "investigator.md").unwrap();
        let mut rest = *text;
        for part in [
            "\nYou are a focused investigation subagent. Your job is to thoroughly investigate a specific question and \
             return actionable findings.\n",
            "\n## Your Task\n\n{{task}}\n",
            &format!("\n## Context from Parent Analysis\n\n{CONTEXT_PLACEHOLDER}\n"),
            "\n## Available Tools\n\n{{tools}}\n",
            "\n## Instructions\n",
            "1. **Parse the Task**",
            "2. **Investigate Systematically**",
            "Start broad",
            "Go deep",
            "Trace impact",
            "Find patterns",
            "3. **Be Proactive**",
            "4. **Return Structured Results**",
            "<findings>\n",
            "Include file paths and line numbers",
            "Quote relevant code snippets",
            "Explain implications",
            "</findings>",
            "<summary>\n2-3 sentence executive summary",
            "</summary>",
            "<answer>\n",
            "</answer>",
        ] {
            let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is missing or out of order"));
            rest = &rest[at + part.len()..];
        }
        assert_eq!(text.matches("{{task}}").count(), 1);
        assert_eq!(text.matches(CONTEXT_PLACEHOLDER).count(), 1);
    }
}
