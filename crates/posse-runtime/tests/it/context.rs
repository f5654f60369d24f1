//! Shared context as agents see it: through the tool, over children, crashes and the life of a session.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use posse_core::context::{AudienceChange, ChangeResult, ContextChange, ContextKey, ContextWrite, ValueHead};
use posse_core::event::Event;
use posse_core::id::TaskId;
use posse_core::message::ToolResult;
use posse_core::outcome::OutcomeStatus;
use posse_runtime::context::now_ms;
use posse_runtime::driver::ResumeMode;
use posse_runtime::observe::{Observers, TraceEvent, TraceHook};
use posse_runtime::ports::{ChangeRequest, ContextStore};
use posse_testkit::context_suite::key;
use posse_testkit::memory::MemoryStore;
use serde_json::{Value, json};

use crate::session::{agent, play, results, results_of, session};

/// The answers of `shared_context` alone.
fn answers(results: &[ToolResult]) -> Vec<Value> {
    let own = results.iter().filter(|result| result.name == "shared_context");
    own.map(|result| serde_json::from_str(&result.text).expect("an answer is JSON")).collect()
}

/// An answer without what differs from run to run.
fn timeless(mut answer: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for name in ["written_at", "taken_at", "expires_at"] {
                    if let Some(at) = fields.get_mut(name) {
                        let text = at.as_str().expect("an instant is text");
                        assert!(text.ends_with('Z') && text.len() == 24, "{text}");
                        *at = json!("…");
                    }
                }
                fields.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut answer);
    answer
}

async fn heads(store: &MemoryStore) -> Vec<ValueHead> {
    let mut heads = store.context_keys("s1", now_ms()).await.unwrap();
    heads.iter_mut().for_each(|head| head.written_at_ms = 0);
    heads
}

