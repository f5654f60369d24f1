//! The HTTP client of the exporter: one address and the configured headers.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request, Uri};
use http_body_util::BodyExt;
use posse_core::text::{prefix, visible};
use posse_core::web::WebAddress;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_net::{ConnectionPool, is_loopback, system_proxies};

const CONNECT_WAIT: Duration = Duration::from_secs(3);
/// Maximum bytes read of a response; anything longer is a web page.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The collector that receives spans.
pub struct OtlpCollector {
    url: Uri,
    headers: HeaderMap,
    host: String,
}

impl OtlpCollector {
    /// Creates a collector. `url` is the full address, such as `http://localhost:4318/v1/traces`. Header
    /// values are secrets.
    pub fn new(url: &str, headers: &[(String, String)]) -> Result<Self> {
        let invalid = |why: LocalizedText| {
            Error::new(ErrorCode::ConfigInvalid, localized!("otlp-endpoint-invalid", why))
                .hint(localized!("otlp-endpoint-invalid-hint"))
        };
        let address = WebAddress::parse(url.trim()).map_err(|why| invalid(why.into()))?;
        let url = Uri::try_from(address.to_string()).map_err(|e| invalid(e.to_string().into()))?;
        let host = address.host().to_string();
        let mut checked = HeaderMap::new();
        checked.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        checked.insert(USER_AGENT, HeaderValue::from_static(concat!("posse/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in headers {
            let shown = visible(prefix(name, 80)).into_owned();
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| invalid(localized!("header-name-invalid", name = shown)))?;
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| invalid(localized!("header-value-invalid", name = shown)))?;
            value.set_sensitive(true);
            checked.insert(name, value);
        }
        Ok(Self { url, headers: checked, host })
    }

    /// Returns the collector's host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Sends a batch; returns the number of rejected spans, or why delivery failed.
    pub(super) async fn post(&self, body: Vec<u8>) -> Result<u64, String> {
        // A new pool per batch: batches are seconds apart, and most programs send one.
        let proxies = system_proxies(is_loopback(&self.host));
        let pool = ConnectionPool::new(&self.url, proxies, CONNECT_WAIT).map_err(|e| last_cause(&e))?;
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = self.headers.clone();
        let response = pool.send(request).await.map_err(|e| last_cause(&e))?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("HTTP {}", status.as_u16()));
        }
        let (mut answer, mut body) = (Vec::new(), response.into_body());
        while let Some(Ok(frame)) = body.frame().await {
            answer.extend_from_slice(&frame.into_data().unwrap_or_default());
            if answer.len() > ANSWER_BYTES_MAX {
                return Ok(0);
            }
        }
        Ok(rejected(&answer))
    }
}

/// Returns the rejected count. The protocol writes it as a string, some collectors as a number.
fn rejected(answer: &[u8]) -> u64 {
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
    let count = &answer["partialSuccess"]["rejectedSpans"];
    count.as_u64().or_else(|| count.as_str()?.parse().ok()).unwrap_or(0)
}

/// Returns an error's root cause, the most telling one: `connection refused`.
fn last_cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    visible(prefix(&last.to_string(), 200)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_used_is_refused_without_showing_secrets() {
        for wrong in ["localhost:4318", "ftp://x", "http://me:hunter2@host", "nonsense"] {
            let e = OtlpCollector::new(wrong, &[]).err().unwrap();
            assert!(e.code() == ErrorCode::ConfigInvalid && !e.message().contains("hunter2"), "{e}");
        }
        let secret = [("authorization".to_owned(), "sec\nret".to_owned())];
        let e = OtlpCollector::new("http://host", &secret).err().unwrap();
        assert!(e.message().contains("`authorization`") && !e.message().contains("sec\n"), "{e}");
    }

    #[test]
    fn rejected_spans_are_counted_however_they_are_written() {
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedSpans":"3"}}"#), 3);
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedSpans":4}}"#), 4);
        assert_eq!(rejected(b"{}") + rejected(b"") + rejected(b"<html>"), 0);
    }
}
