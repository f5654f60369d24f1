//! Input that a server requests before it answers a call. Posse declines where the protocol allows that.

use std::time::Duration;

use rmcp::model::{ElicitResult, ElicitationAction, InputRequest, InputRequests, InputResponses};

/// Maximum input rounds of one call.
pub(super) const ROUNDS_MAX: u32 = 10;
/// Pause before a server that only wants a retry is asked again; it doubles up to `DOUBLED_MAX` times.
const PAUSE: Duration = Duration::from_millis(100);
const DOUBLED_MAX: u32 = 4;

/// Declines every question to a person. Returns `None` if the server wants a model or a list of roots,
/// because the protocol has no decline for those.
pub(super) fn declined(requests: &InputRequests) -> Option<InputResponses> {
    let answer = |(key, request): (&String, &InputRequest)| match request {
        InputRequest::Elicitation(_) => {
            let no = serde_json::to_value(ElicitResult::new(ElicitationAction::Decline)).ok()?;
            Some((key.clone(), no))
        }
        // The SDK may add further request kinds.
        _ => None,
    };
    requests.iter().map(answer).collect()
}

/// Returns the pause before the next round.
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
