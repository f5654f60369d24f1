//! A whole task over every wire format, against a provider on the loopback: five turns, several calls side by side,
//! streamed and whole. The figures, the requests and the key are checked.

use posse_testkit::server::{Answer, Recorded, Server};
use posse_testkit::wire::{self, LoopbackFormat, Say};
use serde_json::{Value, json};

use crate::support::{Place, Ran};

/// Must never be seen anywhere but in the header it belongs to.
const KEY: &str = "canary-7c21f0-key";

struct Provider {
    model: &'static str,
    format: LoopbackFormat,
    path: &'static str,
    streamed_path: &'static str,
    /// The header with the key, and how the key stands in it.
    auth: Option<(&'static str, String)>,
    /// What five such calls cost, worked out by hand from the provider's price list.
    cost: Value,
}

/// The turns of the task, as calls of (id, tool, arguments) with what their result must contain.
fn turns() -> Vec<Vec<(&'static str, &'static str, Value, &'static str)>> {
    vec![
        vec![
            ("call_a", "read", json!({"path": "a.txt"}), "alpha one"),
            ("call_b", "grep", json!({"pattern": "needle"}), "b.txt"),
        ],
        vec![("call_c", "ls", json!({"path": "."}), "sub")],
        vec![
            ("call_d", "ls", json!({"path": "sub"}), "c.txt"),
            ("call_e", "read", json!({"path": "sub/c.txt"}), "gamma three"),
            ("call_f", "read", json!({"path": "missing.txt"}), "missing.txt"),
        ],
        vec![
            ("call_g", "read", json!({"path": "b.txt"}), "needle two"),
            ("call_h", "grep", json!({"pattern": "gamma"}), "c.txt"),
        ],
    ]
}

async fn server() -> Server {
    Server::handler(|request| {
        let Some(turn) = turns().into_iter().nth(wire::turn(request)) else {
            return Say::text("All four files were looked at.").answer(request);
        };
        let say = Say { text: Some("Looking.".to_owned()), ..Say::default() };
        let say =
            turn.into_iter().fold(say, |say, (id, tool, arguments, _)| say.and_call(id, tool, arguments));
        say.answer(request)
    })
    .await
}

fn place() -> Place {
    let place = Place::new();
    place.write("workspace/a.txt", "alpha one\n");
    place.write("workspace/b.txt", "a needle two\n");
    place.write("workspace/sub/c.txt", "gamma three\n");
    place
}

/// Runs the task with the provider at `url`, which `point` tells to the command, streamed and whole.
async fn works(provider: Provider, point: impl Fn(&mut std::process::Command, &Place, &str)) {
    for streamed in [true, false] {
        let (place, server) = (place(), server().await);
        let mut command = place.posse(["run", "--json", "--model", provider.model, "Look at the files"]);
        if !streamed {
            command.arg("--no-stream");
        }
        point(&mut command, &place, server.url());
        let ran = Ran::beside(command).await;
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        check_envelope(&provider, &ran.envelope());
        check_events(&ran);
        let requests = server.requests();
        assert_eq!(requests.len(), 5);
        for (turn, request) in requests.iter().enumerate() {
            check_request(&provider, streamed, turn, request);
        }
        assert!(!ran.stdout.contains(KEY), "{ran:?}");
        assert_eq!(place.files_with(KEY), Vec::<std::path::PathBuf>::new());
        assert!(!place.files_with("Look at the files").is_empty(), "the task itself is in the store");
    }
}

fn check_envelope(provider: &Provider, envelope: &Value) {
    let anthropic = provider.format == LoopbackFormat::Anthropic;
    let expected = json!({
        "type": "result",
        "task_id": envelope["task_id"],
        "status": "completed",
        "reason": "answered",
        "detail": null,
        "text": "All four files were looked at.",
        "preview": "All four files were looked at.",
        "sections": { "findings": "All four files were looked at.", "summary": null, "answer": null },
        "data": null,
        "schema_errors": [],
        "evidence": [],
        "model": provider.model,
        "turns": 5,
        "tool_calls": 8,
        "usage": {
            "input_tokens": 5 * 1012,
            "output_tokens": 5 * 50,
            "cache_read_tokens": 5 * 900,
            "cache_write_tokens": if anthropic { 5 * 100 } else { 0 },
            "reasoning_tokens": if anthropic { 0 } else { 5 * 7 },
            "estimated": false,
            "cost_usd": envelope["cost_usd"],
        },
        "cost_usd": envelope["cost_usd"],
        "tree_cost_usd": envelope["cost_usd"],
        "session": {
            "tasks": 1,
            "input_tokens": 5 * 1012,
            "output_tokens": 5 * 50,
            "known_cost_usd": envelope["session"]["known_cost_usd"],
        },
        "changed_files": [],
        "changes": [],
        "resumes_with": [],
        "in_doubt": [],
        "refused_tools": [],
        "warnings": [],
        "mode": "auto",
        "left_running": [],
        "kept_apart": [],
        "duration_ms": envelope["duration_ms"],
    });
    assert_eq!(*envelope, expected);
    // Every call is rounded up to a millionth of a dollar.
    let (exact, session) =
        (provider.cost.as_f64().unwrap_or(0.0), envelope["session"]["known_cost_usd"].as_f64().unwrap());
    assert!((exact..exact + 6e-6).contains(&session), "{exact} {session}");
    assert_eq!(envelope["cost_usd"].as_f64(), provider.cost.as_f64().map(|_| session));
    assert!(envelope["duration_ms"].is_u64() && envelope["task_id"].as_str().is_some_and(|id| id.len() == 8));
}

fn check_events(ran: &Ran) {
    let events = ran.json();
    let kind = |wanted: &str| events.iter().filter(|event| event["type"] == wanted).count();
    assert_eq!((kind("started"), kind("turn"), kind("replied"), kind("finished")), (1, 5, 5, 1));
    assert_eq!((kind("tool_started"), kind("tool_finished")), (8, 8));
}

fn check_request(provider: &Provider, streamed: bool, turn: usize, request: &Recorded) {
    let path = if streamed { provider.streamed_path } else { provider.path };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", path));
    let keyed: Vec<(&str, &str)> = request
        .headers
        .iter()
        .filter(|(name, value)| value.contains(KEY) || name == "authorization")
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let expected: Vec<(&str, &str)> =
        provider.auth.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(keyed, expected);
    assert!(!String::from_utf8_lossy(&request.body).contains(KEY));

    let before: Vec<_> = turns().into_iter().take(turn).flatten().collect();
    let (texts, ids) = (wire::results(request), result_ids(provider.format, request));
    let expected: Vec<&str> = before.iter().map(|(id, ..)| *id).collect();
    assert_eq!(ids, expected, "results are in the order of their calls, with their ids");
    assert_eq!(texts.len(), before.len());
    for (text, (id, _, _, part)) in texts.iter().zip(&before) {
        assert!(text.contains(part), "{id}: {text}");
    }
    if provider.format == LoopbackFormat::Anthropic {
        check_cache_marks(&request.json());
    }
}

/// On the system prompt, on the last tool, and on the last block of the conversation.
fn check_cache_marks(body: &Value) {
    let mark = json!({"type": "ephemeral"});
    let last = |list: &Value| list.as_array().and_then(|list| list.last().cloned()).unwrap_or_default();
    assert_eq!(last(&body["system"])["cache_control"], mark);
    assert_eq!(last(&body["tools"])["cache_control"], mark);
    assert_eq!(last(&last(&body["messages"])["content"])["cache_control"], mark, "{body}");
}

fn result_ids(format: LoopbackFormat, request: &Recorded) -> Vec<String> {
    let body = request.json();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match format {
        LoopbackFormat::Anthropic => {
            let blocks = list(&body["messages"]).into_iter().flat_map(|m| list(&m["content"]));
            blocks.filter(|b| b["type"] == "tool_result").map(|b| id(&b["tool_use_id"])).collect()
        }
        LoopbackFormat::OpenAiChat => {
            let messages = list(&body["messages"]).into_iter();
            messages.filter(|m| m["role"] == "tool").map(|m| id(&m["tool_call_id"])).collect()
        }
        LoopbackFormat::OpenAiResponses => {
            let items = list(&body["input"]).into_iter();
            items.filter(|i| i["type"] == "function_call_output").map(|i| id(&i["call_id"])).collect()
        }
        LoopbackFormat::Gemini => {
            let parts = list(&body["contents"]).into_iter().flat_map(|c| list(&c["parts"]));
            parts.filter_map(|p| p.get("functionResponse").map(|r| id(&r["id"]))).collect()
        }
    }
}

#[tokio::test]
async fn anthropic() {
    let provider = Provider {
        model: "anthropic:claude-sonnet-4-5",
        format: LoopbackFormat::Anthropic,
        path: "/v1/messages",
        streamed_path: "/v1/messages",
        auth: Some(("x-api-key", KEY.to_owned())),
        // 12 fresh at $3, 900 read at $0.30, 100 written at $3.75, 50 out at $15, per million.
        cost: json!(0.007155),
    };
    works(provider, |command, _, url| {
        command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", url);
    })
    .await;
}

#[tokio::test]
async fn openai() {
    let provider = Provider {
        model: "openai:gpt-5",
        format: LoopbackFormat::OpenAiChat,
        path: "/v1/chat/completions",
        streamed_path: "/v1/chat/completions",
        auth: Some(("authorization", format!("Bearer {KEY}"))),
        // 112 fresh at $1.25, 900 read at $0.125, 50 out at $10, per million, rounded up.
        cost: json!(0.003763),
    };
    works(provider, |command, _, url| {
        command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", format!("{url}/v1"));
    })
    .await;
}

#[tokio::test]
async fn openai_responses() {
    let provider = Provider {
        model: "openai-responses:gpt-5",
        format: LoopbackFormat::OpenAiResponses,
        path: "/v1/responses",
        streamed_path: "/v1/responses",
        auth: Some(("authorization", format!("Bearer {KEY}"))),
        cost: json!(0.003763),
    };
    works(provider, |command, _, url| {
        command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", format!("{url}/v1"));
    })
    .await;
}

#[tokio::test]
async fn gemini() {
    let provider = Provider {
        model: "gemini:gemini-2.5-flash",
        format: LoopbackFormat::Gemini,
        path: "/v1beta/models/gemini-2.5-flash:generateContent",
        streamed_path: "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        auth: Some(("x-goog-api-key", KEY.to_owned())),
        // 112 fresh at $0.30, 900 read at $0.03, 50 out at $2.50, per million.
        cost: json!(0.000928),
    };
    works(provider, |command, _, url| {
        command.env("GEMINI_API_KEY", KEY).env("GOOGLE_GEMINI_BASE_URL", url);
    })
    .await;
}

#[tokio::test]
async fn a_compatible_provider_of_ones_own() {
    let provider = Provider {
        model: "house:big-model",
        format: LoopbackFormat::OpenAiChat,
        path: "/llm/v1/chat/completions",
        streamed_path: "/llm/v1/chat/completions",
        auth: Some(("authorization", format!("Bearer {KEY}"))),
        cost: json!(0.00531),
    };
    works(provider, |command, place, url| {
        // 1012 in at $1 (no price for the cache), 50 out at $1, per million.
        let config = format!(
            "[providers.house]\nwire = \"openai-compatible\"\nbase_url = \"{url}/llm/v1\"\n\
             api_key_env = \"HOUSE_KEY\"\n\n[prices.\"house:big-model\"]\ninput = 1.0\noutput = 1.0\n"
        );
        let path = place.write("house.toml", &config);
        command.arg("--config").arg(path).env("HOUSE_KEY", KEY);
    })
    .await;
}

#[tokio::test]
async fn ollama() {
    let provider = Provider {
        model: "ollama:qwen3:8b",
        format: LoopbackFormat::OpenAiChat,
        path: "/v1/chat/completions",
        streamed_path: "/v1/chat/completions",
        auth: None,
        // Nobody says what one's own machine costs.
        cost: Value::Null,
    };
    works(provider, |command, _, url| {
        // Keys of others are not for this one.
        command.env("OLLAMA_HOST", url).env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY);
    })
    .await;
}

