//! The vocabulary as it is documented: `docs/events.schema.json` and the table in `docs/events.md`, both made from the types.
//! `POSSE_UPDATE_DOCS=1` writes them.

use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::*;
use crate::fact::{LiveEntry, LiveFact, QueuePlace, SteerReceipt};

fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Compares a document with what the types say, or writes it.
fn hold(name: &str, wanted: &str) {
    if std::env::var_os("POSSE_UPDATE_DOCS").is_some() {
        return std::fs::write(document(name), wanted).unwrap();
    }
    let found = std::fs::read_to_string(document(name)).unwrap_or_default();
    assert_eq!(found, wanted, "docs/{name} is old: run this test with POSSE_UPDATE_DOCS=1");
}

/// A line of `--json`.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(untagged)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum JsonLine {
    /// A fact of the journal.
    Event(EventEntry),
    /// A fact that is told and not journaled. It has no `seq`.
    Live(LiveEntry),
}

fn schema() -> Value {
    let schema =
        SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<JsonLine>();
    let mut schema = schema.to_value();
    schema["title"] = "Line of posse --json".into();
    schema
}

/// The schemas of the single events or facts, in order.
fn variants<'a>(schema: &'a Value, entry: &str) -> &'a Vec<Value> {
    schema["$defs"][entry]["oneOf"].as_array().unwrap()
}

/// The properties of an event or fact, with those of the type that it wraps.
fn properties<'a>(schema: &'a Value, variant: &'a Value) -> Vec<&'a String> {
    let wrapped = variant["$ref"].as_str().map(|path| &schema["$defs"][path.rsplit('/').next().unwrap()]);
    let of = |form: &'a Value| form["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
    let mut names: Vec<&String> = of(variant).chain(wrapped.into_iter().flat_map(of)).collect();
    names.sort_unstable();
    names
}

fn kind_of(variant: &Value) -> &str {
    variant["properties"]["type"]["const"].as_str().unwrap()
}

#[test]
fn the_schema_in_the_documentation_is_that_of_the_types() {
    hold("events.schema.json", &(serde_json::to_string_pretty(&schema()).unwrap() + "\n"));
}

/// Makes the lines of a table from the schemas of an entry.
fn table(schema: &Value, entry: &str) -> String {
    let line = |variant: &Value| {
        let mut fields: Vec<&str> = properties(schema, variant)
            .into_iter()
            .map(String::as_str)
            .filter(|name| *name != "type")
            .collect();
        let order = variant["required"].as_array().unwrap();
        fields.sort_by_key(|name| order.iter().position(|required| required == name).unwrap_or(usize::MAX));
        let fields: Vec<String> = fields.iter().map(|name| format!("`{name}`")).collect();
        let fact = variant["description"].as_str().unwrap().replace('\n', " ");
        format!("| `{}` | {} | {fact} |\n", kind_of(variant), fields.join(", "))
    };
    variants(schema, entry).iter().map(line).collect()
}

/// Replaces the table below this head.
fn with_table(text: &str, head: &str, table: &str) -> String {
    let at = text.find(head).expect("docs/events.md has the table") + head.len();
    let (before, rest) = text.split_at(at);
    let after = &rest[rest.find("\n\n").expect("a text follows the table") + 1..];
    format!("{before}{table}{after}")
}

#[test]
fn the_tables_in_the_documentation_have_one_line_for_each_event_and_live_fact() {
    const EVENTS: &str = "| `type` | fields | fact |\n|---|---|---|\n";
    const LIVE: &str = "| `type` | fields | live fact |\n|---|---|---|\n";
    let schema = schema();
    let text = std::fs::read_to_string(document("events.md")).unwrap();
    let text = with_table(&text, EVENTS, &table(&schema, "EventEntry"));
    hold("events.md", &with_table(&text, LIVE, &table(&schema, "LiveEntry")));
}

