//! Questions to a provider that belong to no task: which models it lists, and whether one of them answers.

use std::time::{Duration, Instant};

use http::Method;
use posse_core::agent::ModelSettings;
use posse_core::board::Urgency;
use posse_core::message::Message;
use posse_core::reply::{FailureKind, ModelFailure};
use posse_core::text::visible;
use posse_core::usage::{ByModel, Price};
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_runtime::ports::{ModelMemo, ModelRequest, NoDeltas, ToolUse, UnlimitedCalls};
use serde_json::Value;

use crate::body::EncodedBody;
use crate::catalogue::{ModelRef, family};
use crate::http::{HttpCall, KeyHeader, ProviderTransport};
use crate::providers::{ModelSource, WireFormat};

/// Longest wait for an answer to such a question.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum number of models that are read from a list.
const MODELS_MAX: usize = 2_000;
/// Longest name that is read from a list.
const NAME_BYTES_MAX: usize = 200;
/// Output of a probe; the least that every provider takes.
const PROBE_TOKENS: u32 = 16;

/// A model as its provider lists it, with what we know about it.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedModel {
    /// `provider:model`.
    pub reference: String,
    /// Context window in tokens: the provider's word, or else our table's.
    pub context_window: Option<u64>,
    /// Price of the configuration or our table.
    pub price: Option<Price>,
}

/// The answer of a model to one tiny request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// `provider:model`.
    pub reference: String,
    /// Time until the whole answer was there.
    pub took: Duration,
}

impl ModelSource {
    /// Asks a provider for its models, sorted by name.
    pub async fn list_models(&self, provider: &str) -> Result<Vec<ListedModel>> {
        let (wire, transport, _) = self.endpoint(provider)?;
        let failed = |failure: ModelFailure| problem(provider, &failure);
        let body = within(transport.whole(&list_call(wire, &transport))).await.map_err(failed)?;
        let list: Value = serde_json::from_slice(&body).map_err(|_| {
            failed(ModelFailure::new(FailureKind::Protocol, "the list of models is not JSON".to_owned()))
        })?;
        let mut models: Vec<ListedModel> = names_of(&list, wire)
            .take(MODELS_MAX)
            .filter_map(|(name, window)| self.listed(provider, name, window))
            .collect();
        models.sort_by(|a, b| a.reference.cmp(&b.reference));
        Ok(models)
    }

    fn listed(&self, provider: &str, name: &str, window: Option<u64>) -> Option<ListedModel> {
        let model = ModelRef::parse(&format!("{provider}:{}", visible(name))).ok()?;
        let context_window = window.or_else(|| family(&model).map(|family| family.context_window));
        Some(ListedModel { price: self.price(&model), context_window, reference: model.to_string() })
    }

    /// Sends one tiny request, once, and measures the time until its answer.
    pub async fn probe(&self, reference: &str) -> Result<ProbeReport> {
        let parsed = ModelRef::parse(reference)?;
        let (model, _) = self.client(&parsed)?;
        let (messages, settings) =
            ([Message::user("Reply with OK.")], ModelSettings { buffered: true, ..ModelSettings::default() });
        let request = ModelRequest {
            system: "",
            messages: &messages,
            tools: &[],
            tool_use: ToolUse::Auto,
            output_tokens_max: PROBE_TOKENS,
            settings: &settings,
            answered_by: &ByModel::default(),
            unanswered: 0,
            generation: 0,
            memo: &mut ModelMemo::default(),
            allowance: &UnlimitedCalls,
            urgency: Urgency::Interactive,
        };
        let began = Instant::now();
        let answered = within(model.call(request, &NoDeltas)).await;
        answered.map_err(|failure| problem(parsed.provider(), &failure))?;
        Ok(ProbeReport { reference: parsed.to_string(), took: began.elapsed() })
    }
}

