//! What a server wants to know before it answers a call, and what it is told: that nobody answers, where the protocol has words for that.

use std::time::Duration;

use rmcp::model::{ElicitResult, ElicitationAction, InputRequest, InputRequests, InputResponses};

/// How often a server may want something before it answers one call.
pub(super) const ROUNDS_MAX: u32 = 10;
/// The pause before a server that only wants to be asked again is asked again; a few more double it.
const PAUSE: Duration = Duration::from_millis(100);
const DOUBLED_MAX: u32 = 4;

/// Questions to a person are declined. There is no way to say no to who wants a model or a list of directories, so then it is `None`.
pub(super) fn declined(requests: &InputRequests) -> Option<InputResponses> {
    let answer = |(key, request): (&String, &InputRequest)| match request {
        InputRequest::Elicitation(_) => {
            let no = serde_json::to_value(ElicitResult::new(ElicitationAction::Decline)).ok()?;
            Some((key.clone(), no))
        }
        // The SDK may learn of more that can be wanted.
        _ => None,
    };
    requests.iter().map(answer).collect()
}

/// How long to wait before the next round, after so many.
pub(super) fn pause(rounds: u32) -> Duration {
    PAUSE * 2u32.pow(rounds.min(DOUBLED_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn answers(requests: Value) -> Option<Value> {
        let requests: InputRequests = serde_json::from_value(requests).unwrap();
        declined(&requests).map(|answers| serde_json::to_value(answers).unwrap())
    }

    #[test]
    fn a_question_to_a_person_is_declined_and_nothing_else_can_be() {
        let schema = json!({"type": "object", "properties": {"key": {"type": "string", "default": "x"}}});
        let person = json!({"method": "elicitation/create", "params": {"message": "Your key?", "requestedSchema": schema}});
        let roots = json!({"method": "roots/list"});
        let no = json!({"action": "decline"});
        assert_eq!(answers(json!({"a": person, "b": person})), Some(json!({"a": no, "b": no})));
        assert_eq!(answers(json!({})), Some(json!({})));
        assert_eq!(answers(json!({"a": person, "b": roots})), None);
    }
}
