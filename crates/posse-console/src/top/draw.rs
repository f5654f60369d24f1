//! Layout of the screen: list and pane side by side in a wide terminal, one above the other in a narrow one.

use posse_core::id::TaskId;
use posse_core::text::visible;
use posse_messages::say;
use posse_runtime::ports::ParentQuestion;
use posse_terminal::input::LineInput;
use posse_terminal::rows::{RowState, figures};
use posse_terminal::style::{AnsiColor, StylePalette, StyledLine, SymbolSet, TextStyle, columns, cut_text};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};

use super::TopScope;
use super::board::{BoardLine, BoardTask, TaskGroup, heading};
use super::panes::held_paths;
use super::view::{FrameMap, PANE_HEAD_ROWS, PaneKind, SPLIT_COLUMNS, ScreenFocus, TopDialog, TopView};

/// Columns of the list from which it shows title and action of a task.
const TITLE_COLUMNS: usize = 72;
/// Columns of the list from which it shows the cost.
const COST_COLUMNS: usize = 58;
/// Columns of a time: `1m12s`.
const TIME_COLUMNS: usize = 5;
/// Columns of a cost: `$0.021`.
const PRICE_COLUMNS: usize = 6;

/// Draws the screen; returns the cursor if text is typed.
pub fn draw(view: &mut TopView, area: Rect, buffer: &mut Buffer, now_ms: u64) -> Option<Position> {
    if area.width == 0 || area.height < 4 {
        return None;
    }
    let was_split = view.is_split();
    measure(view, area);
    if was_split != view.is_split() {
        view.arrange(now_ms);
    }
    view.show_selected();
    let mut canvas = ScreenCanvas { buffer, palette: view.options.palette };
    draw_head(view, area, &mut canvas);
    if let TopDialog::Approval(dialog) = &view.dialog {
        let (lines, spot) = dialog.lines(&view.card_layout(), now_ms);
        canvas.put_all(Rect { y: 1, height: area.height - 2, ..area }, &lines);
        if let Some(spot) = spot {
            draw_foot(view, area, &mut canvas);
            return Some(Position { x: spot.column as u16, y: 1 + spot.row as u16 });
        }
    } else if matches!(view.dialog, TopDialog::Keys) {
        canvas.put_all(
            Rect { y: 1, height: area.height - 2, ..area },
            &key_lines(usize::from(area.width) - 1, view.options.symbols),
        );
    } else if let TopDialog::Question { task, question, .. } = &view.dialog {
        let lines = question_lines(view, task, question, now_ms);
        canvas.put_all(Rect { y: 1, height: area.height - 2, ..area }, &lines);
    } else {
        draw_body(view, area, &mut canvas, now_ms);
    }
    draw_foot(view, area, &mut canvas)
}

/// Lays out a question with its possible answers.
fn question_lines(view: &TopView, task: &TaskId, question: &ParentQuestion, now_ms: u64) -> Vec<StyledLine> {
    let width = usize::from(view.frame.size.0).saturating_sub(1);
    let symbols = view.options.symbols;
    let agent = view.board.view(task, now_ms).map(|row| row.agent).unwrap_or_default();
    let state = RowState::NeedsInput;
    let mut title = StyledLine::new();
    title.push(state.mark(symbols), state.style());
    let asked = visible(&question.text);
    let text = say!("top-question-asks", task = task.short(), agent, question = asked.as_ref());
    let mut texts = text.lines();
    title.push(&format!(" {}", texts.next().unwrap_or_default()), TextStyle::BOLD);
    let mut lines = title.wrap(width);
    lines.extend(texts.flat_map(|text| StyledLine::plain(format!("  {text}")).wrap(width)));
    for (number, option) in (1..).zip(&question.options) {
        lines.extend(StyledLine::plain(format!("  {number} {}", visible(option))).wrap(width));
    }
    lines.push(StyledLine::plain(format!("  {}", say!("top-question-keys"))).cut(width, symbols));
    lines
}

/// Notes where list and pane are.
fn measure(view: &mut TopView, area: Rect) {
    let is_split = area.width >= SPLIT_COLUMNS;
    let list_columns = match (is_split, view.focus) {
        (true, _) => (area.width * 2 / 5).clamp(44, 76),
        (false, ScreenFocus::List) => area.width,
        (false, ScreenFocus::Pane) => 0,
    };
    view.frame = FrameMap {
        size: (area.width, area.height),
        list_columns,
        body_rows: usize::from(area.height - 2),
        body_top: 1,
        pane_lines: view.frame.pane_lines,
        tabs: (u16::MAX, Vec::new()),
    };
}

