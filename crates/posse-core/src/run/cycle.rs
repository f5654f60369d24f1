//! Detects cycles: the same calls with the same results, over and over, in periods of up to four turns. Polling is no
//! cycle, neither with new results nor when answered "not yet".

use std::collections::VecDeque;
use std::sync::Arc;

use crate::message::{ToolCall, ToolResult};

/// Longest period checked; longer ones were not seen in the field.
const PERIOD_MAX: usize = 4;
/// Repetitions before the model is warned.
const WARN_AT: usize = 4;
/// Repetitions before the run is ended.
const STOP_AT: usize = 8;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CycleDetector {
    recent: VecDeque<u64>,
}

#[derive(Debug, PartialEq)]
pub(super) enum CycleVerdict {
    Fine,
    Warn(String),
    Stop(String),
}

impl CycleDetector {
    pub(super) fn observe(&mut self, calls: &[Arc<ToolCall>], results: &[ToolResult]) -> CycleVerdict {
        if self.recent.len() == PERIOD_MAX * STOP_AT {
            self.recent.pop_front();
        }
        self.recent.push_back(fingerprint(calls, results));
        let (period, times) = self.longest_repetition();
        if times >= STOP_AT {
            return CycleVerdict::Stop(repetition(period, times));
        }
        if times >= WARN_AT {
            return CycleVerdict::Warn(format!(
                "note: {}. Try something else or give your answer; at {STOP_AT} times the task is ended",
                repetition(period, times)
            ));
        }
        CycleVerdict::Fine
    }

    /// Finds the period whose repetition at the end covers the most turns, and its count.
    fn longest_repetition(&self) -> (usize, usize) {
        let length = self.recent.len();
        let repetitions = |period: usize| {
            let same = (0..length.saturating_sub(period))
                .take_while(|back| self.recent[length - 1 - back] == self.recent[length - 1 - back - period]);
            1 + same.count() / period
        };
        // Of equal counts the shortest period: it is more specific.
        (1..=PERIOD_MAX)
            .rev()
            .map(|period| (period, repetitions(period)))
            .max_by_key(|(_, times)| *times)
            .unwrap_or((1, 1))
    }
}

fn fingerprint(calls: &[Arc<ToolCall>], results: &[ToolResult]) -> u64 {
    let calls = calls.iter().flat_map(|call| [call.name.as_str(), call.arguments.as_object_text()]);
    calls.chain(results.iter().map(|result| result.text.as_str())).fold(0, mix)
}

/// Hashes eight bytes at a time, because results are long. It only tells a few turns of one run apart; a hash that resists
/// attackers costs several times as much.
fn mix(hash: u64, text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let last = rest.iter().fold(text.len() as u64, |last, byte| (last << 8) | u64::from(*byte));
    let step = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = words.iter().fold(hash, |hash, word| step(hash, u64::from_le_bytes(*word)));
    step(hash, last)
}

fn repetition(period: usize, times: usize) -> String {
    let calls = match period {
        1 => "calls".to_owned(),
        _ => format!("{period} turns of calls"),
    };
    format!("the same {calls} were made {times} times with the same results")
}
