//! What a run decides, seen from outside. The ids in comments are rows of the fault matrix.

use posse_core::limits::Limits;

use crate::play::{check, play};

fn limits() -> Limits {
    Limits::default()
}

// R160, R250, R303
#[test]
fn a_task_is_answered_after_its_tools_ran() {
    check(
        limits(),
        r#"
        [read {"path":"a"}] & [read {"path":"b"}]
        [write {"path":"c"}]
        all done
        "#,
        r#"
        read runs
        read runs
        write runs
        completed: answered "all done" turns=3
        "#,
    );
}

// R159, R250, R303
#[test]
fn the_last_of_three_turns_is_the_wrap_up_and_the_run_is_partial() {
    check(
        Limits { turns_max: 3, ..limits() },
        r#"
        [read {"path":"a"}]
        found something & [read {"path":"b"}]
        half of it is done
        "#,
        r#"
        read runs
        read runs
        asked to report
        partial: turns_exhausted "half of it is done" turns=3
        "#,
    );
}

// R119, R121
#[test]
fn an_answer_before_the_last_turn_is_complete() {
    check(
        Limits { turns_max: 3, ..limits() },
        "[read {}]\nall of it",
        "read runs\ncompleted: answered \"all of it\" turns=2",
    );
}

#[test]
fn a_model_that_ignores_the_report_request_leaves_its_last_text() {
    check(
        Limits { turns_max: 2, ..limits() },
        r#"
        looking & [read {"path":"a"}]
        [read {"path":"b"}]
        "#,
        r#"
        read runs
        asked to report
        partial: turns_exhausted "looking" turns=2
        "#,
    );
}

#[test]
fn the_only_turn_of_a_task_has_no_tools_and_can_answer_it() {
    let one = || Limits { turns_max: 1, ..limits() };
    check(one(), "the answer", "asked to report\ncompleted: answered \"the answer\" turns=1");
    check(one(), "so & [read {}]", "asked to report\npartial: turns_exhausted \"so\" turns=1");
    check(one(), "[read {}]", "asked to report\nfailed: turns_exhausted \"\" turns=1");
}

#[test]
fn zero_turns_means_no_request_at_all() {
    check(Limits { turns_max: 0, ..limits() }, "", "failed: turns_exhausted \"\" turns=0");
}

#[test]
fn second_chances_count_as_turns_and_none_is_given_beyond_the_limit() {
    let turns = |turns_max| Limits { turns_max, ..limits() };
    for (script, two, one) in [
        (
            "one & !max_tokens\ntwo",
            "completed: answered \"onetwo\" turns=2",
            "partial: truncated (the answer was still cut off after 0 continuations) \"one\" turns=1",
        ),
        (
            "~hm\nhere",
            "completed: answered \"here\" turns=2",
            "failed: model_failed (empty_response) \"\" turns=1",
        ),
        (
            "so far & !paused\nhere",
            "completed: answered \"here\" turns=2",
            "partial: turns_exhausted \"so far\" turns=1",
        ),
    ] {
        check(turns(2), script, &format!("asked to report\n{two}"));
        let first = script.lines().next().unwrap();
        check(turns(1), first, &format!("asked to report\n{one}"));
    }
    check(turns(2), "!tool_use\nhere", "asked to report\npartial: turns_exhausted \"here\" turns=2");
}

// A retry inside one request is not an answered request: `on_failure` is told only about the last attempt.
#[test]
fn a_request_that_the_provider_refuses_for_its_length_is_no_turn() {
    let script = "[read {}]\n[read {\"x\":1}]\n?context\nanswer";
    let log = play(Limits { turns_max: 4, ..limits() }, script, 5_000);
    assert!(log.contains("completed: answered \"answer\" turns=3"), "{log}");
}

#[test]
fn calls_over_the_limits_are_answered_and_not_run() {
    // P41
    check(
        Limits { calls_per_turn_max: 2, tool_calls_max: 3, ..limits() },
        r#"
        [read {"path":"a"}] & [read {"path":"b"}] & [read {"path":"c"}]
        [read {"path":"a"}] & [read {"path":"b"}]
        enough
        "#,
        r#"
        read runs
        read runs
        read refused: not run: at most 2 calls per turn
        read runs
        read refused: not run: the limit of 3 tool calls is reached
        asked to report
        partial: tool_calls_exhausted (the limit is 3 tool calls) "enough" turns=3
        "#,
    );
}