fn draw_head(view: &TopView, area: Rect, canvas: &mut ScreenCanvas<'_>) {
    let symbols = view.options.symbols;
    let scope = match &view.options.scope {
        TopScope::Everything => say!("top-all-projects"),
        TopScope::Project => view.options.project.clone(),
        TopScope::Tree(task) => task.to_string(),
    };
    let mut parts = vec![scope, say!("top-running", n = view.board.running(&view.options.scope))];
    if let Some(spent) = &view.spent {
        let price = figures::cost((spent.unpriced_tokens == 0).then_some(spent.cost_micros));
        parts.push(say!("top-spent", price));
    }
    let mut head = StyledLine::new();
    head.push("posse top", TextStyle::BOLD);
    let facts = parts.iter().map(|part| format!(" · {part}")).collect::<String>();
    head.push(&symbols.adapt(&facts), TextStyle::PLAIN);
    let hints = StyledLine::plain(symbols.adapt(&match view.options.scope {
        TopScope::Everything => say!("top-hints-all"),
        TopScope::Project | TopScope::Tree(_) => say!("top-hints"),
    }));
    let width = usize::from(area.width);
    if view.is_split() {
        let list = usize::from(view.frame.list_columns);
        canvas.put(0, 0, list, &head.cut(list.saturating_sub(1), symbols));
        canvas.put(view.frame.list_columns + 2, 0, width - list - 2, &hints.cut(width - list - 3, symbols));
    } else {
        let room = width.saturating_sub(1);
        let hint_columns = hints.width();
        let has_hints = head.width() + hint_columns + 2 <= room;
        canvas.put(0, 0, width, &head.cut(room, symbols));
        if has_hints {
            canvas.put((room - hint_columns) as u16, 0, hint_columns + 1, &hints);
        }
    }
}

fn draw_body(view: &mut TopView, area: Rect, canvas: &mut ScreenCanvas<'_>, now_ms: u64) {
    let list_columns = view.frame.list_columns;
    if list_columns > 0 {
        draw_list(view, Rect { x: 0, y: 1, width: list_columns, height: area.height - 2 }, canvas);
    }
    if view.is_split() {
        let bar = match view.options.symbols {
            SymbolSet::Unicode => "│",
            SymbolSet::Ascii => "|",
        };
        for y in 0..area.height {
            let mut line = StyledLine::new();
            line.push(bar, TextStyle::DIM);
            canvas.put(list_columns, y, 1, &line);
        }
    }
    if view.has_pane() {
        let x = if view.is_split() { list_columns + 2 } else { 0 };
        let pane = Rect { x, y: 1, width: area.width.saturating_sub(x), height: area.height - 2 };
        draw_pane(view, pane, canvas, now_ms);
    }
}

fn draw_list(view: &TopView, area: Rect, canvas: &mut ScreenCanvas<'_>) {
    let symbols = view.options.symbols;
    let width = usize::from(area.width).saturating_sub(1);
    if view.lines.is_empty() {
        let text = match (view.is_loaded, view.search.is_empty(), &view.options.scope) {
            (false, ..) => say!("top-loading"),
            (true, false, _) => say!("top-nothing-found", search = view.search.as_str()),
            (true, true, TopScope::Project) => say!("top-empty-here"),
            (true, true, TopScope::Everything | TopScope::Tree(_)) => say!("top-empty"),
        };
        let lines: Vec<StyledLine> =
            text.lines().flat_map(|text| StyledLine::plain(text).wrap(width)).collect();
        return canvas.put_all(area, &lines);
    }
    let columns = ListColumns::of(&view.lines, width);
    let shown = view.lines.iter().skip(view.list_top).take(usize::from(area.height));
    for (y, line) in (area.y..).zip(shown) {
        match line {
            BoardLine::Heading(group, counts) => {
                let mut line = StyledLine::new();
                line.push(&symbols.adapt(&heading(*group, counts)), heading_style(*group));
                canvas.put(area.x, y, width, &line.cut(width, symbols));
            }
            BoardLine::Task(task) => {
                let is_selected = view.selected.as_ref() == Some(&task.id);
                let mut line = columns.line(task, is_selected, symbols);
                if is_selected {
                    line.pad_to(width);
                    line = highlighted(&line, view.focus);
                }
                canvas.put(area.x, y, width, &line);
            }
        }
    }
}

