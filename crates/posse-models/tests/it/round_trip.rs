//! Two turns and more, in every format, streamed and whole.

use posse_core::agent::Effort;
use posse_core::message::{Block, CallArguments, Message, ToolResult};
use posse_core::reply::ReplyStop;
use posse_core::usage::Usage;
use posse_models::http::{KeySource, ProviderEndpoint};
use posse_models::openai_chat::{ChatDialect, OpenAiChat};
use posse_runtime::ports::ToolUse;
use posse_testkit::server::{Recorded, Server};
use posse_testkit::wire::{self, LoopbackFormat, Say};
use serde_json::{Value, json};

use crate::support::{KEY, Talk, Watcher, calls_of, model, text_of};

const THOUGHT: &str = "I should look at both files — naïvely.";

/// A reply with reasoning, text and two parallel calls; then the results; then a text.
async fn two_turns(format: LoopbackFormat, buffered: bool) -> Vec<Recorded> {
    let ask = Say::text("Looking — 日本.")
        .thinking(THOUGHT, "sig==")
        .and_call("call_a", "read", json!({"path": "a.rs"}))
        .and_call("call_b", "grep", json!({"path": "ü", "n": [1, 2]}));
    let server = Server::handler(move |request| match wire::turn(request) {
        0 => ask.answer(request),
        _ => Say::text("Done.").answer(request),
    })
    .await;
    let model = model(format, server.url());
    let mut talk = Talk::new().buffered(buffered);
    let watcher = Watcher::default();

    let first = talk.watched(&*model, &watcher).await.unwrap();
    let object = |text: &str| CallArguments::Object(text.to_owned());
    assert_eq!(
        calls_of(&first),
        [
            (0, "call_a".to_owned(), "read".to_owned(), object(r#"{"path":"a.rs"}"#)),
            (1, "call_b".to_owned(), "grep".to_owned(), object(r#"{"n":[1,2],"path":"ü"}"#)),
        ]
    );
    assert_eq!(text_of(&first), "Looking — 日本.");
    assert_eq!(first.stop, ReplyStop::ToolUse);
    assert_eq!(first.model, model.name());
    assert_eq!(first.notes, Vec::<String>::new());
    let counts_writes = format == LoopbackFormat::Anthropic;
    assert_eq!(
        first.usage,
        Usage {
            input: 1012,
            output: 50,
            cache_read: 900,
            cache_write: if counts_writes { 100 } else { 0 },
            reasoning: if counts_writes { 0 } else { 7 },
            ..Usage::default()
        }
    );
    assert_eq!(watcher.all("text "), "Looking — 日本.", "fragments are shown once each");
    assert_eq!(watcher.all("call "), "0 read1 grep");
    if !(buffered && format == LoopbackFormat::OpenAiResponses) {
        assert_eq!(watcher.all("thinking "), THOUGHT);
    }
    assert!(*watcher.alive.lock().unwrap() > 0);

    talk.take(first, &["text of a", "no match"]);
    if let Some(Message::Results { results }) = talk.messages.last_mut() {
        results[1].is_error = true;
    }
    let second = talk.call(&*model).await.unwrap();
    assert_eq!((text_of(&second).as_str(), &second.stop), ("Done.", &ReplyStop::EndTurn));
    server.requests()
}

async fn bodies(format: LoopbackFormat) -> [Value; 2] {
    let mut found = Vec::new();
    for buffered in [false, true] {
        let requests = two_turns(format, buffered).await;
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].connection, requests[1].connection, "the connection is kept");
        let mut bodies: Vec<Value> = requests.iter().map(Recorded::json).collect();
        if format != LoopbackFormat::Gemini {
            for body in &mut bodies {
                let asked = body.as_object_mut().unwrap().remove("stream");
                assert_eq!(asked, (!buffered).then_some(json!(true)));
                body.as_object_mut().unwrap().remove("stream_options");
            }
        }
        found.push(bodies);
    }
    assert_eq!(found[0], found[1], "streamed and whole replies make the same history");
    found.remove(0).try_into().unwrap()
}

// R162
#[tokio::test]
async fn anthropic_carries_thinking_with_its_signature_and_marks_the_cache() {
    let requests = two_turns(LoopbackFormat::Anthropic, false).await;
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(requests[0].header("x-api-key"), Some(KEY));
    assert_eq!(requests[0].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(requests[0].header("accept-encoding"), Some("identity"));
    let length = requests[0].body.len().to_string();
    assert_eq!(requests[0].header("content-length"), Some(length.as_str()));

    let [first, second] = bodies(LoopbackFormat::Anthropic).await;
    let mark = json!({"type": "ephemeral"});
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    assert_eq!(
        first,
        json!({
            "model": "claude-haiku-4-5",
            "max_tokens": 4000,
            "system": [{"type": "text", "text": "You are careful.", "cache_control": mark}],
            "tools": [
                {"name": "read", "description": "The tool read.", "input_schema": schema},
                {"name": "grep", "description": "The tool grep.", "input_schema": schema, "cache_control": mark},
            ],
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "Look into it.", "cache_control": mark}]}],
        })
    );
    assert_eq!(
        second["messages"],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Look into it."}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": THOUGHT, "signature": "sig=="},
                {"type": "text", "text": "Looking — 日本."},
                {"type": "tool_use", "id": "call_a", "name": "read", "input": {"path": "a.rs"}},
                {"type": "tool_use", "id": "call_b", "name": "grep", "input": {"path": "ü", "n": [1, 2]}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_a", "content": "text of a"},
                {"type": "tool_result", "tool_use_id": "call_b", "content": "no match", "is_error": true,
                    "cache_control": mark},
            ]},
        ])
    );
}

