//! Turn and budget limits, as the provider and the caller see them.

use std::sync::atomic::{AtomicUsize, Ordering};

use posse_testkit::server::{Answer, Server};
use posse_testkit::wire::{self, Say};
use serde_json::{Value, json};

use crate::support::{Place, Ran};

/// Asks for a tool in every turn, also where it may not.
async fn tireless() -> Server {
    Server::handler(|request| {
        let turn = wire::turn(request);
        let say = Say::call("l", "glob", json!({"pattern": format!("*.{turn}")}));
        Say { text: Some(format!("Look {turn}.")), ..say }.answer(request)
    })
    .await
}

async fn run(place: &Place, server: &Server, args: &[&str]) -> Ran {
    let model = ["run", "--json", "--model", "ollama:qwen3"];
    let mut command = place.posse(model.iter().chain(args).copied().chain(["Look"]));
    command.env("OLLAMA_HOST", server.url());
    Ran::beside(command).await
}

// R119, R121, R159
#[tokio::test]
async fn max_turns_counts_every_answered_request_and_the_last_one_has_no_tools() {
    for turns in [1, 3] {
        let (place, server) = (Place::new(), tireless().await);
        let ran = run(&place, &server, &["--max-turns", &turns.to_string()]).await;
        let with_tools: Vec<bool> =
            server.requests().iter().map(|request| request.json()["tool_choice"] != "none").collect();
        let expected: Vec<bool> = (1..=turns).map(|turn| turn < turns).collect();
        assert_eq!(with_tools, expected, "{ran:?}");
        let envelope = ran.envelope();
        assert_eq!(
            (&envelope["status"], &envelope["reason"], &envelope["turns"], &envelope["tool_calls"]),
            (&json!("partial"), &json!("turns_exhausted"), &json!(turns), &json!(turns - 1)),
        );
        assert_eq!(place.tasks()[0]["turns"], turns, "a listing counts the same turns");
    }
}

#[tokio::test]
async fn a_task_of_one_turn_that_answers_is_completed() {
    let place = Place::new();
    let server = Server::handler(|request| Say::text("Forty-two.").answer(request)).await;
    let ran = run(&place, &server, &["--max-turns", "1"]).await;
    let envelope = ran.envelope();
    assert_eq!((ran.code, &envelope["status"], &envelope["turns"]), (0, &json!("completed"), &json!(1)));
}

#[tokio::test]
async fn retries_after_a_transport_failure_are_no_turns() {
    let place = Place::new();
    let asked = AtomicUsize::new(0);
    let server = Server::handler(move |request| {
        // Every first attempt fails.
        match asked.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => Answer::json(503, &json!({"error": {"message": "busy"}})).header("retry-after-ms", "1"),
            _ if wire::turn(request) < 2 => {
                Say::call("l", "glob", json!({"pattern": format!("*.{}", wire::turn(request))}))
                    .answer(request)
            }
            _ => Say::text("Seen.").answer(request),
        }
    })
    .await;
    let ran = run(&place, &server, &["--max-turns", "4"]).await;
    let envelope = ran.envelope();
    assert_eq!((&envelope["status"], &envelope["turns"]), (&json!("completed"), &json!(3)), "{ran:?}");
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn a_repair_of_the_answer_is_a_turn() {
    let place = Place::new();
    let agent = "---\nname: counter\ndescription: Counts\noutput_schema: {type: object, required: [n]}\n---\nCount.\n";
    place.write("home/.config/posse/agents/counter.md", agent);
    let model = place.script("[{text: no JSON}, {text: '{\"n\": 1}'}]");
    let run = |turns: &str| {
        let ran =
            place.run(["run", "--json", "--agent", "counter", "--max-turns", turns, "--model", &model, "Go"]);
        let envelope = ran.envelope();
        (envelope["reason"].clone(), envelope["turns"].clone(), envelope["data"].clone())
    };
    assert_eq!(run("2"), (json!("answered"), json!(2), json!({"n": 1})));
    assert_eq!(run("1"), (json!("output_invalid"), json!(1), Value::Null));
}

