//! The script is driven the way a run drives a model: the messages grow, and a new process starts from them.

use posse_core::agent::ModelSettings;
use posse_core::board::Urgency;
use posse_runtime::ports::{ModelMemo, NoDeltas, UnlimitedCalls};

use super::*;

async fn ask(model: &ScriptedModel, messages: &[Message]) -> Result<Reply, ModelFailure> {
    ask_with(model, messages, ToolUse::Auto, &NoDeltas).await
}

async fn ask_with(
    model: &ScriptedModel,
    messages: &[Message],
    tool_use: ToolUse,
    deltas: &dyn DeltaSink,
) -> Result<Reply, ModelFailure> {
    let request = ModelRequest {
        system: "be brief",
        messages,
        tools: &[],
        tool_use,
        output_tokens_max: 100,
        settings: &ModelSettings::default(),
        answered_by: posse_core::usage::ByModel::nobody(),
        unanswered: 0,
        generation: 0,
        memo: &mut ModelMemo::default(),
        allowance: &UnlimitedCalls,
        urgency: Urgency::Interactive,
    };
    model.call(request, deltas).await
}

/// Appends the reply, and one result per call.
fn answer(messages: &mut Vec<Message>, reply: &Reply, results: &[&str]) {
    messages.push(Message::Assistant { blocks: reply.blocks.clone() });
    let calls: Vec<_> = reply.blocks.iter().filter_map(Block::as_call).collect();
    assert_eq!(calls.len(), results.len());
    if !calls.is_empty() {
        let results = calls.iter().zip(results).map(|(call, text)| ToolResult::new(call, *text)).collect();
        messages.push(Message::Results { results });
    }
}

fn text_of(reply: &Reply) -> &str {
    reply
        .blocks
        .iter()
        .find_map(|b| if let Block::Text { text, .. } = b { Some(text.as_str()) } else { None })
        .unwrap()
}

fn arguments_of(reply: &Reply) -> Vec<&str> {
    reply.blocks.iter().filter_map(Block::as_call).map(|call| call.arguments.as_object_text()).collect()
}

const POLL: &str = r#"
lead:
  - calls: [{subagent: {action: spawn}}]
  - calls:
      - {tool: subagent, arguments: {action: status, ids: ["{result:0:/task_id}"]}}
    repeat_until: completed
  - calls: [{subagent: {action: collect, task_id: "{result:1.0:/task_id}", turns: "{result:0:/turns}"}}]
  - text: "it said {result:0}"
    usage: {input: 7, output: 3}
helper:
  - text: hello
"#;