/// One of each kind, with every optional value.
fn examples() -> Vec<Event> {
    let (key, tool) = (CallKey { turn: 3, index: 1 }, "read".to_owned());
    let usage = Usage {
        input: 7,
        output: 5,
        cache_read: 3,
        cache_write: 2,
        reasoning: 1,
        estimated: true,
        cost_micros: Some(1_234_567),
    };
    let changed = vec![
        FileChange {
            lines: Some(crate::edits::LineCounts { added: 1, removed: 2 }),
            ..FileChange::named("a.rs")
        },
        FileChange { kind: crate::edits::ChangeKind::Deleted, ..FileChange::named("b.rs") },
    ];
    let text = || "text".to_owned();
    vec![
        Event::Queued { agent: text(), after: vec![text()] },
        Event::Started {
            agent: text(),
            model: text(),
            context_window: Some(200_000),
            sandbox: SandboxTier::Namespaces,
        },
        Event::Resumed {
            agent: text(),
            model: text(),
            context_window: None,
            epoch: 2,
            finished_calls: 3,
            in_doubt: 1,
            turns: 4,
            turns_max: 50,
            tool_calls: 6,
            usage,
        },
        Event::TurnStarted { turn: 1, turns_max: 50 },
        Event::Replied { turn: 1, model: text(), usage: Usage { cost_micros: None, ..usage }, calls: 2 },
        Event::Noted { note: text() },
        Event::ModelRetry { kind: FailureKind::Overloaded, status: Some(529), why: text(), wait_ms: 500 },
        Event::Waiting { why: WaitCause::Lease, paths: vec![text()], retry_ms: Some(500) },
        Event::ModelFailed { kind: FailureKind::QuotaExhausted, message: text() },
        Event::ToolStarted { key, tool: tool.clone(), summary: text() },
        Event::ToolRefused { key, tool: tool.clone(), why: text() },
        Event::ApprovalRequested {
            key,
            approval: text(),
            tool: tool.clone(),
            summary: text(),
            why: text(),
            deadline_ms: 1_771_407_000_000,
        },
        Event::ApprovalResolved {
            key,
            approval: Some(text()),
            tool: tool.clone(),
            approved: true,
            scope: ApprovalScope::Subtree,
            by: text(),
        },
        Event::ToolFinished {
            key,
            tool,
            is_error: true,
            in_doubt: true,
            why: Some(text()),
            changed,
            bytes: 10,
            millis: 20,
        },
        Event::Elided { results: 2, bytes: 3_000 },
        Event::WrappingUp { reason: StopReason::TurnsExhausted },
        Event::Verifying { command: text() },
        Event::Verified { command: text(), passed: false, ending: text(), millis: 7 },
        Event::Finished {
            status: OutcomeStatus::Partial,
            stop: StopReason::DeadlinePassed,
            turns: 3,
            tool_calls: 4,
            usage,
        },
    ]
}

#[test]
fn every_event_has_the_form_of_the_schema_and_comes_back_from_it() {
    let schema = schema();
    let envelope = ["v", "seq", "task_id", "at"];
    let variants = variants(&schema, "EventEntry");
    let kinds: Vec<&str> = variants.iter().map(kind_of).collect();
    assert_eq!(examples().iter().map(Event::kind).collect::<Vec<_>>(), kinds);
    for (event, variant) in examples().into_iter().zip(variants) {
        let task_id = TaskId::root("s1");
        let entry = EventEntry { v: EVENT_VERSION, seq: 9, task_id, at_ms: 1_771_407_000_000, event };
        let line = entry.to_line();
        assert_eq!(serde_json::from_str::<EventEntry>(&line).unwrap(), entry, "{line}");
        let mut value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["type"], entry.event.kind());
        assert_eq!(value["at"], "2026-02-18T09:30:00.000Z");
        for field in envelope {
            assert!(value.as_object_mut().unwrap().remove(field).is_some(), "{field} in {line}");
        }
        let told: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(told, properties(&schema, variant), "{line}");
        let record = Record::Observed { event: entry.event };
        assert_eq!(Record::decode(&record.encode()).unwrap(), record);
    }
}

/// One live fact of each kind, with every optional value.
fn live_examples() -> Vec<LiveFact> {
    let text = || "text".to_owned();
    vec![
        LiveFact::Task { agent: text(), parent: Some(TaskId::root("s1")), title: text() },
        LiveFact::Queued(QueuePlace { after: vec![text()], position: Some(1), running: 3, slots: 3 }),
        LiveFact::Text { turn: 1, delta: text() },
        LiveFact::Thinking { turn: 1, delta: text() },
        LiveFact::Question { id: 1, question: text(), options: vec![text()] },
        LiveFact::QuestionClosed { id: 1 },
        LiveFact::Approval { approval: text(), path: Some(text()), diff: Some(text()) },
        LiveFact::Steer { key: text(), receipt: SteerReceipt::Delivered, turn: Some(5) },
        LiveFact::Cost { usd: Some(0.25), tree_usd: None },
        LiveFact::Answer { line: text() },
        LiveFact::Interrupted,
    ]
}

#[test]
fn every_live_fact_has_the_form_of_the_schema_and_comes_back_from_it() {
    let schema = schema();
    let variants = variants(&schema, "LiveEntry");
    assert_eq!(live_examples().len(), variants.len());
    for (fact, variant) in live_examples().into_iter().zip(variants) {
        let entry = LiveEntry::new(&TaskId::root("s1"), 1_771_407_000_000, fact);
        let line = entry.to_line();
        assert_eq!(serde_json::from_str::<LiveEntry>(&line).unwrap(), entry, "{line}");
        let mut value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["type"], kind_of(variant));
        for field in ["v", "task_id", "at"] {
            assert!(value.as_object_mut().unwrap().remove(field).is_some(), "{field} in {line}");
        }
        let told: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(told, properties(&schema, variant), "{line}");
    }
}
