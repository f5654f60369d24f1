//! Searches file contents with ripgrep's own libraries. The order is that of the paths, and what does not fit is
//! counted, so that two equal searches give equal answers.

use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use posse_core::text::prefix;
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_runtime::ports::ToolOutput;
use posse_sandbox::workspace::{OpenFile, ResolvedPath, show};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::answer::{BoundedLines, NOTES_BYTES, count, decode, grouped, name};
use crate::files::{Answer, FileJob, describe, number};
use crate::walk::{EntryKind, WalkOptions, WalkReport, rooted, walk};

const RESULTS_DEFAULT: u64 = 200;
const RESULTS_MAX: u64 = 2000;
const CONTEXT_MAX: u64 = 20;
const LINE_BYTES_MAX: usize = 400;
/// Bytes kept before a match that is far to the right in its line.
const LINE_LEAD_BYTES: usize = 100;
/// One line must fit into this; a file with a longer one is counted as not searched.
const HEAP_BYTES_MAX: usize = 8 * 1024 * 1024;
const REGEX_BYTES_MAX: usize = 10 * 1024 * 1024;

const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "pattern": { "type": "string", "description": "Regular expression in Rust syntax, matched line by line. Escape ( ) [ ] { } . * + ? to search for them literally." },
    "path": { "type": "string", "description": "File or directory to search, relative to the workspace. Default: the whole workspace." },
    "glob": { "type": "string", "description": "Only files whose path, relative to `path`, matches this glob: `*.rs`, `src/**/*.{ts,tsx}`; `!*.md` leaves files out." },
    "type": { "type": "string", "description": "Only files of this type as ripgrep names them: rust, py, js, ts, go, java, md, json ..." },
    "case_insensitive": { "type": "boolean", "description": "Ignore upper and lower case. Default false." },
    "context": { "type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each match. Default 0." },
    "output_mode": { "type": "string", "enum": ["content", "files", "count"], "description": "content: matching lines with line numbers (default); files: only the paths; count: matching lines per file." },
    "head_limit": { "type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines of output at most. Default 200." }
  },
  "required": ["pattern"],
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrepArguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    case_insensitive: bool,
    #[serde(default, deserialize_with = "number")]
    context: Option<u64>,
    #[serde(default)]
    output_mode: GrepMode,
    #[serde(default, deserialize_with = "number")]
    head_limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GrepMode {
    #[default]
    Content,
    Files,
    Count,
}

pub(crate) fn spec() -> ToolSpec {
    describe(
        "grep",
        ToolEffect::Pure,
        "Search the contents of files with a regular expression. Leaves out binary files, hidden files and what \
         .gitignore and .ignore name, unless `path` names such a file or directory itself; does not follow symbolic \
         links. Results are in the order of paths; a note says exactly how many did not fit.",
        SCHEMA,
    )
}

pub(crate) fn run(job: &FileJob, arguments: GrepArguments) -> Answer {
    let matcher = matcher(&arguments)?;
    let path = job.context.workspace.path(arguments.path.as_deref().unwrap_or("."))?;
    let filter = PathFilter::new(&arguments, &path)?;
    let limit = arguments.head_limit.unwrap_or(RESULTS_DEFAULT).clamp(1, RESULTS_MAX) as usize;
    let mut search = GrepSearch {
        searcher: searcher(arguments.context.unwrap_or(0).min(CONTEXT_MAX) as usize),
        matcher,
        mode: arguments.output_mode,
        limit,
        cancel: &job.cancel,
        out: BoundedLines::new(limit, job.room - NOTES_BYTES),
        tally: MatchTally::default(),
    };
    let report = match job.context.workspace.open_place(&path)? {
        ResolvedPath::File(open) => {
            job.check(&path, open.file.as_fd())?;
            search.file(&path, open);
            WalkReport { cancelled: job.cancel.is_cancelled(), ..WalkReport::default() }
        }
        ResolvedPath::Directory(directory) => {
            let hidden = arguments.glob.as_deref().is_some_and(names_hidden);
            let refuses = job.leaves_out(&path, job.check(&path, directory.as_fd())?);
            let options = WalkOptions { hidden, refuses: &refuses, ..WalkOptions::default() };
            walk(&job.context.workspace, &path, directory, options, &job.cancel, &mut |entry| {
                if entry.kind == EntryKind::File && filter.wants(entry.path) {
                    match entry.open() {
                        Some(open) => search.file(entry.path, open),
                        None => search.tally.unreadable += 1,
                    }
                }
            })
        }
    };
    Ok(ToolOutput::text(search.answer(report, &arguments.pattern)))
}

