//! A conversation: which task it is, and what the next message brings with it.

use posse_core::agent::ChosenModel;
use posse_core::id::TaskId;
use posse_core::journal::TaskStart;
use posse_core::text::estimate_tokens;
use posse_runtime::driver::ResumeMode;
use posse_runtime::session::fresh_id;
use serde_json::{Value, json};

/// Name of our part in `TaskStart::delivery`.
const DELIVERY: &str = "chat";

/// Mark of a task that is a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatMark {
    /// The conversation that this one continues from a summary.
    pub continues: Option<TaskId>,
}

impl ChatMark {
    /// Reads the mark of a task; `None` for one that is no conversation.
    pub fn of(start: &TaskStart) -> Option<Self> {
        let mark = start.delivery.as_ref()?.get(DELIVERY)?;
        let continues = mark.get("continues").and_then(Value::as_str);
        Some(Self { continues: continues.map(|id| TaskId::from_store(id.to_owned())) })
    }

    /// Returns the mark as a task keeps it.
    pub fn to_delivery(&self) -> Value {
        let continues = self.continues.as_ref().map(TaskId::as_str);
        json!({ DELIVERY: { "continues": continues } })
    }
}

/// A conversation. It exists in the store from its first message on.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatThread {
    /// `None` before the first message.
    id: Option<TaskId>,
    session: String,
    mark: ChatMark,
    /// Model that was chosen since the last message.
    model: Option<ChosenModel>,
    mode_changed: bool,
    /// Texts that go with the next message.
    enclosed: Vec<String>,
}

/// Work of one message.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatWork {
    /// Begin the conversation.
    Start {
        /// Text of the message.
        text: String,
        /// Mark for `TaskStart::delivery`.
        delivery: Value,
    },
    /// Continue it.
    GoOn {
        /// Task of the conversation.
        id: TaskId,
        /// The message, and the model if another one answers it.
        onward: ResumeMode,
    },
}

impl ChatThread {
    /// Creates a conversation that has not begun.
    pub fn fresh() -> Self {
        Self {
            id: None,
            session: fresh_id(),
            mark: ChatMark::default(),
            model: None,
            mode_changed: false,
            enclosed: Vec::new(),
        }
    }

    /// Takes up the conversation of a stored task.
    pub fn resumed(id: TaskId) -> Self {
        Self { session: id.session().to_owned(), id: Some(id), ..Self::fresh() }
    }

    /// Continues another conversation from a summary, which goes with the first message.
    pub fn continued(from: TaskId, summary: String) -> Self {
        let mark = ChatMark { continues: Some(from) };
        Self { mark, enclosed: vec![summary], ..Self::fresh() }
    }

    /// Returns the task, if it exists.
    pub fn id(&self) -> Option<&TaskId> {
        self.id.as_ref()
    }

    /// Returns the task, also before it exists.
    pub fn root(&self) -> TaskId {
        self.id.clone().unwrap_or_else(|| TaskId::root(&self.session))
    }

    /// Returns the id of its sessions.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Returns the conversation that this one continues.
    pub fn continues(&self) -> Option<&TaskId> {
        self.mark.continues.as_ref()
    }

    /// Tells whether the person chose another mode since the last message.
    pub fn mode_changed(&self) -> bool {
        self.mode_changed
    }

    /// Takes note of another mode. Before the first message it is that of the task.
    pub fn change_mode(&mut self) {
        self.mode_changed = self.id.is_some();
    }

    /// Takes note of another model. Before the first message it is that of the agent.
    pub fn change_model(&mut self, choice: ChosenModel) {
        self.model = self.id.is_some().then_some(choice);
    }

    /// Puts a text behind the next message.
    pub fn enclose(&mut self, text: String) {
        self.enclosed.push(text);
    }

    /// Estimates the tokens of the texts that go with the next message.
    pub fn enclosed_tokens(&self) -> u64 {
        self.enclosed.iter().map(|text| estimate_tokens(text)).sum()
    }

    /// Makes the work of the next message. From then on the conversation exists.
    pub fn next(&mut self, text: &str) -> ChatWork {
        let parts: Vec<&str> = [text].into_iter().chain(self.enclosed.iter().map(String::as_str)).collect();
        let text = parts.join("\n\n");
        match self.id.clone() {
            Some(id) => {
                let onward = match self.model.clone() {
                    Some(model) => ResumeMode::MessageTo { text, model: Box::new(model) },
                    None => ResumeMode::Message(text),
                };
                ChatWork::GoOn { id, onward }
            }
            None => {
                self.id = Some(TaskId::root(&self.session));
                ChatWork::Start { text, delivery: self.mark.to_delivery() }
            }
        }
    }

    /// Takes note that the message is in the store, with everything that went with it.
    pub fn sent(&mut self) {
        (self.model, self.mode_changed) = (None, false);
        self.enclosed.clear();
    }

    /// Takes note that the first message created no task.
    pub fn not_begun(&mut self) {
        self.id = None;
    }
}

#[cfg(test)]
mod tests {
    use posse_core::agent::ModelLimits;

    use super::*;

    fn choice() -> ChosenModel {
        let limits =
            ModelLimits { context_window: None, output_tokens_per_call: 1, output_tokens_per_call_max: 2 };
        ChosenModel { model: "p:m".to_owned(), limits }
    }

    #[test]
    fn the_first_message_begins_the_task_and_later_ones_continue_it() {
        let mut thread = ChatThread::fresh();
        // Before the task exists, it simply begins with what was chosen.
        thread.change_model(choice());
        thread.change_mode();
        thread.enclose("<output>".to_owned());
        let ChatWork::Start { text, .. } = thread.next("hello") else { panic!() };
        assert_eq!(text, "hello\n\n<output>");
        assert!(!thread.mode_changed());
        thread.sent();
        let id = thread.root();
        let onward = ResumeMode::Message("again".to_owned());
        assert_eq!(thread.next("again"), ChatWork::GoOn { id, onward });
    }

    #[test]
    fn a_chosen_model_stays_chosen_until_a_message_was_sent() {
        let mut thread = ChatThread::resumed(TaskId::root("s1"));
        thread.change_model(choice());
        for _ in 0..2 {
            let ChatWork::GoOn { onward, .. } = thread.next("hello") else { panic!() };
            assert_eq!(onward.chosen_model(), Some(&choice()));
        }
        thread.sent();
        let ChatWork::GoOn { onward, .. } = thread.next("hello") else { panic!() };
        assert_eq!(onward.chosen_model(), None);
    }

    #[test]
    fn a_conversation_names_the_one_it_continues() {
        let old = TaskId::root("old1");
        let mut thread = ChatThread::continued(old.clone(), "<summary>".to_owned());
        let ChatWork::Start { text, delivery } = thread.next("and now?") else { panic!() };
        assert_eq!(text, "and now?\n\n<summary>");
        let agent = posse_core::agent::Agent::new(posse_core::id::AgentName::parse("a").unwrap(), "p:m", "");
        let grant = posse_core::grant::Grant::root([], 0);
        let start = TaskStart { delivery: Some(Box::new(delivery)), ..TaskStart::new(agent, text, grant) };
        assert_eq!(ChatMark::of(&start), Some(ChatMark { continues: Some(old) }));
        assert_eq!(ChatMark::of(&TaskStart { delivery: None, ..start }), None);
    }
}
