//! Rows of the chat screen.

use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::driver::ContextUse;
use posse_terminal::markdown::wrap_words;
use posse_terminal::painter::CursorSpot;
use posse_terminal::prompt::{LiveRows, PromptLayout};
use posse_terminal::rows::{RowState, TreeLayout, TreeUse, figures};
use posse_terminal::style::{StyledLine, TextStyle, columns};

use super::screen::{ChatFocus, ChatScreen, ChatStatus};
use super::state::WatchedChat;

/// Rows of the tree below the prompt at most.
const TREE_ROWS_MAX: usize = 6;
/// Rows of an echoed message at most; a paste is not repeated whole.
const ECHO_ROWS_MAX: usize = 12;

impl ChatScreen {
    pub(super) fn layout(&self) -> PromptLayout {
        PromptLayout { size: self.console.size(), symbols: self.watched.lock().looks.symbols }
    }

    /// Lays out the live rows: unfinished text, cards and queued messages, the prompt, the work under way, the status.
    pub(super) fn live_rows(&self, now_ms: u64) -> LiveRows {
        let (layout, dialog) = (self.layout(), self.dialog_layout());
        let state = self.watched.lock();
        let rows_max = layout.rows_max();
        let mut above = if self.working_ms.is_some() { state.pending(rows_max / 3) } else { Vec::new() };
        let (card, spot) = self.cards.lines(&dialog, now_ms);
        let spot = spot.map(|spot| CursorSpot { row: above.len() + spot.row, column: spot.column });
        above.extend(card);
        if self.cards.is_shown() && !self.editor.is_empty() && self.focus == ChatFocus::Prompt {
            above.push(StyledLine::plain(format!("  {}", say!("chat-tab-answers"))));
        } else if !self.cards.is_shown() && self.cards.put_off() > 0 {
            let waits = say!("chat-put-off", n = self.cards.put_off());
            above.push(StyledLine::plain(format!("{} {waits}", RowState::NeedsInput.mark(layout.symbols))));
        }
        let width = layout.size.columns.saturating_sub(1);
        for message in &self.queued {
            let text = say!("chat-steer-queued", text = shortened(&message.text, width));
            above.push(StyledLine::plain(layout.symbols.adapt(&text)).cut(width, layout.symbols));
        }
        let below = self.below(&state, &layout, now_ms);
        drop(state);
        let mut live = self.editor.lines(&layout, &above, &below);
        // A text that is typed into a card has the cursor.
        if let Some(spot) = spot.filter(|spot| spot.row < live.rows.len()) {
            live.cursor = spot;
        }
        live
    }

    fn below(&self, state: &WatchedChat, layout: &PromptLayout, now_ms: u64) -> Vec<StyledLine> {
        let width = layout.size.columns.saturating_sub(1);
        let plain = |text: String| StyledLine::plain(layout.symbols.adapt(&text)).cut(width, layout.symbols);
        let mut rows = Vec::new();
        let view = state.tree.view(state.tree.root(), now_ms);
        if let Some(since) = self.working_ms {
            let action = view.as_ref().map(|view| view.action.clone()).filter(|action| !action.is_empty());
            let action = match &self.command {
                Some(command) => format!("! {command}"),
                None => action.unwrap_or_else(|| say!("chat-working")),
            };
            let seconds = now_ms.saturating_sub(since) / 1_000;
            let text = match self.is_stopping {
                true => say!("chat-stopping"),
                false => say!("chat-working-line", action, seconds),
            };
            let mark = view.as_ref().map_or(RowState::Working, |view| view.state);
            let mark = if mark.is_over() || self.command.is_some() { RowState::Working } else { mark };
            let mut line = StyledLine::plain("  ");
            line.push(mark.mark(layout.symbols), mark.style());
            line.push(&layout.symbols.adapt(&format!(" {text}")), TextStyle::PLAIN);
            rows.push(line.cut(width, layout.symbols));
            rows.extend(children(state, layout, now_ms));
        }
        if let Some((hint, _)) = &self.hint {
            rows.push(plain(format!("  {hint}")));
        }
        rows.push(plain(self.status_text(&state.tree.root_use(), width)));
        rows
    }