/// A pattern that spells a name with a leading dot asks for hidden files.
pub(crate) fn names_hidden(glob: &str) -> bool {
    glob.trim_start_matches('!').split('/').any(|part| part.starts_with('.') && part != "." && part != "..")
}

fn matcher(arguments: &GrepArguments) -> Result<RegexMatcher, String> {
    let built = RegexMatcherBuilder::new()
        .case_insensitive(arguments.case_insensitive)
        .multi_line(true)
        // `$` also matches before the end of a CRLF line.
        .crlf(true)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX)
        .build(&arguments.pattern);
    built.map_err(|cause| {
        let cause = cause.to_string();
        format!(
            "the pattern is not a regular expression this tool understands: {}\nEscape special \
             characters with a backslash to search for them literally; a match never spans lines",
            prefix(&cause, 1000)
        )
    })
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_terminator(grep_matcher::LineTerminator::crlf())
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP_BYTES_MAX))
        .build()
}

struct PathFilter {
    globs: Override,
    types: Types,
}

impl PathFilter {
    fn new(arguments: &GrepArguments, start: &Path) -> Result<Self, String> {
        let mut globs = OverrideBuilder::new(rooted(start));
        if let Some(glob) = arguments.glob.as_deref().filter(|glob| !glob.is_empty()) {
            globs.add(glob).map_err(|cause| format!("`glob` is not a glob: {cause}"))?;
        }
        let globs = globs.build().map_err(|cause| format!("`glob` is not a glob: {cause}"))?;
        let types = match arguments.kind.as_deref().filter(|kind| !kind.is_empty()) {
            None => Types::empty(),
            Some(kind) => TypesBuilder::new().add_defaults().select(kind).build().map_err(|_| {
                format!(
                    "there is no file type `{}`; use a name that ripgrep knows (rust, py, js, ts, go, \
                     java, c, cpp, md, json, yaml, toml ...), or `glob` instead",
                    show(Path::new(kind))
                )
            })?,
        };
        Ok(Self { globs, types })
    }

    fn wants(&self, path: &Path) -> bool {
        let path = rooted(path);
        !self.globs.matched(&path, false).is_ignore() && !self.types.matched(&path, false).is_ignore()
    }
}

struct GrepSearch<'a> {
    searcher: Searcher,
    matcher: RegexMatcher,
    mode: GrepMode,
    limit: usize,
    cancel: &'a CancellationToken,
    out: BoundedLines,
    tally: MatchTally,
}

#[derive(Default)]
struct MatchTally {
    matches: u64,
    files: u64,
    /// Matches beyond the limit.
    matches_hidden: u64,
    files_hidden: u64,
    binary: u64,
    unreadable: u64,
}

impl GrepSearch<'_> {
    fn file(&mut self, path: &Path, open: OpenFile) {
        let mut found = FileMatches {
            matcher: &self.matcher,
            // Nothing more can be shown, or only totals are: then lines are only counted.
            keep: if self.out.is_full() || self.mode != GrepMode::Content { 0 } else { self.limit + 1 },
            first_only: self.mode == GrepMode::Files,
            lines: Vec::new(),
            matches: 0,
            binary: false,
        };
        let reader = CancellableReader { inner: open.file, cancel: self.cancel };
        let searched = self.searcher.search_reader(&self.matcher, reader, &mut found);
        if searched.is_err() && !self.cancel.is_cancelled() {
            self.tally.unreadable += 1;
        }
        if found.binary {
            self.tally.binary += 1;
            return;
        }
        if found.matches == 0 {
            return;
        }
        let (matches, lines) = (found.matches, found.lines);
        self.tally.files += 1;
        self.tally.matches += matches;
        let path = name(path.as_os_str());
        let hidden = match self.mode {
            GrepMode::Content => matches - self.show(&path, &lines),
            GrepMode::Files if self.out.push(&path) => 0,
            GrepMode::Count if self.out.push(&format!("{path}: {}", grouped(matches))) => 0,
            GrepMode::Files | GrepMode::Count => matches,
        };
        self.tally.matches_hidden += hidden;
        self.tally.files_hidden += u64::from(hidden > 0);
    }

    /// Puts the lines of one file under its path; returns how many matches were shown.
    fn show(&mut self, path: &str, lines: &[(bool, String)]) -> u64 {
        let mut shown = 0;
        for (position, (is_match, line)) in lines.iter().enumerate() {
            let fits = match position {
                // Path and first line together, so that no path stands there without a line.
                0 => self.out.push(&format!("{path}\n{line}")),
                _ => self.out.push(line),
            };
            if !fits {
                break;
            }
            shown += u64::from(*is_match);
        }
        shown
    }

    fn answer(self, report: WalkReport, pattern: &str) -> String {
        let tally = &self.tally;
        let mut notes = Vec::new();
        if tally.matches == 0 {
            let shown = decode(pattern.as_bytes(), 200);
            notes.push(format!("no match for `{}`", shown.text));
        } else if tally.matches_hidden > 0 {
            let more = match self.mode {
                GrepMode::Content => format!(
                    "{} more in {}",
                    count(tally.matches_hidden, "match"),
                    count(tally.files_hidden, "file")
                ),
                GrepMode::Files => format!("{} more", count(tally.files_hidden, "file")),
                GrepMode::Count => format!(
                    "{} more with {}",
                    count(tally.files_hidden, "file"),
                    count(tally.matches_hidden, "match")
                ),
            };
            notes.push(format!("… {more}; narrow the search with `path`, `glob` or a stricter pattern"));
        }
        if tally.binary > 0 {
            notes.push(format!("skipped {}", count(tally.binary, "binary file")));
        }
        if tally.unreadable > 0 {
            notes.push(format!("could not search {}", count(tally.unreadable, "file")));
        }
        notes.extend(report.notes());
        self.out.finish(&notes)
    }
}

