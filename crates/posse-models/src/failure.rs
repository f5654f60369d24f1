//! Classification of provider errors: one reading of statuses, error codes and error texts for all wires.

use std::time::{Duration, SystemTime};

use posse_core::reply::{FailureKind, ModelFailure};
use posse_core::text;
use serde_json::Value;

/// Maximum bytes of a foreign text in our messages.
pub(crate) const EXCERPT_BYTES_MAX: usize = 500;

/// A provider's error object in any of the shapes they use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    /// Codes and types, lower case, separated by spaces.
    codes: String,
    pub message: String,
    /// A status inside the body (Gemini), which an error event has and an error answer repeats.
    status: Option<u16>,
    retry_after_ms: Option<u64>,
    per_day: bool,
}

impl ProviderError {
    /// Reads `{"error": {...}}`, `{"type": "error", "error": {...}}`, `[{"error": ...}]`, `{"error": "text"}`,
    /// `{"message": ...}` and `{"code": ..., "message": ...}`.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(body).ok()?;
        Self::from_value(&value)
    }

    /// Reads an error object.
    pub fn from_value(value: &Value) -> Option<Self> {
        let value = value.get(0).unwrap_or(value);
        let error = match value.get("error") {
            Some(Value::Null) | None => value,
            Some(error) => error,
        };
        if let Some(message) = error.as_str() {
            return Some(Self { message: message.to_owned(), ..Self::default() });
        }
        let text = |key: &str| error.get(key).and_then(Value::as_str);
        let message = text("message").or_else(|| text("detail")).unwrap_or_default().to_owned();
        let mut codes: Vec<String> = ["type", "code", "status"]
            .iter()
            .filter_map(|key| text(key))
            .map(str::to_ascii_lowercase)
            .collect();
        let number = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        codes.extend(
            details
                .iter()
                .filter_map(|d| d.get("reason").and_then(Value::as_str))
                .map(str::to_ascii_lowercase),
        );
        if message.is_empty() && codes.is_empty() && number.is_none() {
            return None;
        }
        let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'));
        let per_day = error.get("details").is_some_and(|details| details.to_string().contains("PerDay"));
        Some(Self {
            codes: codes.join(" "),
            message,
            status: number,
            retry_after_ms: delay.and_then(seconds_to_ms),
            per_day,
        })
    }

    /// Tells whether the provider declined this content. That is an answer, not a failure.
    pub fn is_refusal(&self) -> bool {
        self.codes.split(' ').any(|code| matches!(code, "content_filter" | "content_policy_violation"))
    }

    fn says(&self, words: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        words.iter().any(|word| self.codes.contains(word) || message.contains(word))
    }
}

/// Classifies an error object inside a stream or a successful answer.
pub(crate) fn from_error(error: &ProviderError, redact: &dyn Fn(&str) -> String) -> ModelFailure {
    let status = error.status.filter(|status| *status >= 400);
    let kind = kind(status, Some(error));
    let message = if error.message.is_empty() { &error.codes } else { &error.message };
    ModelFailure {
        status,
        retry_after_ms: error.retry_after_ms,
        ..ModelFailure::new(kind, excerpt(message, redact))
    }
}

/// Classifies an answer whose status is not a success.
pub(crate) fn from_status(
    status: u16,
    retry_after_ms: Option<u64>,
    body: &[u8],
    redact: &dyn Fn(&str) -> String,
) -> ModelFailure {
    let error = ProviderError::parse(body);
    let message = match &error {
        Some(error) if !error.message.is_empty() => excerpt(&error.message, redact),
        _ if body.is_empty() => "the answer has no body".to_owned(),
        _ => excerpt(&String::from_utf8_lossy(&body[..body.len().min(4 * EXCERPT_BYTES_MAX)]), redact),
    };
    let kind = kind(Some(status), error.as_ref());
    let message = match (status, kind) {
        (404, FailureKind::InvalidRequest) => format!("nothing answers here, check the base URL: {message}"),
        _ => message,
    };
    ModelFailure {
        status: Some(status),
        retry_after_ms: retry_after_ms.or(error.as_ref().and_then(|error| error.retry_after_ms)),
        ..ModelFailure::new(kind, message)
    }
}

const AUTH: &[&str] =
    &["authentication_error", "permission_error", "invalid_api_key", "api_key_invalid", "api key not valid"];
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit",
    "billing_not_active",
    "credit balance",
    "insufficient credits",
    "insufficient balance",
    "exceeded your current quota",
    "payment required",
];
const CONTEXT: &[&str] = &[
    "context_length_exceeded",
    "request_too_large",
    "prompt is too long",
    "maximum context length",
    "context window",
    "context limit",
    "context size",
    "input token count",
    "input is too long",
];
const MODEL: &[&str] =
    &["model_not_found", "unknown model", "invalid model", "no such model", "unsupported model"];
