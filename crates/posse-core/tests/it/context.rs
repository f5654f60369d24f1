//! The rules of shared context: shapes, limits, versions, and what holds over any sequence of changes.

use std::collections::BTreeMap;

use posse_core::context::wire::{ContextAnswer, ContextRequest, ContextWait, utc};
use posse_core::context::{
    self, Audience, AudienceChange, ChangeResult, ContextAccess, ContextChange, ContextEntry, ContextKey,
    ContextSnapshot, ContextWrite, HistoryAct, HistoryLine, KEY_MAX, SessionState, SnapshotLabel,
    TOTAL_TOKENS_MAX, VALUE_TOKENS_MAX, ValueHead,
};
use posse_core::text::estimate_tokens;
use posse_core::{ErrorCode, Result};
use proptest::prelude::*;
use serde_json::json;

fn key(raw: &str) -> ContextKey {
    ContextKey::parse(raw).unwrap()
}

fn to_write(name: &str, value: &str) -> ContextWrite {
    ContextWrite {
        key: key(name),
        value: value.to_owned(),
        expected_version: None,
        expires_at_ms: None,
        audience: AudienceChange::default(),
    }
}

fn head(name: &str, version: u64) -> ValueHead {
    ValueHead {
        key: key(name),
        version,
        tokens: 3,
        written_by: "subagent:researcher:t_01".to_owned(),
        written_at_ms: 1_771_407_000_123,
        previous_version: None,
        expires_at_ms: None,
        audience: Audience::default(),
    }
}

fn code<T: std::fmt::Debug>(answer: Result<T>) -> ErrorCode {
    answer.expect_err("this must be refused").code()
}

// R203 R209 R218
#[test]
fn a_key_is_short_and_has_at_most_one_namespace() {
    let longest = format!("inv:{}", "k".repeat(KEY_MAX - 4));
    for good in ["a", "0", "_", "findings_summary", &"k".repeat(KEY_MAX), "inv:findings_summary", &longest] {
        assert_eq!(key(good).as_str(), good);
    }
    let (long, longer) = ("k".repeat(KEY_MAX + 1), format!("{longest}k"));
    let none = ["", "A", "a-b", "a.b", "a/b", "../x", "ä", "a b", "a\0", &long];
    for bad in none {
        assert_eq!(code(SnapshotLabel::parse(bad)), ErrorCode::InvalidRequest, "{bad:?}");
    }
    for bad in none.into_iter().chain([":", "a:", ":a", "a:b:c", "a::b", "a:B", "a:../b", &longer]) {
        let error = ContextKey::parse(bad).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidKey, "{bad:?}");
        assert!(error.message().len() < 500 && error.advice().is_some());
    }
    assert_eq!(code(SnapshotLabel::parse("a:b")), ErrorCode::InvalidRequest);
}

// R201 R207 R226
#[test]
fn a_value_has_a_quarter_of_its_characters_in_tokens_and_at_most_a_thousand() {
    let size = |characters: usize| {
        let value = "ü".repeat(characters);
        context::write(&[], None, &to_write("a", &value), "orchestrator", 1).map(|head| head.tokens)
    };
    let sizes: Vec<u64> = [0, 1, 4, 5, 3_999, 4_000].map(|characters| size(characters).unwrap()).to_vec();
    assert_eq!(sizes, [0, 1, 1, 2, 1_000, 1_000]);
    let error = size(4_001).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ValueTooLarge);
    assert!(error.message().contains("1001") && error.message().contains("1000"), "{error}");
}

// R201
#[test]
fn a_writer_is_warned_from_800_tokens_on() {
    let warning = |tokens: usize| {
        let write = to_write("a", &"x".repeat(4 * tokens));
        context::write(&[], None, &write, "orchestrator", 1).unwrap().warning()
    };
    assert_eq!(warning(799), None);
    let said = "the value has about 800 tokens of at most 1000; distil it further";
    assert_eq!(warning(800).as_deref(), Some(said));
    let large = ValueHead { tokens: 1_000, ..head("a", 1) };
    let answer = ContextAnswer::Changed(ChangeResult::Written(large)).to_json();
    assert!(answer["warning"].as_str().unwrap().contains("1000 tokens"), "{answer}");
}