#[tokio::test]
async fn a_step_is_repeated_until_a_result_says_so_and_each_turn_may_be_played_by_a_new_process() {
    let mut messages = vec![Message::user("go")];
    let mut asked = Vec::new();
    let results: [&[&str]; 5] = [
        &[r#"{"task_id":"t_01"}"#],
        &[r#"{"status":"running"}"#],
        &[r#"{"status":"running"}"#],
        &[r#"{"status":"completed","turns":4}"#],
        &["all good"],
    ];
    for results in results {
        // A fresh model each time: nothing but the messages may say where the script stands.
        let model = ScriptedModel::parse("demo", POLL, Some("lead")).unwrap();
        let reply = ask(&model, &messages).await.unwrap();
        assert_eq!(reply.stop, ReplyStop::ToolUse);
        asked.extend(arguments_of(&reply).iter().map(|text| (*text).to_owned()));
        answer(&mut messages, &reply, results);
    }
    let poll = r#"{"action":"status","ids":["t_01"]}"#;
    let collect = r#"{"action":"collect","task_id":"t_01","turns":4}"#;
    assert_eq!(asked, [r#"{"action":"spawn"}"#, poll, poll, poll, collect]);
    assert_eq!(posse_core::message::find_fault(&messages), None);

    let model = ScriptedModel::parse("demo", POLL, Some("lead")).unwrap();
    let last = ask(&model, &messages).await.unwrap();
    assert_eq!(text_of(&last), "it said all good");
    assert_eq!(last.usage, Usage { input: 7, output: 3, ..Usage::default() });
    assert_eq!(model.leftover(), [0usize; 0]);

    answer(&mut messages, &last, &[]);
    let failure = ask(&model, &messages).await.unwrap_err();
    assert_eq!(failure, ModelFailure::new(FailureKind::InvalidRequest, "the script `demo` has no step 5"));
}

#[tokio::test]
async fn a_repeated_step_ends_at_its_bound() {
    let script = "[{calls: [{poll: {}}], repeat_until: done, repeat_max: 2}, {text: end}]";
    let model = ScriptedModel::parse("demo", script, None).unwrap();
    let mut messages = vec![Message::user("go")];
    for _ in 0..2 {
        let reply = ask(&model, &messages).await.unwrap();
        answer(&mut messages, &reply, &["not yet"]);
    }
    let failure = ask(&model, &messages).await.unwrap_err();
    assert!(failure.message.contains("played step 1 2 times and no result contains `done`"), "{failure}");
    assert_eq!(model.leftover(), [2]);
}

#[tokio::test]
async fn a_failing_step_is_consumed_by_one_attempt() {
    let script = r#"
    - text: one
    - {text: half an, fail: {kind: quota, status: 429, message: no money, retry_after_ms: 5}}
    - {text: ""}
    - text: two
    "#;
    let model = ScriptedModel::parse("demo", script, None).unwrap();
    let mut messages = vec![Message::user("go")];
    let reply = ask(&model, &messages).await.unwrap();
    answer(&mut messages, &reply, &[]);
    messages.push(Message::user("more"));
    let failure = ask(&model, &messages).await.unwrap_err();
    let expected = ModelFailure {
        status: Some(429),
        retry_after_ms: Some(5),
        ..ModelFailure::new(FailureKind::QuotaExhausted, "no money")
    };
    assert_eq!(failure, expected);
    assert_eq!(ask(&model, &messages).await.unwrap().blocks, []);
    assert_eq!(text_of(&ask(&model, &messages).await.unwrap()), "two");
    assert_eq!(
        text_of(&ask(&model, &messages).await.unwrap()),
        "two",
        "an answering step is found by the messages"
    );
    assert_eq!(model.leftover(), [0usize; 0]);
}

#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl DeltaSink for Seen {
    fn alive(&self) {}
    fn delta(&self, delta: Delta<'_>) {
        self.0.lock().unwrap().push(format!("{delta:?}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_shown_word_by_word_after_its_delay() {
    let script = "[{thinking: hm, text: two words, calls: [{ls: }], delay_ms: 40, stop: max_tokens}]";
    let model = ScriptedModel::parse("demo", script, None).unwrap();
    let seen = Seen::default();
    let start = tokio::time::Instant::now();
    let reply = ask_with(&model, &[Message::user("12345678")], ToolUse::Auto, &seen).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(40));
    assert_eq!(reply.stop, ReplyStop::MaxTokens);
    assert_eq!(reply.usage, Usage { input: 4, output: 1 + 3 + 2, estimated: true, ..Usage::default() });
    let expected = [
        r#"Thinking("hm")"#,
        r#"Text("two ")"#,
        r#"Text("words")"#,
        r#"ToolCall { index: 2, name: "ls" }"#,
        r#"ToolArguments { index: 2, fragment: "{}" }"#,
    ];
    assert_eq!(*seen.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_turn_without_tools_is_answered_in_text() {
    let model = ScriptedModel::parse("demo", "[{calls: [{ls: {}}]}]", None).unwrap();
    let reply = ask_with(&model, &[Message::user("go")], ToolUse::Forbidden, &NoDeltas).await.unwrap();
    assert_eq!((reply.stop, reply.notes.len(), reply.blocks.len()), (ReplyStop::EndTurn, 1, 1));
}

#[tokio::test]
async fn a_placeholder_that_stands_for_nothing_says_which_step_it_is_in() {
    for (text, why) in [
        ("{result:0:/x}", "there is no result for `{result:0:/x}`"),
        ("{result:x}", "does not begin with a result number"),
        ("{result:0", "has no `}`"),
    ] {
        let step = ScriptStep { text: Some(text.to_owned()), ..ScriptStep::default() };
        let failure = ask(&ScriptedModel::new("demo", vec![step]), &[Message::user("go")]).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidRequest);
        assert!(failure.message.contains("cannot play step 1") && failure.message.contains(why), "{failure}");
    }
}

#[test]
fn raw_arguments_stay_as_they_are() {
    let script: Vec<ScriptStep> =
        serde_saphyr::from_str(r#"[{calls: [{tool: write, raw: '{"path": "a'}]}]"#).unwrap();
    let raw = ScriptedArguments::Raw(r#"{"path": "a"#.to_owned());
    assert_eq!(script[0].calls, [ScriptedCall { tool: "write".to_owned(), arguments: raw }]);
}

#[test]
fn a_wrong_script_is_refused_with_its_place() {
    let cases = [
        ("- text: a\n- txt: b\n", "demo.yaml:2:3: ", "txt"),
        ("lead:\n  - text: a\n  - calls: [{read: {}, other: 1}]\n", "demo.yaml:3:", "other"),
        ("- fail: {kind: sleepy}\n", "demo.yaml:1:", "sleepy"),
        ("- {delay_ms: 3}\n", "demo.yaml:1:", "a step needs one of"),
        ("- text: a\n- {text: b, repeat_until: x}\n", "demo.yaml:2:", "needs `calls`"),
        ("- text: [\n", "demo.yaml:", ""),
        ("just words", "demo.yaml:1:1: ", "list of steps"),
    ];
    for (script, place, what) in cases {
        let error = ScriptedModel::parse("demo.yaml", script, None)
            .err()
            .unwrap_or_else(|| panic!("{script} was accepted"));
        assert_eq!(error.code(), ErrorCode::ScriptInvalid);
        assert!(!error.message().contains(" at line "), "{error}");
        assert!(error.message().starts_with(place) && error.message().contains(what), "{script}: {error}");
    }
}

#[test]
fn roles_are_named_when_they_have_to_be() {
    for (script, role, what) in [
        (POLL, None, "several roles"),
        (POLL, Some("nobody"), "no role `nobody`"),
        ("- text: a", Some("lead"), "has no role `lead`"),
    ] {
        let error = ScriptedModel::parse("demo", script, role).err().unwrap();
        assert!(error.message().contains(what), "{error}");
        assert!(error.advice().is_some());
    }
    assert!(ScriptedModel::parse("demo", "{only: [{text: a}]}", None).is_ok());
}

#[test]
fn a_reference_names_a_file_and_a_role() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("demo.json");
    std::fs::write(&path, r#"{"lead": [{"text": "hi"}], "helper": []}"#).unwrap();
    let reference = format!("{}#lead", path.display());
    let model = ScriptedModel::from_reference(&reference).unwrap();
    assert_eq!(model.name(), format!("scripted:{reference}"));
    assert_eq!(model.leftover(), [1]);
    let error = ScriptedModel::from_reference("nowhere/at/all.yaml").err().unwrap();
    assert_eq!(error.code(), ErrorCode::ScriptInvalid);
}

#[test]
fn the_example_in_the_documentation_is_a_script() {
    let lines =
        include_str!("../scripted.rs").lines().map(|line| line.strip_prefix("//!").unwrap_or_default());
    let example =
        lines.skip_while(|line| line.trim() != "```yaml").skip(1).take_while(|line| line.trim() != "```");
    let example: String = example.map(|line| format!("{line}\n")).collect();
    for (role, steps) in [("orchestrator", 4), ("researcher", 1)] {
        assert_eq!(ScriptedModel::parse("example", &example, Some(role)).unwrap().leftover().len(), steps);
    }
}