/// Delegates one task with these parameters, and says what came of it. Returns the task's envelope.
async fn delegated(place: &Place, server: &Server, parameters: &str) -> Value {
    let agent = "---\nname: helper\ndescription: Looks\ntools: [read]\nmodel: ollama:qwen3\n---\nYou look.\n";
    place.write("home/.config/posse/agents/helper.md", agent);
    let boss = place.script(&format!(
        "- calls: [{{subagent: {{action: spawn, agent: helper, task: Look, {parameters}}}}}]\n\
         - calls: [{{subagent: {{action: wait}}}}]\n\
         - calls: [{{subagent: {{action: collect, task_id: t_01}}}}]\n\
         - text: '{{result:0}}'\n"
    ));
    let mut command = place.posse(["run", "--json", "--model", &boss, "Go"]);
    command.env("OLLAMA_HOST", server.url());
    let ran = Ran::beside(command).await;
    let text = ran.envelope()["text"].as_str().unwrap().to_owned();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e} in {text}: {ran:?}"))
}

fn output_limits(server: &Server) -> Vec<u64> {
    server.requests().iter().map(|request| request.json()["max_tokens"].as_u64().unwrap()).collect()
}

// R156
#[tokio::test]
async fn an_output_budget_lowers_the_limit_of_each_call_instead_of_failing() {
    let looks_once = || {
        Server::handler(|request| match wire::turn(request) {
            0 => Say::call("a", "read", json!({"path": "a.txt"})).answer(request),
            _ => Say::text("Seen.").answer(request),
        })
    };
    for (budget, first_most) in [(5_000, 3_750), (1_000, 750), (400, 300)] {
        let (place, server) = (Place::new(), looks_once().await);
        place.write("workspace/a.txt", "a");
        let done = delegated(&place, &server, &format!("max_output_tokens: {budget}")).await;
        assert_eq!((&done["status"], &done["result"]), (&json!("completed"), &json!("Seen.")), "{done}");
        let limits = output_limits(&server);
        // A quarter is kept for a report; what the first reply did not take is there for the second.
        assert_eq!((limits.len(), limits[0]), (2, first_most), "{limits:?}");
        assert!(limits[1] <= budget - 50, "{limits:?}");
    }
}

// R156
#[tokio::test]
async fn a_budget_too_small_for_a_step_gives_an_answer_and_one_too_small_for_that_says_both_numbers() {
    let (place, server) = (Place::new(), tireless().await);
    let done = delegated(&place, &server, "max_output_tokens: 200").await;
    assert_eq!(
        (output_limits(&server), &server.request().json()["tool_choice"]),
        (vec![200], &json!("none"))
    );
    let error = done["error"].as_str().unwrap();
    assert!(error.contains("341 output tokens, 200 are left"), "{done}");
    assert_eq!(done["partial_result"], "Look 0.");

    let (place, server) = (Place::new(), tireless().await);
    let done = delegated(&place, &server, "max_output_tokens: 50").await;
    assert_eq!(server.requests().len(), 0);
    let error = done["error"].as_str().unwrap();
    assert!(error.contains("64 output tokens, 50 are left"), "{done}");
}

// R156
#[tokio::test]
async fn an_input_budget_leaves_old_results_out_then_reports_and_fails_only_at_the_first_request() {
    let reads_on = || {
        Server::handler(|request| {
            let say = match request.json()["tool_choice"] == "none" {
                true => Say::text("So far."),
                false => Say::call("a", "read", json!({"path": format!("{}.txt", wire::turn(request))})),
            };
            say.answer(request)
        })
    };
    let (place, server) = (Place::new(), reads_on().await);
    for n in 0..20 {
        place.write(&format!("workspace/{n}.txt"), &format!("line {n}\n").repeat(1_000));
    }
    let done = delegated(&place, &server, "max_input_tokens: 45000").await;
    assert_eq!((&done["reason"], &done["partial_result"]), (&json!("budget_exhausted"), &json!("So far.")));
    let requests = server.requests();
    let sent: Vec<String> = requests.iter().map(|request| request.json()["messages"].to_string()).collect();
    assert!(sent.iter().any(|sent| sent.contains("left out to save context")), "{done}");
    assert!(sent.last().unwrap().contains("The budget does not allow another step"), "{done}");

    let (place, server) = (Place::new(), reads_on().await);
    let done = delegated(&place, &server, "max_input_tokens: 100").await;
    assert_eq!(server.requests().len(), 0);
    let error = done["error"].as_str().unwrap();
    assert!(error.contains("input tokens, 100 are left"), "{done}");
}

