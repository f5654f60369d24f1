//! Where the task stands in the first request. It is data: it stands in one place, and nothing in it is looked at.

use super::TaskIn;
use crate::tool::ToolSpec;

/// Placeholder for the task text in a prompt: exactly this, without spaces.
pub const PLACEHOLDER: &str = "{{task}}";

/// The first message when the task is in the system prompt: a request needs one.
pub const BEGIN: &str = "Begin.";

/// Stands in a prompt for the list of the tools that the agent has.
pub const TOOLS: &str = "{{tools}}";
/// Characters of a tool's line in that list; the whole description goes with the request anyway.
const TOOL_CHARS_MAX: usize = 160;

/// Puts the tools into a prompt that asks for them, one on each line with the first sentence of its description.
pub fn insert_tool_list(prompt: &str, tools: &[ToolSpec]) -> String {
    if !prompt.contains(TOOLS) {
        return prompt.to_owned();
    }
    let line = |tool: &ToolSpec| {
        let first = tool.description.lines().next().unwrap_or_default();
        let sentence =
            first.split_inclusive(". ").next().unwrap_or_default().trim_end().trim_end_matches('.');
        match sentence.char_indices().nth(TOOL_CHARS_MAX) {
            _ if sentence.is_empty() => format!("- `{}`", tool.name),
            Some((at, _)) => format!("- `{}`: {}…", tool.name, &sentence[..at]),
            None => format!("- `{}`: {sentence}", tool.name),
        }
    };
    let lines: Vec<String> = tools.iter().map(line).collect();
    let list = if lines.is_empty() { "(none)".to_owned() } else { lines.join("\n") };
    prompt.replace(TOOLS, &list)
}

/// The system prompt and the first message of the user.
///
/// The prompt is searched once, so a task that contains the placeholder cannot multiply itself.
pub fn insert_task(prompt: &str, task: &str, task_in: TaskIn) -> (String, String) {
    match task_in {
        TaskIn::User => (prompt.to_owned(), task.to_owned()),
        TaskIn::System => (system(prompt, task), BEGIN.to_owned()),
    }
}

fn system(prompt: &str, task: &str) -> String {
    if prompt.contains(PLACEHOLDER) {
        return prompt.replace(PLACEHOLDER, task);
    }
    match prompt.trim_end() {
        "" => task.to_owned(),
        content => format!("{content}\n\n{task}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // R268
    #[test]
    fn a_prompt_that_asks_for_it_has_the_list_of_tools() {
        let tool = |name: &str, description: &str| ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: "{}".to_owned(),
            effect: crate::tool::ToolEffect::Pure,
        };
        let long = "x".repeat(500);
        let tools = [
            tool("read", "Reads a file, or a page of it. More.\nEven more."),
            tool("own", ""),
            tool("long", &long),
        ];
        let listed = insert_tool_list("Tools:\n{{tools}}\nGo.", &tools);
        let cut = "x".repeat(TOOL_CHARS_MAX);
        assert_eq!(
            listed,
            format!("Tools:\n- `read`: Reads a file, or a page of it\n- `own`\n- `long`: {cut}…\nGo.")
        );
        assert_eq!(insert_tool_list("{{tools}}", &[]), "(none)");
        assert_eq!(insert_tool_list("No list.", &tools), "No list.");
    }

    // R018
    #[test]
    fn every_placeholder_becomes_the_task_and_a_task_stays_inert() {
        let (system, message) =
            insert_task("Do {{task}}. Again: {{task}}!", "say {{task}} $1 \\0", TaskIn::System);
        assert_eq!(system, "Do say {{task}} $1 \\0. Again: say {{task}} $1 \\0!");
        assert_eq!(message, BEGIN);
    }

    // R019
    #[test]
    fn without_a_placeholder_the_task_follows_after_a_blank_line() {
        assert_eq!(insert_task("You review.\n", "look", TaskIn::System).0, "You review.\n\nlook");
        assert_eq!(insert_task(" \n", "look", TaskIn::System).0, "look");
        // Only the exact spelling is a placeholder.
        assert_eq!(
            insert_task("{{ task }} {{Task}}", "look", TaskIn::System).0,
            "{{ task }} {{Task}}\n\nlook"
        );
    }

    #[test]
    fn as_a_message_the_task_leaves_the_prompt_as_it_is() {
        let placed = insert_task("Do {{task}}.\n", "look", TaskIn::User);
        assert_eq!(placed, ("Do {{task}}.\n".to_owned(), "look".to_owned()));
    }

    proptest! {
        #[test]
        fn the_text_around_placeholders_is_kept_and_the_task_stands_between(
            parts in prop::collection::vec("[a-z{} \n]{0,6}", 1..5),
            task in "(\\{\\{task\\}\\}|[a-z{} \n]){0,4}",
        ) {
            let prompt = parts.join(PLACEHOLDER);
            // Pieces that happen to form a placeholder with their neighbours would be counted differently.
            prop_assume!(prompt.matches(PLACEHOLDER).count() == parts.len() - 1);
            let (system, message) = insert_task(&prompt, &task, TaskIn::System);
            let expected = match parts.as_slice() {
                [only] if only.trim().is_empty() => task.clone(),
                [only] => format!("{}\n\n{task}", only.trim_end()),
                _ => parts.join(&task),
            };
            prop_assert_eq!(system, expected);
            prop_assert_eq!(message, BEGIN);
        }

        #[test]
        fn the_task_stands_in_exactly_one_of_the_two(prompt in "[a-z{} \n]{0,20}", marker in "[0-9]{8}") {
            for task_in in [TaskIn::System, TaskIn::User] {
                let (system, message) = insert_task(&prompt, &marker, task_in);
                prop_assert!(system.contains(&marker) != message.contains(&marker));
            }
        }
    }
}