// R202 R208
#[test]
fn all_values_together_have_at_most_ten_thousand_tokens() {
    let mut heads: Vec<ValueHead> =
        (0..10).map(|number| ValueHead { tokens: 999, ..head(&format!("k{number}"), 1) }).collect();
    let write = |heads: &[ValueHead], name: &str, tokens: usize| {
        context::write(heads, None, &to_write(name, &"x".repeat(4 * tokens)), "orchestrator", 5)
    };
    assert_eq!(write(&heads, "more", 10).unwrap().tokens, 10);
    let error = write(&heads, "more", 11).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ContextFull);
    assert!(error.message().contains("9990") && error.message().contains("11"), "{error}");
    assert_eq!(write(&heads, "k0", 1_000).unwrap().version, 2, "what is replaced does not count");
    heads[3].expires_at_ms = Some(5);
    assert_eq!(write(&heads, "more", 1_000).unwrap().tokens, 1_000, "what is over does not count");
}

// R195 R196 R197 R200
#[test]
fn answers_have_the_shapes_of_the_specification() {
    let at = "2026-02-18T09:30:00.123Z";
    let by = "subagent:researcher:t_01";
    let heads = vec![head("a", 2), ValueHead { previous_version: Some(7), ..head("b", 1) }];
    let keys = ContextAnswer::Keys { heads, hidden: 0, hidden_tokens: 0 };
    assert_eq!(
        keys.to_json(),
        json!({
            "keys": [
                { "key": "a", "written_by": by, "written_at": at, "version": 2, "value_size_tokens": 3 },
                { "key": "b", "written_by": by, "written_at": at, "version": 1, "value_size_tokens": 3,
                  "previous_version": 7 },
            ],
            "total_size_tokens": 6,
        })
    );
    let entry = ContextEntry { head: head("a", 2), value: "nine chars".to_owned() };
    let read = json!({ "key": "a", "value": "nine chars", "written_by": by, "written_at": at, "version": 2 });
    assert_eq!(ContextAnswer::Value(entry.clone()).to_json(), read);
    assert_eq!(
        ContextAnswer::Changed(ChangeResult::Written(head("a", 2))).to_json(),
        json!({ "key": "a", "version": 2, "written_by": by, "written_at": at })
    );
    let brief = ValueHead { expires_at_ms: Some(1_771_407_000_999), ..head("a", 2) };
    assert_eq!(
        ContextAnswer::Changed(ChangeResult::Written(brief)).to_json()["expires_at"],
        "2026-02-18T09:30:00.999Z"
    );
    assert_eq!(
        ContextAnswer::Changed(ChangeResult::Deleted { key: key("a"), previous_version: 2 }).to_json(),
        json!({ "deleted": "a", "previous_version": 2 })
    );
    // R221
    let batch = ContextAnswer::Batch { entries: vec![entry], missing: vec![key("b")], denied: Vec::new() };
    assert_eq!(batch.to_json(), json!({ "entries": [read], "not_found": ["b"] }));
    // R220
    let past = vec![
        HistoryLine { act: HistoryAct::Delete, head: head("a", 1), value: None },
        HistoryLine { act: HistoryAct::Write, head: head("a", 1), value: Some("x".to_owned()) },
    ];
    let line = |action: &str, value: Option<&str>| json!({ "action": action, "key": "a", "value": value, "version": 1, "written_by": by, "written_at": at, "value_size_tokens": 3 });
    assert_eq!(
        ContextAnswer::History { key: key("a"), past }.to_json(),
        json!({ "key": "a", "versions": [line("delete", None), line("write", Some("x"))] })
    );
    // R223
    let (label, taken_by) = (SnapshotLabel::parse("before").unwrap(), "orchestrator".to_owned());
    let taken = ContextSnapshot { label, taken_by, taken_at_ms: 1_771_407_000_123, keys: 2, tokens: 6 };
    assert_eq!(
        ContextAnswer::Changed(ChangeResult::SnapshotTaken(taken)).to_json(),
        json!({ "label": "before", "taken_by": "orchestrator", "taken_at": at, "keys": 2, "total_size_tokens": 6 })
    );
}

