//! Shows a file page by page. Only the page asked for is kept in memory, however large the file is.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Seek};
use std::os::fd::AsFd;

use posse_core::tool::{ToolEffect, ToolSpec};
use posse_runtime::ports::ToolOutput;
use posse_sandbox::workspace::{WHOLE_BYTES_MAX, show};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::answer::{BoundedLines, NOTES_BYTES, count, decode, grouped};
use crate::files::{Answer, FileJob, describe, number};
use crate::seen::ContentStamp;

const LINES_DEFAULT: u64 = 2000;
const LINES_MAX: u64 = 20_000;
/// A longer line is usually data or minified code, of which the beginning says enough.
const LINE_BYTES_MAX: usize = 2000;
/// A NUL in the first bytes is how binary files are told from text, as git does it.
const PROBE_BYTES: usize = 8192;
const BUFFER_BYTES: usize = 64 * 1024;

const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "path": { "type": "string", "description": "File to read, relative to the workspace." },
    "offset": { "type": "integer", "minimum": 1, "description": "First line to show, counted from 1. Default 1." },
    "limit": { "type": "integer", "minimum": 1, "description": "How many lines to show at most. Default 2000." }
  },
  "required": ["path"],
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadArguments {
    path: String,
    #[serde(default, deserialize_with = "number")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "number")]
    limit: Option<u64>,
}

pub(crate) fn spec() -> ToolSpec {
    describe(
        "read",
        ToolEffect::Pure,
        "Read a text file of the workspace. Each line is shown with its number and a tab before it; neither is part \
         of the file. Long files are shown in pages: a note at the end says what remains and how to read on. A file \
         must be read before `edit` or `write` may change it.",
        SCHEMA,
    )
}

pub(crate) fn run(job: &FileJob, arguments: ReadArguments) -> Answer {
    let path = job.context.workspace.path(&arguments.path)?;
    let first = arguments.offset.unwrap_or(1).max(1);
    let limit = arguments.limit.unwrap_or(LINES_DEFAULT).min(LINES_MAX);
    if limit == 0 {
        return Err("`limit` is 0, so no line could be shown; leave it out or give at least 1".to_owned());
    }
    let failed = |cause: std::io::Error| format!("cannot read `{}`: {cause}", show(&path));

    let mut open = job.context.workspace.open_file(&path)?;
    job.check(&path, open.file.as_fd())?;
    let whole = open.whole(WHOLE_BYTES_MAX).map_err(failed)?;
    let size = whole.as_ref().map_or(open.size(), |content| content.len() as u64);
    let (stamp, lines_total) = match &whole {
        Some(content) => (ContentStamp::of_content(content), Some(lines_of(content))),
        None => (ContentStamp::of_metadata(&open.stat), None),
    };
    job.context.seen.note(&job.task, &path, stamp, job.turn);

    let mut pager = FilePager::new(whole, open.file, &job.cancel).map_err(failed)?;
    if size == 0 {
        return Ok(ToolOutput::text(format!("[`{}` is an empty file]", show(&path))));
    }
    if pager.looks_binary().map_err(failed)? {
        return Ok(ToolOutput::text(format!(
            "[`{}` is a binary file of {}; it cannot be shown as text]",
            show(&path),
            count(size, "byte")
        )));
    }
    if pager.skip(first - 1).map_err(failed)? < first - 1 || pager.at_end().map_err(failed)? {
        return Err(format!(
            "`offset` {first} is past the end: `{}` has {}",
            show(&path),
            count(pager.line, "line")
        ));
    }
    let page = pager.page(limit, job.room - NOTES_BYTES).map_err(failed)?;
    let notes = page.notes(&arguments.path, first, size, lines_total);
    Ok(ToolOutput::text(page.lines.finish(&notes)))
}

fn lines_of(content: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', content).count() as u64;
    ends + u64::from(content.last().is_some_and(|&last| last != b'\n'))
}

/// Goes through a file once, from the beginning.
struct FilePager<'a> {
    source: Box<dyn BufRead>,
    cancel: &'a CancellationToken,
    /// Lines and bytes passed so far.
    line: u64,
    position: u64,
}

struct FilePage {
    lines: BoundedLines,
    last: u64,
    /// Offset of the first line that is not shown.
    end: u64,
    crlf: bool,
    lossy: bool,
    complete: bool,
}

/// One line without its end; `kept` is its beginning.
struct FileLine {
    kept: Vec<u8>,
    bytes: u64,
    crlf: bool,
}

impl<'a> FilePager<'a> {
    fn new(whole: Option<Vec<u8>>, mut file: File, cancel: &'a CancellationToken) -> std::io::Result<Self> {
        let source: Box<dyn BufRead> = match whole {
            Some(content) => Box::new(Cursor::new(content)),
            None => {
                file.rewind()?;
                Box::new(BufReader::with_capacity(BUFFER_BYTES, file))
            }
        };
        Ok(Self { source, cancel, line: 0, position: 0 })
    }

