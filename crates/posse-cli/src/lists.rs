//! Lists for people: tables as wide as the terminal.

use std::io::IsTerminal;
use std::path::Path;

use posse_console::story::StoryStyle;
use posse_terminal::style::{StylePalette, StyledLine, SymbolSet};
use posse_terminal::table::TextTable;

use crate::{setup, terminal};

/// Prints a table: as wide as the terminal, or as wide as it needs in a pipe.
pub fn print(table: &TextTable) {
    let is_terminal = std::io::stdout().is_terminal();
    // The last column stays empty: some terminals wrap a line that fills it.
    let width = is_terminal.then(|| terminal::width().saturating_sub(1));
    let palette =
        if is_terminal && terminal::colours_are_wanted() { StylePalette::Ansi } else { StylePalette::Plain };
    for line in table.lines(width, if is_terminal { terminal::symbols() } else { SymbolSet::Unicode }) {
        terminal::out(&line.to_ansi(palette));
    }
}

/// Returns the looks of a story: as wide as the terminal, or uncut in a pipe.
pub fn story_style() -> StoryStyle {
    let width = std::io::stdout().is_terminal().then(|| terminal::width().saturating_sub(1));
    StoryStyle { width, symbols: terminal::looks().symbols }
}

/// Prints lines, through a pager if they are longer than the terminal.
pub fn page(lines: &[StyledLine]) {
    let is_colored = std::io::stdout().is_terminal() && terminal::colours_are_wanted();
    let palette = if is_colored { StylePalette::Ansi } else { StylePalette::Plain };
    let lines: Vec<String> = lines.iter().map(|line| line.to_ansi(palette)).collect();
    terminal::page(&lines.join("\n"));
}

/// Shortens a path below the home directory to `~/…`.
pub fn short_path(path: &Path) -> String {
    setup::PROCESS.short_path(path)
}