/// An answer with a report of usage of our own.
fn billed(say: &Say, usage: Value) -> Answer {
    let mut body = say.json(wire::LoopbackFormat::OpenAiChat);
    body["usage"] = usage;
    Answer::json(200, &body)
}

/// Tokens as a tokenizer without vocabulary for it counts dense text: each byte outside of ASCII is one.
fn counted(body: &Value) -> u64 {
    let text = body.to_string();
    let dense = text.bytes().filter(|byte| !byte.is_ascii()).count();
    ((text.len() - dense) / 4 + dense) as u64
}

#[tokio::test]
async fn a_bill_on_dense_text_stays_within_the_budget() {
    const BUDGET: u64 = 40_000;
    let place = Place::new();
    place.write("home/.config/posse/config.toml", &format!("[limits]\nmax_input_tokens = {BUDGET}\n"));
    for name in ["a", "b", "c"] {
        place.write(&format!("workspace/{name}.txt"), &"😀🦀🚀🧪\n".repeat(1_000));
    }
    let server = Server::handler(|request| {
        let read = |name: &str| json!({"path": format!("{name}.txt")});
        let say = match wire::turn(request) {
            0 => Say::call("a", "read", read("a")).and_call("b", "read", read("b")).and_call(
                "c",
                "read",
                read("c"),
            ),
            _ => Say::text("Seen."),
        };
        let usage = json!({"prompt_tokens": counted(&request.json()), "completion_tokens": 20});
        billed(&say, usage)
    })
    .await;
    let ran = run(&place, &server, &["--no-stream"]).await;
    let bills: Vec<u64> = server.requests().iter().map(|request| counted(&request.json())).collect();
    assert!(bills.iter().sum::<u64>() <= BUDGET, "{bills:?}: {ran:?}");
    assert_eq!(ran.envelope()["reason"], "budget_exhausted", "{ran:?}");
}

#[tokio::test]
async fn a_provider_that_bills_above_the_bound_gets_no_second_call_and_that_is_said() {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", "[limits]\nmax_input_tokens = 100000\n");
    let server = Server::handler(|request| {
        let say = Say::call("g", "glob", json!({"pattern": format!("*.{}", wire::turn(request))}));
        billed(&say, json!({"prompt_tokens": 150_000, "completion_tokens": 20}))
    })
    .await;
    let ran = run(&place, &server, &["--no-stream"]).await;
    assert_eq!(server.requests().len(), 1, "{ran:?}");
    let warnings = ran.envelope()["warnings"].to_string();
    assert!(warnings.contains("150000 input tokens spent of 100000"), "{ran:?}");
}

#[tokio::test]
async fn usage_that_is_too_small_for_its_bytes_is_raised_and_that_is_said() {
    let place = Place::new();
    let server = Server::handler(|_| {
        billed(&Say::text(&"Much to say. ".repeat(100)), json!({"prompt_tokens": 1, "completion_tokens": 1}))
    })
    .await;
    let ran = run(&place, &server, &["--no-stream"]).await;
    let (envelope, sent) = (ran.envelope(), server.request().body.len() as u64);
    assert_eq!(envelope["usage"]["input_tokens"], sent / 24, "{envelope}");
    assert_eq!(envelope["usage"]["output_tokens"], 1_300 / 24, "{envelope}");
    assert!(envelope["warnings"].to_string().contains("fewer tokens than the bytes"), "{envelope}");
}
