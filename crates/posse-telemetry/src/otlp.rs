//! Exports spans to a collector: OTLP over HTTP with JSON, from a thread of its own.
//!
//! The encoding is small and stable and reuses our HTTP client; the usual exporter would add about a hundred
//! crates. A slow, full or missing collector costs spans but never time: the queue is bounded, and spans that
//! do not fit are dropped and counted.

mod encode;
mod http;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use posse_core::Result;
use posse_messages::localized;

use crate::spans::{Span, SpanSink};

pub use encode::encode;
pub use http::OtlpCollector;

/// Queue size: about a megabyte of spans; a busy session makes a few per second.
const QUEUE_MAX: usize = 2_048;
const BATCH_MAX: usize = 256;
/// Time that the first span of a batch waits for others.
const BATCH_WAIT: Duration = Duration::from_secs(2);
/// Timeout for delivering a batch.
const REQUEST_WAIT: Duration = Duration::from_secs(5);
/// Time limit for the final flush.
const FLUSH_WAIT: Duration = Duration::from_secs(2);

/// An exporter. Dropping it flushes the queue for up to two seconds and reports lost spans.
pub struct SpanExporter {
    queue: Arc<SpanQueue>,
    thread: Option<JoinHandle<()>>,
    done: Receiver<()>,
    collector: String,
    say: Box<dyn Fn(&str) + Send + Sync>,
}

struct SpanQueue {
    /// `None` once the queue is closed.
    sender: Mutex<Option<SyncSender<Span>>>,
    offered: AtomicU64,
    delivered: AtomicU64,
    /// The last error.
    trouble: Mutex<Option<String>>,
}

impl SpanExporter {
    /// Starts the exporter; `say` is told about lost spans at the end.
    pub fn start(
        collector: OtlpCollector,
        service: String,
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self> {
        let (sender, spans) = sync_channel(QUEUE_MAX);
        let (finished, done) = sync_channel(1);
        let queue = Arc::new(SpanQueue {
            sender: Mutex::new(Some(sender)),
            offered: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
            trouble: Mutex::new(None),
        });
        let (shared, host) = (queue.clone(), collector.host().to_owned());
        let work = move || {
            deliver(&spans, &collector, &service, &shared);
            let _ = finished.send(());
        };
        let thread = std::thread::Builder::new().name("telemetry".to_owned()).spawn(work).map_err(|e| {
            posse_core::Error::new(posse_core::ErrorCode::Io, localized!("telemetry-no-thread")).caused_by(e)
        })?;
        Ok(Self { queue, thread: Some(thread), done, collector: host, say: Box::new(say) })
    }

    /// Returns the sink that feeds this exporter.
    pub fn sink(&self) -> Arc<dyn SpanSink> {
        self.queue.clone()
    }
}

impl SpanSink for SpanQueue {
    fn export(&self, span: Span) {
        self.offered.fetch_add(1, Ordering::Relaxed);
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // A full queue means that the collector cannot keep up; the span counts as lost.
        if let Some(sender) = sender.as_ref() {
            let _ = sender.try_send(span);
        }
    }
}

impl Drop for SpanExporter {
    fn drop(&mut self) {
        // Dropping the sender ends the queue and then the thread.
        self.queue.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        if self.done.recv_timeout(FLUSH_WAIT).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
        let offered = self.queue.offered.load(Ordering::Relaxed);
        let lost = offered.saturating_sub(self.queue.delivered.load(Ordering::Relaxed));
        if lost > 0 {
            let trouble = self.queue.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
            let why = trouble.unwrap_or_else(|| localized!("collector-slow").to_string());
            let collector = &self.collector;
            (self.say)(&localized!("spans-lost", lost, offered, collector, why).to_string());
        }
    }
}

/// Delivers batches until the queue ends.
fn deliver(spans: &Receiver<Span>, collector: &OtlpCollector, service: &str, queue: &SpanQueue) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let send = |batch: &[Span]| -> Result<u64, String> {
        let runtime = runtime.as_ref().map_err(|e| e.to_string())?;
        let body = encode(service, batch);
        match runtime.block_on(async { tokio::time::timeout(REQUEST_WAIT, collector.post(body)).await }) {
            Ok(rejected) => rejected,
            Err(_) => Err(localized!("collector-silent", seconds = REQUEST_WAIT.as_secs()).to_string()),
        }
    };
    while let Some(batch) = next_batch(spans) {
        let (taken, trouble) = match send(&batch) {
            Ok(0) => (batch.len() as u64, None),
            Ok(rejected) => {
                let trouble = localized!("spans-rejected", rejected).to_string();
                ((batch.len() as u64).saturating_sub(rejected), Some(trouble))
            }
            Err(trouble) => (0, Some(trouble)),
        };
        queue.delivered.fetch_add(taken, Ordering::Relaxed);
        if trouble.is_some() {
            *queue.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        }
    }
}

/// Waits for a first span, then briefly for more.
fn next_batch(spans: &Receiver<Span>) -> Option<Vec<Span>> {
    let mut batch = vec![spans.recv().ok()?];
    let until = Instant::now() + BATCH_WAIT;
    while batch.len() < BATCH_MAX {
        match spans.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(span) => batch.push(span),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    Some(batch)
}
