//! Kinds of source lines. A line is classified by itself, so that a stream never has to take a decision back.

/// A line without its quote marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    Heading {
        level: usize,
        text: String,
    },
    Rule,
    Fence(FenceMark),
    Item(ItemMark),
    /// Text from this byte on.
    Text {
        indent: usize,
        start: usize,
    },
}

/// The opening line of fenced code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FenceMark {
    pub(super) mark: char,
    pub(super) length: usize,
    pub(super) indent: usize,
    pub(super) info: String,
}

impl FenceMark {
    /// Tells whether a line closes this fence: at least as many of the same mark, and nothing else.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        text.len() >= self.length && text.chars().all(|c| c == self.mark)
    }
}

/// The mark of a list item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ItemMark {
    pub(super) indent: usize,
    /// The mark as shown: `-` or the number.
    pub(super) shown: String,
    /// Byte at which the text of the item starts.
    pub(super) start: usize,
}

/// Tells whether an unfinished line can already be classified: it has a character that belongs to no block mark.
pub(super) fn is_decided(line: &str) -> bool {
    let is_mark = |c: char| " \t>#*+-_=`~|:.)\r".contains(c) || c.is_ascii_digit();
    line.contains(|c| !is_mark(c))
}

/// Counts the quote marks before a line; returns the byte after them.
pub(super) fn quote_marks(line: &str, depth_max: usize) -> (usize, usize) {
    let (mut depth, mut at) = (0, 0);
    while depth < depth_max {
        let rest = line[at..].trim_start_matches(' ');
        let indent = line[at..].len() - rest.len();
        if indent > 3 || !rest.starts_with('>') {
            break;
        }
        at += indent + 1;
        if line[at..].starts_with(' ') {
            at += 1;
        }
        depth += 1;
    }
    (depth, at)
}

/// Classifies a line, or the rest of one after a list mark.
pub(super) fn classify(line: &str) -> LineKind {
    let text = line.trim_start_matches([' ', '\t']);
    let start = line.len() - text.len();
    let indent = indent_columns(&line[..start]);
    if text.trim_end().is_empty() {
        return LineKind::Blank;
    }
    if is_rule(text.trim_end()) {
        return LineKind::Rule;
    }
    heading(text)
        .or_else(|| fence(text, indent))
        .or_else(|| item(text, indent, start))
        .unwrap_or(LineKind::Text { indent, start })
}

fn indent_columns(spaces: &str) -> usize {
    spaces.chars().fold(0, |column, c| if c == '\t' { (column / 4 + 1) * 4 } else { column + 1 })
}

fn is_rule(text: &str) -> bool {
    let Some(mark) = text.chars().next().filter(|c| "-*_=".contains(*c)) else { return false };
    let marks = text.chars().filter(|c| *c == mark).count();
    let spaces = text.chars().filter(|c| matches!(c, ' ' | '\t')).count();
    // `===` underlines a heading, which was committed before; a rule says the same.
    marks >= 3 && marks + spaces == text.chars().count() && (mark != '=' || spaces == 0)
}

fn heading(text: &str) -> Option<LineKind> {
    let level = text.chars().take_while(|c| *c == '#').count();
    let rest = &text[level..];
    if !(1..=6).contains(&level) || !(rest.starts_with([' ', '\t']) || rest.trim_end().is_empty()) {
        return None;
    }
    let text = rest.trim();
    let without = text.trim_end_matches('#');
    let text = if without.is_empty() || without.ends_with([' ', '\t']) { without.trim_end() } else { text };
    Some(LineKind::Heading { level, text: text.to_owned() })
}

fn fence(text: &str, indent: usize) -> Option<LineKind> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    let info = text[length..].trim();
    // With a backtick behind it, it is inline code.
    if length < 3 || (mark == '`' && info.contains('`')) {
        return None;
    }
    Some(LineKind::Fence(FenceMark { mark, length, indent, info: info.to_owned() }))
}

fn item(text: &str, indent: usize, start: usize) -> Option<LineKind> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let marks = if digits == 0 { "-*+" } else { ".)" };
    let mark = text[digits..].chars().next().filter(|c| marks.contains(*c) && digits <= 9)?;
    let rest = &text[digits + 1..];
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    let shown = if digits == 0 { "-".to_owned() } else { format!("{}{mark}", &text[..digits]) };
    let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    Some(LineKind::Item(ItemMark { indent, shown, start: start + digits + 1 + spaces }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closing_fence_is_at_least_as_long_and_of_the_same_mark() {
        let LineKind::Fence(open) = classify("~~~~ rust") else { panic!("a fence") };
        assert_eq!((open.length, open.info.as_str()), (4, "rust"));
        let closes = ["~~~", "~~~~", "  ~~~~~~ ", "````", "~~~~ x"].map(|line| open.is_closed_by(line));
        assert_eq!(closes, [false, true, true, false, false]);
    }

    #[test]
    fn years_and_products_are_no_marks() {
        for text in ["1986 was good", "2.5 times", "-x", "#tag", "*a*", "**b** c", "```x``` y"] {
            assert!(matches!(classify(text), LineKind::Text { .. }), "{text}");
        }
    }
}