#[tokio::test]
async fn how_hard_a_model_thinks_is_set_by_configuration_and_flag() {
    let place = Place::new();
    place.write("workspace/posse.toml", "[model_settings]\neffort = \"low\"\ntemperature = 0.5\n");
    let server = Server::handler(|request| Say::text("Done.").answer(request)).await;
    let ask = async |model: &str, args: &[&str]| {
        let mut command = place.posse(["run", "--json", "--model", model, "Think"]);
        command.args(args).env("OPENAI_BASE_URL", server.url()).env("OPENAI_API_KEY", KEY);
        command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", KEY);
        let ran = Ran::beside(command).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        server.requests().last().unwrap().json()
    };
    let body = ask("openai:gpt-4o", &[]).await;
    assert_eq!((&body["reasoning_effort"], &body["temperature"]), (&json!("low"), &json!(0.5)));
    assert_eq!(ask("openai:gpt-5", &["--effort", "high"]).await["reasoning_effort"], "high");
    place.write("home/.config/posse/config.toml", "[model_settings]\nthinking_tokens = 2000\n");
    place.write("workspace/posse.toml", "");
    let body = ask("anthropic:claude-sonnet-4-5", &[]).await;
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 2000}));
}

#[tokio::test]
async fn a_fallback_is_charged_at_its_own_price_and_a_cost_limit_needs_it() {
    let place = Place::new();
    let broken =
        Server::handler(|_| Answer::json(404, &json!({"error": {"message": "no such model"}}))).await;
    let healthy = Server::handler(|request| Say::text("Done.").answer(request)).await;
    let configure = |prices: &str| {
        let provider = |name: &str, url: &str| {
            format!("[providers.{name}]\nwire = \"openai-compatible\"\nbase_url = \"{url}\"\n")
        };
        let text = format!(
            "fallback_models = [\"spare:small\"]\n{}{}{prices}",
            provider("main", broken.url()),
            provider("spare", healthy.url())
        );
        place.write("home/.config/posse/config.toml", &text);
    };
    let run = async |args: &[&str]| {
        let mut command = place.posse(["run", "--json", "--model", "main:big"]);
        command.args(args).arg("Go");
        Ran::beside(command).await
    };
    let main = "[prices.\"main:big\"]\ninput = 100.0\noutput = 100.0\n";
    configure(main);
    let refused = run(&["--max-cost", "5"]).await;
    let text = "error[INVALID_REQUEST]: the price of `spare:small` is not known";
    assert!(refused.code == 1 && refused.stderr.starts_with(text), "{refused:?}");
    assert_eq!(run(&[]).await.envelope()["cost_usd"], Value::Null);
    configure(&format!("{main}[prices.\"spare:small\"]\ninput = 1.0\noutput = 1.0\n"));
    let envelope = run(&["--max-cost", "5"]).await.envelope();
    // 1012 in and 50 out at $1 per million.
    assert_eq!((&envelope["text"], &envelope["cost_usd"]), (&json!("Done."), &json!(0.001062)), "{envelope}");
    assert_eq!(envelope["session"]["known_cost_usd"], json!(0.001062));
}
