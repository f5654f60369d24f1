//! What providers and networks do wrong, row by row of the fault table, and what we make of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use posse_core::message::{Block, CallArguments};
use posse_core::reply::{FailureKind, ModelFailure, Reply, ReplyStop};
use posse_core::tokens::tokens_at_most;
use posse_models::http::{KeySource, SecretText};
use posse_testkit::server::{Answer, Server};
use posse_testkit::wire::{LoopbackFormat, Say};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::support::{KEY, Talk, ask, calls_of, endpoint, model, model_at, text_of};

fn error_answer(status: u16, body: Value) -> Answer {
    Answer::json(status, &body)
}

async fn fails(format: LoopbackFormat, answer: Answer) -> ModelFailure {
    ask(format, answer).await.expect_err("the call was expected to fail")
}

async fn replies(format: LoopbackFormat, answer: Answer) -> Reply {
    ask(format, answer).await.expect("the call was expected to succeed")
}

fn events(datas: &[Value]) -> String {
    datas.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// A stream of chat chunks with these tool call deltas, then the reason to finish.
fn chat_calls(deltas: &[Value], finish: &str) -> Answer {
    let mut chunks: Vec<Value> = deltas
        .iter()
        .map(|delta| json!({"choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]}))
        .collect();
    chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
    chunks.push(json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}));
    Answer::sse(format!("{}data: [DONE]\n\n", events(&chunks)))
}

// P01, P02
#[tokio::test]
async fn a_rate_limit_keeps_its_status_and_its_waiting_time_in_streams_too() {
    for format in LoopbackFormat::ALL {
        for (headers, expected) in [
            (vec![("retry-after", "7")], Some(7_000)),
            (vec![("retry-after", "0")], Some(0)),
            (vec![("retry-after", "-1")], None),
            (vec![("retry-after", "soon")], None),
            (vec![("retry-after", "7"), ("retry-after-ms", "1250")], Some(1_250)),
            (
                vec![
                    ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                    ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
                ],
                Some(30_000),
            ),
        ] {
            let body = json!({"error": {"type": "rate_limit_error", "message": "slow down"}});
            let answer =
                headers.iter().fold(error_answer(429, body), |a, (name, value)| a.header(name, value));
            let failure = fails(format, answer).await;
            assert_eq!(
                (failure.kind, failure.status, failure.retry_after_ms),
                (FailureKind::RateLimited, Some(429), expected),
                "{format:?} {headers:?}"
            );
        }
    }
}

// P03, P04, P14, P15, P43
#[tokio::test]
async fn refused_requests_are_typed_in_every_format() {
    for format in LoopbackFormat::ALL {
        for (status, code, message, kind) in [
            (429, "insufficient_quota", "You exceeded your current quota", FailureKind::QuotaExhausted),
            (529, "overloaded_error", "Overloaded", FailureKind::Overloaded),
            (503, "unavailable", "try later", FailureKind::Overloaded),
            (
                400,
                "invalid_request_error",
                "messages.1: tool_use without result",
                FailureKind::InvalidRequest,
            ),
            (400, "context_length_exceeded", "too many tokens", FailureKind::ContextTooLong),
            (413, "request_too_large", "too large", FailureKind::ContextTooLong),
            (404, "not_found_error", "model: no such thing", FailureKind::UnknownModel),
        ] {
            let answer = error_answer(status, json!({"error": {"type": code, "message": message}}));
            let failure = fails(format, answer).await;
            assert_eq!((failure.kind, failure.status), (kind, Some(status)), "{format:?} {code}");
            assert_eq!(failure.message, message);
        }
    }
}

// P05, P40
#[tokio::test]
async fn an_error_inside_a_stream_voids_what_came_before_it() {
    for format in LoopbackFormat::ALL {
        for (kind, expected) in [
            ("overloaded_error", FailureKind::Overloaded),
            ("rate_limit_error", FailureKind::RateLimited),
            ("gremlins", FailureKind::Protocol),
        ] {
            let said = Say::text("This is half of an answer that will never be completed.").events(format);
            let mut stream = said[..said.len() / 2].concat();
            let error = json!({"type": "error", "error": {"type": kind, "message": "no"}});
            stream.extend(format!("event: error\ndata: {error}\n\n").into_bytes());
            stream.extend(said[said.len() / 2..].concat());
            let failure = fails(format, Answer::sse(stream)).await;
            assert_eq!(failure.kind, expected, "{format:?} {kind}");
            assert!(failure.lost.estimated && failure.lost.input > 0, "the provider has worked: {failure:?}");
        }
    }
}

// P06, P07
#[tokio::test]
async fn a_stream_that_stops_early_is_a_failed_connection_wherever_it_stops() {
    let said =
        Say::text("Some text").and_call("c", "read", json!({"path": "a long enough path to be split"}));
    for format in LoopbackFormat::ALL {
        let events = said.events(format);
        // Everything after the reason to finish belongs to P09.
        let last = match format {
            LoopbackFormat::Anthropic => events.len() - 2,
            LoopbackFormat::OpenAiChat => events.len() - 3,
            LoopbackFormat::OpenAiResponses | LoopbackFormat::Gemini => events.len() - 1,
        };
        for kept in 0..=last {
            let cut = fails(format, Answer::sse("").chunks(events.clone()).cut_after(kept)).await;
            assert_eq!(cut.kind, FailureKind::Connection, "{format:?} cut after {kept}");
            let closed = fails(format, Answer::sse(events[..kept].concat())).await;
            assert_eq!(closed.kind, FailureKind::Connection, "{format:?} closed after {kept}");
            let mut half = events[..kept].concat();
            half.extend(&events[kept][..events[kept].len() / 2]);
            let halved = fails(format, Answer::sse(half)).await;
            assert_eq!(halved.kind, FailureKind::Connection, "{format:?} closed within {kept}");
        }
    }
}

// P08
#[tokio::test]
async fn a_finished_reply_does_not_wait_for_the_socket() {
    for format in LoopbackFormat::ALL {
        let reply = replies(format, Answer::sse(Say::text("done").sse(format)).stay_open()).await;
        assert_eq!((text_of(&reply).as_str(), &reply.stop), ("done", &ReplyStop::EndTurn), "{format:?}");
        assert_eq!(reply.notes, Vec::<String>::new());
    }
}

// P09
#[tokio::test]
async fn a_reply_that_said_why_it_ends_counts_without_its_end_marker() {
    for format in [LoopbackFormat::Anthropic, LoopbackFormat::OpenAiChat] {
        let events = Say::text("done").events(format);
        let without_marker = events[..events.len() - 1].concat();
        for answer in [
            Answer::sse(without_marker.clone()),
            Answer::sse("").chunks([without_marker.clone()]).cut_after(1),
            Answer::sse(without_marker.clone()).stay_open(),
        ] {
            let reply = replies(format, answer).await;
            assert_eq!((text_of(&reply).as_str(), reply.usage.estimated), ("done", false), "{format:?}");
            assert_eq!(reply.notes, ["the stream ended without its end marker"]);
        }
    }
}

// P12
#[tokio::test]
async fn what_happens_on_the_way_is_a_connection_failure() {
    for format in LoopbackFormat::ALL {
        let failure = fails(format, Answer::hang_up()).await;
        assert_eq!((failure.kind, failure.status), (FailureKind::Connection, None), "{format:?} hung up");
        assert!(failure.lost.input > 0, "the request was sent, so it may have been worked on");

        let closed = {
            let server = Server::script([]).await;
            server.url().to_owned()
        };
        // The socket of a dropped server closes when its task is gone.
        tokio::task::yield_now().await;
        let refused = Talk::new().call(&*model(format, &closed)).await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::Connection, "{format:?} refused");
        assert_eq!(refused.lost.total(), 0, "nothing was sent");

        let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", plain.local_addr().unwrap());
        let answer = tokio::spawn(async move {
            let (mut socket, _) = plain.accept().await.unwrap();
            let _ = socket.write_all(b"HTTP/1.1 400 This is not TLS\r\n\r\n").await;
        });
        let tls = Talk::new().call(&*model(format, &url)).await.unwrap_err();
        assert_eq!(tls.kind, FailureKind::Connection, "{format:?} TLS with a server that has none");
        answer.await.unwrap();
    }
}

// P13
#[tokio::test]
async fn a_refused_key_is_read_once_more_and_beats_every_word_about_quota() {
    for format in LoopbackFormat::ALL {
        let denied =
            || error_answer(401, json!({"error": {"code": "insufficient_quota", "message": "billing"}}));
        let server = Server::script([denied(), Answer::sse(Say::text("ok").sse(format))]).await;
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = reads.clone();
        let rotating = KeySource::from_fn(move || {
            Some(SecretText::new(format!("key-number-{}", counted.fetch_add(1, Ordering::Relaxed))))
        });
        let mut at = endpoint(server.url());
        at.credential = rotating;
        Talk::new().call(&*model_at(format, at)).await.unwrap();
        let sent: Vec<bool> = server
            .requests()
            .iter()
            .zip(["key-number-0", "key-number-1"])
            .map(|(request, key)| request.headers.iter().any(|(_, value)| value.contains(key)))
            .collect();
        assert_eq!((sent, reads.load(Ordering::Relaxed)), (vec![true, true], 2), "{format:?}");
        assert_eq!(server.requests()[0].body, server.requests()[1].body);

        for status in [401, 403] {
            let answer = error_answer(status, json!({"error": {"code": "insufficient_quota"}}));
            assert_eq!(fails(format, answer).await.kind, FailureKind::Unauthorised, "{format:?} {status}");
        }
        let server = Server::script([denied(), denied(), denied()]).await;
        let mut at = endpoint(server.url());
        let serial = AtomicUsize::new(0);
        at.credential = KeySource::from_fn(move || {
            Some(SecretText::new(format!("key-{}", serial.fetch_add(1, Ordering::Relaxed))))
        });
        let failure = Talk::new().call(&*model_at(format, at)).await.unwrap_err();
        assert_eq!(
            (failure.kind, server.left()),
            (FailureKind::Unauthorised, 1),
            "{format:?}: twice, not more"
        );
    }
}

fn max_tokens(format: LoopbackFormat) -> &'static str {
    match format {
        LoopbackFormat::Anthropic => "max_tokens",
        LoopbackFormat::OpenAiChat => "length",
        LoopbackFormat::OpenAiResponses => "max_output_tokens",
        LoopbackFormat::Gemini => "MAX_TOKENS",
    }
}