// R163
#[tokio::test]
async fn chat_sends_calls_and_results_as_messages() {
    let requests = two_turns(LoopbackFormat::OpenAiChat, false).await;
    assert_eq!(requests[0].path, "/chat/completions");
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(requests[0].json()["stream_options"], json!({"include_usage": true}));

    let [first, second] = bodies(LoopbackFormat::OpenAiChat).await;
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tool = |name: &str| {
        json!({"type": "function", "function": {"name": name, "description": format!("The tool {name}."),
            "parameters": schema}})
    };
    assert_eq!(
        first,
        json!({
            "model": "gpt-5",
            "max_completion_tokens": 4000,
            "tools": [tool("read"), tool("grep")],
            "messages": [
                {"role": "system", "content": "You are careful."},
                {"role": "user", "content": "Look into it."},
            ],
        })
    );
    assert_eq!(
        second["messages"].as_array().unwrap()[2..],
        [
            json!({"role": "assistant", "content": "Looking — 日本.", "tool_calls": [
                {"id": "call_a", "type": "function",
                    "function": {"name": "read", "arguments": r#"{"path":"a.rs"}"#}},
                {"id": "call_b", "type": "function",
                    "function": {"name": "grep", "arguments": r#"{"n":[1,2],"path":"ü"}"#}},
            ]}),
            json!({"role": "tool", "tool_call_id": "call_a", "content": "text of a"}),
            json!({"role": "tool", "tool_call_id": "call_b", "content": "ERROR: no match"}),
        ]
    );
}

#[tokio::test]
async fn responses_replays_encrypted_reasoning_before_its_calls() {
    let requests = two_turns(LoopbackFormat::OpenAiResponses, false).await;
    assert_eq!(requests[0].path, "/responses");
    let [first, second] = bodies(LoopbackFormat::OpenAiResponses).await;
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tool = |name: &str| {
        json!({"type": "function", "name": name, "description": format!("The tool {name}."), "strict": false,
            "parameters": schema})
    };
    assert_eq!(
        first,
        json!({
            "model": "gpt-5",
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "max_output_tokens": 4000,
            "instructions": "You are careful.",
            "tools": [tool("read"), tool("grep")],
            "input": [{"role": "user", "content": "Look into it."}],
        })
    );
    assert_eq!(
        second["input"].as_array().unwrap()[1..],
        [
            json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": THOUGHT}],
                "encrypted_content": "sig=="}),
            json!({"role": "assistant", "content": "Looking — 日本."}),
            json!({"type": "function_call", "call_id": "call_a", "name": "read",
                "arguments": r#"{"path":"a.rs"}"#}),
            json!({"type": "function_call", "call_id": "call_b", "name": "grep",
                "arguments": r#"{"n":[1,2],"path":"ü"}"#}),
            json!({"type": "function_call_output", "call_id": "call_a", "output": "text of a"}),
            json!({"type": "function_call_output", "call_id": "call_b", "output": "ERROR: no match"}),
        ]
    );
}

#[tokio::test]
async fn gemini_puts_the_signature_back_on_the_part_it_came_with() {
    let requests = two_turns(LoopbackFormat::Gemini, false).await;
    assert_eq!(requests[0].path, "/models/gemini-3-pro:streamGenerateContent?alt=sse");
    assert_eq!(requests[0].header("x-goog-api-key"), Some(KEY));
    assert_eq!(two_turns(LoopbackFormat::Gemini, true).await[0].path, "/models/gemini-3-pro:generateContent");

    let [first, second] = bodies(LoopbackFormat::Gemini).await;
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tool = |name: &str| json!({"name": name, "description": format!("The tool {name}."), "parametersJsonSchema": schema});
    assert_eq!(
        first,
        json!({
            "systemInstruction": {"parts": [{"text": "You are careful."}]},
            "tools": [{"functionDeclarations": [tool("read"), tool("grep")]}],
            "contents": [{"role": "user", "parts": [{"text": "Look into it."}]}],
            "generationConfig": {"maxOutputTokens": 4000},
        })
    );
    assert_eq!(
        second["contents"].as_array().unwrap()[1..],
        [
            json!({"role": "model", "parts": [
                {"text": "Looking — 日本."},
                {"functionCall": {"id": "call_a", "name": "read", "args": {"path": "a.rs"}},
                    "thoughtSignature": "sig=="},
                {"functionCall": {"id": "call_b", "name": "grep", "args": {"path": "ü", "n": [1, 2]}}},
            ]}),
            json!({"role": "user", "parts": [
                {"functionResponse": {"id": "call_a", "name": "read", "response": {"output": "text of a"}}},
                {"functionResponse": {"id": "call_b", "name": "grep", "response": {"error": "no match"}}},
            ]}),
        ]
    );
}

#[tokio::test]
async fn a_signature_on_an_empty_part_of_gemini_goes_back_alone() {
    let server = Server::handler(|request| {
        let say = Say::text("Hello").thinking("hm", "tail-sig");
        say.answer(request)
    })
    .await;
    let model = model(LoopbackFormat::Gemini, server.url());
    let mut talk = Talk::new();
    let reply = talk.call(&*model).await.unwrap();
    talk.take(reply, &[]);
    talk.messages.push(Message::user("and?"));
    talk.call(&*model).await.unwrap();
    assert_eq!(
        server.requests()[1].json()["contents"][1]["parts"],
        json!([{"text": "Hello"}, {"text": "", "thoughtSignature": "tail-sig"}])
    );
}

#[tokio::test]
async fn redacted_thinking_and_unknown_blocks_go_back_to_anthropic_and_to_nobody_else() {
    let stream = [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"xyz"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"q\":1}"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"hi"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#,
        r#"{"type":"message_stop"}"#,
    ]
    .map(|data| format!("data: {data}\n\n"))
    .concat();
    let server = Server::handler(move |request| match LoopbackFormat::of(request) {
        Some(LoopbackFormat::Anthropic) => posse_testkit::server::Answer::sse(stream.clone()),
        _ => Say::text("ok").answer(request),
    })
    .await;
    let mut talk = Talk::new();
    let reply = talk.call(&*model(LoopbackFormat::Anthropic, server.url())).await.unwrap();
    talk.take(reply, &[]);
    talk.messages.push(Message::user("go on"));
    talk.call(&*model(LoopbackFormat::Anthropic, server.url())).await.unwrap();
    assert_eq!(
        server.requests()[1].json()["messages"][1]["content"],
        json!([
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "server_tool_use", "id": "s", "name": "web", "input": {"q": 1}},
            {"type": "text", "text": "hi"},
        ])
    );
    for format in [LoopbackFormat::OpenAiChat, LoopbackFormat::OpenAiResponses, LoopbackFormat::Gemini] {
        talk.call(&*model(format, server.url())).await.unwrap();
        let body = String::from_utf8(server.requests().last().unwrap().body.clone()).unwrap();
        assert!(body.contains("hi") && !body.contains("xyz") && !body.contains("server_tool_use"), "{body}");
    }
}

#[tokio::test]
async fn settings_reach_every_format() {
    let schema = json!({"type": "object", "required": ["verdict"]});
    for format in LoopbackFormat::ALL {
        let server = Server::handler(|request| Say::text("{}").answer(request)).await;
        let mut talk = Talk::new();
        talk.settings.temperature = Some(0.5);
        talk.settings.effort = Some(Effort::Medium);
        talk.settings.output_schema = Some(schema.to_string());
        talk.tool_use = ToolUse::Forbidden;
        talk.call(&*model(format, server.url())).await.unwrap();
        let body = server.request().json();
        match format {
            LoopbackFormat::Anthropic => {
                assert_eq!(body["tool_choice"], json!({"type": "none"}));
                assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 3000}));
                assert_eq!(body["output_config"]["format"], json!({"type": "json_schema", "schema": schema}));
                assert_eq!(body.get("temperature"), None, "refused together with thinking");
            }
            LoopbackFormat::OpenAiChat => {
                assert_eq!(body["tool_choice"], "none");
                assert_eq!(body["reasoning_effort"], "medium");
                assert_eq!(body["response_format"]["json_schema"]["schema"], schema);
                assert_eq!(body["temperature"], 0.5);
            }
            LoopbackFormat::OpenAiResponses => {
                assert_eq!(body["tool_choice"], "none");
                assert_eq!(body["reasoning"], json!({"effort": "medium"}));
                assert_eq!(body["text"]["format"]["schema"], schema);
                assert_eq!(body["temperature"], 0.5);
            }
            LoopbackFormat::Gemini => {
                assert_eq!(body["toolConfig"]["functionCallingConfig"]["mode"], "NONE");
                let config = &body["generationConfig"];
                assert_eq!(
                    config["thinkingConfig"],
                    json!({"includeThoughts": true, "thinkingLevel": "medium"})
                );
                assert_eq!(config["responseJsonSchema"], schema);
                assert_eq!(config["responseMimeType"], "application/json");
                assert_eq!(config["temperature"], 0.5);
            }
        }
    }
}

#[tokio::test]
async fn calls_of_another_model_are_answered_without_thinking_and_signed_for_gemini() {
    let server = Server::handler(|request| match wire::turn(request) {
        0 => Say::call("c", "read", json!({})).answer(request),
        _ => Say::text("ok").answer(request),
    })
    .await;
    let mut talk = Talk::new();
    talk.settings.thinking_tokens = Some(2000);
    let reply = talk.call(&*model(LoopbackFormat::OpenAiChat, server.url())).await.unwrap();
    talk.take(reply, &["r"]);
    talk.call(&*model(LoopbackFormat::Anthropic, server.url())).await.unwrap();
    talk.call(&*model(LoopbackFormat::Gemini, server.url())).await.unwrap();
    talk.messages.push(Message::user("And now think."));
    talk.call(&*model(LoopbackFormat::Anthropic, server.url())).await.unwrap();
    let bodies: Vec<Value> = server.requests().iter().map(Recorded::json).collect();
    assert_eq!(bodies[1].get("thinking"), None);
    assert_eq!(bodies[2]["contents"][1]["parts"][0]["thoughtSignature"], "skip_thought_signature_validator");
    assert_eq!(bodies[3]["thinking"], json!({"type": "enabled", "budget_tokens": 2000}));
}

#[tokio::test]
async fn a_local_server_needs_no_key_and_gets_the_fields_it_knows() {
    let server = Server::handler(|request| Say::text("ok").thinking("hm", "").answer(request)).await;
    let model =
        OpenAiChat::new(ProviderEndpoint::new(format!("{}/v1/", server.url()), KeySource::none()), "llama3")
            .unwrap()
            .provider("ollama")
            .dialect(ChatDialect { reasoning_back: true, ..ChatDialect::compatible() });
    let mut talk = Talk::new();
    let reply = talk.call(&model).await.unwrap();
    assert_eq!(reply.model, "ollama:llama3");
    talk.take(reply, &[]);
    talk.messages.push(Message::user("more"));
    talk.call(&model).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert_eq!(requests[0].header("authorization"), None);
    assert_eq!(requests[0].json()["max_tokens"], 4000);
    assert_eq!(
        requests[1].json()["messages"][2],
        json!({"role": "assistant", "content": "ok", "reasoning_content": "hm"})
    );
}

// P20, P27: what the model wrote wrongly goes back in a form every provider accepts.
#[tokio::test]
async fn bad_names_and_bad_arguments_are_sent_back_in_a_valid_form() {
    for format in LoopbackFormat::ALL {
        let server = Server::handler(|request| Say::text("ok").answer(request)).await;
        let call = posse_core::message::ToolCall {
            key: posse_core::id::CallKey { turn: 1, index: 0 },
            id: "id with spaces".to_owned(),
            name: format!("fs.read/{}", "x".repeat(10_000)),
            arguments: CallArguments::Invalid("{oops".to_owned(), "why".to_owned()),
            signature: None,
        };
        let mut talk = Talk::new();
        let result = ToolResult::error(&call, "arguments are not JSON");
        talk.messages.push(Message::Assistant { blocks: vec![Block::call(call)] });
        talk.messages.push(Message::Results { results: vec![result] });
        talk.call(&*model(format, server.url())).await.unwrap();
        let body = server.request().json().to_string();
        assert!(body.contains("fs_read_xxx") && !body.contains(&"x".repeat(65)), "{format:?}");
        assert!(!body.contains("oops") && !body.contains("fs.read"), "{format:?}");
        assert_eq!(wire::results(&server.request()).len(), 1);
        let ids: Vec<&str> = body.matches("id_with_spaces_").collect();
        assert!(
            format == LoopbackFormat::Gemini || ids.len() == 2,
            "{format:?}: call and result name the same id"
        );
    }
}

#[tokio::test]
async fn a_streamed_answer_in_chunks_leaves_the_connection_usable() {
    for format in LoopbackFormat::ALL {
        let server = Server::handler(|request| Say::text("some text").answer(request).chunks_of(50)).await;
        let model = model(format, server.url());
        let mut talk = Talk::new();
        for _ in 0..5 {
            talk.call(&*model).await.unwrap();
        }
        let used: Vec<usize> = server.requests().iter().map(|request| request.connection).collect();
        assert_eq!(used, [0; 5], "{format:?}");
    }
}

#[tokio::test]
async fn a_handler_can_play_a_task_of_five_turns_in_every_format() {
    for format in LoopbackFormat::ALL {
        let server = Server::handler(|request| match wire::turn(request) {
            turn @ 0..4 => {
                assert_eq!(wire::results(request).len(), turn * 2);
                Say::call(&format!("a{turn}"), "read", json!({"path": "x"}))
                    .and_call(&format!("b{turn}"), "grep", json!({}))
                    .answer(request)
            }
            _ => Say::text(&wire::results(request).join(",")).answer(request),
        })
        .await;
        let model = model(format, server.url());
        let mut talk = Talk::new();
        let last = loop {
            let reply = talk.call(&*model).await.unwrap();
            if calls_of(&reply).is_empty() {
                break reply;
            }
            talk.take(reply, &["r", "g"]);
        };
        assert_eq!(text_of(&last), "r,g,r,g,r,g,r,g");
        assert_eq!(server.requests().len(), 5);
        assert!(server.requests().iter().all(|request| request.connection == 0), "{format:?}");
    }
}
