//! Spans and their parents.

use std::sync::{Arc, Mutex};

use posse_core::agent::Agent;
use posse_core::event::{Event, EventEntry};
use posse_core::grant::{Grant, SandboxTier};
use posse_core::id::{AgentName, CallKey, TaskId};
use posse_core::journal::{ParentLink, TaskStart};
use posse_core::limits::Limits;
use posse_core::message::{CallArguments, ToolCall};
use posse_core::outcome::{OutcomeStatus, StopReason};
use posse_core::reply::FailureKind;
use posse_core::usage::Usage;
use posse_runtime::ports::{ObservedPayload, Observer};
use posse_telemetry::spans::{Span, SpanKind, SpanObserver, SpanSink, SpanValue};

use crate::stage::{DELEGATION, play};

#[derive(Default)]
struct Kept(Mutex<Vec<Span>>);

impl SpanSink for Kept {
    fn export(&self, span: Span) {
        self.0.lock().unwrap().push(span);
    }
}

impl Kept {
    /// Renders the tree in start order: depth, name, error.
    fn tree(&self) -> String {
        let spans = self.0.lock().unwrap();
        let mut text = String::new();
        fn below(spans: &[Span], parent: Option<[u8; 8]>, depth: usize, text: &mut String) {
            let mut children: Vec<&Span> = spans.iter().filter(|span| span.parent == parent).collect();
            children.sort_by_key(|span| span.began);
            for span in children {
                let error = span.error.as_ref().map(|error| format!(" !{error}")).unwrap_or_default();
                text.push_str(&format!("{}{}{error}\n", "  ".repeat(depth), span.name));
                below(spans, Some(span.id), depth + 1, text);
            }
        }
        below(&spans, None, 0, &mut text);
        assert_eq!(text.lines().count(), spans.len(), "every span hangs somewhere: {spans:#?}");
        text
    }

    fn named(&self, name: &str) -> Span {
        self.0.lock().unwrap().iter().find(|span| span.name == name).expect(name).clone()
    }
}