const RATE: &[&str] = &["rate_limit", "resource_exhausted", "too many requests"];
const BUSY: &[&str] =
    &["overloaded", "server_error", "api_error", "internal", "unavailable", "timeout", "deadline_exceeded"];
const INVALID: &[&str] =
    &["invalid_request", "invalid_argument", "invalid_prompt", "failed_precondition", "bad_request"];

/// Classifies an error; `status` is `None` inside a stream. A refused key beats every other word in the text: waiting or
/// paying does not help with a wrong key.
fn kind(status: Option<u16>, error: Option<&ProviderError>) -> FailureKind {
    let says = |words: &[&str]| error.is_some_and(|error| error.says(words));
    let may_be_request = !matches!(status, Some(500..));
    if matches!(status, Some(401 | 403)) || (matches!(status, None | Some(400)) && says(AUTH)) {
        return FailureKind::Unauthorised;
    }
    // Gemini uses the same words for "too many this minute", then with the time to wait.
    let passing = error.is_some_and(|error| error.retry_after_ms.is_some() && !error.per_day);
    if status == Some(402) || (may_be_request && says(QUOTA) && !passing) {
        return FailureKind::QuotaExhausted;
    }
    if status == Some(413) || (matches!(status, None | Some(400 | 422)) && says(CONTEXT)) {
        return FailureKind::ContextTooLong;
    }
    let names_model = error.is_some_and(|error| error.message.to_ascii_lowercase().contains("model"));
    if (status == Some(404) && names_model) || (matches!(status, None | Some(400..=404)) && says(MODEL)) {
        return FailureKind::UnknownModel;
    }
    match status {
        Some(429) => FailureKind::RateLimited,
        Some(501) => FailureKind::InvalidRequest,
        Some(408 | 425 | 500..) => FailureKind::Overloaded,
        Some(_) => FailureKind::InvalidRequest,
        None if says(RATE) => FailureKind::RateLimited,
        None if says(BUSY) => FailureKind::Overloaded,
        None if says(INVALID) => FailureKind::InvalidRequest,
        None => FailureKind::Protocol,
    }
}

/// Returns a bounded, printable, redacted excerpt of foreign text.
pub(crate) fn excerpt(foreign: &str, redact: &dyn Fn(&str) -> String) -> String {
    // Redacted before it is truncated, so that no half of a key survives.
    let clean = redact(foreign);
    let clean = text::visible(clean.trim());
    let short = text::prefix(&clean, EXCERPT_BYTES_MAX);
    if short.len() < clean.len() { format!("{short}…") } else { short.to_owned() }
}

/// Computes the wait from `retry-after-ms` or either form of `retry-after`. A time in the past is 0; an invalid one is
/// `None`. `now` is the server's own clock where it sends one.
pub(crate) fn retry_after_ms(
    retry_after_ms: Option<&str>,
    retry_after: Option<&str>,
    now: impl FnOnce() -> SystemTime,
) -> Option<u64> {
    let exact = retry_after_ms.and_then(|raw| raw.trim().parse::<f64>().ok());
    if let Some(ms) = exact.filter(|ms| ms.is_finite() && *ms >= 0.0) {
        return Some(ms as u64);
    }
    let raw = retry_after?.trim();
    seconds_to_ms(raw).or_else(|| {
        let wait = httpdate::parse_http_date(raw).ok()?.duration_since(now()).unwrap_or(Duration::ZERO);
        u64::try_from(wait.as_millis()).ok()
    })
}