fn heading_style(group: TaskGroup) -> TextStyle {
    let color = match group {
        TaskGroup::NeedsInput => AnsiColor::Yellow,
        TaskGroup::Working => AnsiColor::Cyan,
        TaskGroup::Completed => AnsiColor::Green,
    };
    TextStyle { bold: true, ..TextStyle::colored(color) }
}

/// Marks the selected row: reversed while the arrows move it, bold otherwise.
fn highlighted(line: &StyledLine, focus: ScreenFocus) -> StyledLine {
    let mut out = StyledLine::new();
    for span in line.spans() {
        let style = match focus {
            ScreenFocus::List => TextStyle { reverse: true, ..span.style },
            ScreenFocus::Pane => TextStyle { bold: true, ..span.style },
        };
        out.push(&span.text, style);
    }
    out
}

/// Widths of the list: fixed by the terminal and the set of rows, not by what happens.
struct ListColumns {
    width: usize,
    label: usize,
    agent: usize,
    /// 0 if title and action share a cell.
    title: usize,
    text: usize,
    has_cost: bool,
}

impl ListColumns {
    fn of(lines: &[BoardLine], width: usize) -> Self {
        let tasks = || {
            lines.iter().filter_map(|line| match line {
                BoardLine::Task(task) => Some(task),
                BoardLine::Heading(..) => None,
            })
        };
        let label = tasks().map(|task| columns(&task.label)).max().unwrap_or(0);
        let agent = tasks().map(|task| columns(&task.view.agent)).max().unwrap_or(0).min(width * 3 / 10);
        let has_cost = width >= COST_COLUMNS;
        // Cursor, mark, label, agent; time and cost at the end.
        let before = 4 + label + 1 + agent + 2;
        let after = 2 + TIME_COLUMNS + if has_cost { 2 + PRICE_COLUMNS } else { 0 };
        let room = width.saturating_sub(before + after);
        let title = if width >= TITLE_COLUMNS { room * 45 / 100 } else { 0 };
        let text = room - title - if title > 0 { 2 } else { 0 };
        Self { width, label, agent, title, text, has_cost }
    }

    fn line(&self, task: &BoardTask, is_selected: bool, symbols: SymbolSet) -> StyledLine {
        let view = &task.view;
        let mut line = StyledLine::new();
        let cursor = match (is_selected, symbols) {
            (false, _) => "  ",
            (true, SymbolSet::Unicode) => "▸ ",
            (true, SymbolSet::Ascii) => "> ",
        };
        line.push(cursor, TextStyle::PLAIN);
        line.push(view.state.mark(symbols), view.state.style());
        line.push(&format!(" {}", task.label), TextStyle::PLAIN);
        line.pad_to(4 + self.label + 1);
        line.push(&cut_text(&view.agent, self.agent, symbols), TextStyle::PLAIN);
        line.pad_to(4 + self.label + 1 + self.agent + 2);
        let mut end = 4 + self.label + 1 + self.agent + 2;
        if self.title > 0 {
            line.push(&cut_text(&view.task, self.title, symbols), TextStyle::PLAIN);
            end += self.title + 2;
            line.pad_to(end);
        }
        line.push(&cut_text(&self.text_of(task), self.text, symbols), text_style(view.state));
        end += self.text;
        line.pad_to(end);
        if self.has_cost {
            line.push(&format!("  {:>PRICE_COLUMNS$}", view.figures.cost), TextStyle::PLAIN);
        }
        line.push(&format!("  {:>TIME_COLUMNS$}", view.figures.elapsed), TextStyle::PLAIN);
        line.cut(self.width, symbols)
    }

    fn text_of(&self, task: &BoardTask) -> String {
        let view = &task.view;
        let text = match (view.action.is_empty(), self.title) {
            (false, _) => view.action.clone(),
            (true, 0) => view.task.clone(),
            (true, _) => String::new(),
        };
        match task.folded {
            0 => text,
            n if text.is_empty() => say!("top-folded", n),
            n => format!("{} {text}", say!("top-folded", n)),
        }
    }
}

fn text_style(state: RowState) -> TextStyle {
    match state {
        RowState::NeedsInput => TextStyle::colored(AnsiColor::Yellow),
        RowState::Failed => TextStyle::colored(AnsiColor::Red),
        _ => TextStyle::PLAIN,
    }
}

