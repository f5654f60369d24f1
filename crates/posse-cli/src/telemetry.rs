//! Logs and OpenTelemetry for this process: what flags, configuration and environment ask for. Nothing is opened before
//! a task runs, and nothing at all when nobody asks.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_runtime::ports::Observer;
use posse_telemetry::log::{EventLog, JsonLog, LogFilter, PayloadPolicy, open};
use posse_telemetry::otlp::{OtlpCollector, SpanExporter};
use posse_telemetry::spans::SpanObserver;

use crate::args::GlobalArgs;
use crate::config::Config;
use crate::models::process_env;
use crate::terminal;

/// What is asked for. Outside of tests it cannot be printed: headers hold keys.
#[derive(Default, PartialEq)]
#[cfg_attr(test, derive(Debug))]
pub struct TelemetryOptions {
    log: Option<PathBuf>,
    level: Option<String>,
    payloads: bool,
    /// The whole address that spans are sent to.
    collector: Option<String>,
    headers: Option<String>,
    service: Option<String>,
    /// The collector is spoken to in a way that we do not know.
    foreign_protocol: bool,
}

pub fn wishes(global: &GlobalArgs, config: &Config) -> TelemetryOptions {
    gather(global, config, process_env)
}

/// A flag goes before the environment, and that before the configuration.
fn gather(global: &GlobalArgs, config: &Config, env: impl Fn(&str) -> Option<String>) -> TelemetryOptions {
    let at = |base: String| format!("{}/v1/traces", base.trim().trim_end_matches('/'));
    let collector = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
        .or_else(|| env("OTEL_EXPORTER_OTLP_ENDPOINT").map(at))
        .or_else(|| config.telemetry.otlp_endpoint.clone().map(at));
    let says =
        |name: &str, what: &str| env(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(what));
    let is_off = says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none");
    TelemetryOptions {
        log: global.log.clone().or_else(|| config.log.file.clone()),
        level: env("POSSE_LOG").or_else(|| config.log.level.clone()),
        payloads: global.debug_payloads,
        collector: collector.filter(|_| !is_off),
        headers: env("OTEL_EXPORTER_OTLP_HEADERS"),
        service: env("OTEL_SERVICE_NAME"),
        foreign_protocol: says("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
            || says("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
    }
}

#[derive(Default)]
pub struct Telemetry {
    wishes: TelemetryOptions,
    opened: OnceLock<OpenTelemetry>,
}

/// The exporter is last: it delivers what the spans leave behind.
struct OpenTelemetry {
    watchers: Vec<Arc<dyn Observer>>,
    spans: Option<Arc<SpanObserver>>,
    _exporter: Option<SpanExporter>,
}

impl Telemetry {
    pub fn new(wishes: TelemetryOptions) -> Self {
        Self { wishes, opened: OnceLock::new() }
    }

    /// For the doctor: where logs and spans go, if anywhere.
    pub fn places(&self) -> Vec<(&'static str, String)> {
        let log = self.wishes.log.iter().map(|path| ("log", path.display().to_string()));
        let traces = self.wishes.collector.iter().map(|url| ("traces", url.clone()));
        log.chain(traces).collect()
    }

    /// For commands that change something without running a task.
    pub fn open_log(&self) -> Result<()> {
        self.wishes.log.as_deref().map_or(Ok(None), |path| self.wishes.log(path)).map(drop)
    }

    /// Who watches every task of this process.
    pub fn watchers(&self) -> Result<Vec<Arc<dyn Observer>>> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened.watchers.clone());
        }
        let opened = self.wishes.open()?;
        Ok(self.opened.get_or_init(|| opened).watchers.clone())
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(OpenTelemetry { spans: Some(spans), .. }) = self.opened.get() {
            spans.interrupt();
        }
    }
}