/// The cycle of the specification: the orchestrator prepares, one child finds out, another works from two keys.
// R050 R098 R168 R170 R171 R189 R191 R194 R198 R199 R227 R232 R323
#[tokio::test(start_paused = true)]
async fn the_orchestrator_and_two_children_work_through_shared_context() {
    let (results, store) = play(
        r#"
        boss:
          - calls:
              - shared_context: {action: write, key: problem_summary, value: Throughput dropped}
              - shared_context: {action: write, key: scope, value: Read only}
              - shared_context: {action: write, key: constraints, value: No restart}
              - shared_context: {action: write, key: current_phase, value: investigation}
          - calls: [{subagent: {action: spawn, agent: helper, task: Read problem_summary}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
            repeat_until: '"completed"'
          - calls:
              - shared_context: {action: list_keys}
              - shared_context: {action: delete, key: open_questions}
              - shared_context: {action: write, key: decisions_made, value: Revert}
          - calls: [{subagent: {action: spawn, agent: picky, task: Work}}]
          - calls: [{subagent: {action: status, task_id: t_02, wait_ms: 1000}}]
            repeat_until: '"completed"'
          - calls: [{shared_context: {action: read, key: incident_report}}]
          - text: done
        helper:
          - calls:
              - shared_context: {action: list_keys}
              - shared_context: {action: read, key: problem_summary}
              - shared_context: {action: write, key: findings_summary, value: The pool is small}
              - shared_context: {action: write, key: open_questions, value: Was it meant?}
              - shared_context: {action: write, key: current_phase, value: decision}
          - text: found it
        picky:
          - calls: [{shared_context: {action: read_batch, keys: [findings_summary, decisions_made]}}]
          - calls: [{shared_context: {action: write, key: incident_report, value: "{result:0:/entries/0/value}"}}]
          - text: written
        "#,
    )
    .await;
    let answers: Vec<Value> = answers(&results).into_iter().map(timeless).collect();
    let written =
        |key: &str| json!({ "key": key, "version": 1, "written_by": "orchestrator", "written_at": "…" });
    assert_eq!(answers[..4], ["problem_summary", "scope", "constraints", "current_phase"].map(written));
    let child = "subagent:helper:t_01";
    let line = |key: &str, version: u64, by: &str, size: u64| json!({ "key": key, "version": version, "written_by": by, "written_at": "…", "value_size_tokens": size });
    let listed = json!({
        "keys": [
            line("constraints", 1, "orchestrator", 3),
            line("current_phase", 2, child, 2),
            line("findings_summary", 1, child, 5),
            line("open_questions", 1, child, 4),
            line("problem_summary", 1, "orchestrator", 5),
            line("scope", 1, "orchestrator", 3),
        ],
        "total_size_tokens": 22,
    });
    assert_eq!(answers[4], listed);
    assert_eq!(answers[5], json!({ "deleted": "open_questions", "previous_version": 1 }));
    assert_eq!(
        answers[7],
        json!({ "key": "incident_report", "value": "The pool is small", "version": 1, "written_by": "subagent:picky:t_02", "written_at": "…" })
    );
    assert_eq!(heads(&store).await.len(), 7);
}

// R206 R207 R208 R209 R212
#[tokio::test(start_paused = true)]
async fn a_refusal_has_a_code_and_a_message_and_the_run_goes_on() {
    let large = "x".repeat(4_001);
    let full = "y".repeat(4_000);
    let fill: String = (0..10)
        .map(|n| format!("{{shared_context: {{action: write, key: k{n}, value: {full}}}}},"))
        .collect();
    let script = format!(
        "{{boss: [{{calls: [{{shared_context: {{action: read, key: nothing}}}},
            {{shared_context: {{action: delete, key: nothing}}}},
            {{shared_context: {{action: read_history, key: nothing}}}},
            {{shared_context: {{action: write, key: big, value: {large}}}}},
            {{shared_context: {{action: write, key: 'a.b', value: x}}}},
            {{shared_context: {{action: write, key: a, value: x, written_by: operator}}}}, {fill}
            {{shared_context: {{action: write, key: more, value: x}}}}]}}, {{text: done}}]}}"
    );
    let (results, _) = play(Box::leak(script.into_boxed_str())).await;
    let codes = [
        "KEY_NOT_FOUND",
        "KEY_NOT_FOUND",
        "KEY_NOT_FOUND",
        "VALUE_TOO_LARGE",
        "INVALID_KEY",
        "INVALID_REQUEST",
    ];
    let refused: Vec<&ToolResult> = results.iter().filter(|result| result.is_error).collect();
    for (result, code) in refused.iter().zip(codes.iter().chain(&["STORE_FULL"])) {
        let answer: Value = serde_json::from_str(&result.text).unwrap();
        assert_eq!(answer["error"], *code, "{answer}");
        assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
    }
    assert_eq!((results.len(), refused.len()), (17, 7));
    // R201
    let warned = answers(&results)[6].clone();
    assert!(warned["warning"].as_str().unwrap().contains("1000 tokens"), "{warned}");
}