// P16
#[tokio::test]
async fn the_output_limit_in_text_is_told() {
    for format in LoopbackFormat::ALL {
        let reply =
            replies(format, Answer::sse(Say::text("half a").stop(max_tokens(format)).sse(format))).await;
        assert_eq!((text_of(&reply).as_str(), &reply.stop), ("half a", &ReplyStop::MaxTokens), "{format:?}");
    }
}

// P17
#[tokio::test]
async fn arguments_cut_by_the_output_limit_are_truncated_and_never_empty() {
    let anthropic = |fragments: &[&str]| {
        let mut datas = vec![json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "tool_use", "id": "c", "name": "write", "input": {}}})];
        datas.extend(fragments.iter().map(|fragment| {
            json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": fragment}})
        }));
        datas.push(json!({"type": "content_block_stop", "index": 0}));
        datas.push(json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}));
        datas.push(json!({"type": "message_stop"}));
        Answer::sse(events(&datas))
    };
    let chat = |fragments: &[&str]| {
        let mut deltas = vec![json!({"index": 0, "id": "c", "function": {"name": "write", "arguments": ""}})];
        deltas.extend(fragments.iter().map(|f| json!({"index": 0, "function": {"arguments": f}})));
        chat_calls(&deltas, "length")
    };
    let responses = |fragments: &[&str]| {
        let item = json!({"type": "function_call", "call_id": "c", "name": "write",
            "arguments": fragments.concat(), "status": "incomplete"});
        let response = json!({"status": "incomplete", "output": [item],
            "incomplete_details": {"reason": "max_output_tokens"}});
        Answer::sse(events(&[json!({"type": "response.incomplete", "response": response})]))
    };
    for fragments in [&[][..], &[r#"{"path":"#, r#""a"#], &["{"]] {
        let expected = CallArguments::Truncated(fragments.concat());
        for (format, answer) in [
            (LoopbackFormat::Anthropic, anthropic(fragments)),
            (LoopbackFormat::OpenAiChat, chat(fragments)),
            (LoopbackFormat::OpenAiResponses, responses(fragments)),
        ] {
            let reply = replies(format, answer).await;
            assert_eq!(reply.stop, ReplyStop::MaxTokens);
            assert_eq!(calls_of(&reply)[0].3, expected, "{format:?}");
        }
    }
    // A whole reply shows `{}` for arguments that were never finished.
    let whole = json!({"content": [{"type": "tool_use", "id": "c", "name": "write", "input": {}}],
        "stop_reason": "max_tokens"});
    let reply = replies(LoopbackFormat::Anthropic, Answer::json(200, &whole)).await;
    assert_eq!(calls_of(&reply)[0].3, CallArguments::Truncated("{}".into()));
}

