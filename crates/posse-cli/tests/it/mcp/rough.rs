//! What no well-behaved host sends. Each message gets its proper answer, and the server lives.

use serde_json::{Value, json};

use super::host::{Host, place};

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

#[test]
fn whatever_comes_in_gets_its_proper_answer_and_the_server_lives() {
    let place = place();
    let mut host = Host::start(&place, &[]);
    let without_id = |message: &Value| message["id"].is_null() && message.get("method").is_none();
    // Before the handshake too.
    for first in
        ["this is no JSON", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", "", "\u{feff}"]
    {
        host.write(first.as_bytes());
    }
    assert_eq!(code(&host.until(without_id)), -32700);
    host.notify("notifications/whatever", json!({}));
    host.write(json!({ "jsonrpc": "2.0", "id": 7, "result": {} }).to_string().as_bytes());
    let early = host.send("tools/list", json!({}));
    assert_eq!(code(&host.answer(early)), -32602, "there was no handshake yet");
    host.initialize("2025-11-25");
    let rough: [(&[u8], i64); 7] = [
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":", -32700),
        (b"\xff\xfe\x00\x01", -32700),
        (b"[]", -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        (b"42", -32600),
        (b"{\"id\":{},\"jsonrpc\":\"2.0\",\"method\":\"ping\"}", -32600),
        (b"{}", -32600),
    ];
    for (line, expected) in rough {
        host.write(line);
        let answer = host.until(without_id);
        assert_eq!(code(&answer), expected, "{}: {answer}", String::from_utf8_lossy(line));
    }
    host.write(br#"{"id":"old","method":"ping"}"#);
    assert_eq!(code(&host.until(|message| message["id"] == "old")), -32600, "no version of JSON-RPC");
    for (method, params, expected) in [
        ("no/such/method", json!({}), -32601),
        ("tools/call", json!({ "name": "no_such_tool" }), -32602),
        ("tools/call", json!({ "arguments": {} }), -32602),
        ("tools/call", json!([1, 2]), -32602),
        ("resources/read", json!({ "uri": 5 }), -32602),
    ] {
        let id = host.send(method, params);
        let answer = host.answer(id);
        assert_eq!(code(&answer), expected, "{method}: {answer}");
    }
    let wrong = host.call("subagent", json!({ "action": "dance" }));
    assert_eq!(
        (&wrong["isError"], &wrong["structuredContent"]["error"]),
        (&json!(true), &json!("INVALID_ACTION"))
    );
    let large = "x".repeat(10 << 20);
    let refused = host.call("subagent", json!({ "action": "spawn", "agent": "quick", "task": large }));
    assert_eq!(refused["structuredContent"]["error"], "TASK_TOO_LARGE");
    assert!(refused.to_string().len() < 2_000, "what was too large is not sent back");
    host.write("y".repeat(17 << 20).as_bytes());
    assert_eq!(code(&host.until(without_id)), -32600);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    host.write(deep.as_bytes());
    assert_eq!(code(&host.until(without_id)), -32700);
    assert_eq!(host.ask("ping", json!({})), json!({}));
    host.leave();
}

#[test]
fn two_hundred_calls_at_once_are_each_answered_once() {
    let place = place();
    let mut host = Host::start(&place, &[]);
    host.initialize("2025-11-25");
    let call = |n: u32| match n % 4 {
        0 => json!({ "name": "subagent_list", "arguments": { "what": "tasks" } }),
        1 => {
            json!({ "name": "subagent", "arguments": { "action": "spawn", "agent": "quick", "task": "Answer", "queue": true } })
        }
        2 => {
            json!({ "name": "shared_context", "arguments": { "action": "write", "key": format!("k{n}"), "value": "v" } })
        }
        _ => json!({ "name": "subagent_result", "arguments": { "task_id": "t_999" } }),
    };
    let ids: Vec<u64> = (0..200).map(|n| host.send("tools/call", call(n))).collect();
    // One number twice at the same time cannot be answered twice.
    let twice = json!({ "jsonrpc": "2.0", "id": "twice", "method": "tools/call",
        "params": { "name": "subagent", "arguments": { "action": "spawn", "agent": "quick", "task": "Answer", "queue": true } } });
    let lines = format!("{twice}\n{twice}");
    host.write(lines.as_bytes());
    let mut spawned = Vec::new();
    for (n, id) in ids.into_iter().enumerate() {
        let answer = host.answer(id);
        let said = &answer["result"]["structuredContent"];
        assert!(said.is_object(), "{answer}");
        if n % 4 == 1 && said["error"].is_null() {
            spawned.push(said["task_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned());
        }
    }
    let answers =
        [host.until(|message| message["id"] == "twice"), host.until(|message| message["id"] == "twice")];
    assert_eq!(answers.iter().filter(|answer| answer.get("error").is_some()).count(), 1, "{answers:?}");
    let count = spawned.len();
    spawned.sort();
    spawned.dedup();
    assert!(count >= 5 && spawned.len() == count, "{spawned:?}");
    let all = json!({ "task_ids": spawned, "mode": "all", "timeout_s": 45 });
    assert_eq!(host.tool("subagent_wait", all)["finished"].as_array().unwrap().len(), count);
    host.leave();
}