// R194 R196 R197 R200 R220 R221 R222 R223
#[test]
fn requests_are_read_with_everything_they_say() {
    let parse = |value: serde_json::Value| ContextRequest::parse(&value.to_string());
    let a = || key("a");
    let (value, none) = ("x".to_owned(), None);
    let cases = [
        (json!({"action": "list_keys"}), ContextRequest::ListKeys),
        (
            json!({"action": "list_keys", "key": "", "value": "", "keys": [], "ttl_s": null}),
            ContextRequest::ListKeys,
        ),
        (json!({"action": "read", "key": "a"}), ContextRequest::Read(a())),
        (json!({"action": "read_batch", "keys": ["a", "b"]}), ContextRequest::ReadBatch(vec![a(), key("b")])),
        (
            json!({"action": "read_history", "key": "a"}),
            ContextRequest::ReadHistory { key: a(), versions: 20 },
        ),
        (
            json!({"action": "read_history", "key": "a", "versions": 99}),
            ContextRequest::ReadHistory { key: a(), versions: 20 },
        ),
        (
            json!({"action": "write", "key": "a", "value": "x"}),
            ContextRequest::Write {
                key: a(),
                value: value.clone(),
                expected_version: none,
                ttl_s: none,
                audience: AudienceChange::default(),
            },
        ),
        (
            json!({"action": "write", "key": "a", "value": "x", "expected_version": 0, "ttl_s": 60}),
            ContextRequest::Write {
                key: a(),
                value,
                expected_version: Some(0),
                ttl_s: Some(60),
                audience: AudienceChange::default(),
            },
        ),
        (json!({"action": "delete", "key": "a"}), ContextRequest::Delete(a())),
        (
            json!({"action": "snapshot", "label": "l"}),
            ContextRequest::Snapshot(SnapshotLabel::parse("l").unwrap()),
        ),
    ];
    for (arguments, expected) in cases {
        assert_eq!(parse(arguments.clone()).unwrap(), expected, "{arguments}");
    }
}

