//! Asking the person at the terminal: one question at a time, everything shown before it is answered.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use posse_core::approval::{
    ApprovalAnswer, ApprovalRequest, ApprovalScope, ApprovalVerdict, CallLine, DIFF_MARGIN, DecidedBy,
    ParkedCall, call_lines,
};
use posse_core::event::Event;
use posse_core::id::TaskId;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{Observer, Store};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::render::LiveTree;
use crate::{spans, terminal};

/// How soon a question is taken back that was answered elsewhere.
const LOOK: Duration = Duration::from_millis(200);
/// Of a long call, so many lines are shown at first; `v` shows the rest.
const LINES_FIRST: usize = 20;

/// Who answers at a terminal.
pub const OPERATOR: &str = "operator";

pub struct ApprovalPrompt {
    store: Arc<dyn Store>,
    waiting: Mutex<UnboundedReceiver<String>>,
}

/// Hears what is asked. A task asks about one call at a time, so there are never more than tasks.
pub struct PromptBell(UnboundedSender<String>);

impl Observer for PromptBell {
    fn event(&self, _: &TaskId, event: &Event) {
        if let Event::ApprovalRequested { approval, .. } = event {
            // Nobody answers any more when the desk is gone.
            let _ = self.0.send(approval.clone());
        }
    }
}

impl ApprovalPrompt {
    pub fn new(store: Arc<dyn Store>) -> (Self, Arc<PromptBell>) {
        let (bell, waiting) = unbounded_channel();
        (Self { store, waiting: Mutex::new(waiting) }, Arc::new(PromptBell(bell)))
    }

    /// Answers one after the other, for as long as there are questions.
    pub async fn work(&self, live: Option<&LiveTree>) -> Error {
        let mut waiting = self.waiting.lock().await;
        while let Some(id) = waiting.recv().await {
            if let Some(live) = live {
                live.pause();
            }
            let asked = ask(&*self.store, &id).await;
            if let Some(live) = live {
                live.go_on();
            }
            if let Err(e) = asked {
                return e;
            }
            // An answer for the session also answers others that wait; they hear it in this time.
            tokio::time::sleep(LOOK * 2).await;
        }
        std::future::pending().await
    }
}

/// Shows a call and takes the answer, unless somebody else answers first or the person gives none.
pub async fn ask(store: &dyn Store, id: &str) -> Result<()> {
    let parked = store.approval(id).await?;
    if !parked.is_open() {
        return Ok(());
    }
    let over = ReaderGuard::default();
    let (shown, flag) = (parked.clone(), over.0.clone());
    let mut answering = tokio::task::spawn_blocking(move || question(&shown, &flag));
    let answer = loop {
        tokio::select! {
            answer = &mut answering => break answer.ok().flatten(),
            () = tokio::time::sleep(LOOK) => {
                let now = store.approval(id).await?;
                if !now.is_open() && !over.0.swap(true, Ordering::Relaxed) {
                    terminal::note(&format!("\n{}", say!("approval-now", id, state = now.state.wire())));
                }
            }
        }
    };
    let Some(answer) = answer else { return Ok(()) };
    match store.answer(id, &parked.request.hash, answer).await {
        Ok(_) => Ok(()),
        Err(e) if e.code() == ErrorCode::ApprovalClosed => {
            terminal::note(&visible(e.message()));
            Ok(())
        }
        Err(e) => Err(e),
    }
}

/// Ends the thread that reads when nobody waits for it any more. What was typed for this question and not taken is for no other.
#[derive(Default)]
struct ReaderGuard(Arc<AtomicBool>);

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        terminal::discard_typed();
    }
}

/// The whole conversation about one call. `None`: no answer came from here.
fn question(parked: &ParkedCall, over: &AtomicBool) -> Option<ApprovalAnswer> {
    let (width, _) = terminal::size();
    let lines = wrapped(&call_lines(parked), width);
    let (first, rest) = lines.split_at(lines.len().min(LINES_FIRST));
    terminal::note("");
    show(first);
    if !rest.is_empty() {
        terminal::note(&say!("desk-more", lines = rest.len()));
    }
    terminal::note(&time_left(&parked.request));
    let mut is_seen = rest.is_empty();
    loop {
        // Nobody says yes to what they have not seen.
        terminal::discard_typed();
        prompt(&format!("{} ", say!("desk-choices")));
        let line = read_line(over)?;
        let yes = |scope| Some(ApprovalAnswer { scope, ..by_operator(ApprovalVerdict::Approve) });
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" | "t" | "task" | "s" | "session" if !is_seen => {
                terminal::note(&say!("approval-not-all-shown"));
            }
            "y" | "yes" => return yes(ApprovalScope::Once),
            "t" | "task" => return yes(ApprovalScope::Task),
            "s" | "session" => return yes(ApprovalScope::Session),
            "n" | "no" => {
                prompt(&format!("{} ", say!("desk-why")));
                let reason = read_line(over)?;
                let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
                return Some(ApprovalAnswer { reason, ..by_operator(ApprovalVerdict::Deny) });
            }
            "v" | "view" => is_seen |= page(&lines, over)?,
            _ => terminal::note(&say!("desk-keys")),
        }
    }
}

