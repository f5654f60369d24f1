//! Export tests with a loopback collector that accepts, rejects or fails.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use posse_core::limits::Limits;
use posse_telemetry::otlp::{OtlpCollector, SpanExporter};
use posse_telemetry::spans::{Span, SpanKind, SpanObserver, SpanSink};
use posse_testkit::server::{Answer, Server};
use serde_json::{Value, json};

use crate::stage::{DELEGATION, play};

type Said = Arc<Mutex<Vec<String>>>;

fn exporter(url: &str) -> (SpanExporter, Said) {
    let said = Said::default();
    let heard = said.clone();
    let headers = [("x-team".to_owned(), "a b".to_owned())];
    let collector = OtlpCollector::new(&format!("{url}/v1/traces"), &headers).unwrap();
    let say = move |text: &str| heard.lock().unwrap().push(text.to_owned());
    (SpanExporter::start(collector, "tests".to_owned(), say).unwrap(), said)
}

/// Flushes the exporter on another thread, because the test's server has to answer meanwhile.
async fn flush(exporter: SpanExporter) {
    tokio::task::spawn_blocking(move || drop(exporter)).await.unwrap();
}

fn some_span() -> Span {
    Span {
        trace: [1; 16],
        id: [2; 8],
        parent: None,
        name: "chat".to_owned(),
        kind: SpanKind::Client,
        began: 1,
        ended: 2,
        attributes: Vec::new(),
        error: None,
    }
}

#[tokio::test]
async fn a_collector_gets_the_whole_tree_and_no_text() {
    let server = Server::handler(|_| Answer::json(200, &json!({}))).await;
    let (exporter, said) = exporter(server.url());
    let script =
        "boss: [{calls: [{shared_context: {action: write, key: k, value: SECRET}}]}, {text: SECRET}]";
    play(script, Limits::default(), vec![Arc::new(SpanObserver::new(exporter.sink()))]).await;
    flush(exporter).await;
    assert_eq!(*said.lock().unwrap(), [""; 0]);
    let request = server.request();
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/traces"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("x-team"), Some("a b"));
    assert!(!String::from_utf8_lossy(&request.body).contains("SECRET"));

    let mut body = request.json();
    let spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"].take();
    let version = env!("CARGO_PKG_VERSION");
    let expected = json!({ "resourceSpans": [{
        "resource": { "attributes": [
            { "key": "service.name", "value": { "stringValue": "tests" } },
            { "key": "service.version", "value": { "stringValue": version } },
        ] },
        "scopeSpans": [{ "scope": { "name": "posse", "version": version }, "spans": null }],
    }] });
    assert_eq!(body, expected);
    let spans = spans.as_array().unwrap();
    let names: Vec<&Value> = spans.iter().map(|span| &span["name"]).collect();
    assert_eq!(names, ["chat test", "execute_tool shared_context", "chat test", "invoke_agent boss"]);
    let root = &spans[3];
    assert_eq!(root.get("parentSpanId"), None);
    for span in spans {
        assert_eq!(span["traceId"], root["traceId"]);
        assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"));
    }
    for span in &spans[..3] {
        assert_eq!(span["parentSpanId"], root["spanId"]);
    }
    let tool = json!([
        { "key": "gen_ai.operation.name", "value": { "stringValue": "execute_tool" } },
        { "key": "gen_ai.tool.name", "value": { "stringValue": "shared_context" } },
        { "key": "gen_ai.tool.type", "value": { "stringValue": "function" } },
        { "key": "gen_ai.tool.call.id", "value": { "stringValue": "1.0" } },
        { "key": "gen_ai.agent.name", "value": { "stringValue": "boss" } },
        { "key": "gen_ai.conversation.id", "value": { "stringValue": "s1" } },
        { "key": "posse.task.id", "value": { "stringValue": "s1" } },
        { "key": "posse.tool.result_bytes", "value": spans[1]["attributes"][7]["value"] },
    ]);
    assert_eq!(spans[1]["attributes"], tool);
    assert_eq!((&spans[1]["kind"], &spans[0]["kind"]), (&json!(1), &json!(3)));
}

#[tokio::test(start_paused = true)]
async fn a_dead_collector_costs_a_run_nothing_and_is_said_once() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (exporter, said) = exporter(&format!("http://127.0.0.1:{port}"));
    let spans = Arc::new(SpanObserver::new(exporter.sink()));
    let (outcome, _) = play(DELEGATION, Limits::default(), vec![spans]).await;
    assert_eq!(outcome.text, "SECRET answer");
    drop(exporter);
    let said = said.lock().unwrap();
    let [said] = said.as_slice() else { panic!("{said:?}") };
    assert!(said.starts_with("telemetry: ") && said.contains(" spans did not get to 127.0.0.1: "), "{said}");
    assert!(said.to_lowercase().contains("refused"), "{said}");
}

#[test]
fn a_collector_that_never_answers_holds_up_neither_the_run_nor_the_end() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (exporter, said) = exporter(&format!("http://{}", silent.local_addr().unwrap()));
    let sink = exporter.sink();
    let began = Instant::now();
    for _ in 0..5_000 {
        sink.export(some_span());
    }
    assert!(began.elapsed() < Duration::from_secs(30), "nobody waits for room in the queue");
    let began = Instant::now();
    drop(exporter);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let expected = "telemetry: 5000 of 5000 spans did not get to 127.0.0.1: it did not take them in time";
    assert_eq!(*said.lock().unwrap(), [expected]);
    // A sink that outlives its exporter drops its spans.
    sink.export(some_span());
}

#[tokio::test]
async fn what_a_collector_refuses_is_counted() {
    for (answer, lost) in [
        (Answer::json(200, &json!({ "partialSuccess": { "rejectedSpans": "1" } })), "1 of 3"),
        (Answer::new(503, "text/plain", "later"), "3 of 3"),
        (Answer::new(301, "text/plain", "").header("location", "http://elsewhere"), "3 of 3"),
        (Answer::hang_up(), "3 of 3"),
    ] {
        let server = Server::script([answer]).await;
        let (exporter, said) = exporter(server.url());
        let sink: Arc<dyn SpanSink> = exporter.sink();
        for _ in 0..3 {
            sink.export(some_span());
        }
        flush(exporter).await;
        let said = said.lock().unwrap().clone();
        assert!(said.len() == 1 && said[0].starts_with(&format!("telemetry: {lost} spans")), "{said:?}");
    }
}
