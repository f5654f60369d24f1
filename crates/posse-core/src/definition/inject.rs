//! Where a task goes: into the system prompt or into the first message, never both.

use super::TaskIn;

const PLACEHOLDER: &str = "{{task}}";
/// The first message of a conversation whose task stands in the system prompt.
const BEGIN: &str = "Begin.";

/// The system prompt and the first message. Placeholders are replaced in one pass: one that a task contains is text.
pub fn place(prompt: &str, task: &str, task_in: TaskIn) -> (String, String) {
    match task_in {
        TaskIn::User => (prompt.to_owned(), task.to_owned()),
        TaskIn::System if prompt.contains(PLACEHOLDER) => {
            (prompt.split(PLACEHOLDER).collect::<Vec<_>>().join(task), BEGIN.to_owned())
        }
        TaskIn::System => {
            (format!("{}\n\n{task}", prompt.trim_end()).trim_start().to_owned(), BEGIN.to_owned())
        }
    }
}