// R420: with 1000 for a launched task.
#[test]
fn file_operations_over_the_limit_are_answered_and_not_run() {
    check(
        Limits { file_operations_max: 2, ..limits() },
        r#"
        [read {"path":"a"}] & [write {"path":"b"}] & [read {"path":"c"}]
        enough
        "#,
        r#"
        read runs
        write runs
        read refused: not run: the limit of 2 file operations is reached
        completed: answered "enough" turns=2
        "#,
    );
}

// R158
#[test]
fn unknown_and_ungranted_tools_are_refused_with_what_there_is() {
    // P25, P26
    check(
        limits(),
        r#"
        [fly {}] & [bash {"command":"ls"}]
        sorry
        "#,
        r#"
        fly refused: there is no tool `fly`; you have: read, write
        bash refused: refused: the tool `bash` is not granted to this task; granted: read, write
        completed: answered "sorry" turns=2
        "#,
    );
}

#[test]
fn only_mistakes_for_too_long_is_a_stall() {
    check(
        Limits { mistakes_max: 2, ..limits() },
        "trying & [fly {}]\n[fly {\"higher\":true}]",
        r#"
        fly refused: there is no tool `fly`; you have: read, write
        fly refused: there is no tool `fly`; you have: read, write
        failed: stalled (2 turns in a row had only wrong tool calls) "trying" turns=2
        "#,
    );
}

// R395
#[test]
fn a_call_that_is_right_makes_earlier_mistakes_count_no_more() {
    check(
        Limits { mistakes_max: 2, ..limits() },
        r#"
        [fly {}]
        [read {"path":"a"}]
        [fly {"higher":true}]
        [read {"path":"b"}]
        done
        "#,
        r#"
        fly refused: there is no tool `fly`; you have: read, write
        read runs
        fly refused: there is no tool `fly`; you have: read, write
        read runs
        completed: answered "done" turns=5
        "#,
    );
}