impl TelemetryOptions {
    fn open(&self) -> Result<OpenTelemetry> {
        let mut watchers: Vec<Arc<dyn Observer>> = Vec::new();
        match &self.log {
            Some(path) => watchers.extend(self.log(path)?),
            None if self.payloads => {
                terminal::note(&say!("payloads-without-log"));
            }
            None => {}
        }
        let nobody = |watchers| Ok(OpenTelemetry { watchers, spans: None, _exporter: None });
        let Some(url) = &self.collector else { return nobody(watchers) };
        if self.foreign_protocol {
            terminal::note(&say!("no-grpc"));
            return nobody(watchers);
        }
        let collector = OtlpCollector::new(url, &headers(self.headers.as_deref().unwrap_or_default())?)?;
        let service = self.service.clone().unwrap_or_else(|| "posse".to_owned());
        let exporter = SpanExporter::start(collector, service, |text| terminal::note(&visible(text)))?;
        let spans = Arc::new(SpanObserver::new(exporter.sink()));
        watchers.push(spans.clone());
        Ok(OpenTelemetry { watchers, spans: Some(spans), _exporter: Some(exporter) })
    }

    /// A log that cannot be written stops no task: it is said, and that is all.
    fn log(&self, path: &Path) -> Result<Option<Arc<dyn Observer>>> {
        let filter = LogFilter::parse(self.level.as_deref().unwrap_or_default())
            .map_err(|why| Error::new(ErrorCode::ConfigInvalid, why).hint(say!("log-level-hint")))?;
        let shown = path.display().to_string();
        let file = match open(path) {
            Ok(file) => file,
            Err(e) => {
                terminal::note(&say!("log-not-opened", path = visible(&shown), why = e));
                return Ok(None);
            }
        };
        let complain = move |e: &std::io::Error| {
            terminal::note(&say!("log-not-written", path = visible(&shown), why = e));
        };
        // Only once in a process, and this is the one place.
        let _ = tracing::subscriber::set_global_default(JsonLog::new(filter, file, complain));
        let payloads = if self.payloads { PayloadPolicy::InFull } else { PayloadPolicy::Never };
        Ok(Some(Arc::new(EventLog::new(payloads))))
    }
}

/// `name=value,name=value`, values percent-encoded, as the OpenTelemetry specification has it.
fn headers(text: &str) -> Result<Vec<(String, String)>> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let read = pairs.map(|pair| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim().to_owned(), percent_decoded(value.trim())?))
    });
    read.collect::<Option<_>>().ok_or_else(|| {
        Error::new(ErrorCode::ConfigInvalid, say!("otlp-headers-invalid"))
            .hint(say!("otlp-headers-invalid-hint"))
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

    fn wished(config: &str, log: Option<&str>, env: &[(&str, &str)]) -> TelemetryOptions {
        let global = GlobalArgs {
            config: None,
            state: None,
            json: false,
            lang: None,
            log: log.map(PathBuf::from),
            debug_payloads: false,
        };
        let env =
            |name: &str| env.iter().find(|(have, _)| *have == name).map(|(_, value)| (*value).to_owned());
        gather(&global, &toml::from_str(config).unwrap(), env)
    }

    #[test]
    fn nothing_is_opened_unless_somebody_asks() {
        assert_eq!(wished("", None, &[]), TelemetryOptions::default());
        let telemetry = Telemetry::default();
        assert!(telemetry.watchers().unwrap().is_empty());
    }

    #[test]
    fn a_flag_goes_before_the_environment_and_that_before_the_configuration() {
        let config =
            "[log]\nfile = \"a\"\nlevel = \"warn\"\n[telemetry]\notlp_endpoint = \"http://a:4318/\"\n";
        let configured = wished(config, None, &[]);
        assert_eq!((configured.log, configured.level.as_deref()), (Some("a".into()), Some("warn")));
        assert_eq!(configured.collector.as_deref(), Some("http://a:4318/v1/traces"));
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://b");
        let environment = wished(config, Some("c"), &[("POSSE_LOG", "debug"), base]);
        assert_eq!((environment.log, environment.level.as_deref()), (Some("c".into()), Some("debug")));
        assert_eq!(environment.collector.as_deref(), Some("http://b/v1/traces"));
        let whole = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d/here");
        assert_eq!(wished(config, None, &[base, whole]).collector.as_deref(), Some("http://d/here"));
        for off in [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")] {
            assert_eq!(wished(config, None, &[base, off]).collector, None);
        }
        assert!(wished(config, None, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).foreign_protocol);
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
