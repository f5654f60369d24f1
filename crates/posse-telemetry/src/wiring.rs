//! Logs and OpenTelemetry of one process, as its options ask for. Nothing is opened before a task runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::Observer;

use crate::hooks::{HookConfig, HookObserver};
use crate::log::{EventLog, JsonLog, LogFilter, PayloadPolicy, open};
use crate::otlp::{OtlpCollector, SpanExporter};
use crate::spans::SpanObserver;

/// Flags and configuration about telemetry.
#[derive(Debug, Clone, Default)]
pub struct TelemetryWishes {
    /// File of the log.
    pub log: Option<PathBuf>,
    /// Log level of the configuration; the environment wins.
    pub level: Option<String>,
    /// Log prompts and results in full.
    pub payloads: bool,
    /// Base URL of the collector in the configuration; the environment wins.
    pub otlp_endpoint: Option<String>,
    /// Commands of the user's configuration.
    pub hooks: Vec<HookConfig>,
}

/// Telemetry options. Not printable outside tests: headers hold keys.
#[derive(Default, PartialEq)]
#[cfg_attr(test, derive(Debug))]
pub struct TelemetryOptions {
    log: Option<PathBuf>,
    level: Option<String>,
    payloads: bool,
    /// Full URL of the trace collector.
    collector: Option<String>,
    headers: Option<String>,
    service: Option<String>,
    /// True if the environment asks for a protocol that is not supported.
    foreign_protocol: bool,
    hooks: Vec<HookConfig>,
}

impl TelemetryOptions {
    /// Resolves the options. `env` looks up a variable of the process.
    pub fn resolve(wishes: TelemetryWishes, env: impl Fn(&str) -> Option<String>) -> Self {
        let at = |base: String| format!("{}/v1/traces", base.trim().trim_end_matches('/'));
        let collector = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
            .or_else(|| env("OTEL_EXPORTER_OTLP_ENDPOINT").map(at))
            .or_else(|| wishes.otlp_endpoint.map(at));
        let says =
            |name: &str, what: &str| env(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(what));
        let is_off = says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none");
        Self {
            log: wishes.log,
            level: env("POSSE_LOG").or(wishes.level),
            payloads: wishes.payloads,
            collector: collector.filter(|_| !is_off),
            headers: env("OTEL_EXPORTER_OTLP_HEADERS"),
            service: env("OTEL_SERVICE_NAME"),
            foreign_protocol: says("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
                || says("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
            hooks: wishes.hooks,
        }
    }
}

/// Outlets of the process that telemetry needs: a line for people, and the global subscriber of logs.
#[derive(Clone, Copy)]
pub struct TelemetryOutlets {
    /// Shows a note to the person at the terminal.
    pub note: fn(&str),
    /// Makes this the log of the process. Called at most once.
    pub install: fn(JsonLog),
}

/// Telemetry of one process, opened when the first task runs.
#[derive(Default)]
pub struct Telemetry {
    options: TelemetryOptions,
    outlets: Option<TelemetryOutlets>,
    opened: OnceLock<OpenTelemetry>,
}

/// Open telemetry of this process. The exporter is last: it delivers what the spans leave behind.
struct OpenTelemetry {
    watchers: Vec<Arc<dyn Observer>>,
    spans: Option<Arc<SpanObserver>>,
    _exporter: Option<SpanExporter>,
}

impl Telemetry {
    /// Creates telemetry that is still closed.
    pub fn new(options: TelemetryOptions, outlets: TelemetryOutlets) -> Self {
        Self { options, outlets: Some(outlets), opened: OnceLock::new() }
    }

    /// Lists where logs and spans go, for `posse doctor`.
    pub fn places(&self) -> Vec<(&'static str, String)> {
        let log = self.options.log.iter().map(|path| ("log", path.display().to_string()));
        let traces = self.options.collector.iter().map(|url| ("traces", url.clone()));
        log.chain(traces).collect()
    }

    /// Opens the log for commands that change something without running a task.
    pub fn open_log(&self) -> Result<()> {
        self.options.log.as_deref().map_or(Ok(None), |path| self.log(path)).map(drop)
    }

    /// Returns the observers of every task of this process.
    pub fn watchers(&self) -> Result<Vec<Arc<dyn Observer>>> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened.watchers.clone());
        }
        let opened = self.open()?;
        Ok(self.opened.get_or_init(|| opened).watchers.clone())
    }
}

impl Telemetry {
    fn note(&self, text: &str) {
        if let Some(outlets) = self.outlets {
            (outlets.note)(text);
        }
    }

