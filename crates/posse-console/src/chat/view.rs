//! Rows of the chat screen.

use posse_core::text::visible;
use posse_messages::say;
use posse_terminal::painter::CursorSpot;
use posse_terminal::prompt::{LiveRows, PromptLayout};
use posse_terminal::rows::{RowState, TreeLayout};
use posse_terminal::style::{StyledLine, TextStyle};

use super::state::WatchedChat;
use super::{ChatFocus, ChatScreen};

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
        let layout = self.layout();
        let state = self.watched.lock();
        let rows_max = layout.rows_max();
        let mut above = if self.working_ms.is_some() { state.pending(rows_max / 3) } else { Vec::new() };
        let spot = self.cards.front().map(|card| {
            let (rows, spot) = card.lines(layout.size.columns, self.card_rows(), layout.symbols, now_ms);
            let first = above.len();
            above.extend(rows);
            spot.map(|spot| CursorSpot { row: first + spot.row, column: spot.column })
        });
        if !self.cards.is_empty() && !self.editor.is_empty() && self.focus == ChatFocus::Prompt {
            above.push(StyledLine::plain(format!("  {}", say!("chat-tab-answers"))));
        }
        let width = layout.size.columns.saturating_sub(1);
        for message in &self.queued {
            let text = say!("chat-steer-queued", text = shortened(&message.text, width));
            above.push(StyledLine::plain(layout.symbols.adapt(&text)).cut(width, layout.symbols));
        }
        let below = self.below(&state, &layout, now_ms);
        drop(state);
        let mut live = self.editor.lines(&layout, &above, &below);
        // A reason that is typed into a card has the cursor.
        if let Some(spot) = spot.flatten().filter(|spot| spot.row < live.rows.len()) {
            live.cursor = spot;
        }
        live
    }

    /// Returns the rows that an approval may take.
    pub(super) fn card_rows(&self) -> usize {
        self.layout().rows_max().saturating_sub(4).max(4)
    }

    fn below(&self, state: &WatchedChat, layout: &PromptLayout, now_ms: u64) -> Vec<StyledLine> {
        let width = layout.size.columns.saturating_sub(1);
        let plain = |text: String| StyledLine::plain(layout.symbols.adapt(&text)).cut(width, layout.symbols);
        let mut rows = Vec::new();
        let view = state.tree.view(state.tree.root(), now_ms);
        if let Some(since) = self.working_ms {
            let action = view.as_ref().map(|view| view.action.clone()).filter(|action| !action.is_empty());
            let action = action.unwrap_or_else(|| say!("chat-working"));
            let seconds = now_ms.saturating_sub(since) / 1_000;
            let text = match self.is_stopping {
                true => say!("chat-stopping"),
                false => say!("chat-working-line", action, seconds),
            };
            let mark = view.as_ref().map_or(RowState::Working, |view| view.state);
            let mark = if mark.is_over() { RowState::Working } else { mark };
            let mut line = StyledLine::plain("  ");
            line.push(mark.mark(layout.symbols), mark.style());
            line.push(&layout.symbols.adapt(&format!(" {text}")), TextStyle::PLAIN);
            rows.push(line.cut(width, layout.symbols));
            rows.extend(children(state, layout, now_ms));
        }
        if let Some((hint, _)) = &self.hint {
            rows.push(plain(format!("  {hint}")));
        }
        rows.push(plain(self.status_text(view.as_ref())));
        rows
    }

    fn status_text(&self, view: Option<&posse_terminal::rows::RowView>) -> String {
        let figures = view.map(|view| view.figures.clone()).unwrap_or_default();
        let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
        let mut parts = vec![or(self.status.model.clone(), &figures.model)];
        parts.push(or(figures.context, "ctx 0%"));
        parts.push(or(figures.cost, "$0.000"));
        if let Some(mode) = self.status.mode {
            let is_idle = self.working_ms.is_none();
            parts.push(if is_idle {
                say!("chat-mode-next", mode = mode.wire())
            } else {
                mode.wire().to_owned()
            });
        }
        format!("  {}", parts.join(" · "))
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
    let mut rows: Vec<StyledLine> =
        shown.lines().flat_map(|line| StyledLine::plain(line).wrap(width)).collect();
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

/// Returns the beginning of a text as one line.
pub(super) fn shortened(text: &str, characters_max: usize) -> String {
    let line = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(characters_max) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