#[tokio::test(start_paused = true)]
async fn a_delegation_is_one_tree_without_its_texts() {
    let kept = Arc::new(Kept::default());
    play(DELEGATION, Limits::default(), vec![Arc::new(SpanObserver::new(kept.clone()))]).await;
    let expected = "
invoke_agent boss
  chat test
  execute_tool shared_context
  chat test
  execute_tool subagent
    invoke_agent helper
      chat test
      execute_tool shared_context
      chat test
  chat test
  execute_tool subagent
  chat test
  execute_tool subagent
  chat test
  execute_tool subagent
  execute_tool subagent !tool_error
  chat test
  execute_tool shared_context
  execute_tool SECRET_tool !refused
  chat test
";
    assert_eq!(kept.tree(), expected.trim_start());
    let spans = kept.0.lock().unwrap().clone();
    assert!(spans.iter().all(|span| span.trace == spans[0].trace && span.began <= span.ended));
    let shown = format!("{spans:?}").replace("SECRET_tool", "");
    assert!(!shown.contains("SECRET"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_span_says_what_the_conventions_ask_for() {
    let kept = Arc::new(Kept::default());
    let script = "boss: [{text: done, usage: {input: 70, output: 7, cache_read: 60, reasoning: 3}}]";
    play(script, Limits::default(), vec![Arc::new(SpanObserver::new(kept.clone()))]).await;
    let chat = kept.named("chat test");
    assert_eq!(chat.kind, SpanKind::Client);
    let expected: Vec<(&str, SpanValue)> = vec![
        ("gen_ai.operation.name", "chat".into()),
        ("gen_ai.conversation.id", "s1".into()),
        ("gen_ai.agent.name", "boss".into()),
        ("posse.task.id", "s1".into()),
        ("posse.turn", 1.into()),
        ("gen_ai.provider.name", "scripted".into()),
        ("gen_ai.request.model", "test".into()),
        ("posse.attempts", 1.into()),
        ("gen_ai.response.model", "test".into()),
        ("gen_ai.usage.input_tokens", 70.into()),
        ("gen_ai.usage.output_tokens", 7.into()),
        ("gen_ai.usage.cache_read.input_tokens", 60.into()),
        ("gen_ai.usage.reasoning.output_tokens", 3.into()),
    ];
    assert_eq!(chat.attributes, expected);
    let task = kept.named("invoke_agent boss");
    assert_eq!((task.kind, task.parent, task.error), (SpanKind::Internal, None, None));
    for wanted in [
        ("gen_ai.operation.name", "invoke_agent".into()),
        ("gen_ai.agent.name", "boss".into()),
        ("gen_ai.agent.id", "s1".into()),
        ("gen_ai.usage.input_tokens", 70.into()),
        ("posse.task.status", "completed".into()),
        ("posse.task.turns", 1.into()),
    ] {
        assert!(task.attributes.contains(&wanted), "{wanted:?}: {:?}", task.attributes);
    }
}

fn spawn(index: u32) -> ToolCall {
    ToolCall {
        key: CallKey { turn: 1, index },
        id: String::new(),
        name: "subagent".to_owned(),
        arguments: CallArguments::Object(r#"{"action":"spawn","agent":"helper","task":"x"}"#.to_owned()),
        signature: None,
    }
}

/// A task that the call of its parent spawned.
fn spawned_by(parent: &TaskId, call: &ToolCall) -> TaskStart {
    let agent = Agent::new(AgentName::parse("helper").unwrap(), "gemini:flash", "");
    let link = ParentLink { key: Some(call.key.idempotency_key(parent)), ..ParentLink::default() };
    TaskStart { link, ..TaskStart::new(agent, "x", Grant::root([], 0)) }
}

fn tell(spans: &SpanObserver, task: &TaskId, event: Event) {
    spans.event(&EventEntry { v: 1, seq: 0, task_id: task.clone(), at_ms: 0, event });
}

fn started(agent: &str) -> Event {
    let (agent, model) = (agent.to_owned(), "gemini:flash".to_owned());
    Event::Started { agent, model, context_window: None, sandbox: SandboxTier::None }
}

fn finished(status: OutcomeStatus, stop: StopReason) -> Event {
    Event::Finished { status, stop, turns: 1, tool_calls: 0, usage: Usage::default() }
}

fn answered(call: &ToolCall) -> Event {
    let (key, tool) = (call.key, call.name.clone());
    Event::ToolFinished {
        key,
        tool,
        is_error: false,
        in_doubt: false,
        why: None,
        changed: Vec::new(),
        bytes: 1,
        millis: 1,
    }
}

/// With several threads, a task may start and even end before its spawning call has an answer.
#[test]
fn a_child_hangs_on_the_call_that_spawned_it_whatever_comes_first() {
    let kept = Arc::new(Kept::default());
    let spans = SpanObserver::new(kept.clone());
    let (root, first, second) = (TaskId::root("s"), TaskId::child("s", 1), TaskId::child("s", 2));
    let (one, two) = (spawn(0), spawn(1));
    tell(&spans, &root, started("boss"));
    // The first child ends before its call does; the second starts long after.
    spans.payload(&root, ObservedPayload::Call(&one));
    spans.payload(&first, ObservedPayload::Start(&spawned_by(&root, &one)));
    tell(&spans, &first, started("helper"));
    tell(&spans, &first, finished(OutcomeStatus::Failed, StopReason::ModelFailed));
    tell(&spans, &root, answered(&one));
    spans.payload(&root, ObservedPayload::Call(&two));
    tell(&spans, &root, answered(&two));
    spans.payload(&second, ObservedPayload::Start(&spawned_by(&root, &two)));
    tell(&spans, &second, started("helper"));
    tell(&spans, &second, Event::TurnStarted { turn: 1, turns_max: 9 });
    let (kind, status, why) = (FailureKind::Overloaded, None, "SECRET".to_owned());
    tell(&spans, &second, Event::ModelRetry { kind, status, why, wait_ms: 0 });
    tell(&spans, &second, Event::ModelFailed { kind: FailureKind::Overloaded, message: "SECRET".to_owned() });
    // A task without a known spawner still belongs to the session.
    let third = TaskId::child("s", 3);
    tell(&spans, &third, started("stranger"));
    tell(&spans, &third, finished(OutcomeStatus::Completed, StopReason::Answered));
    tell(&spans, &root, finished(OutcomeStatus::Completed, StopReason::Answered));
    tell(&spans, &second, finished(OutcomeStatus::Cancelled, StopReason::Cancelled));
    assert_eq!(
        kept.tree(),
        "invoke_agent boss\n  \
           execute_tool subagent\n    \
             invoke_agent helper !model_failed\n  \
           execute_tool subagent\n    \
             invoke_agent helper\n      \
               chat flash !overloaded\n  \
           invoke_agent stranger\n"
    );
    let chat = kept.named("chat flash");
    for wanted in [
        ("gen_ai.provider.name", "gcp.gemini".into()),
        ("posse.attempts", 2.into()),
        ("error.type", "overloaded".into()),
    ] {
        assert!(chat.attributes.contains(&wanted), "{wanted:?}: {:?}", chat.attributes);
    }
    assert!(!format!("{:?}", kept.0.lock().unwrap()).contains("SECRET"));
}

#[test]
fn of_two_calls_to_the_same_agent_the_key_of_a_task_says_which_one_spawned_it() {
    let kept = Arc::new(Kept::default());
    let spans = SpanObserver::new(kept.clone());
    let (root, middle, child) = (TaskId::root("s"), TaskId::child("s", 1), TaskId::child("s", 2));
    let call = spawn(0);
    tell(&spans, &root, started("boss"));
    tell(&spans, &middle, started("middle"));
    spans.payload(&root, ObservedPayload::Call(&call));
    spans.payload(&middle, ObservedPayload::Call(&call));
    spans.payload(&child, ObservedPayload::Start(&spawned_by(&middle, &call)));
    tell(&spans, &child, started("helper"));
    spans.interrupt();
    let expected = "
invoke_agent boss !interrupted
  invoke_agent middle !interrupted
    execute_tool subagent !interrupted
      invoke_agent helper !interrupted
  execute_tool subagent !interrupted
";
    assert_eq!(kept.tree(), expected.trim_start());
}

#[test]
fn what_is_under_way_when_the_process_goes_is_sent_as_interrupted() {
    let kept = Arc::new(Kept::default());
    let spans = SpanObserver::new(kept.clone());
    let root = TaskId::root("s");
    tell(&spans, &root, started("boss"));
    tell(&spans, &root, Event::TurnStarted { turn: 1, turns_max: 9 });
    spans.payload(&root, ObservedPayload::Call(&spawn(0)));
    spans.interrupt();
    let tree =
        "invoke_agent boss !interrupted\n  chat flash !interrupted\n  execute_tool subagent !interrupted\n";
    assert_eq!(kept.tree(), tree);
    spans.interrupt();
    tell(&spans, &root, finished(OutcomeStatus::Completed, StopReason::Answered));
    assert_eq!(kept.tree(), tree, "nothing is sent twice");
}
