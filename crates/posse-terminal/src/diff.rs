//! Lines of a unified diff, numbered and colored.

use crate::style::{AnsiColor, StyledLine, TextStyle};

/// Line numbers of a unified diff.
#[derive(Debug, Default)]
pub struct NumberedDiff {
    old: u64,
    new: u64,
    added: u64,
    removed: u64,
    is_in_hunk: bool,
}

impl NumberedDiff {
    /// Returns the number of added lines so far.
    pub fn added(&self) -> u64 {
        self.added
    }

    /// Returns the number of removed lines so far.
    pub fn removed(&self) -> u64 {
        self.removed
    }

    /// Formats the next line; `None` for the names of the files, which a title says.
    pub fn line(&mut self, line: &str) -> Option<StyledLine> {
        if let Some(hunk) = line.strip_prefix("@@ ") {
            let start = |sign| {
                let part = hunk.split(' ').find_map(|part| part.strip_prefix(sign))?;
                part.split(',').next()?.parse::<u64>().ok()
            };
            // The gap between two hunks.
            let gap = self.is_in_hunk.then(|| StyledLine::plain("    ..."));
            (self.old, self.new) = (start('-').unwrap_or(0), start('+').unwrap_or(0));
            self.is_in_hunk = true;
            return gap;
        }
        if !self.is_in_hunk {
            let is_name = line.starts_with("--- ") || line.starts_with("+++ ");
            return (!is_name).then(|| StyledLine::plain(format!("    {line}")));
        }
        let text = line.get(1..).unwrap_or_default();
        let (sign, number, style) = match line.as_bytes().first() {
            Some(b'+') => {
                self.added += 1;
                ("+", take_number(&mut self.new), TextStyle::colored(AnsiColor::Green))
            }
            Some(b'-') => {
                self.removed += 1;
                ("-", take_number(&mut self.old), TextStyle::colored(AnsiColor::Red))
            }
            Some(b'\\') => return Some(StyledLine::plain(format!("    {line}"))),
            _ => {
                take_number(&mut self.old);
                (" ", take_number(&mut self.new), TextStyle::PLAIN)
            }
        };
        let mut out = StyledLine::plain("  ");
        out.push(&format!("{sign} {number:>2}  {}", text.replace('\t', "    ")), style);
        Some(out)
    }
}

fn take_number(next: &mut u64) -> u64 {
    let number = *next;
    *next += 1;
    number
}
