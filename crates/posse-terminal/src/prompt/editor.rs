//! Key strokes at the prompt: edits, menus, history and its search. Everything else is an action of the caller.

use super::buffer::{CursorMove, PromptBuffer};
use super::history::PromptHistory;
use super::menu::{MenuQuery, MenuSources, PromptMenu};
use crate::keys::{KeyCode, KeyEvent, KeyModifiers};

/// Meaning of a key stroke for the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptAction {
    /// The prompt took it, or it has no meaning.
    Taken,
    /// Enter: this text is to be sent. The prompt is empty, the history has the text.
    Submit(String),
    /// Ctrl-C with text: the prompt is empty, the history has the text.
    Discard(String),
    /// Esc without a menu.
    Stop,
    /// Ctrl-C without text.
    Interrupt,
    /// Ctrl-D without text.
    Leave,
    /// Shift-Tab.
    NextMode,
    /// Tab without a menu.
    Focus,
    /// Ctrl-L.
    Repaint,
    /// Ctrl-T.
    ToggleThinking,
    /// `?` without text.
    ShowKeys,
}

/// The prompt: text, history, menu.
#[derive(Debug, Clone, Default)]
pub struct PromptEditor {
    /// Text under edit.
    pub(super) buffer: PromptBuffer,
    history: PromptHistory,
    sources: MenuSources,
    pub(super) menu: Option<PromptMenu>,
    /// Word whose menu was closed by Esc.
    closed: Option<MenuQuery>,
    pub(super) search: Option<HistorySearch>,
}

/// A search of the history, begun by Ctrl-R.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HistorySearch {
    pub(super) query: String,
    /// Place and text of the entry that was found.
    pub(super) found: Option<(usize, String)>,
    /// Text under edit before the search.
    draft: String,
}

impl PromptEditor {
    /// Creates an empty prompt with a history.
    pub fn new(history: PromptHistory) -> Self {
        Self { history, ..Self::default() }
    }

    /// Sets what menus offer.
    pub fn offer(&mut self, sources: MenuSources) {
        self.sources = sources;
        self.update_menu();
    }

    /// Returns what menus offer.
    pub fn sources(&self) -> &MenuSources {
        &self.sources
    }

    /// Returns the text under edit.
    pub fn text(&self) -> String {
        self.buffer.text()
    }

    /// Tells whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Tells whether a menu for files and agents is open or could open.
    pub fn is_mentioning(&self) -> bool {
        matches!(MenuQuery::of(&self.buffer), Some(MenuQuery::Mention { .. }))
    }

    /// Replaces the text, as to give back a message that was not sent.
    pub fn set_text(&mut self, text: &str) {
        self.buffer.set(text);
        self.edited();
    }

    /// Inserts a paste. It is one insert and never submits. Returns false if a part did not fit.
    pub fn paste(&mut self, text: &str) -> bool {
        if let Some(search) = &mut self.search {
            search.query.push_str(text.lines().next().unwrap_or_default());
            self.find(None);
            return true;
        }
        let is_whole = self.buffer.paste(text);
        self.edited();
        is_whole
    }

    /// Takes a key stroke.
    pub fn key(&mut self, key: KeyEvent) -> PromptAction {
        if self.search.is_some() && self.search_key(key) {
            return PromptAction::Taken;
        }
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let has_alt = key.modifiers.contains(KeyModifiers::ALT);
        match (key.code, has_control, has_alt) {
            (KeyCode::Char('c'), true, _) => return self.interrupt(),
            (KeyCode::Char('d'), true, _) if self.is_empty() => return PromptAction::Leave,
            (KeyCode::Char('l'), true, _) => return PromptAction::Repaint,
            (KeyCode::Char('t'), true, _) => return PromptAction::ToggleThinking,
            (KeyCode::Char('?'), false, false) if self.is_empty() => return PromptAction::ShowKeys,
            (KeyCode::BackTab, ..) => return PromptAction::NextMode,
            (KeyCode::Esc, ..) => return self.escape(),
            (KeyCode::Tab, ..) => return self.tab(),
            (KeyCode::Enter, false, false) if !key.modifiers.contains(KeyModifiers::SHIFT) => {
                return self.enter();
            }
            (KeyCode::Enter, ..) | (KeyCode::Char('j'), true, _) => {
                self.buffer.insert("\n");
            }
            (KeyCode::Char('r'), true, _) => self.begin_search(),
            (KeyCode::Up, ..) | (KeyCode::Char('p'), true, _) => return self.up(),
            (KeyCode::Down, ..) | (KeyCode::Char('n'), true, _) => return self.down(),
            _ => return self.edit(key, has_control, has_alt),
        }
        self.edited();
        PromptAction::Taken
    }

    fn edit(&mut self, key: KeyEvent, has_control: bool, has_alt: bool) -> PromptAction {
        if let Some(to) = cursor_move(key.code, has_control, has_alt) {
            self.buffer.go(to);
        } else {
            let buffer = &mut self.buffer;
            match (key.code, has_control, has_alt) {
                (KeyCode::Backspace, false, false) | (KeyCode::Char('h'), true, _) => {
                    buffer.delete(CursorMove::Left);
                }
                (KeyCode::Backspace, ..) | (KeyCode::Char('w'), true, _) => buffer.kill(CursorMove::WordLeft),
                (KeyCode::Delete, false, false) | (KeyCode::Char('d'), true, _) => {
                    buffer.delete(CursorMove::Right);
                }
                (KeyCode::Delete, ..) | (KeyCode::Char('d'), _, true) => buffer.kill(CursorMove::WordRight),
                (KeyCode::Char('k'), true, _) => buffer.kill(CursorMove::LineEnd),
                (KeyCode::Char('u'), true, _) => buffer.kill(CursorMove::LineStart),
                (KeyCode::Char('y'), true, _) => buffer.yank(),
                (KeyCode::Char(character), false, false) => {
                    buffer.insert(character.encode_utf8(&mut [0; 4]));
                }
                _ => return PromptAction::Taken,
            }
        }
        self.edited();
        PromptAction::Taken
    }