// R220 R221 R222 R223
#[tokio::test(start_paused = true)]
async fn batches_history_expiry_snapshots_and_expected_versions_work_through_the_tool() {
    let (results, store) = play(
        r#"
        boss:
          - calls:
              - shared_context: {action: write, key: a, value: one, expected_version: 0}
              - shared_context: {action: write, key: a, value: two, expected_version: 0}
              - shared_context: {action: write, key: a, value: two, expected_version: 1}
              - shared_context: {action: snapshot, label: before}
              - shared_context: {action: delete, key: a}
              - shared_context: {action: write, key: a, value: three, ttl_s: 60}
              - shared_context: {action: read_history, key: a, versions: 2}
              - shared_context: {action: read_batch, keys: [b, a]}
          - text: done
        "#,
    )
    .await;
    let answers = answers(&results);
    assert_eq!(answers[1]["error"], "VERSION_CONFLICT");
    assert!(answers[1]["message"].as_str().unwrap().contains("version 1"), "{}", answers[1]);
    assert_eq!(answers[2]["version"], 2);
    assert_eq!((&answers[3]["label"], &answers[3]["keys"]), (&json!("before"), &json!(1)));
    assert_eq!((&answers[5]["version"], &answers[5]["previous_version"]), (&json!(1), &json!(2)));
    let past: Vec<_> = answers[6]["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (&line["action"], &line["value"]))
        .collect();
    assert_eq!(past, [(&json!("write"), &json!("three")), (&json!("delete"), &Value::Null)]);
    assert_eq!(answers[7]["not_found"], json!(["b"]));
    let later = now_ms() + 61_000;
    assert_eq!(store.context_keys("s1", now_ms()).await.unwrap().len(), 1);
    assert_eq!(store.context_keys("s1", later).await.unwrap(), []);
}

/// What a child writes is there for everyone while the child still works.
// R168 R169 R194 R204
#[tokio::test(start_paused = true)]
async fn a_childs_write_is_seen_before_the_child_ends() {
    let (results, _) = play(
        r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
          - calls: [{shared_context: {action: read, key: found}}, {subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
            repeat_until: gold
          - text: done
        helper:
          - calls: [{shared_context: {action: write, key: found, value: gold}}]
          - text: late
            delay_ms: 100000
        "#,
    )
    .await;
    let [.., read, status] = results.as_slice() else { panic!("{results:?}") };
    assert!(read.text.contains("gold") && status.text.contains("running"), "{} {}", read.text, status.text);
}

const LONG: &str = r#"
    boss:
      - calls: [{subagent: {action: spawn, agent: helper, task: look}}]
      - calls:
          - shared_context: {action: write, key: a, value: one, expected_version: 0}
          - shared_context: {action: write, key: a, value: two, expected_version: 1}
          - shared_context: {action: write, key: b, value: x}
          - shared_context: {action: snapshot, label: middle}
          - shared_context: {action: delete, key: b}
      - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
        repeat_until: '"completed"'
      - calls: [{shared_context: {action: read, key: a}}, {shared_context: {action: read, key: found}}]
      - text: done
    helper:
      - calls: [{shared_context: {action: write, key: found, value: gold}}]
      - text: found it
        delay_ms: 2000
    "#;

/// A write that was made and not yet recorded when the process died is not made a second time.
// R190 R205
#[tokio::test(start_paused = true)]
async fn after_a_crash_at_any_write_the_context_is_what_it_would_have_been() {
    let first = Arc::new(MemoryStore::new());
    let outcome = session(LONG, first.clone(), Observers::default())
        .run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new())
        .await;
    assert_eq!(outcome.unwrap().text, "done");
    let expected = heads(&first).await;
    let versions: Vec<(&str, u64)> = expected.iter().map(|head| (head.key.as_str(), head.version)).collect();
    assert_eq!(versions, [("a", 2), ("found", 1)]);
    let whole = results(&first).await.into_iter().filter(|result| result.name == "shared_context").count();
    let mut resumed = 0;
    for died_after in 1..=first.writes() {
        let store = Arc::new(first.as_of(died_after));
        let notes = Arc::new(Mutex::new(Vec::new()));
        let session = session(LONG, store.clone(), watching(&notes));
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        let outcome = session.resume(TaskId::root("s1"), onward).await.unwrap();
        // A spawn in doubt is not made again, so this run has no child to hear of.
        if !outcome.in_doubt.is_empty() {
            continue;
        }
        resumed += 1;
        assert_eq!(
            (outcome.status(), outcome.text.as_str()),
            (OutcomeStatus::Completed, "done"),
            "write {died_after}"
        );
        assert_eq!(heads(&store).await, expected, "write {died_after}");
        let own = results(&store).await.into_iter().filter(|result| result.name == "shared_context");
        let own: Vec<ToolResult> = own.collect();
        assert_eq!(
            (own.len(), own.iter().any(|result| result.is_error)),
            (whole, false),
            "write {died_after}: {own:?}"
        );
        assert_eq!(store.snapshots("s1").await.unwrap().len(), 1);
        assert_eq!(*notes.lock().unwrap(), Vec::<String>::new(), "nothing was forgotten");
    }
    assert!(resumed > 15, "{resumed} points were tried");
}

fn watching(notes: &Arc<Mutex<Vec<String>>>) -> Observers {
    let log = notes.clone();
    let hook = TraceHook(move |_: &TaskId, trace: &TraceEvent<'_>| {
        if let TraceEvent::Event(Event::Noted { note }) = trace {
            log.lock().unwrap().push(note.clone());
        }
    });
    Observers::new(vec![Arc::new(hook)])
}

/// Someone else on the same store.
async fn write_from_outside(store: &MemoryStore, value: &str) -> ChangeResult {
    let write = ContextWrite {
        audience: AudienceChange::default(),
        key: key("note"),
        value: value.to_owned(),
        expected_version: None,
        expires_at_ms: None,
    };
    let request = ChangeRequest {
        session: "s1".to_owned(),
        participant: "operator".to_owned(),
        idempotency_key: None,
        change: ContextChange::Write(write),
        now_ms: now_ms(),
    };
    store.change_context(request).await.unwrap()
}

// R210 R211 R228
#[tokio::test(start_paused = true)]
async fn an_archived_session_can_be_read_and_a_deleted_one_is_gone() {
    const SCRIPT: &str = r#"
        boss:
          - text: hello
          - calls:
              - shared_context: {action: read, key: note}
              - shared_context: {action: write, key: note, value: mine}
          - text: done
        "#;
    let store = Arc::new(MemoryStore::new());
    let room = || session(SCRIPT, store.clone(), Observers::default());
    room().run(agent("boss", None), "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    write_from_outside(&store, "from a person").await;
    store.archive_session("s1", now_ms()).await.unwrap();
    let archived = Arc::new(store.snapshot());
    let say = || ResumeMode::Message("and now?".to_owned());
    let archive = session(SCRIPT, archived.clone(), Observers::default());
    archive.resume(TaskId::root("s1"), say()).await.unwrap();
    let answers_of = |results: Vec<ToolResult>| answers(&results);
    let told = answers_of(results(&archived).await);
    assert_eq!((&told[0]["value"], &told[0]["written_by"]), (&json!("from a person"), &json!("operator")));
    assert_eq!(told[1]["error"], "SESSION_ARCHIVED");

    store.delete_session("s1", now_ms()).await.unwrap();
    let outcome = room().resume(TaskId::root("s1"), say()).await.unwrap();
    assert_eq!(outcome.text, "done", "a run goes on without it");
    let told = answers_of(results(&store).await);
    assert_eq!(
        (&told[0]["error"], &told[1]["error"]),
        (&json!("SESSION_NOT_FOUND"), &json!("SESSION_NOT_FOUND"))
    );
}

/// What the log says, one line for each event.
#[derive(Default, Clone)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl tracing::field::Visit for Line {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("posse_runtime::context")
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

// R229
#[tokio::test(start_paused = true)]
async fn every_write_and_deletion_is_logged_and_no_value_is() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    play(
        r#"
        boss:
          - calls:
              - shared_context: {action: write, key: plan, value: very secret words}
              - shared_context: {action: read, key: plan}
              - shared_context: {action: delete, key: plan}
              - shared_context: {action: delete, key: plan}
          - text: done
        "#,
    )
    .await;
    let lines = log.0.lock().unwrap();
    assert_eq!(lines.len(), 2, "a reading and a refusal change nothing: {lines:?}");
    for (line, (action, size)) in lines.iter().zip([("write", 5), ("delete", 0)]) {
        let (action, size) = (format!("action=\"{action}\""), format!("value_size_tokens={size}"));
        let who = [r#"session_id="s1""#, r#"key="plan""#, r#"written_by="orchestrator""#];
        for part in who.into_iter().chain(["timestamp_ms=1", "version=1", &action, &size]) {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert!(!line.contains("secret"), "{line}");
    }
}

/// The discipline of writing and reading is in the tool's own description, so that everyone who has the tool has it.
// R193 R213 R214 R215 R216 R217 R231
#[test]
fn the_description_says_how_to_use_it_well() {
    let told = include_str!("../../prompts/shared_context_tool.md");
    for conventional in [
        "current_phase",
        "phase_status",
        "blocking_issues",
        "problem_summary",
        "scope",
        "constraints",
        "findings_summary",
        "open_questions",
        "decisions_made",
        "deliverables_status",
        "quality_checks",
    ] {
        assert!(told.contains(conventional) && ContextKey::parse(conventional).is_ok(), "{conventional}");
    }
    for part in [
        // Writing.
        "conclusions",
        "decisions of the user",
        "distilled findings",
        "ids",
        "open questions",
        "status",
        "raw data",
        "transcripts",
        "formal record",
        "personal data",
        "credentials",
        "external text",
        "scratch",
        "500 tokens",
        "update",
        "delete stale",
        // Reading.
        "list_keys first",
        "only what you need",
        "value_size_tokens",
        "authoritative",
        "draft",
        "other tools",
    ] {
        assert!(told.contains(part), "{part}");
    }
    let schema: Value =
        serde_json::from_str(include_str!("../../prompts/shared_context_tool.schema.json")).unwrap();
    assert!(told.len() < 1_500, "it is sent with every request: {} bytes", told.len());
    for action in schema["properties"]["action"]["enum"].as_array().unwrap() {
        assert!(told.contains(action.as_str().unwrap()), "{action}");
    }
}

// R219
#[tokio::test(start_paused = true)]
async fn a_key_that_is_not_for_a_child_is_not_shown_to_it() {
    let (results, store) = play(
        r#"
        boss:
          - calls:
              - shared_context: {action: write, key: plan, value: secret, readable_by: ["subagent:picky:*"]}
              - shared_context: {action: write, key: rules, value: fixed, writable_by: []}
              - shared_context: {action: write, key: open, value: all}
          - calls: [{subagent: {action: spawn, agent: helper, task: Look}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
            repeat_until: '"completed"'
          - calls: [{shared_context: {action: read, key: plan}}]
          - text: done
        helper:
          - calls:
              - shared_context: {action: list_keys}
              - shared_context: {action: read, key: plan}
              - shared_context: {action: read_history, key: plan}
              - shared_context: {action: read_batch, keys: [plan, rules, nothing]}
              - shared_context: {action: write, key: rules, value: mine}
              - shared_context: {action: delete, key: rules}
              - shared_context: {action: wait, keys: [plan]}
              - shared_context: {action: write, key: open, value: mine too}
          - text: looked
        "#,
    )
    .await;
    let told = answers(&results_of(&store, &TaskId::child("s1", 1)).await);
    let listed = &told[0];
    let names: Vec<&Value> = listed["keys"].as_array().unwrap().iter().map(|head| &head["key"]).collect();
    assert_eq!((names, &listed["hidden_keys"]), (vec![&json!("open"), &json!("rules")], &json!(1)));
    let codes: Vec<&Value> = told.iter().map(|answer| &answer["error"]).collect();
    let denied = json!("ACCESS_DENIED");
    assert_eq!(codes[1..3], [&denied, &denied]);
    assert_eq!((&told[3]["access_denied"], &told[3]["not_found"]), (&json!(["plan"]), &json!(["nothing"])));
    assert_eq!(told[3]["entries"].as_array().unwrap().len(), 1);
    assert_eq!(codes[4..7], [&denied, &denied, &denied]);
    assert_eq!(told[7]["version"], 2, "the rest is as it was");
    assert_eq!(answers(&results).last().unwrap()["value"], "secret", "the orchestrator may in any case");
}

// R224
#[tokio::test(start_paused = true)]
async fn a_child_hears_when_a_key_is_written() {
    let script = r#"
        boss:
          - calls: [{subagent: {action: spawn, agent: helper, task: Wait}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
            repeat_until: '"turns_used":1'
          - calls: [{shared_context: {action: write, key: decision, value: Revert}}]
          - calls: [{subagent: {action: status, task_id: t_01, wait_ms: 1000}}]
            repeat_until: '"completed"'
          - calls: [{shared_context: {action: wait, keys: [decision], timeout_s: 3}}]
          - text: done
        helper:
          - calls: [{shared_context: {action: wait, keys: [decision, other], known_versions: {decision: 0}}}]
          - calls: [{shared_context: {action: read, key: "{result:0:/written/0/key}"}}]
          - text: heard
        "#;
    let (results, store) = play(script).await;
    let told = answers(&results_of(&store, &TaskId::child("s1", 1)).await);
    assert_eq!(
        (&told[0]["timed_out"], &told[0]["written"][0]["version"]),
        (&json!(false), &json!(1)),
        "{told:?}"
    );
    assert_eq!(told[0]["written"][0]["written_by"], "orchestrator");
    assert_eq!(told[1]["value"], "Revert");
    let waited = answers(&results).pop().unwrap();
    assert_eq!(
        waited,
        json!({ "written": [], "deleted": [], "timed_out": true }),
        "nothing was written in its time"
    );
}
