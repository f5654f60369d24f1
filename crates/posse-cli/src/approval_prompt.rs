//! Approval prompt at the terminal: one question at a time, and everything is shown before it is answered.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use posse_core::approval::{
    ApprovalAnswer, ApprovalRequest, ApprovalScope, ApprovalVerdict, CallLine, DIFF_MARGIN, DecidedBy,
    ParkedCall, call_lines,
};
use posse_core::event::{Event, EventEntry};
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result, spans};
use posse_messages::say;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{Observer, Store};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::render::LiveTree;
use crate::terminal;

/// Poll interval for answers given elsewhere.
const LOOK: Duration = Duration::from_millis(200);
/// Lines of a long call that are shown first; `v` shows the rest.
const LINES_FIRST: usize = 20;

/// Name of the person who answers at a terminal.
pub const OPERATOR: &str = "operator";

pub struct ApprovalPrompt {
    store: Arc<dyn Store>,
    waiting: Mutex<UnboundedReceiver<String>>,
}

/// Observer that queues approval requests. A task asks about one call at a time, so the queue never exceeds the
/// number of tasks.
pub struct PromptBell(UnboundedSender<String>);

impl Observer for PromptBell {
    fn event(&self, entry: &EventEntry) {
        if let Event::ApprovalRequested { approval, .. } = &entry.event {
            // The prompt is gone, so nobody answers here.
            let _ = self.0.send(approval.clone());
        }
    }
}

impl ApprovalPrompt {
    pub fn new(store: Arc<dyn Store>) -> (Self, Arc<PromptBell>) {
        let (bell, waiting) = unbounded_channel();
        (Self { store, waiting: Mutex::new(waiting) }, Arc::new(PromptBell(bell)))
    }

    /// Asks about queued requests one after the other.
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
            // An answer for the session also settles other waiting calls; this gives them time to notice.
            tokio::time::sleep(LOOK * 2).await;
        }
        std::future::pending().await
    }
}

/// Shows a call and records the answer, unless it is answered elsewhere first or the person gives none.
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

/// Stops the reader thread when dropped. Discards unread input so that it cannot answer the next prompt.
#[derive(Default)]
struct ReaderGuard(Arc<AtomicBool>);

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        terminal::discard_typed();
    }
}

/// Runs the dialog about one call; `None` if no answer came from here.
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
        // Discards unread input: nobody approves what they have not seen.
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

/// Formats the time left, such as `denied automatically in 10 min`.
pub fn time_left(request: &ApprovalRequest) -> String {
    let left = spans::in_words(request.deadline_ms.saturating_sub(now_ms()) / 1000);
    match request.on_deadline {
        ApprovalVerdict::Approve => say!("approved-in", left),
        ApprovalVerdict::Deny => say!("denied-in", left),
    }
}

/// Colors a piece of a line if the line belongs to a diff.
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

/// Pages through all lines. Returns true if the last line was shown.
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

/// Wraps lines to the terminal width; colors diffs.
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

/// Reads a line from the terminal by polling, so that the wait can be stopped; `None` if it was stopped or input
/// ended.
fn read_line(over: &AtomicBool) -> Option<String> {
    let mut line = Vec::new();
    while !over.load(Ordering::Relaxed) {
        if !terminal::is_readable(std::io::stdin(), LOOK) {
            continue;
        }
        if over.load(Ordering::Relaxed) {
            break;
        }
        let mut bytes = [0_u8; 1];
        match rustix::io::read(std::io::stdin(), &mut bytes) {
            Ok(1) if bytes[0] == b'\n' => return Some(String::from_utf8_lossy(&line).into_owned()),
            Ok(1) if line.len() < LINE_BYTES_MAX => line.push(bytes[0]),
            Ok(1) => {}
            _ => return None,
        }
    }
    None
}

/// Longer than any reason that a person types.
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