fn draw_pane(view: &mut TopView, area: Rect, canvas: &mut ScreenCanvas<'_>, now_ms: u64) {
    let symbols = view.options.symbols;
    let width = usize::from(area.width).saturating_sub(1);
    canvas.put(area.x, area.y, width, &pane_title(view, now_ms).cut(width, symbols));
    let tabs = draw_tabs(view, area, canvas);
    view.frame.tabs = (area.y + 1, tabs);
    let lines = view.pane_lines(view.pane_width(), now_ms);
    let rows = view.pane_rows();
    view.frame.pane_lines = lines.len();
    let last = lines.len().saturating_sub(rows);
    if view.scroll.follows {
        view.scroll.top = last;
    }
    view.scroll.top = view.scroll.top.min(last);
    let text = Rect {
        y: area.y + PANE_HEAD_ROWS as u16,
        height: area.height.saturating_sub(PANE_HEAD_ROWS as u16),
        ..area
    };
    let needle = view.found.to_lowercase();
    let shown = lines.iter().skip(view.scroll.top).take(rows).map(|line| {
        let is_hit = !needle.is_empty() && line.text().to_lowercase().contains(&needle);
        if is_hit { highlighted(line, ScreenFocus::List) } else { line.clone() }
    });
    canvas.put_all(text, &shown.collect::<Vec<_>>());
}

fn pane_title(view: &TopView, now_ms: u64) -> StyledLine {
    let symbols = view.options.symbols;
    let mut line = StyledLine::new();
    let Some(task) = &view.selected else { return line };
    let Some(row) = view.board.view(task, now_ms) else { return line };
    line.push(row.state.mark(symbols), row.state.style());
    line.push(&format!(" {} {}", task.short(), row.agent), TextStyle::BOLD);
    let figures = row.figures;
    for part in [figures.turn, figures.context, figures.cost, figures.elapsed, figures.model] {
        if !part.is_empty() {
            line.push(&symbols.adapt(&format!(" · {part}")), TextStyle::PLAIN);
        }
    }
    line
}

/// Draws the tabs; returns the columns of each.
fn draw_tabs(view: &TopView, area: Rect, canvas: &mut ScreenCanvas<'_>) -> Vec<(u16, u16)> {
    let mut line = StyledLine::new();
    let mut tabs = Vec::new();
    for (number, pane) in (1..).zip(PaneKind::ALL) {
        let from = area.x + line.width() as u16;
        let name = format!("{number} {}", pane.name());
        match pane == view.pane {
            true => line.push(&format!("[{name}]"), TextStyle::BOLD),
            false => line.push(&format!(" {name} "), TextStyle::DIM),
        }
        tabs.push((from, area.x + line.width() as u16));
        line.push(" ", TextStyle::PLAIN);
    }
    let width = usize::from(area.width).saturating_sub(1);
    canvas.put(area.x, area.y + 1, width, &line.cut(width, view.options.symbols));
    tabs
}

/// Draws the last row: a prompt, a notice, or the keys; returns the cursor of a prompt.
fn draw_foot(view: &TopView, area: Rect, canvas: &mut ScreenCanvas<'_>) -> Option<Position> {
    let symbols = view.options.symbols;
    let (y, width) = (area.height - 1, usize::from(area.width).saturating_sub(1));
    if let Some((label, typed)) = prompt(view) {
        let (line, cursor) = typed.line(&format!("{label} "), width);
        canvas.put(0, y, width, &line.cut(width, symbols));
        return Some(Position { x: cursor.min(width) as u16, y });
    }
    if let TopDialog::Cancel { task, below } = &view.dialog {
        let mut line = StyledLine::new();
        let style = TextStyle { bold: true, ..TextStyle::colored(AnsiColor::Yellow) };
        line.push(&say!("top-cancel-ask", task = task.short(), n = *below), style);
        canvas.put(0, y, width, &line.cut(width, symbols));
        return None;
    }
    let keys = match view.notice() {
        Some(notice) => notice.clone(),
        None => StyledLine::plain(symbols.adapt(&foot_keys(view))),
    };
    let status = StyledLine::plain(symbols.adapt(&pane_status(view)));
    if view.is_split() && !matches!(view.dialog, TopDialog::Approval(_) | TopDialog::Keys) {
        let list = usize::from(view.frame.list_columns);
        // A notice may be longer than the list.
        let room = if view.notice().is_some() && keys.width() >= list { width } else { list - 1 };
        canvas.put(0, y, room, &keys.cut(room, symbols));
        if room < width {
            canvas.put(
                view.frame.list_columns + 2,
                y,
                width - list - 2,
                &status.cut(width - list - 2, symbols),
            );
        }
    } else {
        canvas.put(0, y, width, &keys.cut(width, symbols));
        let is_free = view.focus == ScreenFocus::Pane && view.notice().is_none();
        if is_free && keys.width() + status.width() + 2 <= width {
            canvas.put((width - status.width()) as u16, y, status.width(), &status);
        }
    }
    None
}