    fn looks_binary(&mut self) -> std::io::Result<bool> {
        let probe = self.source.fill_buf()?;
        Ok(memchr::memchr(0, &probe[..probe.len().min(PROBE_BYTES)]).is_some())
    }

    fn at_end(&mut self) -> std::io::Result<bool> {
        Ok(self.source.fill_buf()?.is_empty())
    }

    /// Passes `lines` lines, or as many as there are.
    fn skip(&mut self, lines: u64) -> std::io::Result<u64> {
        let before = self.line;
        while self.line - before < lines && self.next(0)?.is_some() {}
        Ok(self.line - before)
    }

    fn next(&mut self, keep: usize) -> std::io::Result<Option<FileLine>> {
        let mut line = FileLine { kept: Vec::new(), bytes: 0, crlf: false };
        let mut last = 0;
        loop {
            if self.cancel.is_cancelled() {
                return Err(std::io::Error::other("the call was cancelled".to_owned()));
            }
            let buffer = self.source.fill_buf()?;
            if buffer.is_empty() {
                if line.bytes == 0 {
                    return Ok(None);
                }
                self.line += 1;
                return Ok(Some(line));
            }
            // A whole small file is one buffer: without this bound every search for a line end would still be fast,
            // but a cancel would only be seen at its end.
            let buffer = &buffer[..buffer.len().min(BUFFER_BYTES)];
            let end = memchr::memchr(b'\n', buffer);
            let part = &buffer[..end.unwrap_or(buffer.len())];
            let wanted = keep.saturating_sub(line.kept.len()).min(part.len());
            line.kept.extend_from_slice(&part[..wanted]);
            line.bytes += part.len() as u64;
            last = part.last().copied().unwrap_or(last);
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            self.position += used as u64;
            if end.is_some() {
                self.line += 1;
                line.crlf = line.bytes > 0 && last == b'\r';
                line.bytes -= u64::from(line.crlf);
                line.kept.truncate(usize::try_from(line.bytes).unwrap_or(usize::MAX));
                return Ok(Some(line));
            }
        }
    }

    fn page(&mut self, limit: u64, bytes_max: usize) -> std::io::Result<FilePage> {
        let mut page = FilePage {
            lines: BoundedLines::new(usize::MAX, bytes_max),
            last: self.line,
            end: self.position,
            crlf: false,
            lossy: false,
            complete: false,
        };
        // The first line always fits, so a page never is empty: number, tab, cut note and line end need less than 100.
        let keep = LINE_BYTES_MAX.min(bytes_max - 100);
        for _ in 0..limit {
            // Four more bytes, so that the last character kept is never half of one.
            let Some(line) = self.next(keep + 4)? else {
                page.complete = true;
                return Ok(page);
            };
            let decoded = decode(&line.kept, keep);
            let mut text = format!("{:>6}\t{}", self.line, decoded.text);
            if (decoded.used as u64) < line.bytes {
                let (shown, total) = (grouped(decoded.used as u64), grouped(line.bytes));
                text.push(' ');
                text.push_str(&format!("[line cut: {shown} of {total} bytes shown]"));
            }
            if !page.lines.push(&text) {
                return Ok(page);
            }
            page.crlf |= line.crlf;
            page.lossy |= decoded.lossy;
            page.last = self.line;
            page.end = self.position;
        }
        page.complete = self.at_end()?;
        Ok(page)
    }
}

impl FilePage {
    fn notes(&self, path: &str, first: u64, size: u64, lines_total: Option<u64>) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.complete {
            let bytes = count(size.saturating_sub(self.end), "byte");
            let remain = match lines_total {
                Some(total) => {
                    let lines = count(total - self.last, "line");
                    format!(
                        "lines {first}-{} of {} shown; {lines} ({bytes}) remain",
                        self.last,
                        grouped(total)
                    )
                }
                None => format!("lines {first}-{} shown; {bytes} remain", self.last),
            };
            let next = self.last + 1;
            let path = serde_json::to_string(path).unwrap_or_default();
            notes.push(match path.len() {
                0..=160 => format!("{remain}; to read on: {{\"path\":{path},\"offset\":{next}}}"),
                _ => format!("{remain}; to read on: the same path with offset {next}"),
            });
        }
        if self.crlf {
            notes.push(
                "lines end in CRLF; `edit` keeps that, write plain line ends in its arguments".to_owned(),
            );
        }
        if self.lossy {
            notes.push("some bytes are not UTF-8 and are shown as �".to_owned());
        }
        notes
    }
}