    /// Formats the status: model, context, cost of the tree, mode. While a reply is written, its events say more than the caller
    /// knew before.
    fn status_text(&self, live: &TreeUse, width: usize) -> String {
        let ChatStatus { model, mode, context, cost_micros, subagents } = &self.status;
        let is_idle = self.working_ms.is_none();
        let is_live = !is_idle && live.context_tokens > 0;
        let (used, window) = match is_live {
            true => (live.context_tokens, live.window),
            false => (context.total(), context.window),
        };
        let filled = ContextUse { window, ..ContextUse::default() };
        let context = match filled.percent(used) {
            Some(percent) => say!("chat-context-share", percent),
            None => say!("chat-context-tokens", tokens = figures::count(used)),
        };
        // A price that is not known stays unknown.
        let cost = match (*cost_micros, live.cost_micros) {
            (Some(before), Some(now)) if is_live => Some(before.max(now)),
            (before, _) => before,
        };
        let subagents = (*subagents).max(live.subagents as u64);
        let cost = match subagents {
            0 => figures::cost(cost),
            n => say!("chat-cost-tree", cost = figures::cost(cost), n),
        };
        let with = |mode: Option<String>| {
            let parts: Vec<String> =
                [model.clone(), context.clone(), cost.clone()].into_iter().chain(mode).collect();
            format!("  {}", parts.join(" · "))
        };
        let status = with(mode.map(|mode| mode.wire().to_owned()));
        let hinted = with(mode.map(|mode| say!("chat-mode-next", mode = mode.wire())));
        // The key gives way before anything is cut.
        if is_idle && columns(&hinted) <= width { hinted } else { status }
    }
}

/// Returns the rows of subagents that are at work.
fn children(state: &WatchedChat, layout: &PromptLayout, now_ms: u64) -> Vec<StyledLine> {
    let tree = &state.tree;
    let tree_layout = TreeLayout {
        columns: layout.size.columns.saturating_sub(2),
        rows_max: TREE_ROWS_MAX,
        symbols: layout.symbols,
        selected: None,
    };
    if !tree.has_busy_child() {
        return Vec::new();
    }
    let indented = |line: &StyledLine| {
        let mut row = StyledLine::plain("  ");
        row.extend(line);
        row
    };
    tree.lines(&tree_layout, now_ms).iter().skip(1).map(indented).collect()
}

/// Formats a message of the person as it stays on the screen.
pub(super) fn echoed(text: &str, columns: usize) -> Vec<StyledLine> {
    let width = columns.saturating_sub(3).max(1);
    let shown = visible(text.trim_end()).replace('\t', "    ");
    let plain = || (StyledLine::new(), StyledLine::new());
    let mut rows: Vec<StyledLine> =
        shown.lines().flat_map(|line| wrap_words(line, TextStyle::PLAIN, plain(), width)).collect();
    if rows.len() > ECHO_ROWS_MAX {
        let hidden = rows.len() - (ECHO_ROWS_MAX - 1);
        rows.truncate(ECHO_ROWS_MAX - 1);
        rows.push(StyledLine::plain(say!("chat-echo-more", n = hidden)));
    }
    let signed = |(at, row): (usize, &StyledLine)| {
        let mut line = StyledLine::new();
        line.push(if at == 0 { "> " } else { "  " }, TextStyle::BOLD);
        row.spans().iter().for_each(|span| line.push(&span.text, TextStyle::BOLD));
        line
    };
    rows.iter().enumerate().map(signed).collect()
}

/// Wraps a line between words; later rows are indented as the first one, and behind a mark.
pub(super) fn wrapped(line: &str, columns: usize) -> Vec<StyledLine> {
    let text = line.trim_start();
    let is_marked = ["· ", "↳ ", "- ", "> "].iter().any(|mark| text.starts_with(mark));
    let first = " ".repeat(line.len() - text.len());
    let hang = format!("{first}{}", if is_marked { "  " } else { "" });
    let ends = (StyledLine::plain(first), StyledLine::plain(hang));
    wrap_words(text, TextStyle::PLAIN, ends, columns.saturating_sub(1).max(1))
}

/// Returns the beginning of a text as one line.
pub(super) fn shortened(text: &str, characters_max: usize) -> String {
    let line = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(characters_max) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