/// Matches of one file.
struct FileMatches<'a> {
    matcher: &'a RegexMatcher,
    keep: usize,
    first_only: bool,
    lines: Vec<(bool, String)>,
    matches: u64,
    binary: bool,
}

impl FileMatches<'_> {
    fn keep(&mut self, is_match: bool, line: impl FnOnce(&RegexMatcher) -> String) {
        if self.lines.len() < self.keep {
            self.lines.push((is_match, line(self.matcher)));
        }
    }
}

impl Sink for FileMatches<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        let number = found.line_number().unwrap_or(0);
        self.keep(true, |matcher| {
            let start = matcher.find(found.bytes()).ok().flatten().map_or(0, |m| m.start());
            format!("{number}:{}", cut(found.bytes(), start))
        });
        Ok(!self.first_only)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let number = context.line_number().unwrap_or(0);
        self.keep(false, |_| format!("{number}-{}", cut(context.bytes(), 0)));
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.keep(false, |_| "--".to_owned());
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.binary = true;
        Ok(false)
    }
}

/// The part of a line around `focus`, with a note if it is not the whole line.
fn cut(line: &[u8], focus: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut start = match focus {
        near if near + LINE_LEAD_BYTES <= LINE_BYTES_MAX || line.len() <= LINE_BYTES_MAX => 0,
        far => far - LINE_LEAD_BYTES,
    };
    // Begin on a whole character.
    while start < line.len() && start > 0 && line[start] & 0b1100_0000 == 0b1000_0000 {
        start += 1;
    }
    let shown = decode(&line[start..], LINE_BYTES_MAX);
    if start == 0 && shown.used == line.len() {
        return shown.text;
    }
    let (from, to) = (grouped(start as u64 + 1), grouped((start + shown.used) as u64));
    format!("{} [bytes {from}-{to} of {}]", shown.text, grouped(line.len() as u64))
}

/// A reader that ends with an error once the call is cancelled.
struct CancellableReader<'a, R> {
    inner: R,
    cancel: &'a CancellationToken,
}

impl<R: Read> Read for CancellableReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(std::io::Error::other("cancelled"));
        }
        self.inner.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_its_match_with_exact_numbers() {
        let line = format!("{}needle{}\n", "é".repeat(500), "x".repeat(500));
        let shown = cut(line.as_bytes(), 1000);
        assert!(shown.contains("needle") && shown.ends_with(" [bytes 901-1,300 of 1,506]"), "{shown}");
        assert_eq!(cut(b"short\r\n", 3), "short");
    }

    #[test]
    fn only_spelled_out_dots_ask_for_hidden_files() {
        for (glob, hidden) in
            [(".github/**", true), ("**/.env", true), ("./a", false), ("*.rs", false), ("a/b.c", false)]
        {
            assert_eq!(names_hidden(glob), hidden, "{glob}");
        }
    }
}
