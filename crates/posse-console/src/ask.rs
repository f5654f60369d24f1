//! One call that waits for approval, asked about on a console of its own.

use std::time::Duration;

use posse_core::approval::ParkedCall;
use posse_core::{ErrorCode, Result};
use posse_runtime::context::now_ms;
use posse_runtime::ports::Store;
use posse_terminal::dialog::{ApprovalDialog, DialogLayout, DialogStep};
use posse_terminal::keys::{KeyCode, KeyEvent, KeyModifiers};
use posse_terminal::painter::CursorSpot;
use posse_terminal::style::SymbolSet;

use crate::console::{Console, ConsoleEvent, ConsoleEvents};
use crate::run::by_operator;

/// Interval of looking whether the call was answered elsewhere; the clock of its deadline ticks with it.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// End of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskEnd {
    /// Answered here.
    Answered,
    /// Answered elsewhere, or its task has ended.
    Elsewhere,
    /// The person decides later.
    Later,
    /// Ctrl-C, or the terminal is gone.
    Stopped,
}

/// Asks about a call and records the answer.
pub async fn ask(
    console: &Console,
    events: &mut ConsoleEvents,
    symbols: SymbolSet,
    store: &dyn Store,
    parked: &ParkedCall,
) -> Result<AskEnd> {
    let mut dialog = ApprovalDialog::new(parked, now_ms());
    loop {
        let size = console.size();
        let rows_max = size.rows.saturating_sub(2).max(4);
        let layout = DialogLayout { columns: size.columns, rows_max, symbols };
        let (rows, cursor) = dialog.lines(&layout, now_ms());
        console.show(rows, cursor.unwrap_or_default());
        let event = tokio::select! {
            event = events.recv() => event,
            () = tokio::time::sleep(LOOK_INTERVAL) => {
                if !store.approval(&parked.id).await?.is_open() {
                    return Ok(AskEnd::Elsewhere);
                }
                continue;
            }
        };
        let step = match event {
            None => return Ok(AskEnd::Stopped),
            Some(ConsoleEvent::Key(key)) if is_interrupt(&key) => return Ok(AskEnd::Stopped),
            Some(ConsoleEvent::Key(key)) => dialog.key(&key, &layout, now_ms()),
            Some(ConsoleEvent::Paste(text)) => {
                dialog.paste(&text);
                DialogStep::Open
            }
            Some(ConsoleEvent::Resize(_)) => DialogStep::Open,
        };
        match step {
            DialogStep::Open => {}
            DialogStep::Print(lines) => console.commit(lines),
            DialogStep::Later => return Ok(AskEnd::Later),
            DialogStep::Answered(answer) => {
                console.commit(vec![dialog.receipt(&answer, symbols)]);
                console.show(Vec::new(), CursorSpot::default());
                return match store.answer(&parked.id, &parked.request.hash, by_operator(answer)).await {
                    Ok(_) => Ok(AskEnd::Answered),
                    Err(e) if e.code() == ErrorCode::ApprovalClosed => Ok(AskEnd::Elsewhere),
                    Err(e) => Err(e),
                };
            }
        }
    }
}

fn is_interrupt(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL
}
