//! Calls that a person has to say yes to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::ErrorCode;
use posse_core::approval::{
    ApprovalAnswer, ApprovalHandling, ApprovalPolicy, ApprovalRequest, ApprovalScope, ApprovalState,
    ApprovalVerdict, DecidedBy, ParkedCall,
};
use posse_core::event::Event;
use posse_core::id::CallKey;
use posse_core::journal::Record;
use posse_core::limits::Limits;
use posse_core::outcome::{Outcome, OutcomeStatus, StopReason};
use posse_runtime::driver::ResumeMode;
use posse_runtime::ports::{
    ApprovalDecision, ApprovalQuery, ApprovalStore, Approver, BoxFuture, ProposedCall,
};
use posse_testkit::memory::MemoryStore;
use tokio::time::Instant;

use crate::stage::Stage;

const FIRE: &str = "[{calls: [{fire: {n: 1}}]}, {text: done}]";

fn asking(script: &'static str) -> Stage {
    Stage { ask: &["fire"], policy: ApprovalPolicy::new(ApprovalHandling::Ask), ..Stage::new(script) }
}

/// The next question, when it comes.
pub async fn question(store: &MemoryStore) -> ParkedCall {
    loop {
        match store.approvals(ApprovalQuery::Open).await.unwrap().pop() {
            Some(parked) => return parked,
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

pub fn answer(parked: &ParkedCall, verdict: ApprovalVerdict) -> ApprovalAnswer {
    ApprovalAnswer::new(verdict, DecidedBy::Person("ada".to_owned()), parked.request.asked_ms)
}

pub async fn say(store: &MemoryStore, parked: &ParkedCall, answer: ApprovalAnswer) {
    store.answer(&parked.id, &parked.request.hash, answer).await.unwrap();
}

fn fired(stage: &Stage) -> u32 {
    stage.world.effects.lock().unwrap().values().sum()
}

fn result(records: &[Record]) -> String {
    let texts = records.iter().filter_map(|record| match record {
        Record::Done { result, .. } => Some(result.text.clone()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" | ")
}

async fn with_answers(stage: &Stage, verdict: ApprovalVerdict, scope: ApprovalScope) -> (Arc<Outcome>, u32) {
    let asked = Mutex::new(0);
    let answering = async {
        loop {
            let parked = question(&stage.store).await;
            *asked.lock().unwrap() += 1;
            say(&stage.store, &parked, ApprovalAnswer { scope, ..answer(&parked, verdict) }).await;
        }
    };
    let outcome = tokio::select! {
        outcome = stage.run() => outcome.unwrap(),
        () = answering => unreachable!("it asks for ever"),
    };
    let asked = *asked.lock().unwrap();
    (outcome, asked)
}

// G23 Seen to fail, after all its time, when what has to be asked about is executed: nobody is asked.
#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_yes_and_what_was_shown_is_executed() {
    let stage = asking(FIRE);
    let answering = async {
        let parked = question(&stage.store).await;
        assert_eq!(fired(&stage), 0, "nothing happens before the yes");
        let unannounced = !stage.records().await.iter().any(|r| matches!(r, Record::Intended { .. }));
        assert!(unannounced, "a call that waits is not in doubt");
        say(&stage.store, &parked, answer(&parked, ApprovalVerdict::Approve)).await;
        parked
    };
    let (outcome, parked) = tokio::join!(stage.run(), answering);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.status(), fired(&stage), outcome.warnings.len()), (OutcomeStatus::Completed, 1, 0));
    let request = &parked.request;
    assert_eq!((request.arguments.as_str(), request.tool.as_str()), (r#"{"n":1}"#, "fire"));
    assert_eq!((request.agent.as_str(), request.key), ("worker", CallKey { turn: 1, index: 0 }));
    assert_eq!(request.why, "`fire` needs a person's yes");
    assert_eq!(request.hash.len(), 64);
    let resolved = stage.records().await.into_iter().find_map(|record| match record {
        Record::Resolved { approval, verdict, by, .. } => Some((approval, verdict, by)),
        _ => None,
    });
    let by = DecidedBy::Person("ada".to_owned());
    assert_eq!(resolved, Some((Some(parked.id.clone()), ApprovalVerdict::Approve, by)));
    let kinds: Vec<String> = stage.seen.0.lock().unwrap().iter().map(kind).collect();
    let at = |what: &str| kinds.iter().position(|kind| kind == what).unwrap();
    assert!(at("approval_requested") < at("approval_resolved"), "{kinds:?}");
    assert!(at("approval_resolved") < at("tool_started"), "{kinds:?}");
}

fn kind(event: &Event) -> String {
    event.kind().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_no_is_told_with_its_reason_and_the_task_goes_on() {
    let stage = asking(FIRE);
    let answering = async {
        let parked = question(&stage.store).await;
        let reason = Some("not on a Friday".to_owned());
        say(&stage.store, &parked, ApprovalAnswer { reason, ..answer(&parked, ApprovalVerdict::Deny) }).await;
    };
    let (outcome, ()) = tokio::join!(stage.run(), answering);
    assert_eq!((outcome.unwrap().text.as_str(), fired(&stage)), ("done", 0));
    assert_eq!(result(&stage.records().await), "refused: a person said no: not on a Friday");
}

// T16
#[tokio::test(start_paused = true)]
async fn when_nobody_answers_the_default_counts_and_that_is_said() {
    for (on_deadline, times, note) in [
        (ApprovalVerdict::Deny, 0, "nobody answered in time about `fire`; it was refused"),
        (ApprovalVerdict::Approve, 1, "nobody answered in time about `fire`; it was allowed by default"),
    ] {
        let mut stage = asking(FIRE);
        (stage.policy.deadline_ms, stage.policy.on_deadline) = (60_000, on_deadline);
        let began = Instant::now();
        let outcome = stage.run().await.unwrap();
        assert_eq!((fired(&stage), outcome.warnings.as_slice()), (times, [note.to_owned()].as_slice()));
        let took = began.elapsed().as_secs();
        assert!((59..=61).contains(&took), "{took}");
        let parked = stage.store.approval("a1").await.unwrap();
        let late =
            stage.store.answer("a1", &parked.request.hash, answer(&parked, ApprovalVerdict::Approve)).await;
        assert_eq!(late.unwrap_err().code(), ErrorCode::ApprovalClosed);
    }
}

// R453
#[tokio::test(start_paused = true)]
async fn without_anybody_the_policy_decides_at_once_and_says_so() {
    let fire = || posse_core::pattern::ToolPattern::parse("fire").unwrap();
    for (mode, allow, times, told) in [
        (ApprovalHandling::Unattended, Vec::new(), 0, "nobody can be asked here"),
        (ApprovalHandling::Deny, fire(), 0, "`approvals.mode` is `deny`"),
        (ApprovalHandling::AllowListed, Vec::new(), 0, "not among `approvals.allow`"),
        (ApprovalHandling::AllowListed, fire(), 1, "did fire"),
    ] {
        let policy = ApprovalPolicy { allow, ..ApprovalPolicy::new(mode) };
        let stage = Stage { policy, ..asking(FIRE) };
        let began = Instant::now();
        let outcome = stage.run().await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(1), "nobody is waited for");
        assert_eq!((outcome.text.as_str(), fired(&stage)), ("done", times), "{mode:?}");
        assert!(result(&stage.records().await).contains(told), "{mode:?}");
        assert!(outcome.warnings[0].contains("nobody was asked"), "{:?}", outcome.warnings);
        let kinds: Vec<String> = stage.seen.0.lock().unwrap().iter().map(kind).collect();
        assert!(kinds.contains(&"approval_resolved".to_owned()), "{kinds:?}");
        assert!(stage.store.approvals(ApprovalQuery::Newest(9)).await.unwrap().is_empty());
    }
}

// T08
#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_at_once_and_nothing_is_started() {
    for now in [true, false] {
        let stage = asking(FIRE);
        let stopping = async {
            let parked = question(&stage.store).await;
            if now {
                stage.stop.now.cancel()
            } else {
                stage.stop.soon.cancel()
            }
            parked
        };
        let (outcome, parked) = tokio::join!(stage.run(), stopping);
        assert_eq!((outcome.unwrap().stop, fired(&stage)), (StopReason::Cancelled, 0));
        let closed = stage.store.approval(&parked.id).await.unwrap();
        assert_eq!(closed.state, ApprovalState::Closed("its task was stopped".to_owned()));
        assert!(stage.store.approvals(ApprovalQuery::Open).await.unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_task_holds_while_it_waits() {
    let limits = Limits { wall_ms_max: 5_000, ..Limits::default() };
    let stage = Stage { limits, ..asking(FIRE) };
    let outcome = stage.run().await.unwrap();
    assert_eq!((outcome.stop, fired(&stage)), (StopReason::DeadlinePassed, 0));
    assert_eq!(stage.store.approval("a1").await.unwrap().state.wire(), "closed");
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_the_task_is_an_answer_for_the_rest_of_it() {
    const THRICE: &str =
        "[{calls: [{fire: {n: 1}}, {fire: {n: 2}}]}, {calls: [{fire: {n: 3}}]}, {text: done}]";
    for (verdict, scope, asked, times) in [
        (ApprovalVerdict::Approve, ApprovalScope::Once, 3, 3),
        (ApprovalVerdict::Approve, ApprovalScope::Task, 1, 3),
        (ApprovalVerdict::Approve, ApprovalScope::Session, 1, 3),
        (ApprovalVerdict::Deny, ApprovalScope::Task, 1, 0),
    ] {
        let stage = asking(THRICE);
        let (outcome, questions) = with_answers(&stage, verdict, scope).await;
        assert_eq!(outcome.text, "done");
        assert_eq!((questions, fired(&stage)), (asked, times), "{verdict:?} {scope:?}");
    }
}

/// Whatever instant a process dies at: what waits goes on waiting, what was answered is not asked about again, and nothing is
/// done twice or without a yes.
// G23 Seen to fail when `park_again` asks anew about what was answered.
#[tokio::test(start_paused = true)]
async fn a_question_and_its_answer_survive_their_process() {
    const TWICE: &str = "[{calls: [{fire: {n: 1}}]}, {calls: [{fire: {n: 2}}]}, {text: done}]";
    let first = asking(TWICE);
    with_answers(&first, ApprovalVerdict::Approve, ApprovalScope::Once).await;
    let writes = first.store.writes();
    assert!(writes > 10, "the grid has {writes} points");
    for died_after in 1..=writes {
        let stage = first.after_crash(first.store.as_of(died_after));
        stage.world.effects.lock().unwrap().clear();
        let records = stage.records().await;
        let begun = records.iter().filter(|r| matches!(r, Record::Intended { .. })).count() as u32;
        let answered = stage.store.approvals(ApprovalQuery::Newest(9)).await.unwrap();
        let answered = answered.iter().filter(|parked| !parked.is_open()).count() as u32;
        let asked = Mutex::new(0);
        let answering = async {
            loop {
                let parked = question(&stage.store).await;
                *asked.lock().unwrap() += 1;
                say(&stage.store, &parked, answer(&parked, ApprovalVerdict::Approve)).await;
            }
        };
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        let outcome = tokio::select! {
            outcome = stage.go_on(onward) => outcome.unwrap(),
            () = answering => unreachable!("it asks for ever"),
        };
        assert_eq!(outcome.text, "done", "write {died_after}");
        assert_eq!(*asked.lock().unwrap(), 2 - answered, "write {died_after}: questions");
        assert_eq!(fired(&stage), 2 - begun, "write {died_after}: calls that were not begun before");
        assert!(stage.world.unannounced.lock().unwrap().is_empty());
    }
}

/// Somebody changed the store: what waits there is not what would be executed.
// G23 Seen to fail without `check_hash`: then it is asked about, with the hash that somebody put there.
#[tokio::test(start_paused = true)]
async fn a_yes_to_another_call_is_no_yes() {
    let model = asking(FIRE);
    let request = tokio::select! {
        _ = model.run() => unreachable!("it waits"),
        parked = question(&model.store) => parked.request,
    };
    let stage = asking(FIRE);
    let forged = ApprovalRequest { hash: "0".repeat(64), ..request };
    stage.store.park(forged).await.unwrap();
    let outcome = stage.run().await.unwrap();
    assert_eq!((outcome.text.as_str(), fired(&stage)), ("done", 0));
    assert!(result(&stage.records().await).contains("what was approved is another call"));
}

/// Notes what it is asked, and says yes to the first.
#[derive(Default)]
struct Handler(Mutex<Vec<String>>);

impl Approver for Handler {
    fn approve<'a>(&'a self, call: ProposedCall<'a>) -> BoxFuture<'a, ApprovalDecision> {
        let mut asked = self.0.lock().unwrap();
        asked.push(format!("{} {} {:?}", call.tool, call.arguments, call.why));
        let approval = match asked.len() {
            1 => ApprovalDecision::Granted,
            _ => ApprovalDecision::Denied("once is enough".to_owned()),
        };
        Box::pin(std::future::ready(approval))
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_answers_itself_and_nothing_is_parked() {
    const BOTH: &str = "[{calls: [{fire: {n: 1}}, {put: {n: 2}}, {look: {}}]}, {text: done}]";
    let handler = Arc::new(Handler::default());
    let stage = Stage { approver: Some(handler.clone()), ..asking(BOTH) };
    stage.run().await.unwrap();
    let asked = handler.0.lock().unwrap().clone();
    assert_eq!(asked, [r#"fire {"n":1} Some("`fire` needs a person's yes")"#, r#"put {"n":2} None"#]);
    assert_eq!(result(&stage.records().await), "did fire | refused: once is enough | did look");
    assert!(stage.store.approvals(ApprovalQuery::Newest(9)).await.unwrap().is_empty());
}