    /// Takes note of an edit: the walk through the history ends, and the menu follows the word.
    fn edited(&mut self) {
        self.history.stop_walk();
        self.update_menu();
    }

    fn update_menu(&mut self) {
        let query = MenuQuery::of(&self.buffer);
        if query.is_none() || query != self.closed {
            self.closed = None;
        }
        let is_closed = self.closed.is_some();
        self.menu = query.filter(|_| !is_closed).and_then(|query| PromptMenu::open(query, &self.sources));
    }

    fn enter(&mut self) -> PromptAction {
        if let Some(menu) = self.menu.take_if(|menu| !menu.is_typed()) {
            menu.take(&mut self.buffer);
            self.edited();
            return PromptAction::Taken;
        }
        let text = self.buffer.text();
        if text.trim().is_empty() {
            return PromptAction::Taken;
        }
        self.buffer.take();
        self.history.push(&text);
        self.edited();
        PromptAction::Submit(text)
    }

    fn tab(&mut self) -> PromptAction {
        let Some(menu) = self.menu.take() else { return PromptAction::Focus };
        menu.take(&mut self.buffer);
        self.edited();
        PromptAction::Taken
    }

    fn escape(&mut self) -> PromptAction {
        match self.menu.take() {
            Some(menu) => {
                self.closed = Some(menu.query().clone());
                PromptAction::Taken
            }
            None => PromptAction::Stop,
        }
    }

    fn interrupt(&mut self) -> PromptAction {
        if self.is_empty() {
            return PromptAction::Interrupt;
        }
        let text = self.buffer.take();
        self.history.push(&text);
        self.edited();
        PromptAction::Discard(text)
    }

    fn up(&mut self) -> PromptAction {
        if let Some(menu) = &mut self.menu {
            menu.step(false);
        } else if !self.buffer.go(CursorMove::Up) {
            let current = self.buffer.text();
            if let Some(older) = self.history.older(&current) {
                self.buffer.set(older);
            }
        }
        PromptAction::Taken
    }

    fn down(&mut self) -> PromptAction {
        if let Some(menu) = &mut self.menu {
            menu.step(true);
        } else if !self.buffer.go(CursorMove::Down)
            && let Some(newer) = self.history.newer()
        {
            self.buffer.set(&newer);
        }
        PromptAction::Taken
    }

    fn begin_search(&mut self) {
        self.menu = None;
        self.search = Some(HistorySearch { query: String::new(), found: None, draft: self.buffer.text() });
    }

    /// Takes a key of a search; returns false for one that ends it and is a key of the prompt.
    fn search_key(&mut self, key: KeyEvent) -> bool {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let Some(search) = &mut self.search else { return false };
        match key.code {
            KeyCode::Char('r') if has_control => {
                let before = search.found.as_ref().map(|(at, _)| *at);
                self.find(before);
            }
            KeyCode::Backspace => {
                search.query.pop();
                self.find(None);
            }
            KeyCode::Char(character) if !has_control => {
                search.query.push(character);
                self.find(None);
            }
            KeyCode::Esc | KeyCode::Char('c' | 'g') => {
                let draft = std::mem::take(&mut search.draft);
                self.end_search(&draft);
            }
            KeyCode::Enter | KeyCode::Tab => {
                let text = self.found_text();
                self.end_search(&text);
            }
            _ => {
                let text = self.found_text();
                self.end_search(&text);
                return false;
            }
        }
        true
    }

    /// Returns the entry that was found, or the text before the search.
    fn found_text(&self) -> String {
        let Some(search) = &self.search else { return String::new() };
        search.found.as_ref().map_or_else(|| search.draft.clone(), |(_, text)| text.clone())
    }

    fn end_search(&mut self, text: &str) {
        self.search = None;
        self.buffer.set(text);
        self.history.stop_walk();
        self.update_menu();
    }

    /// Finds the newest entry before this place; without one the last hit stays.
    fn find(&mut self, before: Option<usize>) {
        let Some(search) = &mut self.search else { return };
        let found = self.history.find(&search.query, before.unwrap_or(usize::MAX));
        match found.map(|(at, entry)| (at, entry.to_owned())) {
            Some(found) => search.found = Some(found),
            None if before.is_none() => search.found = None,
            None => {}
        }
    }
}

/// Returns the destination of a key that moves the cursor.
fn cursor_move(code: KeyCode, has_control: bool, has_alt: bool) -> Option<CursorMove> {
    Some(match (code, has_control, has_alt) {
        (KeyCode::Left, false, false) | (KeyCode::Char('b'), true, _) => CursorMove::Left,
        (KeyCode::Right, false, false) | (KeyCode::Char('f'), true, _) => CursorMove::Right,
        (KeyCode::Left, ..) | (KeyCode::Char('b'), _, true) => CursorMove::WordLeft,
        (KeyCode::Right, ..) | (KeyCode::Char('f'), _, true) => CursorMove::WordRight,
        (KeyCode::Home, true, _) => CursorMove::Start,
        (KeyCode::End, true, _) => CursorMove::End,
        (KeyCode::Home, ..) | (KeyCode::Char('a'), true, _) => CursorMove::LineStart,
        (KeyCode::End, ..) | (KeyCode::Char('e'), true, _) => CursorMove::LineEnd,
        _ => return None,
    })
}
