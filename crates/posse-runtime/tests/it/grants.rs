//! What is not granted does not happen: each call of a run is made as often as its grant allows, which is once or never.

use posse_core::grant::{
    AccessLevel, Autonomy, Decision, Grant, GrantRule, RequestedCall, Rights, RuleVerdict,
};
use posse_core::journal::{Record, start_of};
use posse_core::pattern::ToolPattern;
use posse_core::tool::ToolEffect;
use posse_runtime::driver::ResumeMode;

use crate::stage::Stage;

const CALLS: [(&str, ToolEffect); 3] =
    [("look", ToolEffect::Pure), ("put", ToolEffect::Idempotent), ("fire", ToolEffect::Unsafe)];
const SCRIPT: &str = "[{calls: [{look: {n: 1}}, {put: {n: 1}}, {fire: {n: 1}}]}, {text: done}, \
                      {calls: [{look: {n: 2}}, {put: {n: 2}}, {fire: {n: 2}}]}, {text: done}]";

/// One of every kind of restriction.
fn restrictions() -> Vec<Rights> {
    let rule = |tool: &str, verdict| vec![GrantRule { pattern: ToolPattern::tool(tool), verdict }];
    vec![
        Rights::default(),
        Rights::only([]),
        Rights::only(["look"]),
        Rights::only(["put", "fire"]),
        Rights { deny: vec![ToolPattern::tool("fire")], ..Rights::default() },
        Rights { tools: Some(vec![ToolPattern::call("put", "something else")]), ..Rights::default() },
        Rights { rules: rule("put", RuleVerdict::Deny), ..Rights::default() },
        Rights { rules: rule("fire", RuleVerdict::Ask), ..Rights::default() },
        Rights { access: AccessLevel::ReadOnly, ..Rights::default() },
        Rights { autonomy: Some(Autonomy::Asks), ..Rights::default() },
        Rights { autonomy: Some(Autonomy::Refuses), ..Rights::default() },
    ]
}

fn allowed(grant: &Grant) -> usize {
    let is_allowed = |(tool, effect): &&(&str, ToolEffect)| {
        let call = RequestedCall { tool, effect: *effect, arguments: r#"{"n":1}"#, workspace: "" };
        grant.decide(call) == Decision::Allow
    };
    CALLS.iter().filter(is_allowed).count()
}

fn made(stage: &Stage) -> usize {
    let effects = stage.world.effects.lock().unwrap();
    assert!(effects.values().all(|times| *times == 1), "{effects:?}");
    effects.len()
}

// G16, S14: seen to fail without the refusals in `Run::decide`, and without what `RunDriver::withdraw` does on resuming.
#[tokio::test]
async fn a_denied_call_is_made_zero_times_also_after_the_operator_changed_their_mind() {
    for rights in restrictions() {
        for rights_later in restrictions() {
            let mut stage = Stage::new(SCRIPT);
            (stage.rights, stage.rights_later) = (rights.clone(), rights_later);
            stage.run().await.unwrap();
            let first = start_of(&stage.records().await).unwrap().grant;
            assert_eq!(made(&stage), allowed(&first), "{:?}", stage.rights);
            stage.go_on(ResumeMode::Message("more".to_owned())).await.unwrap();
            let records = stage.records().await;
            let second = start_of(&records).unwrap().grant;
            let both = allowed(&first.keep(&stage.rights_later));
            assert_eq!(allowed(&second), both, "the journal knows what is left: {:?}", stage.rights_later);
            assert_eq!(made(&stage), allowed(&first) + both, "{:?} {:?}", stage.rights, stage.rights_later);
            let has_less = second != first;
            assert_eq!(records.iter().any(|record| matches!(record, Record::Withdrawn { .. })), has_less);
        }
    }
}
