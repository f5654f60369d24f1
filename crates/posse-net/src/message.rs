//! HTTP/1.1 as bytes: the head of a request written, an answer taken apart. Performs no I/O.
//!
//! What is unclear about where an answer ends is refused: whoever takes an answer for shorter than it is would read the rest of it
//! as the next one.

use std::fmt;
use std::io::Write;
use std::mem::MaybeUninit;
use std::ops::Range;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::request::Parts;
use http::{Method, Response, StatusCode, Version};

/// What the head of an answer may have. Providers say some ten lines.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 100;

/// What may be said beside the data, in extensions and trailers. Nobody reads it.
const ASIDE_BYTES_MAX: u32 = 16 << 10;

/// Digits of a piece's length that always fit.
const DIGITS_MAX: u8 = 15;

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub &'static str);

/// A request without its body, as it is sent. Clones share it.
#[derive(Clone)]
pub struct Prepared {
    pub(crate) method: Method,
    /// All of the head but how long the body is.
    pub(crate) lines: Bytes,
}

impl Prepared {
    pub(crate) fn new(parts: &Parts) -> Self {
        let mut lines = Vec::with_capacity(512);
        // Writing into memory does not fail.
        let _ = write!(lines, "{} {} HTTP/1.1\r\n", parts.method, parts.uri);
        for (name, value) in &parts.headers {
            // How long it is, is said by whoever sends it.
            if *name != CONTENT_LENGTH && *name != TRANSFER_ENCODING {
                lines.extend_from_slice(name.as_str().as_bytes());
                lines.extend_from_slice(b": ");
                lines.extend_from_slice(value.as_bytes());
                lines.extend_from_slice(b"\r\n");
            }
        }
        Self { method: parts.method.clone(), lines: lines.into() }
    }

    /// The rest of the head for a body of so many bytes.
    pub(crate) fn last_lines(&self, body_bytes: usize) -> String {
        let has_body = matches!(self.method, Method::POST | Method::PUT | Method::PATCH);
        match has_body || body_bytes > 0 {
            true => format!("{CONTENT_LENGTH}: {body_bytes}\r\n\r\n"),
            false => "\r\n".to_owned(),
        }
    }
}

/// Keys are in it.
impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared(…)")
    }
}

pub(crate) const NO_HTTP: Malformed = Malformed("the answer does not begin as HTTP/1.1 does");

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub response: Response<()>,
    pub left: Left,
    /// Whether another request may be sent when all of it was read.
    pub keeps: bool,
}

/// Where the head of an answer ends, if it does. What comes before `looked_at` was looked at already.
pub(crate) fn head_end(bytes: &[u8], looked_at: usize) -> Option<usize> {
    let from = looked_at.saturating_sub(2);
    let newline = |at: usize| bytes[at] == b'\n';
    (from..bytes.len()).filter(|at| newline(*at)).find_map(|at| match bytes.get(at + 1..) {
        Some([b'\n', ..]) => Some(at + 2),
        Some([b'\r', b'\n', ..]) => Some(at + 3),
        _ => None,
    })
}

/// Whether what has come so far may be the beginning of an answer.
pub(crate) fn may_begin(bytes: &[u8]) -> bool {
    let lines = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let name = b"HTTP/1.";
    bytes[lines..].iter().zip(name).all(|(byte, expected)| byte == expected)
}

/// Reads a head that is there to its end. `method`: of the request that is answered.
pub(crate) fn read_head(bytes: &[u8], method: &Method) -> Result<Head, Malformed> {
    let bytes = Bytes::copy_from_slice(bytes);
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut parsed = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut parsed, &bytes, &mut headers) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed("the answer has too many headers")),
        _ => return Err(NO_HTTP),
    }
    let unreadable = Malformed("a header of the answer cannot be read");
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(parsed.code.unwrap_or_default()).map_err(|_| unreadable)?;
    *response.version_mut() = if parsed.version == Some(1) { Version::HTTP_11 } else { Version::HTTP_10 };
    let said = response.headers_mut();
    said.reserve(parsed.headers.len());
    for header in parsed.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| unreadable)?;
        let value = HeaderValue::from_maybe_shared(bytes.slice_ref(header.value)).map_err(|_| unreadable)?;
        said.append(name, value);
    }
    let left = extent(&response, method)?;
    let keeps = keeps(&response) && left != Left::UntilClosed;
    Ok(Head { response, left, keeps })
}

/// What is still to come of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    Bytes(u64),
    Chunks(Chunks),
    UntilClosed,
}

