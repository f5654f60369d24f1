//! Writes `tracing` records as JSON lines to a file. Each line is one write, so that several processes can
//! append to one file.
//!
//! This is our own subscriber, because `tracing-subscriber` with JSON and a filter would add a dozen crates.
//! Spans are not kept; every record names its task.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use posse_core::context::wire::utc;
use posse_messages::{LocalizedText, localized};
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Metadata, Subscriber};

/// Opens a log for appending. A new file is readable by its owner alone.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // A pipe without a reader is an error instead of a wait.
    options.append(true).create(true).mode(0o600).custom_flags(libc::O_NONBLOCK);
    options.open(path)
}

/// A `tracing` subscriber that writes JSON lines.
pub struct JsonLog {
    filter: LogFilter,
    out: Mutex<Box<dyn Write + Send>>,
    complained: AtomicBool,
    complain: Box<dyn Fn(&io::Error) + Send + Sync>,
}

impl JsonLog {
    /// Creates a subscriber; `complain` gets the first write error only.
    pub fn new(
        filter: LogFilter,
        out: impl Write + Send + 'static,
        complain: impl Fn(&io::Error) + Send + Sync + 'static,
    ) -> Self {
        Self {
            filter,
            out: Mutex::new(Box::new(out)),
            complained: AtomicBool::new(false),
            complain: Box::new(complain),
        }
    }

    fn write(&self, line: &str) {
        let written = self.out.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
        if let Err(e) = written
            && !self.complained.swap(true, Ordering::Relaxed)
        {
            (self.complain)(&e);
        }
    }
}

impl Subscriber for JsonLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && self.filter.lets_through(metadata.target(), *metadata.level())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        self.filter.0.iter().map(|(_, level)| *level).max()
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let now = u64::try_from(crate::since_1970().as_millis()).unwrap_or(u64::MAX);
        let level = metadata.level().as_str().to_ascii_lowercase();
        let mut line = LogLine(format!(r#"{{"time":"{}","level":"{level}""#, utc(now)));
        line.field("target", &metadata.target().into());
        event.record(&mut line);
        line.0.push_str("}\n");
        self.write(&line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// A line under construction.
struct LogLine(String);

impl LogLine {
    fn field(&mut self, name: &str, value: &Value) {
        push_field(&mut self.0, name, value);
    }
}

/// Appends a field to the inside of a JSON object.
pub(super) fn push_field(line: &mut String, name: &str, value: &Value) {
    line.push_str(&format!(",{}:{value}", Value::from(name)));
}

impl Visit for LogLine {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.field(field.name(), &format!("{value:?}").into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            // Both are already JSON.
            "details" => self.0.push_str(value),
            "payload" => self.field("payload", &serde_json::from_str(value).unwrap_or_else(|_| value.into())),
            name => self.field(name, &value.into()),
        }
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.field(field.name(), &value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.field(field.name(), &value.into());
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.field(field.name(), &value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.field(field.name(), &value.into());
    }
}

/// The log filter: `info`, or `posse=debug,posse_models=warn`. Records of other libraries are always dropped,
/// because they may quote parts of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFilter(Vec<(String, LevelFilter)>);

impl Default for LogFilter {
    fn default() -> Self {
        Self(vec![(OURS.to_owned(), LevelFilter::INFO)])
    }
}

const OURS: &str = "posse";

impl LogFilter {
    /// Parses a filter; the error says what is allowed.
    pub fn parse(text: &str) -> Result<Self, LocalizedText> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let rules: Result<Vec<_>, LocalizedText> = parts.map(rule).collect();
        Ok(Self(rules?)).map(|filter| if filter.0.is_empty() { Self::default() } else { filter })
    }

    /// Applies the rule with the longest matching target.
    fn lets_through(&self, target: &str, level: Level) -> bool {
        let fitting = self.0.iter().filter(|(of, _)| covers(of, target));
        fitting.max_by_key(|(of, _)| of.len()).is_some_and(|(_, most)| level <= *most)
    }
}

/// Returns whether a rule covers a target: `posse` covers all crates, any other rule its target and its
/// modules.
fn covers(of: &str, target: &str) -> bool {
    match target.strip_prefix(of) {
        Some(rest) => rest.is_empty() || rest.starts_with("::") || (of == OURS && rest.starts_with('_')),
        None => false,
    }
}

fn rule(part: &str) -> Result<(String, LevelFilter), LocalizedText> {
    let (target, level) = part.split_once('=').unwrap_or((OURS, part));
    let wrong = || {
        let shown = posse_core::text::prefix(part, 80);
        localized!("log-level-invalid", shown)
    };
    if !target.starts_with(OURS) || level.trim().is_empty() {
        return Err(wrong());
    }
    Ok((target.to_owned(), level.trim().parse().map_err(|_| wrong())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_target_that_fits_decides() {
        let filter = LogFilter::parse("warn, posse_models=debug,posse_models::record=off").unwrap();
        for (target, level, passes) in [
            ("posse", Level::WARN, true),
            ("posse", Level::INFO, false),
            ("posse_runtime::observe", Level::ERROR, true),
            ("posse_models::http", Level::DEBUG, true),
            ("posse_models::record", Level::ERROR, false),
            ("possession", Level::ERROR, false),
            ("hyper", Level::ERROR, false),
        ] {
            assert_eq!(filter.lets_through(target, level), passes, "{target} {level}");
        }
        assert_eq!(LogFilter::parse(" ").unwrap(), LogFilter::default());
        for wrong in ["loud", "hyper=debug", "posse="] {
            assert!(LogFilter::parse(wrong).unwrap_err().contains("is no log level"), "{wrong}");
        }
    }
}