    fn open(&self) -> Result<OpenTelemetry> {
        let options = &self.options;
        let mut watchers: Vec<Arc<dyn Observer>> = Vec::new();
        match &options.log {
            Some(path) => watchers.extend(self.log(path)?),
            None if options.payloads => self.note(&localized!("payloads-without-log")),
            None => {}
        }
        watchers.extend(self.hooks());
        let nobody = |watchers| Ok(OpenTelemetry { watchers, spans: None, _exporter: None });
        let Some(url) = &options.collector else { return nobody(watchers) };
        if options.foreign_protocol {
            self.note(&localized!("no-grpc"));
            return nobody(watchers);
        }
        let collector = OtlpCollector::new(url, &headers(options.headers.as_deref().unwrap_or_default())?)?;
        let service = options.service.clone().unwrap_or_else(|| "posse".to_owned());
        let note = self.outlets.map(|outlets| outlets.note);
        let exporter = SpanExporter::start(collector, service, move |text| {
            if let Some(note) = note {
                note(&visible(text));
            }
        })?;
        let spans = Arc::new(SpanObserver::new(exporter.sink()));
        watchers.push(spans.clone());
        Ok(OpenTelemetry { watchers, spans: Some(spans), _exporter: Some(exporter) })
    }

    /// Starts the hooks. Hooks that cannot be started are reported and stop no task.
    fn hooks(&self) -> Option<Arc<dyn Observer>> {
        let (hooks, outlets) = (&self.options.hooks, self.outlets?);
        if hooks.is_empty() {
            return None;
        }
        match HookObserver::start(hooks.clone(), outlets.note) {
            Ok(observer) => Some(Arc::new(observer)),
            Err(e) => {
                self.note(&localized!("hooks-not-started", why = e));
                None
            }
        }
    }

    /// Opens the log. A log that cannot be opened is reported and stops no task.
    fn log(&self, path: &Path) -> Result<Option<Arc<dyn Observer>>> {
        let filter = LogFilter::parse(self.options.level.as_deref().unwrap_or_default())
            .map_err(|why| Error::new(ErrorCode::ConfigInvalid, why).hint(localized!("log-level-hint")))?;
        let shown = path.display().to_string();
        let file = match open(path) {
            Ok(file) => file,
            Err(e) => {
                self.note(&localized!("log-not-opened", path = visible(&shown), why = e));
                return Ok(None);
            }
        };
        if let Some(TelemetryOutlets { note, install }) = self.outlets {
            let complain = move |e: &std::io::Error| {
                note(&localized!("log-not-written", path = visible(&shown), why = e));
            };
            install(JsonLog::new(filter, file, complain));
        }
        let payloads = if self.options.payloads { PayloadPolicy::InFull } else { PayloadPolicy::Never };
        Ok(Some(Arc::new(EventLog::new(payloads))))
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(OpenTelemetry { spans: Some(spans), .. }) = self.opened.get() {
            spans.interrupt();
        }
    }
}

/// Parses `name=value,name=value` with percent-encoded values (OpenTelemetry specification).
fn headers(text: &str) -> Result<Vec<(String, String)>> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let read = pairs.map(|pair| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim().to_owned(), percent_decoded(value.trim())?))
    });
    read.collect::<Option<_>>().ok_or_else(|| {
        Error::new(ErrorCode::ConfigInvalid, localized!("otlp-headers-invalid"))
            .hint(localized!("otlp-headers-invalid-hint"))
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = tail;
            continue;
        }
        let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wished(log: Option<&str>, configured: bool, env: &[(&str, &str)]) -> TelemetryOptions {
        let wishes = TelemetryWishes {
            log: log.map(PathBuf::from),
            level: configured.then(|| "warn".to_owned()),
            payloads: false,
            otlp_endpoint: configured.then(|| "http://a:4318/".to_owned()),
            hooks: Vec::new(),
        };
        let env =
            |name: &str| env.iter().find(|(have, _)| *have == name).map(|(_, value)| (*value).to_owned());
        TelemetryOptions::resolve(wishes, env)
    }

    #[test]
    fn nothing_is_opened_unless_somebody_asks() {
        assert_eq!(wished(None, false, &[]), TelemetryOptions::default());
        let telemetry = Telemetry::default();
        assert!(telemetry.watchers().unwrap().is_empty());
    }

    #[test]
    fn the_environment_goes_before_the_configuration() {
        let configured = wished(Some("a"), true, &[]);
        assert_eq!((configured.log, configured.level.as_deref()), (Some("a".into()), Some("warn")));
        assert_eq!(configured.collector.as_deref(), Some("http://a:4318/v1/traces"));
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://b");
        let environment = wished(Some("c"), true, &[("POSSE_LOG", "debug"), base]);
        assert_eq!((environment.log, environment.level.as_deref()), (Some("c".into()), Some("debug")));
        assert_eq!(environment.collector.as_deref(), Some("http://b/v1/traces"));
        let whole = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d/here");
        assert_eq!(wished(None, true, &[base, whole]).collector.as_deref(), Some("http://d/here"));
        for off in [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")] {
            assert_eq!(wished(None, true, &[base, off]).collector, None);
        }
        assert!(wished(None, true, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).foreign_protocol);
    }

    #[test]
    fn headers_are_read_as_the_specification_writes_them() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let read = headers(" authorization=Bearer%20a%3Db ,x=1,").unwrap();
        assert_eq!(read, [pair("authorization", "Bearer a=b"), pair("x", "1")]);
        for wrong in ["x", "x=%2", "x=%zz"] {
            let e = headers(wrong).unwrap_err();
            assert!(!e.message().contains(wrong), "a value may be a secret: {e}");
        }
    }
}
