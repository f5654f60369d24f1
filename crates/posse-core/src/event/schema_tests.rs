//! The vocabulary as it is documented: `docs/events.schema.json` and the table in `docs/events.md`, both made from the types.
//! `POSSE_UPDATE_DOCS=1` writes them.

use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::*;

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

fn schema() -> Value {
    let schema =
        SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<EventEntry>();
    let mut schema = schema.to_value();
    schema["title"] = "Posse event".into();
    schema
}

/// The schemas of the single events, in order.
fn variants(schema: &Value) -> &Vec<Value> {
    schema["oneOf"].as_array().unwrap()
}

fn kind_of(variant: &Value) -> &str {
    variant["properties"]["type"]["const"].as_str().unwrap()
}

#[test]
fn the_schema_in_the_documentation_is_that_of_the_types() {
    hold("events.schema.json", &(serde_json::to_string_pretty(&schema()).unwrap() + "\n"));
}

#[test]
fn the_table_in_the_documentation_has_one_line_for_each_event() {
    const HEAD: &str = "| `type` | fields | fact |\n|---|---|---|\n";
    let schema = schema();
    let lines = variants(&schema).iter().map(|variant| {
        let fields = variant["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        let fields: Vec<String> =
            fields.filter(|name| *name != "type").map(|name| format!("`{name}`")).collect();
        let fact = variant["description"].as_str().unwrap().replace('\n', " ");
        format!("| `{}` | {} | {fact} |\n", kind_of(variant), fields.join(", "))
    });
    let table: String = lines.collect();
    let text = std::fs::read_to_string(document("events.md")).unwrap();
    let at = text.find(HEAD).expect("docs/events.md has the table") + HEAD.len();
    let (before, rest) = text.split_at(at);
    let after = &rest[rest.find("\n\n").expect("a text follows the table") + 1..];
    hold("events.md", &format!("{before}{table}{after}"));
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
        Event::Queued { agent: text() },
        Event::Started { agent: text(), model: text(), sandbox: SandboxTier::Namespaces },
        Event::Resumed {
            agent: text(),
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
        Event::ModelRetry { why: text(), wait_ms: 500 },
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
    let kinds: Vec<&str> = variants(&schema).iter().map(kind_of).collect();
    assert_eq!(examples().iter().map(Event::kind).collect::<Vec<_>>(), kinds);
    for (event, variant) in examples().into_iter().zip(variants(&schema)) {
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
        let documented: Vec<&String> = variant["properties"].as_object().unwrap().keys().collect();
        assert_eq!(told, documented, "{line}");
        let record = Record::Observed { event: entry.event };
        assert_eq!(Record::decode(&record.encode()).unwrap(), record);
    }
}