/// `denied automatically in 10 min`.
pub fn time_left(request: &ApprovalRequest) -> String {
    let left = spans::in_words(request.deadline_ms.saturating_sub(now_ms()) / 1000);
    match request.on_deadline {
        ApprovalVerdict::Approve => say!("approved-in", left),
        ApprovalVerdict::Deny => say!("denied-in", left),
    }
}

/// A piece of a line; in color if the line is one of a diff.
pub fn painted(line: &CallLine, piece: &str) -> String {
    match line.text.strip_prefix(DIFF_MARGIN).filter(|_| line.is_diff) {
        None => piece.to_owned(),
        Some(of_diff) => match piece.strip_prefix(DIFF_MARGIN) {
            Some(inner) => format!("{DIFF_MARGIN}{}", terminal::diff_piece(of_diff, inner)),
            None => terminal::diff_piece(of_diff, piece),
        },
    }
}

pub fn by_operator(verdict: ApprovalVerdict) -> ApprovalAnswer {
    ApprovalAnswer::new(verdict, DecidedBy::Person(OPERATOR.to_owned()), now_ms())
}

/// Everything, a screen at a time. Returns whether the last line was shown.
fn page(lines: &[String], over: &AtomicBool) -> Option<bool> {
    let (_, rows) = terminal::size();
    let pages: Vec<&[String]> = lines.chunks(rows.saturating_sub(2).max(1)).collect();
    for (number, page) in pages.iter().enumerate() {
        show(page);
        let left: usize = pages[number + 1..].iter().map(|page| page.len()).sum();
        if left > 0 {
            prompt(&say!("desk-page", lines = left));
            if read_line(over)?.trim() == "q" {
                return Some(false);
            }
        }
    }
    Some(true)
}

fn show(lines: &[String]) {
    lines.iter().for_each(|line| terminal::note(line));
}

/// Lines as a terminal of this width shows them: long ones in pieces, a diff in color.
fn wrapped(lines: &[CallLine], width: usize) -> Vec<String> {
    let mut out = Vec::new();
    for line in lines {
        let characters: Vec<char> = line.text.chars().collect();
        let pieces = characters.chunks(width.max(8)).map(|piece| piece.iter().collect::<String>());
        match characters.is_empty() {
            true => out.push(String::new()),
            false => out.extend(pieces.map(|piece| painted(line, &piece))),
        }
    }
    out
}

fn prompt(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// A line from the terminal. It looks whether there is one, so that the wait can end; `None`: it was to end, or the input has.
fn read_line(over: &AtomicBool) -> Option<String> {
    let mut line = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let mut ready = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
        // SAFETY: polls one descriptor and writes to the one struct that is given.
        if unsafe { libc::poll(&mut ready, 1, LOOK.as_millis() as i32) } <= 0 {
            continue;
        }
        if over.load(Ordering::Relaxed) {
            break;
        }
        let mut bytes = [0_u8; 1];
        // SAFETY: reads at most one byte into a buffer of one.
        match unsafe { libc::read(libc::STDIN_FILENO, bytes.as_mut_ptr().cast(), 1) } {
            1 if bytes[0] == b'\n' => return Some(String::from_utf8_lossy(&line).into_owned()),
            1 if line.len() < LINE_BYTES_MAX => line.push(bytes[0]),
            1 => {}
            _ => return None,
        }
    }
    None
}

/// More than a person types as a reason.
const LINE_BYTES_MAX: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_in_full() {
        let texts = ["x".repeat(25), String::new(), "日本語".to_owned()];
        let lines = texts.clone().map(|text| CallLine { text, is_diff: false });
        assert_eq!(
            wrapped(&lines, 10),
            ["x".repeat(10), "x".repeat(10), "x".repeat(5), String::new(), "日本語".to_owned()]
        );
        assert_eq!(wrapped(&lines, 0).concat(), texts.concat());
    }
}