/// How far the body of an answer goes (RFC 9112, 6.3).
fn extent(response: &Response<()>, method: &Method) -> Result<Left, Malformed> {
    let status = response.status();
    let is_bare =
        status.is_informational() || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if is_bare || *method == Method::HEAD {
        return Ok(Left::Bytes(0));
    }
    let mut codings = listed(response.headers(), &TRANSFER_ENCODING).peekable();
    if codings.peek().is_some() {
        let is_chunked = codings.next().is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked"));
        // Coded twice, the chunks of chunks would pass for the answer.
        if is_chunked && codings.next().is_none() && response.version() == Version::HTTP_11 {
            return Ok(Left::Chunks(Chunks::default()));
        }
        return Err(Malformed("the answer is coded in a way that nobody asked for"));
    }
    let mut length = None;
    for said in listed(response.headers(), &CONTENT_LENGTH) {
        let number = decimal(said).ok_or(Malformed("the length of the answer is no number"))?;
        if length.replace(number).is_some_and(|other| other != number) {
            return Err(Malformed("the answer has two lengths"));
        }
    }
    Ok(length.map_or(Left::UntilClosed, Left::Bytes))
}

fn keeps(response: &Response<()>) -> bool {
    let says =
        |word: &[u8]| listed(response.headers(), &CONNECTION).any(|token| token.eq_ignore_ascii_case(word));
    let is_ambiguous =
        response.headers().contains_key(TRANSFER_ENCODING) && response.headers().contains_key(CONTENT_LENGTH);
    let is_open = response.version() == Version::HTTP_11 || says(b"keep-alive");
    is_open && !says(b"close") && !is_ambiguous
}

/// The members of a header that is a list.
fn listed<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    let values = headers.get_all(name).into_iter();
    values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

/// Digits and nothing else: a sign or a space is read differently elsewhere.
fn decimal(digits: &[u8]) -> Option<u64> {
    let all = digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| all)?.parse().ok()
}

/// A body in pieces, each with its length before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Chunks {
    stage: Stage,
    /// Of the piece that is read.
    left: u64,
    digits: u8,
    aside: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Length,
    Extension,
    LengthEnd,
    Data,
    DataReturn,
    DataEnd,
    /// At the beginning of a line after the last piece.
    Line,
    Trailer,
    TrailerEnd,
    LastEnd,
    Over,
}

impl Chunks {
    /// How many bytes were taken, and where in them there are data. What follows the data is taken as far as it says nothing
    /// but how long they were.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(usize, Range<usize>), Malformed> {
        let begin = self.skip(bytes, 0)?;
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len() - begin);
        if self.stage != Stage::Data || count == 0 {
            return Ok((begin, begin..begin));
        }
        let data = begin..begin + count;
        self.left -= count as u64;
        if self.left == 0 {
            self.stage = Stage::DataReturn;
        }
        let mut behind = *self;
        let taken = match behind.skip(bytes, data.end) {
            Ok(taken) => {
                *self = behind;
                taken
            }
            // What is wrong behind the data does not take them away: it is found again when they were taken.
            Err(_) => data.end,
        };
        Ok((taken, data))
    }

    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Over what is no data.
    fn skip(&mut self, bytes: &[u8], mut at: usize) -> Result<usize, Malformed> {
        while at < bytes.len() && !matches!(self.stage, Stage::Data | Stage::Over) {
            self.stage = self.step(bytes[at])?;
            at += 1;
        }
        Ok(at)
    }

    fn step(&mut self, byte: u8) -> Result<Stage, Malformed> {
        let malformed = Err(Malformed("a piece of the answer does not begin or end as it should"));
        Ok(match (self.stage, byte) {
            (Stage::Length, _) if byte.is_ascii_hexdigit() => return self.digit(byte),
            (Stage::Length, b'\r') if self.digits > 0 => Stage::LengthEnd,
            (Stage::Length, b';' | b' ' | b'\t') if self.digits > 0 => Stage::Extension,
            (Stage::Extension, b'\r') => Stage::LengthEnd,
            (Stage::LengthEnd, b'\n') => {
                self.digits = 0;
                if self.left == 0 { Stage::Line } else { Stage::Data }
            }
            (Stage::DataReturn, b'\r') => Stage::DataEnd,
            (Stage::DataEnd, b'\n') => Stage::Length,
            (Stage::Line, b'\r') => Stage::LastEnd,
            (Stage::Trailer, b'\r') => Stage::TrailerEnd,
            (Stage::TrailerEnd, b'\n') => Stage::Line,
            (Stage::LastEnd, b'\n') => Stage::Over,
            (Stage::Extension | Stage::Line | Stage::Trailer, b'\n') => return malformed,
            (Stage::Extension, _) => self.aside(Stage::Extension)?,
            (Stage::Line | Stage::Trailer, _) => self.aside(Stage::Trailer)?,
            _ => return malformed,
        })
    }

    fn digit(&mut self, digit: u8) -> Result<Stage, Malformed> {
        self.digits += 1;
        if self.digits > DIGITS_MAX {
            return Err(Malformed("a piece of the answer is too long"));
        }
        let value = char::from(digit).to_digit(16).unwrap_or_default();
        self.left = self.left * 16 + u64::from(value);
        Ok(Stage::Length)
    }

    fn aside(&mut self, stage: Stage) -> Result<Stage, Malformed> {
        self.aside += 1;
        if self.aside > ASIDE_BYTES_MAX {
            return Err(Malformed("the answer has too much between its pieces"));
        }
        Ok(stage)
    }
}

#[cfg(test)]
mod tests;