fn seconds_to_ms(raw: &str) -> Option<u64> {
    let seconds: f64 = raw.trim().parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_is(text: &str) -> String {
        text.to_owned()
    }

    // P02
    #[test]
    fn retry_after_is_read_in_all_its_forms() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (ms, after, expected) in [
            (None, Some("7"), Some(7_000)),
            (None, Some("0"), Some(0)),
            (None, Some("1.5"), Some(1_500)),
            (None, Some("-5"), None),
            (None, Some("1000000000"), Some(1_000_000_000_000)),
            (None, Some("1e9"), Some(1_000_000_000_000)),
            (None, Some("NaN"), None),
            (None, Some("soon"), None),
            (None, Some(""), None),
            (None, None, None),
            (Some("250"), Some("7"), Some(250)),
            (Some("junk"), Some("7"), Some(7_000)),
            (None, Some("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10_000)),
            (None, Some("Sunday, 06-Nov-94 08:49:47 GMT"), Some(10_000)),
            (None, Some("Sun Nov  6 08:49:47 1994"), Some(10_000)),
            (None, Some("Sun, 06 Nov 1994 08:49:27 GMT"), Some(0)),
            (None, Some("Sun, 99 Nov 1994 08:49:27 GMT"), None),
            (None, Some("Sun, 06 Foo 1994 08:49:27 GMT"), None),
        ] {
            assert_eq!(retry_after_ms(ms, after, || now), expected, "{ms:?} {after:?}");
        }
    }

    // P03, P04, P13, P14, P15, P43: what real providers send.
    #[test]
    fn statuses_and_bodies_are_typed() {
        use FailureKind::*;
        for (status, body, expected) in [
            (
                429,
                r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#,
                RateLimited,
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                QuotaExhausted,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
                QuotaExhausted,
            ),
            (402, "", QuotaExhausted),
            (
                429,
                r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"RequestsPerMinute"}]},{"retryDelay":"31s"}]}}"#,
                RateLimited,
            ),
            (
                429,
                r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"RequestsPerDay"}]},{"retryDelay":"31s"}]}}"#,
                QuotaExhausted,
            ),
            (401, r#"{"error":{"message":"quota for this key: billing"}}"#, Unauthorised),
            (403, r#"{"error":{"code":"insufficient_quota"}}"#, Unauthorised),
            (
                400,
                r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
                Unauthorised,
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Overloaded,
            ),
            (503, "<html>busy</html>", Overloaded),
            (502, "<html>insufficient_quota</html>", Overloaded),
            (408, "", Overloaded),
            (
                400,
                r#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192"}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens"}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"The input token count (9) exceeds the maximum","status":"INVALID_ARGUMENT"}}"#,
                ContextTooLong,
            ),
            (413, "", ContextTooLong),
            (
                404,
                r#"{"type":"error","error":{"type":"not_found_error","message":"model: nope"}}"#,
                UnknownModel,
            ),
            (400, r#"{"error":{"code":"model_not_found","message":"x"}}"#, UnknownModel),
            (404, "<html>nothing here</html>", InvalidRequest),
            (400, r#"{"error":{"message":"messages.3: tool_use without tool_result"}}"#, InvalidRequest),
            (422, "{}", InvalidRequest),
        ] {
            let failure = from_status(status, None, body.as_bytes(), &as_is);
            assert_eq!(failure.kind, expected, "{status} {body}");
            assert_eq!(failure.status, Some(status));
        }
    }

    // P05, P40
    #[test]
    fn errors_inside_a_stream_are_typed_and_an_unknown_one_is_never_skipped() {
        use FailureKind::*;
        for (body, expected) in [
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
            (r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#, RateLimited),
            (r#"{"type":"error","error":{"type":"api_error","message":"Internal"}}"#, Overloaded),
            (r#"{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}"#, Overloaded),
            (r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#, InvalidRequest),
            (r#"{"type":"error","error":{"type":"authentication_error","message":"quota"}}"#, Unauthorised),
            (r#"{"error":{"code":"context_length_exceeded","message":"m"}}"#, ContextTooLong),
            (r#"{"type":"error","error":{"type":"gremlins","message":"?"}}"#, Protocol),
            (r#"{"error":"something"}"#, Protocol),
        ] {
            let error = ProviderError::parse(body.as_bytes()).unwrap();
            assert_eq!(from_error(&error, &as_is).kind, expected, "{body}");
        }
    }

    #[test]
    fn a_delay_in_the_body_counts_when_no_header_says_one() {
        let body = br#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"1.5s"}]}}"#;
        assert_eq!(from_status(429, None, body, &as_is).retry_after_ms, Some(1500));
        assert_eq!(from_status(429, Some(9), body, &as_is).retry_after_ms, Some(9));
    }

    // P39
    #[test]
    fn an_excerpt_is_bounded_visible_and_redacted_before_it_is_cut() {
        let redact = |text: &str| text.replace("SECRET", "[key]");
        let long = format!("{}SECRET{}", "a".repeat(EXCERPT_BYTES_MAX - 3), "b".repeat(9000));
        let short = excerpt(&long, &redact);
        assert!(short.len() <= EXCERPT_BYTES_MAX + 3 && !short.contains("SEC"), "{short}");
        assert_eq!(excerpt("a\u{1b}[2Jb", &redact), "a\\u{1b}[2Jb");
    }
}