/// Builds the call that lists models.
fn list_call(wire: WireFormat, transport: &ProviderTransport) -> HttpCall {
    let (path, key_header, headers): (&str, KeyHeader, &'static [(&str, &str)]) = match wire {
        WireFormat::Anthropic => {
            let path = match transport.base_url().ends_with("/v1") {
                true => "/models?limit=1000",
                false => "/v1/models?limit=1000",
            };
            (path, KeyHeader::Named("x-api-key"), &[("anthropic-version", "2023-06-01")])
        }
        WireFormat::Gemini => ("/models?pageSize=1000", KeyHeader::Named("x-goog-api-key"), &[]),
        WireFormat::Openai | WireFormat::OpenaiCompatible | WireFormat::OpenaiResponses => {
            ("/models", KeyHeader::Bearer, &[])
        }
    };
    HttpCall { method: Method::GET, path: path.to_owned(), key_header, headers }
}

/// Reads names and context windows; vendors call the window differently.
fn names_of(list: &Value, wire: WireFormat) -> impl Iterator<Item = (&str, Option<u64>)> {
    const WINDOWS: &[&str] =
        &["inputTokenLimit", "context_length", "context_window", "max_context_length", "max_model_len"];
    let key = if wire == WireFormat::Gemini { "models" } else { "data" };
    let entries = list.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let talks = |entry: &&Value| match entry.get("supportedGenerationMethods").and_then(Value::as_array) {
        Some(methods) => methods.iter().any(|method| method == "generateContent"),
        None => true,
    };
    entries.iter().filter(talks).filter_map(|entry| {
        let name = entry.get("id").or_else(|| entry.get("name"))?.as_str()?;
        let name = name.strip_prefix("models/").unwrap_or(name);
        let window = WINDOWS.iter().find_map(|key| entry.get(*key)?.as_u64());
        (name.len() <= NAME_BYTES_MAX).then_some((name, window))
    })
}

async fn within<T>(answer: impl Future<Output = Result<T, ModelFailure>>) -> Result<T, ModelFailure> {
    let late = || format!("no answer within {} s", PATIENCE.as_secs());
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(ModelFailure::new(FailureKind::Stalled, late())),
    }
}

/// Says why a provider did not answer, and what to do about it.
fn problem(provider: &str, failure: &ModelFailure) -> Error {
    let code = match failure.kind {
        FailureKind::Unauthorised => ErrorCode::ModelNotConfigured,
        FailureKind::UnknownModel => ErrorCode::ModelUnknown,
        _ => ErrorCode::ModelFailed,
    };
    let text = localized!("provider-probe-failed", provider, why = visible(&failure.message));
    let error = Error::new(code, text);
    match failure.kind {
        FailureKind::Unauthorised => error.hint(localized!("provider-key-refused-hint")),
        FailureKind::UnknownModel => error.hint(localized!("provider-models-hint")),
        FailureKind::QuotaExhausted => error.hint(localized!("provider-quota-hint")),
        FailureKind::Connection | FailureKind::Certificate | FailureKind::Stalled => {
            error.hint(localized!("provider-connection-hint"))
        }
        _ => error,
    }
}

impl ProviderTransport {
    /// Sends a request without a body and reads the whole answer.
    async fn whole(&self, call: &HttpCall) -> Result<Vec<u8>, ModelFailure> {
        let answer = self.send(call, &EncodedBody::empty()).await;
        answer.map_err(|rejection| rejection.failure)?.whole(&NoDeltas).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_read_whatever_the_vendor_calls_its_parts() {
        let gemini = json!({"models": [
            {"name": "models/gemini-2.5-pro", "inputTokenLimit": 1_048_576,
             "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
        ]});
        let read = |list: &Value, wire| {
            names_of(list, wire).map(|(name, window)| (name.to_owned(), window)).collect::<Vec<_>>()
        };
        assert_eq!(read(&gemini, WireFormat::Gemini), [("gemini-2.5-pro".to_owned(), Some(1_048_576))]);
        let compatible = json!({"data": [
            {"id": "a/b", "context_length": 128_000}, {"id": "c", "max_model_len": 4096}, {"id": "d"}, {"id": 7},
        ]});
        assert_eq!(
            read(&compatible, WireFormat::OpenaiCompatible),
            [("a/b".to_owned(), Some(128_000)), ("c".to_owned(), Some(4096)), ("d".to_owned(), None)]
        );
        assert_eq!(read(&json!({"data": "no list"}), WireFormat::Openai), []);
    }
}
