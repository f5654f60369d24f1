//! Messages and questions of tasks, in memory.

use posse_core::id::TaskId;
use posse_core::{Error, ErrorCode, Result};

use super::{MemoryState, MemoryStore};
use crate::ports::{
    BoxFuture, MessageReceipt, MessageStore, NewQuestion, ParentQuestion, QuestionAnswer, QuestionState,
    RECEIPTS_MAX, SteeringMessage, TaskQuestion, UNREAD_MAX,
};

/// Messages and questions of all tasks, in order of arrival.
#[derive(Default)]
pub(super) struct MessageTable {
    messages: Vec<(SteeringMessage, MessageReceipt)>,
    questions: Vec<MemoryQuestion>,
}

struct MemoryQuestion {
    task: TaskId,
    key: String,
    answered_by: Option<String>,
    held: TaskQuestion,
}

impl MessageTable {
    /// Marks the message with this key as read by its task.
    pub fn deliver(&mut self, task: &TaskId, key: &str, turn: u32) {
        let read = self.messages.iter_mut().find(|(message, _)| message.task == *task && message.key == key);
        if let Some((_, receipt)) = read {
            *receipt = MessageReceipt::Delivered { turn };
        }
    }

    /// Marks the queued messages of a task that has ended as missed.
    pub fn miss(&mut self, task: &TaskId) {
        for (_, receipt) in self.messages.iter_mut().filter(|(message, _)| message.task == *task) {
            if *receipt == MessageReceipt::Queued {
                *receipt = MessageReceipt::Missed;
            }
        }
    }

    fn newest(&mut self, task: &TaskId) -> Option<&mut MemoryQuestion> {
        self.questions.iter_mut().rfind(|asked| asked.task == *task)
    }
}

impl MemoryState {
    pub fn send(&mut self, message: &SteeringMessage) -> Result<MessageReceipt> {
        let number = self.number(&message.task)?;
        let of_task = || self.messages.messages.iter().filter(|(known, _)| known.task == message.task);
        if let Some((_, receipt)) = of_task().find(|(known, _)| known.key == message.key) {
            return Ok(*receipt);
        }
        if !self.tasks[number].row.state.is_running() {
            return Ok(MessageReceipt::Missed);
        }
        if of_task().filter(|(_, receipt)| *receipt == MessageReceipt::Queued).count() >= UNREAD_MAX {
            return Ok(MessageReceipt::Full);
        }
        self.messages.messages.push((message.clone(), MessageReceipt::Queued));
        Ok(MessageReceipt::Queued)
    }

    pub fn ask(&mut self, new: &NewQuestion) -> Result<TaskQuestion> {
        self.number(&new.task)?;
        let questions = &mut self.messages.questions;
        let of_task = |asked: &&mut MemoryQuestion| asked.task == new.task;
        if let Some(asked) = questions.iter_mut().filter(of_task).find(|asked| asked.key == new.key) {
            if asked.held.state == QuestionState::Closed {
                asked.held.state = QuestionState::Open;
            }
            return Ok(asked.held.clone());
        }
        let id = questions.iter().filter(|asked| asked.task == new.task).count() as u32 + 1;
        let question = ParentQuestion { id, text: new.text.clone(), options: new.options.clone() };
        let held = TaskQuestion { question, state: QuestionState::Open };
        questions.push(MemoryQuestion {
            task: new.task.clone(),
            key: new.key.clone(),
            answered_by: None,
            held: held.clone(),
        });
        Ok(held)
    }

    pub fn answer_asked(&mut self, answer: &QuestionAnswer) -> Result<Option<TaskQuestion>> {
        let number = self.number(&answer.task)?;
        let is_running = self.tasks[number].row.state.is_running();
        let by_key = |asked: &&MemoryQuestion| {
            asked.task == answer.task && asked.answered_by.as_ref() == Some(&answer.key)
        };
        if let Some(asked) = self.messages.questions.iter().find(by_key) {
            return Ok(Some(asked.held.clone()));
        }
        let open = self.messages.newest(&answer.task);
        let open = open.filter(|asked| is_running && asked.held.state == QuestionState::Open);
        Ok(open.map(|asked| {
            asked.held.state = QuestionState::Answered(answer.text.clone());
            asked.answered_by = Some(answer.key.clone());
            asked.held.clone()
        }))
    }

    pub fn close_asked(&mut self, task: &TaskId, id: u32) -> Result<TaskQuestion> {
        self.number(task)?;
        let asked = |asked: &&mut MemoryQuestion| asked.task == *task && asked.held.question.id == id;
        let asked = self.messages.questions.iter_mut().find(asked);
        let asked = asked.ok_or_else(|| unknown_question(task, id))?;
        if asked.held.state == QuestionState::Open {
            asked.held.state = QuestionState::Closed;
        }
        Ok(asked.held.clone())
    }
}

/// Creates the error for a question that a task never asked.
fn unknown_question(task: &TaskId, id: u32) -> Error {
    Error::new(ErrorCode::Internal, format!("`{task}` has no question {id}"))
}

impl MessageStore for MemoryStore {
    fn send_message(&self, message: SteeringMessage) -> BoxFuture<'_, Result<MessageReceipt>> {
        self.write(move |state, _| state.send(&message))
    }

    fn queued_messages<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<SteeringMessage>>> {
        let state = self.lock();
        let queued = state.messages.messages.iter().filter(|(message, receipt)| {
            *receipt == MessageReceipt::Queued && message.task.session() == session
        });
        let answer = Ok(queued.map(|(message, _)| message.clone()).collect());
        Box::pin(async { answer })
    }

    fn receipts<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Vec<(String, MessageReceipt)>>> {
        let state = self.lock();
        let own = state.messages.messages.iter().filter(|(message, _)| message.task == *task);
        let mut receipts: Vec<_> = own.map(|(message, receipt)| (message.key.clone(), *receipt)).collect();
        let answer =
            state.number(task).map(|_| receipts.split_off(receipts.len().saturating_sub(RECEIPTS_MAX)));
        Box::pin(async { answer })
    }

    fn ask_question(&self, question: NewQuestion) -> BoxFuture<'_, Result<TaskQuestion>> {
        self.write(move |state, _| state.ask(&question))
    }

    fn answer_question(&self, answer: QuestionAnswer) -> BoxFuture<'_, Result<Option<TaskQuestion>>> {
        self.write(move |state, _| state.answer_asked(&answer))
    }

    fn close_question<'a>(&'a self, task: &'a TaskId, id: u32) -> BoxFuture<'a, Result<TaskQuestion>> {
        let task = task.clone();
        self.write(move |state, _| state.close_asked(&task, id))
    }

    fn question<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Result<Option<TaskQuestion>>> {
        let mut state = self.lock();
        let answer = state.number(task).map(|_| state.messages.newest(task).map(|asked| asked.held.clone()));
        Box::pin(async { answer })
    }
}
