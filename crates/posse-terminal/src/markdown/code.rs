//! Colors of fenced code, within a time budget per block.

use std::fmt;
use std::time::Duration;

use crate::style::TextStyle;

/// A run of bytes of a code line with one style.
pub(super) type CodeSpan = (usize, TextStyle);

/// Colors of one block of code, line by line.
pub(super) trait BlockColors {
    /// Returns the styles of the next line, or `None` where it stays plain.
    fn next_line(&mut self, line: &str) -> Option<Vec<CodeSpan>>;
}

/// Longest info string that can name a language.
const LANGUAGE_BYTES_MAX: usize = 32;

/// Syntax colors of fenced code. A build without the feature `syntax-colors` leaves all code plain.
#[derive(Clone, Default)]
pub struct CodeColors {
    worker: Option<worker::ColorWorker>,
    budget: Duration,
}

impl CodeColors {
    /// Returns colors that leave all code plain.
    pub fn off() -> Self {
        Self::default()
    }

    /// Starts the thread that computes colors: loading a grammar takes longer than a frame. A block gets this much time (20 ms
    /// while a person watches); code that is not colored by then stays plain. The thread ends with the last clone.
    pub fn start(budget: Duration) -> Self {
        Self { worker: worker::start(), budget }
    }

    pub(super) fn block(&self, language: &str) -> Option<Box<dyn BlockColors + Send>> {
        let token = language.trim_start_matches(['{', '.', ' ']);
        let token = token.split([' ', ',', '{', '}', ':', ';']).next().unwrap_or_default();
        if token.is_empty() || token.len() > LANGUAGE_BYTES_MAX {
            return None;
        }
        Some(self.worker.as_ref()?.block(token, self.budget))
    }
}

impl fmt::Debug for CodeColors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeColors").field("is_on", &self.worker.is_some()).finish_non_exhaustive()
    }
}

#[cfg(not(feature = "syntax-colors"))]
mod worker {
    use std::time::Duration;

    use super::BlockColors;

    /// A worker that this build does not have.
    #[derive(Clone)]
    pub(super) enum ColorWorker {}

    impl ColorWorker {
        pub(super) fn block(&self, _language: &str, _budget: Duration) -> Box<dyn BlockColors + Send> {
            match *self {}
        }
    }

    pub(super) fn start() -> Option<ColorWorker> {
        None
    }
}

#[cfg(feature = "syntax-colors")]
mod worker {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::{Duration, Instant};

    use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

    use super::{BlockColors, CodeSpan};
    use crate::style::{AnsiColor, TextStyle};

    /// Lines of a block that get colors; a person reads the rest without.
    const LINES_MAX: usize = 200;
    /// The thread that computes colors.
    #[derive(Clone)]
    pub(super) struct ColorWorker(Sender<ColorRequest>);

    impl ColorWorker {
        pub(super) fn block(&self, language: &str, budget: Duration) -> Box<dyn BlockColors + Send> {
            let state = Some(ColorState::Named(language.to_owned()));
            Box::new(ColoredBlock { worker: self.0.clone(), state, left: budget, lines: 0 })
        }
    }

    /// Starts the thread; `None` if the system has none left.
    pub(super) fn start() -> Option<ColorWorker> {
        let (worker, requests) = channel();
        let thread = std::thread::Builder::new().name("code-colors".to_owned());
        thread.spawn(move || answer(&requests)).ok().map(|_| ColorWorker(worker))
    }

    /// Parser state between two lines of a block; it travels with the request, so the thread keeps nothing.
    enum ColorState {
        Named(String),
        Parsing(Box<(ParseState, ScopeStack)>),
    }

    struct ColorRequest {
        state: ColorState,
        line: String,
        reply: Sender<(ColorState, Vec<CodeSpan>)>,
    }

    struct ColoredBlock {
        worker: Sender<ColorRequest>,
        /// `None` once the budget is spent or the language is unknown.
        state: Option<ColorState>,
        left: Duration,
        lines: usize,
    }

    impl BlockColors for ColoredBlock {
        fn next_line(&mut self, line: &str) -> Option<Vec<CodeSpan>> {
            let state = self.state.take()?;
            self.lines += 1;
            if self.lines > LINES_MAX {
                return None;
            }
            let begun = Instant::now();
            let (reply, answers) = channel();
            self.worker.send(ColorRequest { state, line: line.to_owned(), reply }).ok()?;
            let (state, spans) = answers.recv_timeout(self.left).ok()?;
            self.left = self.left.saturating_sub(begun.elapsed());
            self.state = Some(state);
            Some(spans)
        }
    }

    /// Answers requests until nobody can make one.
    fn answer(requests: &Receiver<ColorRequest>) {
        let syntaxes = two_face::syntax::extra_newlines();
        let palette = ScopePalette::new();
        while let Ok(ColorRequest { state, line, reply }) = requests.recv() {
            let colored = color(&syntaxes, &palette, state, &line);
            // The block may have given up; the next one of its language is warm.
            if let Some(colored) = colored {
                let _ = reply.send(colored);
            }
        }
    }

    fn color(
        syntaxes: &SyntaxSet,
        palette: &ScopePalette,
        state: ColorState,
        line: &str,
    ) -> Option<(ColorState, Vec<CodeSpan>)> {
        let mut state = match state {
            ColorState::Parsing(state) => state,
            ColorState::Named(name) => {
                let syntax = syntaxes.find_syntax_by_token(&name)?;
                Box::new((ParseState::new(syntax), ScopeStack::new()))
            }
        };
        let (parser, scopes) = &mut *state;
        let operations = parser.parse_line(&format!("{line}\n"), syntaxes).ok()?;
        let (mut spans, mut at) = (Vec::new(), 0);
        for (next, operation) in operations {
            let next = next.min(line.len());
            if next > at {
                spans.push((next - at, palette.style(scopes)));
                at = next;
            }
            scopes.apply(&operation).ok()?;
        }
        if at < line.len() {
            spans.push((line.len() - at, palette.style(scopes)));
        }
        Some((ColorState::Parsing(state), spans))
    }

    /// Styles by scope prefix, the more special first.
    struct ScopePalette(Vec<(Scope, TextStyle)>);

    impl ScopePalette {
        fn new() -> Self {
            let of = TextStyle::colored;
            let table = [
                ("comment", of(AnsiColor::Cyan)),
                ("string", of(AnsiColor::Green)),
                ("constant", of(AnsiColor::Yellow)),
                ("keyword.operator", TextStyle::PLAIN),
                ("keyword", of(AnsiColor::Magenta)),
                ("storage", of(AnsiColor::Magenta)),
                ("entity.name", TextStyle::BOLD),
                ("support.function", TextStyle::BOLD),
                ("markup.inserted", of(AnsiColor::Green)),
                ("markup.deleted", of(AnsiColor::Red)),
                ("markup.heading", TextStyle::BOLD),
            ];
            let known = |(name, style)| Scope::new(name).ok().map(|scope| (scope, style));
            Self(table.into_iter().filter_map(known).collect())
        }

        /// Returns the style of the innermost scope that has one.
        fn style(&self, scopes: &ScopeStack) -> TextStyle {
            let of = |scope: &Scope| self.0.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
            scopes.as_slice().iter().rev().find_map(of).map_or(TextStyle::PLAIN, |(_, style)| *style)
        }
    }
}