fn prompt(view: &TopView) -> Option<(String, &LineInput)> {
    let line = view.dialog.line()?;
    let label = match &view.dialog {
        TopDialog::Search(_) => say!("top-prompt-search"),
        TopDialog::Steer { task, .. } => say!("top-prompt-steer", task = task.short()),
        TopDialog::Question { .. } => say!("top-prompt-answer"),
        TopDialog::None | TopDialog::Keys | TopDialog::Cancel { .. } | TopDialog::Approval(_) => return None,
    };
    Some((label, line))
}

fn foot_keys(view: &TopView) -> String {
    match (&view.dialog, view.focus) {
        (TopDialog::Keys, _) => say!("top-foot-close"),
        (TopDialog::Approval(_), _) => String::new(),
        (_, ScreenFocus::Pane) => say!("top-foot-pane"),
        (_, ScreenFocus::List) if view.is_split() => say!("top-foot-split"),
        (_, ScreenFocus::List) => say!("top-foot-list"),
    }
}

/// Formats whether the pane follows, where it is, and the leases of its task.
fn pane_status(view: &TopView) -> String {
    if !view.has_pane() || view.selected.is_none() {
        return String::new();
    }
    let rows = view.pane_rows();
    let mut parts = Vec::new();
    if view.scroll.follows && view.pane == PaneKind::Transcript {
        parts.push(say!("top-following"));
    } else if view.frame.pane_lines > rows {
        let last = (view.scroll.top + rows).min(view.frame.pane_lines);
        parts.push(say!("top-position", line = last, lines = view.frame.pane_lines));
    }
    let held = view.selected.as_ref().map(|task| held_paths(&view.leases, task)).unwrap_or_default();
    if !held.is_empty() {
        parts.push(say!("top-holds", paths = held.join(", ")));
    }
    parts.join(" · ")
}

fn key_lines(width: usize, symbols: SymbolSet) -> Vec<StyledLine> {
    let keys = say!("top-keys");
    let line = |text: &str| match text.split_once('|') {
        Some((keys, does)) => {
            let mut line = StyledLine::plain("  ");
            line.push(&symbols.adapt(keys.trim()), TextStyle::BOLD);
            line.pad_to(24);
            line.push(&symbols.adapt(does.trim()), TextStyle::PLAIN);
            line
        }
        None => StyledLine::plain(symbols.adapt(text)),
    };
    keys.lines().map(|text| line(text).cut(width, symbols)).collect()
}

/// The buffer of a frame, with the palette of the terminal.
struct ScreenCanvas<'a> {
    buffer: &'a mut Buffer,
    palette: StylePalette,
}

impl ScreenCanvas<'_> {
    fn put(&mut self, x: u16, y: u16, room: usize, line: &StyledLine) {
        let mut x = x;
        let end = usize::from(x) + room;
        for span in line.spans() {
            let left = end.saturating_sub(usize::from(x));
            (x, _) = self.buffer.set_stringn(x, y, &span.text, left, style(span.style, self.palette));
        }
    }

    fn put_all(&mut self, area: Rect, lines: &[StyledLine]) {
        for (y, line) in (area.y..area.y + area.height).zip(lines) {
            self.put(area.x, y, usize::from(area.width), line);
        }
    }
}

fn style(text: TextStyle, palette: StylePalette) -> Style {
    if palette == StylePalette::Plain {
        return Style::new();
    }
    let color = text.color.map(|color| match color {
        AnsiColor::Red => Color::Red,
        AnsiColor::Green => Color::Green,
        AnsiColor::Yellow => Color::Yellow,
        AnsiColor::Magenta => Color::Magenta,
        AnsiColor::Cyan => Color::Cyan,
    });
    let modifiers = [
        (text.bold, Modifier::BOLD),
        (text.dim, Modifier::DIM),
        (text.italic, Modifier::ITALIC),
        (text.underline, Modifier::UNDERLINED),
        (text.strike, Modifier::CROSSED_OUT),
        (text.reverse, Modifier::REVERSED),
    ];
    let set = modifiers.into_iter().filter(|(is_set, _)| *is_set);
    let plain = color.map_or(Style::new(), |color| Style::new().fg(color));
    set.fold(plain, |style, (_, modifier)| style.add_modifier(modifier))
}
