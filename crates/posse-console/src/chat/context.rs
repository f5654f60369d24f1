//! What fills the window, as rows.

use posse_messages::say;
use posse_runtime::driver::ContextUse;
use posse_terminal::rows::figures;
use posse_terminal::style::{AnsiColor, StyledLine, SymbolSet, TextStyle, columns};

/// Columns of the bar at most.
const BAR_COLUMNS_MAX: usize = 60;

/// Lays out the use of the window: a bar, and a row for each part.
pub(super) fn lines(context: &ContextUse, model: &str, width: usize, symbols: SymbolSet) -> Vec<StyledLine> {
    let total = context.total();
    let (used, percent) = (figures::count(total), context.percent(total));
    let title = match (context.window, percent) {
        (Some(window), Some(percent)) => {
            say!("chat-context-title", model, used, window = figures::count(window), percent)
        }
        _ => say!("chat-context-title-open", model, used),
    };
    let parts = [
        (say!("chat-context-system"), context.system, AnsiColor::Cyan),
        (say!("chat-context-tools"), context.tools, AnsiColor::Yellow),
        (say!("chat-context-messages"), context.messages, AnsiColor::Green),
        (say!("chat-context-results"), context.results, AnsiColor::Magenta),
    ];
    let mut rows = vec![StyledLine::plain(symbols.adapt(&title))];
    let whole = context.window.unwrap_or(total).max(total);
    rows.push(bar(parts.each_ref().map(|(_, tokens, color)| (*tokens, *color)), whole, width, symbols));
    let free = context.window.map(|window| (say!("chat-context-free"), window.saturating_sub(total)));
    let label_columns =
        parts.iter().map(|(label, ..)| label).chain(free.iter().map(|(label, _)| label)).map(|l| columns(l));
    let label_columns = label_columns.max().unwrap_or(0);
    let row = |label: &str, tokens: u64, mark: &str, style: TextStyle| {
        let mut line = StyledLine::plain("  ");
        line.push(mark, style);
        line.push(&format!(" {label}"), TextStyle::PLAIN);
        line.pad_to(4 + label_columns);
        let share = match context.percent(tokens) {
            Some(percent) => percent,
            None => tokens.saturating_mul(100).div_ceil(total.max(1)),
        };
        line.push(&format!("  {:>5} {share:>4}%", figures::count(tokens)), TextStyle::PLAIN);
        line
    };
    rows.extend(
        parts.iter().map(|(label, tokens, color)| {
            row(label, *tokens, glyph(symbols, true), TextStyle::colored(*color))
        }),
    );
    rows.extend(
        free.iter().map(|(label, tokens)| row(label, *tokens, glyph(symbols, false), TextStyle::DIM)),
    );
    rows
}

/// Draws the parts of the window side by side. A part that is there has a column.
fn bar(parts: [(u64, AnsiColor); 4], whole: u64, width: usize, symbols: SymbolSet) -> StyledLine {
    let room = BAR_COLUMNS_MAX.min(width.saturating_sub(4)).max(parts.len());
    let mut line = StyledLine::plain("  ");
    let mut left = room;
    for (tokens, color) in parts {
        let share = u64::try_from(room).unwrap_or(0).saturating_mul(tokens) / whole.max(1);
        let share = usize::try_from(share).unwrap_or(room).max(usize::from(tokens > 0)).min(left);
        line.push(&glyph(symbols, true).repeat(share), TextStyle::colored(color));
        left -= share;
    }
    line.push(&glyph(symbols, false).repeat(left), TextStyle::DIM);
    line
}

fn glyph(symbols: SymbolSet, is_used: bool) -> &'static str {
    match (symbols, is_used) {
        (SymbolSet::Unicode, true) => "█",
        (SymbolSet::Unicode, false) => "░",
        (SymbolSet::Ascii, true) => "#",
        (SymbolSet::Ascii, false) => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(context: ContextUse, width: usize) -> Vec<String> {
        lines(&context, "sonnet-5", width, SymbolSet::Ascii).iter().map(StyledLine::text).collect()
    }

    #[test]
    fn parts_are_shown_in_tokens_and_shares_of_the_window() {
        let context = ContextUse {
            system: 2_000,
            tools: 4_000,
            messages: 10_000,
            results: 30_000,
            window: Some(200_000),
        };
        assert_eq!(
            shown(context, 44),
            [
                "sonnet-5: 46k of 200k tokens, 23%",
                "  ##########..............................",
                "  # system prompt   2.0k    1%",
                "  # tools           4.0k    2%",
                "  # messages         10k    5%",
                "  # tool results     30k   15%",
                "  . free            154k   77%",
            ]
        );
    }

    #[test]
    fn without_a_known_window_shares_are_of_what_is_there() {
        let context = ContextUse { system: 30, tools: 60, messages: 10, ..ContextUse::default() };
        let rows = shown(context, 24);
        assert_eq!(rows[0], "sonnet-5: 100 tokens, its window is not known");
        assert_eq!(
            rows[1..],
            [
                "  ####################",
                "  # system prompt     30   30%",
                "  # tools             60   60%",
                "  # messages          10   10%",
                "  # tool results       0    0%",
            ]
        );
    }
}