// R199
#[test]
fn a_request_that_says_too_much_or_too_little_is_refused_with_the_field() {
    for (arguments, said) in [
        (r#"{"action":"write","key":"a","value":"x","written_by":"operator"}"#, "written_by"),
        (r#"{"action":"write","key":"a","value":"x","version":9}"#, "version"),
        (r#"{"action":"write","key":"a"}"#, "`value`"),
        (r#"{"action":"read"}"#, "`key`"),
        (r#"{"action":"read","key":"a","value":"x"}"#, "`value`"),
        (r#"{"action":"delete","key":"a","expected_version":1}"#, "`expected_version`"),
        (r#"{"action":"write","key":"a","value":"x","ttl_s":0}"#, "`ttl_s`"),
        (r#"{"action":"write","key":"a","value":"x","ttl_s":18446744073709551615}"#, "`ttl_s`"),
        (r#"{"action":"read_history","key":"a","versions":0}"#, "`versions`"),
        (r#"{"action":"write","key":"a","value":"x","ttl_s":"soon"}"#, "ttl_s: expected an integer"),
        (r#"{"action":"read_batch","keys":"a"}"#, "keys: expected a list of strings, found \"a\""),
        (r#"{"action":"write","key":"a","value":{"x":1}}"#, "value: expected a string, found an object"),
        (r#"{"action":"wait","keys":["a"],"known_versions":{"a":"1"}}"#, "known_versions: expected"),
        ("[", "arguments"),
    ] {
        let error = ContextRequest::parse(arguments).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidRequest, "{arguments}");
        assert!(error.message().contains(said), "{arguments}: {error}");
    }
    for unknown in [r#"{"action":"fetch"}"#, "{}"] {
        let error = ContextRequest::parse(unknown).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidAction, "{unknown}");
        assert!(error.advice().unwrap().contains("list_keys, read, read_batch"), "{error}");
    }
    assert_eq!(code(ContextRequest::parse(r#"{"action":"read","key":"A"}"#)), ErrorCode::InvalidKey);
    assert_eq!(
        code(ContextRequest::parse(r#"{"action":"read_batch","keys":["a","B"]}"#)),
        ErrorCode::InvalidKey
    );
}

// R210 R211 R228
#[test]
fn an_archived_session_is_read_only_and_a_deleted_one_is_gone() {
    let enter = |state, access| context::enter("s", state, access).map_err(|e| e.code());
    for access in [ContextAccess::Read, ContextAccess::Change] {
        assert_eq!(enter(Some(SessionState::Open), access), Ok(()));
        assert_eq!(enter(Some(SessionState::Deleted), access), Err(ErrorCode::SessionNotFound));
        assert_eq!(enter(None, access), Err(ErrorCode::SessionNotFound));
    }
    assert_eq!(enter(Some(SessionState::Archived), ContextAccess::Read), Ok(()));
    assert_eq!(enter(Some(SessionState::Archived), ContextAccess::Change), Err(ErrorCode::SessionArchived));
    for bad in ["", "a.b", "../etc", "a/b", &"s".repeat(65)] {
        assert_eq!(code(context::check_session_id(bad)), ErrorCode::InvalidRequest, "{bad}");
    }
    assert!(context::check_session_id("k3f9a2c7").is_ok());
}

// R192
#[test]
fn instants_are_told_in_utc() {
    for (ms, told) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (951_868_799_999, "2000-02-29T23:59:59.999Z"),
        (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
        (1_735_689_599_999, "2024-12-31T23:59:59.999Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    ] {
        assert_eq!(utc(ms), told);
    }
    assert!(utc(u64::MAX).ends_with('Z'));
}

// R204
#[test]
fn a_clock_that_goes_back_does_not_make_a_version_older() {
    let first = context::write(&[], None, &to_write("a", "x"), "one", 100).unwrap();
    let second = context::write(&[first], Some(1), &to_write("a", "y"), "two", 50).unwrap();
    assert_eq!((second.version, second.written_at_ms, second.written_by.as_str()), (2, 100, "two"));
    assert_eq!(context::delete(Some(&second), &key("a"), "three", 7).unwrap().written_at_ms, 100);
}

/// Two keys share the last thousand tokens: first one has them, then the other.
// R223
#[test]
fn what_shrinks_is_restored_before_what_grows() {
    let filled = |name: &str, tokens: usize| {
        let value = "x".repeat(4 * tokens);
        ContextEntry { head: ValueHead { tokens: tokens as u64, ..head(name, 1) }, value }
    };
    let with = |a: usize, b: usize| -> Vec<ContextEntry> {
        let others = (0..9).map(|number| filled(&format!("k{number}"), 1_000));
        [filled("a", a), filled("b", b)].into_iter().chain(others).collect()
    };
    for (copy, current) in [(with(1_000, 0), with(0, 1_000)), (with(0, 1_000), with(1_000, 0))] {
        let entries = current.iter().map(|entry| (entry.head.key.clone(), entry.clone())).collect();
        let mut plain = Plain { entries, ..Plain::default() };
        let steps = context::restore(&copy, &current, 5);
        assert_eq!(steps.len(), 2);
        for step in &steps {
            plain.apply(step, 5).expect("no step on the way back is refused");
        }
    }
}

/// The simplest store there can be.
#[derive(Default, Clone)]
struct Plain {
    entries: BTreeMap<ContextKey, ContextEntry>,
    last_versions: BTreeMap<ContextKey, u64>,
}

impl Plain {
    fn apply(&mut self, change: &ContextChange, now_ms: u64) -> Result<ValueHead> {
        match change {
            ContextChange::Write(write) => {
                let heads: Vec<ValueHead> = self.entries.values().map(|entry| entry.head.clone()).collect();
                let last = self.last_versions.get(&write.key).copied();
                let head = context::write(&heads, last, write, "someone", now_ms)?;
                self.last_versions.insert(write.key.clone(), head.version);
                let entry = ContextEntry { head: head.clone(), value: write.value.clone() };
                self.entries.insert(write.key.clone(), entry);
                Ok(head)
            }
            ContextChange::Delete(key) => {
                let current = self.entries.get(key).map(|entry| &entry.head);
                let head = context::delete(current, key, "someone", now_ms)?;
                self.entries.remove(key);
                Ok(head)
            }
            ContextChange::Snapshot(_) | ContextChange::Restore(_) => unreachable!("not made here"),
        }
    }

    fn live(&self, now_ms: u64) -> Vec<ContextEntry> {
        self.entries.values().filter(|entry| entry.head.is_live(now_ms)).cloned().collect()
    }

    fn total(&self, now_ms: u64) -> u64 {
        self.live(now_ms).iter().map(|entry| entry.head.tokens).sum()
    }
}

fn changes() -> impl Strategy<Value = Vec<(u64, ContextChange)>> {
    let name = (0..12u8).prop_map(|number| key(&format!("k{number}")));
    let tokens = prop_oneof![0..1_100u64, 900..1_001u64];
    let write = (name.clone(), tokens, prop::option::of(0..4u64), prop::option::of(1..40u64)).prop_map(
        |(key, tokens, expected_version, ttl)| {
            let value = "x".repeat(4 * tokens as usize);
            // Made absolute below, when the time is known.
            ContextChange::Write(ContextWrite {
                key,
                value,
                expected_version,
                expires_at_ms: ttl,
                audience: AudienceChange::default(),
            })
        },
    );
    let change = prop_oneof![4 => write, 1 => name.prop_map(ContextChange::Delete)];
    prop::collection::vec((0..10u64, change), 1..60).prop_map(|steps| {
        let mut now = 1_000;
        let timed = steps.into_iter().map(|(pause, mut change)| {
            now += pause;
            if let ContextChange::Write(write) = &mut change {
                write.expires_at_ms = write.expires_at_ms.map(|ttl| now + ttl);
            }
            (now, change)
        });
        timed.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn over_any_changes_limits_hold_and_versions_have_no_gaps(steps in changes()) {
        let mut plain = Plain::default();
        for (now, change) in &steps {
            let before = plain.clone();
            let (ContextChange::Write(ContextWrite { key, .. }) | ContextChange::Delete(key)) = change else { unreachable!() };
            let held = before.live(*now).into_iter().find(|entry| entry.head.key == *key).map(|entry| entry.head);
            match (change, plain.apply(change, *now)) {
                (ContextChange::Write(write), Ok(head)) => {
                    prop_assert_eq!(head.version, held.as_ref().map_or(0, |held| held.version) + 1);
                    let previous = match &held {
                        Some(held) => held.previous_version,
                        None => before.last_versions.get(key).copied(),
                    };
                    prop_assert_eq!(head.previous_version, previous);
                    prop_assert!(write.expected_version.is_none_or(|expected| expected + 1 == head.version));
                    prop_assert_eq!(head.tokens, estimate_tokens(&write.value));
                    prop_assert!(head.tokens <= VALUE_TOKENS_MAX);
                }
                (ContextChange::Delete(_), Ok(deleted)) => {
                    prop_assert_eq!(Some(deleted.version), held.map(|held| held.version));
                }
                (ContextChange::Write(write), Err(e)) => match e.code() {
                    ErrorCode::ValueTooLarge => prop_assert!(estimate_tokens(&write.value) > VALUE_TOKENS_MAX),
                    ErrorCode::VersionConflict => {
                        prop_assert_ne!(write.expected_version, Some(held.map_or(0, |held| held.version)));
                    }
                    ErrorCode::ContextFull => {
                        let others = before.total(*now) - held.map_or(0, |held| held.tokens);
                        prop_assert!(others + estimate_tokens(&write.value) > TOTAL_TOKENS_MAX);
                    }
                    other => prop_assert!(false, "{other}"),
                },
                (_, Err(e)) => {
                    prop_assert_eq!(e.code(), ErrorCode::KeyNotFound);
                    prop_assert!(held.is_none());
                }
                (ContextChange::Snapshot(_) | ContextChange::Restore(_), Ok(_)) => unreachable!(),
            }
            prop_assert!(plain.total(*now) <= TOTAL_TOKENS_MAX);
        }
    }

    // R223
    #[test]
    fn a_restored_context_is_the_copy_whatever_happened_since(steps in changes(), cut in 0..60usize) {
        let mut plain = Plain::default();
        let cut = cut.min(steps.len());
        for (now, change) in &steps[..cut] {
            let _ = plain.apply(change, *now);
        }
        let copied_at = steps[..cut].last().map_or(1_000, |(now, _)| *now);
        let copy = plain.live(copied_at);
        for (now, change) in &steps[cut..] {
            let _ = plain.apply(change, *now);
        }
        let now = steps.last().map_or(1_000, |(now, _)| *now);
        let current: Vec<ContextEntry> = plain.entries.values().cloned().collect();
        for change in context::restore(&copy, &current, now) {
            plain.apply(&change, now).expect("no step on the way back is refused");
        }
        let values = |entries: &[ContextEntry]| -> Vec<(ContextKey, String)> {
            let live = entries.iter().filter(|entry| entry.head.is_live(now));
            live.map(|entry| (entry.head.key.clone(), entry.value.clone())).collect()
        };
        prop_assert_eq!(values(&plain.live(now)), values(&copy));
    }

    #[test]
    fn whatever_a_request_says_it_is_read_or_refused(text in "\\PC{0,80}", fields in "[a-z_]{1,12}") {
        let _ = ContextRequest::parse(&text);
        let odd = json!({ "action": fields, "key": text, "value": text, "keys": [text], "label": text });
        prop_assert!(ContextRequest::parse(&odd.to_string()).is_err());
        prop_assert_eq!(ContextKey::parse(&text).is_ok(), !text.is_empty() && text.len() <= 64
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
    }
}

// R219
#[test]
fn only_those_a_key_is_for_may_read_and_write_it() {
    let parse = |lists: &str| {
        ContextRequest::parse(&format!("{{\"action\":\"write\",\"key\":\"a\",\"value\":\"x\",{lists}}}"))
    };
    let ContextRequest::Write { audience, .. } = parse(r#""readable_by":["subagent:researcher:*"]"#).unwrap()
    else {
        panic!("a write")
    };
    let written =
        context::write(&[], None, &ContextWrite { audience, ..to_write("a", "x") }, "orchestrator", 1)
            .unwrap();
    let readers = [
        "orchestrator",
        "operator",
        "subagent:researcher:t_01",
        "subagent:writer:t_02",
        "subagent:research:t_03",
    ];
    assert_eq!(readers.map(|who| written.audience.may_read(who)), [true, true, true, false, false]);
    assert!(written.audience.may_write("subagent:writer:t_02"), "who may write was not said");

    let mine = AudienceChange::parse(None, Some(vec!["subagent:writer:t_02".to_owned()])).unwrap();
    let locked = context::write(
        &[written],
        None,
        &ContextWrite { audience: mine, ..to_write("a", "y") },
        "orchestrator",
        2,
    )
    .unwrap();
    assert!(!locked.audience.may_read("subagent:writer:t_02"), "what is not said stays");
    let heads = [locked];
    let write =
        |who: &str| context::write(&heads, None, &to_write("a", "z"), who, 3).map(|head| head.version);
    assert_eq!(code(write("subagent:researcher:t_01")), ErrorCode::AccessDenied);
    assert_eq!(write("subagent:writer:t_02").unwrap(), 3);
    assert_eq!(write("orchestrator").unwrap(), 3);
    assert_eq!(
        code(context::delete(heads.first(), &key("a"), "subagent:researcher:t_01", 3)),
        ErrorCode::AccessDenied
    );

    for bad in [
        r#""readable_by":[""]"#,
        r#""writable_by":["a b"]"#,
        r#""writable_by":["ä"]"#,
        r#""readable_by":"x""#,
    ] {
        assert_eq!(code(parse(bad)), ErrorCode::InvalidRequest, "{bad}");
    }
    let many = vec!["*"; context::PATTERNS_MAX + 1];
    assert_eq!(code(parse(&format!("\"readable_by\":{}", json!(many)))), ErrorCode::InvalidRequest);
    let shown = ContextAnswer::Changed(ChangeResult::Written(heads[0].clone())).to_json();
    assert_eq!(shown["writable_by"], json!(["subagent:writer:t_02"]));
    let hidden = ContextAnswer::Keys { heads: vec![head("b", 1)], hidden: 2, hidden_tokens: 7 }.to_json();
    assert_eq!((&hidden["hidden_keys"], &hidden["total_size_tokens"]), (&json!(2), &json!(10)));
}

// R224
#[test]
fn a_wait_ends_with_what_is_different_from_what_was_known() {
    let parse =
        |more: &str| ContextRequest::parse(&format!("{{\"action\":\"wait\",\"keys\":[\"a\",\"b\"]{more}}}"));
    let ContextRequest::Wait(wait) = parse(r#","known_versions":{"a":1}"#).unwrap() else { panic!("a wait") };
    assert_eq!(wait.timeout_s, 60);
    let now = [head("a", 2), head("b", 5)];
    let baseline = wait.baseline(&now);
    let news = ContextWait::news(&baseline, &now);
    assert_eq!(
        (news.written.len(), news.written[0].version, news.deleted.len()),
        (1, 2, 0),
        "it was behind already"
    );
    assert!(
        ContextWait::news(&ContextWait { known: BTreeMap::new(), ..wait.clone() }.baseline(&now), &now)
            .is_empty()
    );
    let later = ContextWait::news(&baseline, &[head("b", 6)]);
    assert_eq!((later.written[0].version, later.deleted), (6, vec![key("a")]));
    let told = ContextAnswer::Waited(ContextWait::news(&baseline, &now)).to_json();
    assert_eq!((&told["written"][0]["key"], &told["timed_out"]), (&json!("a"), &json!(false)));
    for bad in [r#","known_versions":{"c":1}"#, r#","timeout_s":0"#, r#","timeout_s":301"#, r#","key":"a""#] {
        assert_eq!(code(parse(bad)), ErrorCode::InvalidRequest, "{bad}");
    }
    assert_eq!(code(ContextRequest::parse(r#"{"action":"wait","keys":[]}"#)), ErrorCode::InvalidRequest);
}