// P18, P20, P21, P22
#[tokio::test]
async fn arguments_are_judged_by_what_they_are() {
    for (fragments, expected) in [
        (vec![r#"{"a":"#, "[1"], CallArguments::Truncated(r#"{"a":[1"#.into())),
        (vec![""], CallArguments::Object("{}".into())),
        (vec![], CallArguments::Object("{}".into())),
        (vec!["", r#"{"a""#, "", ":1}"], CallArguments::Object(r#"{"a":1}"#.into())),
        (vec!["null"], CallArguments::Object("{}".into())),
    ] {
        let mut deltas = vec![json!({"index": 0, "id": "c", "function": {"name": "t"}})];
        deltas.extend(fragments.iter().map(|f| json!({"index": 0, "function": {"arguments": f}})));
        let reply = replies(LoopbackFormat::OpenAiChat, chat_calls(&deltas, "tool_calls")).await;
        assert_eq!(calls_of(&reply)[0].3, expected, "{fragments:?}");
    }
    for bad in ["{a:1}", "[1]", r#""{\"a\":1}""#, r#"{"a":1} {"b":2}"#] {
        let delta = json!({"index": 0, "id": "c", "function": {"name": "t", "arguments": bad}});
        let reply = replies(LoopbackFormat::OpenAiChat, chat_calls(&[delta], "tool_calls")).await;
        assert!(matches!(&calls_of(&reply)[0].3, CallArguments::Invalid(text, _) if text == bad), "{bad}");
    }
    // Some servers send the object itself.
    let delta = json!({"index": 0, "id": "c", "function": {"name": "t", "arguments": {"a": 1}}});
    let reply = replies(LoopbackFormat::OpenAiChat, chat_calls(&[delta], "tool_calls")).await;
    assert_eq!(calls_of(&reply)[0].3, CallArguments::Object(r#"{"a":1}"#.into()));
}

// P23
#[tokio::test]
async fn repeated_ids_stay_separate_calls() {
    let say = Say::call("same", "read", json!({"path": "a"})).and_call("same", "read", json!({"path": "b"}));
    for format in LoopbackFormat::ALL {
        for answer in [Answer::sse(say.sse(format)), Answer::json(200, &say.json(format))] {
            let reply = replies(format, answer).await;
            let found: Vec<_> =
                calls_of(&reply).into_iter().map(|(index, _, _, arguments)| (index, arguments)).collect();
            let object = |text: &str| CallArguments::Object(text.to_owned());
            let expected = [(0, object(r#"{"path":"a"}"#)), (1, object(r#"{"path":"b"}"#))];
            assert_eq!(found, expected, "{format:?}");
        }
    }
}

// P24
#[tokio::test]
async fn missing_ids_missing_indexes_and_repeated_indexes_do_not_mix_calls() {
    let begin = |index: Value, id: Value, name: &str, arguments: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}});
    let more = |index: Value, arguments: &str| json!({"index": index, "function": {"arguments": arguments}});
    let null = Value::Null;
    let cases = [
        // No index at all.
        vec![
            begin(null.clone(), json!("x"), "read", r#"{"n""#),
            more(null.clone(), ":1}"),
            begin(null.clone(), json!("y"), "grep", ""),
            more(null.clone(), r#"{"n":2}"#),
        ],
        // Neither index nor id.
        vec![
            begin(null.clone(), null.clone(), "read", r#"{"n":1}"#),
            begin(null.clone(), null.clone(), "grep", r#"{"n":2}"#),
        ],
        // Every call is number 0.
        vec![
            begin(json!(0), json!("x"), "read", r#"{"n":1}"#),
            begin(json!(0), json!("y"), "grep", r#"{"n""#),
            more(json!(0), ":2}"),
        ],
        // Interleaved, begun in the wrong order, the name repeated in every fragment.
        vec![
            begin(json!(1), json!("y"), "grep", r#"{"n""#),
            begin(json!(0), json!("x"), "read", r#"{"n""#),
            begin(json!(1), json!("y"), "grep", ":2}"),
            begin(json!(0), json!("x"), "read", ":1}"),
        ],
        // Numbers with holes.
        vec![
            begin(json!(3), json!("x"), "read", r#"{"n":1}"#),
            begin(json!(u64::MAX), json!("y"), "grep", r#"{"n":2}"#),
        ],
    ];
    for deltas in cases {
        let reply = replies(LoopbackFormat::OpenAiChat, chat_calls(&deltas, "tool_calls")).await;
        let found: Vec<_> =
            calls_of(&reply).into_iter().map(|(index, _, name, a)| (index, name, a)).collect();
        let object = |text: &str| CallArguments::Object(text.to_owned());
        let expected =
            [(0, "read".to_owned(), object(r#"{"n":1}"#)), (1, "grep".to_owned(), object(r#"{"n":2}"#))];
        assert_eq!(found, expected, "{deltas:?}");
    }
    // Two calls of one name in two events of Gemini, which gives no ids.
    let say = Say::call("", "read", json!({"n": 1})).and_call("", "read", json!({"n": 2}));
    let reply = replies(LoopbackFormat::Gemini, Answer::sse(say.sse(LoopbackFormat::Gemini))).await;
    assert_eq!(calls_of(&reply).len(), 2);
}

// P27
#[tokio::test]
async fn a_name_of_ten_kilobytes_is_bounded() {
    for format in LoopbackFormat::ALL {
        let say = Say::call("c", &"é".repeat(5_000), json!({}));
        let reply = replies(format, Answer::sse(say.sse(format))).await;
        assert!(calls_of(&reply)[0].2.len() <= 1024, "{format:?}");
    }
}

// P28, P29
#[tokio::test]
async fn an_empty_reply_is_told_as_it_is_and_reasoning_alone_keeps_its_signature() {
    for format in LoopbackFormat::ALL {
        let empty = replies(format, Answer::sse(Say::default().sse(format))).await;
        assert_eq!((empty.blocks.len(), &empty.stop), (0, &ReplyStop::EndTurn), "{format:?}");
        let thought = replies(format, Answer::sse(Say::default().thinking("hm", "sig").sse(format))).await;
        assert_eq!(text_of(&thought), "");
        let kept = thought.blocks.iter().any(|block| match block {
            Block::Thinking { signature, .. } | Block::Text { signature, .. } => {
                signature.as_deref() == Some("sig")
            }
            Block::Opaque { json, .. } => json.contains("sig"),
            Block::ToolCall(_) => false,
        });
        // Chat has no signatures.
        assert!(kept || format == LoopbackFormat::OpenAiChat, "{format:?}: {:?}", thought.blocks);
    }
}

// P30: a promise without a call is told as it is, and the run asks again.
#[tokio::test]
async fn stopping_for_a_tool_without_naming_one_is_told_as_it_is() {
    for (format, stop) in
        [(LoopbackFormat::Anthropic, "tool_use"), (LoopbackFormat::OpenAiChat, "tool_calls")]
    {
        let reply = replies(format, Answer::sse(Say::text("I will").stop(stop).sse(format))).await;
        assert_eq!((text_of(&reply), &reply.stop), ("I will".to_owned(), &ReplyStop::ToolUse), "{format:?}");
        assert_eq!(reply.blocks.len(), 1, "{format:?}");
    }
}

#[tokio::test]
async fn a_call_that_gemini_calls_malformed_breaks_the_protocol() {
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"] {
        let say = Say::text("x").stop(reason);
        for answer in [
            Answer::sse(say.sse(LoopbackFormat::Gemini)),
            Answer::json(200, &say.json(LoopbackFormat::Gemini)),
        ] {
            let failure = fails(LoopbackFormat::Gemini, answer).await;
            assert_eq!(failure.kind, FailureKind::Protocol);
            assert!(failure.message.contains(reason));
        }
    }
}

// P31
#[tokio::test]
async fn a_refusal_is_a_reply_with_its_text() {
    let refused = |reply: &Reply| (text_of(reply), reply.stop.clone());
    for (format, stop) in [
        (LoopbackFormat::Anthropic, "refusal"),
        (LoopbackFormat::OpenAiChat, "content_filter"),
        (LoopbackFormat::OpenAiResponses, "content_filter"),
        (LoopbackFormat::Gemini, "SAFETY"),
        (LoopbackFormat::Gemini, "PROHIBITED_CONTENT"),
    ] {
        let reply = replies(format, Answer::sse(Say::text("I cannot").stop(stop).sse(format))).await;
        assert_eq!(refused(&reply), ("I cannot".to_owned(), ReplyStop::Refusal), "{format:?}");
    }
    let chat = events(&[
        json!({"choices": [{"index": 0, "delta": {"refusal": "I can"}}]}),
        json!({"choices": [{"index": 0, "delta": {"refusal": "not"}, "finish_reason": "stop"}]}),
    ]);
    let reply = replies(LoopbackFormat::OpenAiChat, Answer::sse(format!("{chat}data: [DONE]\n\n"))).await;
    assert_eq!(refused(&reply), ("I cannot".to_owned(), ReplyStop::Refusal));

    let item = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I cannot"}]});
    let whole = json!({"status": "completed", "output": [item]});
    let reply = replies(LoopbackFormat::OpenAiResponses, Answer::json(200, &whole)).await;
    assert_eq!(refused(&reply), ("I cannot".to_owned(), ReplyStop::Refusal));

    let blocked = events(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]);
    let reply = replies(LoopbackFormat::Gemini, Answer::sse(blocked)).await;
    assert_eq!(reply.stop, ReplyStop::Refusal);
    assert!(reply.notes.iter().any(|note| note.contains("SAFETY")), "{:?}", reply.notes);

    for format in LoopbackFormat::ALL {
        let filtered = json!({"error": {"code": "content_filter", "message": "the prompt was filtered"}});
        let reply = replies(format, error_answer(400, filtered)).await;
        assert_eq!(refused(&reply), ("the prompt was filtered".to_owned(), ReplyStop::Refusal), "{format:?}");
    }
}

// P32, P33
#[tokio::test]
async fn a_pause_a_full_context_and_unknown_reasons_are_kept_apart() {
    for (format, stop, expected) in [
        (LoopbackFormat::Anthropic, "pause_turn", ReplyStop::Paused),
        (LoopbackFormat::Anthropic, "model_context_window_exceeded", ReplyStop::ContextFull),
        (LoopbackFormat::Anthropic, "stop_sequence", ReplyStop::EndTurn),
        (LoopbackFormat::Anthropic, "tired", ReplyStop::Other("tired".into())),
        (LoopbackFormat::OpenAiChat, "tired", ReplyStop::Other("tired".into())),
        (LoopbackFormat::OpenAiResponses, "tired", ReplyStop::Other("incomplete: tired".into())),
        (LoopbackFormat::Gemini, "TIRED", ReplyStop::Other("TIRED".into())),
    ] {
        let say = Say::text("x").stop(stop);
        for answer in [Answer::sse(say.sse(format)), Answer::json(200, &say.json(format))] {
            assert_eq!(replies(format, answer).await.stop, expected, "{format:?} {stop}");
        }
    }
}

// P34, P36
#[tokio::test]
async fn characters_and_line_ends_split_across_chunks_arrive_whole() {
    let text = "naïve 日本語 😀 end";
    for format in LoopbackFormat::ALL {
        let stream = Say::text(text).sse(format);
        let crlf = String::from_utf8(stream.clone()).unwrap().replace('\n', "\r\n").into_bytes();
        let with_mark = [b"\xef\xbb\xbf".as_slice(), &stream].concat();
        let commented = [b": hello\n\n".as_slice(), &stream].concat();
        for bytes in [stream, crlf, with_mark, commented] {
            for size in [1, 3] {
                let reply = replies(format, Answer::sse(bytes.clone()).chunks_of(size)).await;
                assert_eq!(text_of(&reply), text, "{format:?}");
            }
        }
    }
}

// P35
#[tokio::test]
async fn a_bad_byte_costs_one_event_and_is_told() {
    for format in LoopbackFormat::ALL {
        let mut stream = Say::text("abcdefghijklmnopqrstuvwxyz").sse(format);
        let at = stream.windows(7).position(|window| window == b"hijklmn").unwrap();
        stream[at + 3] = 0xff;
        let reply = replies(format, Answer::sse(stream)).await;
        if format == LoopbackFormat::OpenAiResponses {
            // The finished item repeats the text without the bad byte.
            assert_eq!(text_of(&reply), "abcdefghijklmnopqrstuvwxyz");
        } else {
            assert_eq!(text_of(&reply), "abcdefghij\u{fffd}lmnopqrstuvwxyz", "{format:?}");
        }
        assert_eq!(reply.notes, ["1 events of the stream had bytes that are not UTF-8"]);
    }
}

// P37, P38
#[tokio::test]
async fn endless_events_huge_bodies_and_compressed_answers_are_refused() {
    let endless = Answer::sse("").chunks((0..18).map(|_| vec![b'x'; 1 << 20]));
    assert_eq!(fails(LoopbackFormat::Anthropic, endless).await.kind, FailureKind::Protocol);

    let huge = Answer::json(200, &json!({})).chunks((0..34).map(|_| vec![b' '; 1 << 20]));
    let failure = fails(LoopbackFormat::OpenAiChat, huge).await;
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(failure.message.contains("larger than"), "{failure}");

    for format in LoopbackFormat::ALL {
        let zipped = Answer::sse(Say::text("x").sse(format)).header("content-encoding", "gzip");
        let failure = fails(format, zipped).await;
        assert_eq!(failure.kind, FailureKind::Protocol);
        assert!(failure.message.contains("gzip"), "{failure}");
    }
}

// P39
#[tokio::test]
async fn pages_and_error_bodies_are_typed_and_quoted_briefly_without_the_key() {
    for format in LoopbackFormat::ALL {
        let page = format!("<html>key {KEY} \u{1b}[31m{}</html>", "x".repeat(9_000));
        let ok = fails(format, Answer::new(200, "text/html; charset=utf-8", page.clone())).await;
        assert_eq!(ok.kind, FailureKind::Protocol, "{format:?}");
        let proxy = fails(format, Answer::new(502, "text/html", page)).await;
        assert_eq!((proxy.kind, proxy.status), (FailureKind::Overloaded, Some(502)));
        for failure in [ok, proxy] {
            assert!(failure.message.len() < 600, "{}", failure.message.len());
            assert!(!failure.message.contains(KEY) && !failure.message.contains('\u{1b}'), "{failure}");
        }
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
        assert_eq!(
            fails(format, Answer::json(200, &error)).await.kind,
            FailureKind::Overloaded,
            "{format:?}"
        );
        let not_json = fails(format, Answer::new(200, "application/json", "{\"half\":")).await;
        assert_eq!(not_json.kind, FailureKind::Protocol);
        let not_json = fails(format, Answer::sse("data: {oops}\n\n")).await;
        assert_eq!(not_json.kind, FailureKind::Protocol, "{format:?}");
        let elsewhere = Server::handler(|_| Answer::new(200, "text/plain", "")).await;
        for status in [301, 303, 307] {
            let moved = Answer::new(status, "text/plain", "").header("location", elsewhere.url());
            assert_eq!(fails(format, moved).await.kind, FailureKind::InvalidRequest, "{format:?} {status}");
        }
        assert_eq!(elsewhere.requests(), [], "the key goes nowhere else");
    }
}

// P39
#[tokio::test]
async fn a_whole_reply_is_taken_although_a_stream_was_asked_for() {
    for format in LoopbackFormat::ALL {
        let reply = replies(format, Answer::json(200, &Say::text("whole").json(format))).await;
        assert_eq!(text_of(&reply), "whole");
        assert!(reply.notes[0].contains("at once"), "{:?}", reply.notes);
    }
}

// P42
#[tokio::test]
async fn usage_that_is_missing_or_nonsense_is_estimated() {
    for format in LoopbackFormat::ALL {
        for nonsense in [Value::Null, json!(-5), json!(1e30), json!("many")] {
            let mut whole = Say::text("twelve chars").json(format);
            let (report, fields) = match format {
                LoopbackFormat::Anthropic => (
                    "usage",
                    vec![
                        "input_tokens",
                        "output_tokens",
                        "cache_read_input_tokens",
                        "cache_creation_input_tokens",
                    ],
                ),
                LoopbackFormat::OpenAiChat => ("usage", vec!["prompt_tokens", "completion_tokens"]),
                LoopbackFormat::OpenAiResponses => ("usage", vec!["input_tokens", "output_tokens"]),
                LoopbackFormat::Gemini => {
                    ("usageMetadata", vec!["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"])
                }
            };
            for field in fields {
                whole[report][field] = nonsense.clone();
            }
            let server = Server::script([Answer::json(200, &whole)]).await;
            let mut talk = Talk::new().buffered(true);
            let reply = talk.call(&*model(format, server.url())).await.unwrap();
            let most = (tokens_at_most(&server.request().body), tokens_at_most("twelve chars"));
            assert_eq!((reply.usage.input, reply.usage.output), most, "{format:?} {nonsense}");
            assert!(reply.usage.estimated && reply.notes.iter().any(|note| note.contains("estimated")));
        }
        let mut without = Say::text("x").json(format);
        without.as_object_mut().unwrap().retain(|key, _| !key.starts_with("usage"));
        assert!(replies(format, Answer::json(200, &without)).await.usage.estimated, "{format:?}");
        let name = if format == LoopbackFormat::Gemini { "usageMetadata" } else { "usage" };
        for shapeless in [Value::Null, json!("lots"), json!([1])] {
            without[name] = shapeless;
            assert!(replies(format, Answer::json(200, &without)).await.usage.estimated, "{format:?}");
        }
    }
}

#[tokio::test]
async fn gateway_headers_are_sent_and_their_values_kept_out_of_errors() {
    let server =
        Server::handler(|_| Answer::new(500, "text/plain", "bad gateway-token-123 and sk-test-0123456789"))
            .await;
    let mut at = endpoint(server.url());
    at.headers = vec![("X-Gateway".to_owned(), SecretText::new("gateway-token-123"))];
    let failure = Talk::new().call(&*model_at(LoopbackFormat::OpenAiChat, at)).await.unwrap_err();
    assert_eq!(server.request().header("x-gateway"), Some("gateway-token-123"));
    assert_eq!(failure.message, "bad [key] and [key]");
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection_and_the_conversation_goes_on() {
    let seen = Arc::new(Mutex::new(0));
    let count = seen.clone();
    let server = Server::handler(move |request| {
        let mut seen = count.lock().unwrap();
        *seen += 1;
        let answer = Say::text("ok").answer(request);
        if *seen == 1 { answer.chunks([": waiting\n\n"]).stay_open() } else { answer }
    })
    .await;
    let model = model(LoopbackFormat::Anthropic, server.url());
    let mut talk = Talk::new();
    let (alive, mut woken) = tokio::sync::mpsc::unbounded_channel();
    struct Bell(tokio::sync::mpsc::UnboundedSender<()>);
    impl posse_runtime::ports::DeltaSink for Bell {
        fn alive(&self) {
            let _ = self.0.send(());
        }
        fn delta(&self, _: posse_runtime::ports::Delta<'_>) {}
    }
    let bell = Bell(alive);
    tokio::select! {
        _ = talk.watched(&*model, &bell) => panic!("the answer never ends"),
        _ = woken.recv() => {}
    }
    assert_eq!(text_of(&talk.call(&*model).await.unwrap()), "ok");
    let requests = server.requests();
    assert_eq!(requests[0].body, requests[1].body);
    assert_ne!(requests[0].connection, requests[1].connection);
}
