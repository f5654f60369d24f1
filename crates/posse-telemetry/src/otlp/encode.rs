//! Encodes `ExportTraceServiceRequest` as JSON: IDs in hexadecimal, 64-bit numbers as strings, enums as
//! numbers.

use serde_json::{Value as Json, json};

use crate::spans::{Span, SpanKind, SpanValue};

const STATUS_ERROR: u32 = 2;

/// Encodes spans as an export request.
pub fn encode(service: &str, spans: &[Span]) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let resource = json!({ "attributes": [
        attribute("service.name", &service.into()),
        attribute("service.version", &version.into()),
    ] });
    let scope = json!({ "name": "posse", "version": version });
    let spans: Vec<Json> = spans.iter().map(span).collect();
    let request = json!({ "resourceSpans": [{
        "resource": resource,
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] });
    request.to_string().into_bytes()
}

fn span(span: &Span) -> Json {
    let kind = match span.kind {
        SpanKind::Internal => 1,
        SpanKind::Client => 3,
    };
    let attributes: Vec<Json> = span.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
    let mut json = json!({
        "traceId": hex(&span.trace),
        "spanId": hex(&span.id),
        "name": span.name,
        "kind": kind,
        "startTimeUnixNano": span.began.to_string(),
        "endTimeUnixNano": span.ended.to_string(),
        "attributes": attributes,
        "status": {},
    });
    if let Some(parent) = &span.parent {
        json["parentSpanId"] = hex(parent).into();
    }
    if let Some(error) = &span.error {
        json["status"] = json!({ "code": STATUS_ERROR, "message": error });
    }
    json
}

fn attribute(name: &str, value: &SpanValue) -> Json {
    let value = match value {
        SpanValue::Text(text) => json!({ "stringValue": text }),
        SpanValue::Number(number) => json!({ "intValue": number.to_string() }),
        SpanValue::Flag(flag) => json!({ "boolValue": flag }),
    };
    json!({ "key": name, "value": value })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_encoded_as_the_protocol_wants_it() {
        let span = Span {
            trace: *b"0123456789abcdef",
            id: [0, 1, 2, 3, 4, 5, 6, 255],
            parent: Some([9; 8]),
            name: "chat big".to_owned(),
            kind: SpanKind::Client,
            began: 1_771_407_000_000_000_001,
            ended: 1_771_407_000_000_000_002,
            attributes: vec![("a", "x\"y".into()), ("b", 7.into()), ("c", SpanValue::Flag(true))],
            error: Some("overloaded".to_owned()),
        };
        let version = env!("CARGO_PKG_VERSION");
        let expected = json!({ "resourceSpans": [{
            "resource": { "attributes": [
                { "key": "service.name", "value": { "stringValue": "posse" } },
                { "key": "service.version", "value": { "stringValue": version } },
            ] },
            "scopeSpans": [{
                "scope": { "name": "posse", "version": version },
                "spans": [{
                    "traceId": "30313233343536373839616263646566",
                    "spanId": "00010203040506ff",
                    "parentSpanId": "0909090909090909",
                    "name": "chat big",
                    "kind": 3,
                    "startTimeUnixNano": "1771407000000000001",
                    "endTimeUnixNano": "1771407000000000002",
                    "attributes": [
                        { "key": "a", "value": { "stringValue": "x\"y" } },
                        { "key": "b", "value": { "intValue": "7" } },
                        { "key": "c", "value": { "boolValue": true } },
                    ],
                    "status": { "code": 2, "message": "overloaded" },
                }],
            }],
        }] });
        let encoded: Json = serde_json::from_slice(&encode("posse", std::slice::from_ref(&span))).unwrap();
        assert_eq!(encoded, expected);
        let root = Span { parent: None, error: None, ..span };
        let encoded: Json = serde_json::from_slice(&encode("posse", &[root])).unwrap();
        let root = &encoded["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!((root.get("parentSpanId"), &root["status"]), (None, &json!({})));
    }
}