// R390: what was cut off is shown while it is written, and never executed.
#[test]
fn truncated_arguments_are_never_executed() {
    // P17, P18, and P17 where the provider makes an empty object of a cut-off call
    check(
        limits(),
        r#"
        [write {"path":"a","content":"long] & !max_tokens
        [write {"path":"a","con]
        [read {"path":"a"}] & [write {}] & !max_tokens
        ok
        "#,
        r#"
        write refused: truncated: your output limit cut this call off inside its arguments, nothing was run. Make the call again with shorter arguments, or split the work into several calls
        write refused: truncated: your output limit cut this call off inside its arguments, nothing was run. Make the call again with shorter arguments, or split the work into several calls
        read runs
        write refused: truncated: your output limit cut this call off inside its arguments, nothing was run. Make the call again with shorter arguments, or split the work into several calls
        completed: answered "ok" turns=4
        "#,
    );
}

#[test]
fn malformed_and_double_encoded_arguments_are_refused_with_the_reason() {
    // P20, P22
    check(
        limits(),
        r#"
        [read {path:a}] & [read "{\"path\":1}"] & [read [1]]
        ok
        "#,
        r#"
        read refused: the arguments are not usable, nothing was run: key must be a string at line 1 column 2
        read refused: the arguments are not usable, nothing was run: arguments must be a JSON object, found a string
        read refused: the arguments are not usable, nothing was run: arguments must be a JSON object, found a list
        completed: answered "ok" turns=2
        "#,
    );
}

#[test]
fn a_cut_off_answer_is_continued_and_joined_and_in_the_end_partial() {
    // P16
    check(limits(), "one & !max_tokens\ntwo", "completed: answered \"onetwo\" turns=2");
    check(
        Limits { continuations_max: 1, ..limits() },
        "one & !max_tokens\ntwo & !max_tokens",
        "partial: truncated (the answer was still cut off after 1 continuation) \"onetwo\" turns=2",
    );
}

#[test]
fn an_empty_answer_is_never_completed() {
    // P28, P29
    check(limits(), "\n~hm\nthe answer", "completed: answered \"the answer\" turns=2");
    check(limits(), "~hm\n~hm", "failed: model_failed (empty_response) \"\" turns=2");
}

#[test]
fn a_promised_call_that_does_not_come_is_asked_for_once() {
    // P30
    check(limits(), "!tool_use\nhere", "completed: answered \"here\" turns=2");
    check(
        limits(),
        "!tool_use\n!tool_use",
        "failed: model_failed (a tool call was announced twice and not made) \"\" turns=2",
    );
}

#[test]
fn refusals_and_unknown_stop_reasons_end_the_run_as_what_they_are() {
    // P31, P33
    check(limits(), "I will not & !refusal", "failed: refused \"I will not\" turns=1");
    check(
        limits(),
        "so far & !mystery",
        "failed: model_failed (unknown stop reason `mystery`) \"so far\" turns=1",
    );
}

#[test]
fn nothing_is_run_after_a_refusal_or_an_unknown_stop() {
    check(limits(), "no & [read {}] & !refusal", "failed: refused \"no\" turns=1");
    check(
        limits(),
        "so & [write {}] & !mystery",
        "failed: model_failed (unknown stop reason `mystery`) \"so\" turns=1",
    );
}

#[test]
fn a_pause_with_calls_is_a_turn_like_any_other() {
    let script = "[read {}] & !paused\n".repeat(4);
    let log = play(Limits { turns_max: 4, ..limits() }, &script, 0);
    assert_eq!(log.lines().filter(|line| *line == "read runs").count(), 3, "{log}");
}

#[test]
fn a_paused_turn_is_sent_again_unchanged_and_bounded() {
    // P32
    check(limits(), "working & !paused\ndone", "completed: answered \"done\" turns=2");
    check(
        Limits { pauses_max: 1, ..limits() },
        "a & !paused\nb & !paused",
        "failed: model_failed (paused too often) \"b\" turns=2",
    );
}

// R161
#[test]
fn a_model_failure_keeps_the_text_there_is() {
    check(
        limits(),
        "found it & [read {}]\n?overloaded",
        "read runs\nfailed: model_failed (overloaded: from the test) \"found it\" turns=1",
    );
}

#[test]
fn a_context_that_is_too_long_is_trimmed_and_then_given_up() {
    // P15
    let script = "[read {}]\n[read {\"x\":1}]\n?context\nanswer";
    let log = play(limits(), script, 5_000);
    assert!(log.contains("elided 1 results"), "{log}");
    assert!(log.contains("completed: answered \"answer\""), "{log}");
    let log = play(limits(), "[read {}]\n?context\n?context\n?context\n?context", 5_000);
    assert!(log.contains("failed: context_exhausted"), "{log}");
}

// R251
#[test]
fn the_context_guard_makes_room_at_90_percent_and_asks_for_the_answer_at_100() {
    let tight = Limits { context_window: Some(20_000), output_tokens_per_call: 2_000, ..limits() };
    let log = play(tight.clone(), "[read {}] & usage=16000\nok", 8_000);
    assert!(log.starts_with("read runs\nelided 1 results"), "{log}");
    assert!(log.ends_with("completed: answered \"ok\" turns=2\n"), "{log}");
    let log = play(tight, "[read {}] & usage=30000\nok", 8_000);
    assert!(log.contains("asked to report\npartial: context_exhausted (the conversation fills the model's context window) \"ok\""), "{log}");
}

#[test]
fn circles_of_one_to_four_turns_are_noticed() {
    // P44
    for period in 1..=4 {
        let script: String = (0..64).map(|n| format!("[read {{\"n\":{}}}]\n", n % period)).collect();
        let log = play(limits(), &script, 0);
        assert!(log.contains("failed: stalled"), "period {period}: {log}");
        let turns = log.lines().filter(|line| *line == "read runs").count();
        assert_eq!(turns, 8 * period, "period {period}");
    }
    let different: String = (0..40).map(|n| format!("[read {{\"n\":{n}}}]\n")).collect();
    assert!(!play(limits(), &different, 0).contains("stalled"));
}
