//! Lists for people: tables as wide as the terminal.

use std::io::IsTerminal;
use std::path::Path;

use posse_terminal::style::{StylePalette, SymbolSet};
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

/// Shortens a path below the home directory to `~/…`.
pub fn short_path(path: &Path) -> String {
    setup::PROCESS.short_path(path)
}
