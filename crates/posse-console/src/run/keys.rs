//! Keys of the run screen.

use posse_core::approval::ApprovalVerdict;
use posse_core::id::TaskId;
use posse_terminal::dialog::DialogStep;
use posse_terminal::input::{InputStep, LineInput};
use posse_terminal::keys::{KeyCode, KeyEvent, KeyModifiers};

use super::state::{RunEnd, RunRequest, RunState, ScreenMode};

impl RunState {
    /// Takes a key. What it asks for is among the requests afterwards.
    pub(super) fn key(&mut self, key: &KeyEvent, now_ms: u64) {
        if key.modifiers.contains(KeyModifiers::CONTROL) && self.control_key(key) {
            return;
        }
        match std::mem::replace(&mut self.mode, ScreenMode::Watching) {
            ScreenMode::Watching => self.watching_key(key, now_ms),
            ScreenMode::Cancelling { task } => {
                if key.code == KeyCode::Char('y') {
                    self.requests.push(RunRequest::Cancel { task });
                }
            }
            ScreenMode::Steering { task, mut input } => match input.key(key) {
                InputStep::Editing => self.mode = ScreenMode::Steering { task, input },
                InputStep::Done if !input.text().is_empty() => {
                    self.requests.push(RunRequest::Steer { task, text: input.text().to_owned() });
                }
                InputStep::Done | InputStep::Dropped => {}
            },
            ScreenMode::Answering { task, mut input } => match input.key(key) {
                InputStep::Editing => self.mode = ScreenMode::Answering { task, input },
                InputStep::Done if !input.text().is_empty() => {
                    self.requests.push(RunRequest::Reply { task, text: input.text().to_owned() });
                }
                InputStep::Done | InputStep::Dropped => {}
            },
        }
    }

    /// Takes pasted text, which only a typed line has room for.
    pub(super) fn paste(&mut self, text: &str) {
        match &mut self.mode {
            ScreenMode::Steering { input, .. } | ScreenMode::Answering { input, .. } => input.paste(text),
            ScreenMode::Watching | ScreenMode::Cancelling { .. } => {
                if let Some(at) = self.front_approval() {
                    self.approvals[at].dialog.paste(text);
                }
            }
        }
    }

    /// Takes a key that means the same everywhere; returns false if it does not.
    fn control_key(&mut self, key: &KeyEvent) -> bool {
        match key.code {
            KeyCode::Char('c') => self.requests.push(RunRequest::End(RunEnd::Interrupted)),
            KeyCode::Char('l') => self.requests.push(RunRequest::Repaint),
            KeyCode::Char('t') => {
                let lines = self.answer.toggle_thinking();
                self.lines.extend(lines);
            }
            _ => return false,
        }
        true
    }

    fn watching_key(&mut self, key: &KeyEvent, now_ms: u64) {
        match key.code {
            KeyCode::Up => return self.select(-1),
            KeyCode::Down => return self.select(1),
            _ => {}
        }
        if let Some(at) = self.front_approval() {
            return self.approval_key(at, key, now_ms);
        }
        match key.code {
            KeyCode::Char('a') => self.answer_key(now_ms),
            KeyCode::Char(digit @ '1'..='9') => self.option_key(digit, now_ms),
            KeyCode::Char('s') => {
                self.mode = ScreenMode::Steering { task: self.target(), input: LineInput::default() };
            }
            KeyCode::Enter if self.looks.can_open => {
                self.requests.push(RunRequest::Open { task: self.target() });
            }
            KeyCode::Char('c') => self.mode = ScreenMode::Cancelling { task: self.target() },
            KeyCode::Char('q') if self.looks.can_leave => match self.leaving_ms {
                None => self.leaving_ms = Some(now_ms),
                // Asked twice: at once, whatever is under way.
                Some(_) => self.requests.push(RunRequest::End(RunEnd::Left)),
            },
            KeyCode::Char('?') => self.has_help = !self.has_help,
            KeyCode::Esc => (self.selected, self.has_help, self.leaving_ms) = (None, false, None),
            _ => {}
        }
    }

    /// Returns the task that a key is about.
    fn target(&self) -> TaskId {
        self.selected.clone().unwrap_or_else(|| self.tree.root().clone())
    }

    fn select(&mut self, step: isize) {
        let order = self.tree.order(&self.tree_layout(self.tree_rows()));
        let at = self.selected.as_ref().and_then(|task| order.iter().position(|known| known == task));
        let next = match at {
            None if step > 0 => Some(0),
            None => order.len().checked_sub(1),
            Some(at) => at.checked_add_signed(step),
        };
        if let Some(task) = next.and_then(|next| order.get(next)) {
            self.selected = Some(task.clone());
        }
    }

    fn approval_key(&mut self, at: usize, key: &KeyEvent, now_ms: u64) {
        let layout = self.dialog_layout();
        let Some(open) = self.approvals.get_mut(at) else { return };
        match open.dialog.key(key, &layout, now_ms) {
            DialogStep::Open => {}
            DialogStep::Print(lines) => self.lines.extend(lines),
            DialogStep::Later => open.is_later = true,
            DialogStep::Answered(answer) => {
                let (approval, hash) = (open.parked.id.clone(), open.parked.request.hash.clone());
                self.lines.push(open.dialog.receipt(&answer, self.looks.symbols));
                if answer.verdict == ApprovalVerdict::Deny {
                    let request = &open.parked.request;
                    self.denied.insert((request.task.clone(), request.tool.clone()));
                }
                self.approvals.remove(at);
                self.requests.push(RunRequest::Answer { approval, hash, answer });
            }
        }
    }

    /// Opens what waits for an answer: a call that was put off, else a question.
    fn answer_key(&mut self, now_ms: u64) {
        if let Some(open) = self.approvals.iter_mut().find(|open| open.is_later) {
            open.is_later = false;
            open.dialog.reopen(now_ms);
        } else if let Some(task) = self.asking() {
            self.mode = ScreenMode::Answering { task, input: LineInput::default() };
        }
    }

    fn option_key(&mut self, digit: char, now_ms: u64) {
        let Some(task) = self.asking() else { return };
        if let Some(text) = self.questions[&task].option(digit, now_ms) {
            self.requests.push(RunRequest::Reply { task: task.clone(), text: text.to_owned() });
        }
    }

    /// Returns the task whose question is shown: the selected one, or the first.
    pub(super) fn asking(&self) -> Option<TaskId> {
        let selected = self.selected.as_ref().filter(|task| self.questions.contains_key(*task));
        selected.or_else(|| self.questions.keys().next()).cloned()
    }
}
