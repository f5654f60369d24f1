//! The first minutes: a provider is set up, models are listed, settings changed, and the doctor says what it checked.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use posse_testkit::server::{Answer, Recorded, Server};
use posse_testkit::wire::Say;
use serde_json::{Value, json};

use crate::support::{Place, Ran, until};
use crate::terminal::Terminal;

const KEY: &str = "canary-77aa01-key";

/// A provider that lists models and answers those who bring the key, in the words of each vendor.
async fn provider() -> Server {
    Server::handler(|request| {
        let sent = ["x-api-key", "x-goog-api-key", "authorization"].iter().find_map(|name| request.header(name));
        if sent.is_none_or(|sent| sent.trim_start_matches("Bearer ") != KEY) {
            let error = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
            return Answer::json(401, &error);
        }
        if request.method == "GET" { list(request) } else { Say::text("OK").answer(request) }
    })
    .await
}

fn list(request: &Recorded) -> Answer {
    let body = match request.path.as_str() {
        "/v1/models?limit=1000" => json!({"data": [
            {"type": "model", "id": "claude-sonnet-4-5", "display_name": "Claude Sonnet 4.5", "created_at": "2025-09-29T00:00:00Z"},
            {"type": "model", "id": "claude-haiku-4-5", "display_name": "Claude Haiku 4.5", "created_at": "2025-10-01T00:00:00Z"},
        ], "has_more": false, "first_id": "claude-sonnet-4-5", "last_id": "claude-haiku-4-5"}),
        "/v1beta/models?pageSize=1000" => json!({"models": [
            {"name": "models/gemini-2.5-pro", "inputTokenLimit": 1_048_576, "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
        ]}),
        "/models" => {
            json!({"object": "list", "data": [{"id": "gpt-5", "object": "model", "created": 1, "owned_by": "openai"}]})
        }
        other => return Answer::json(404, &json!({"error": {"message": format!("no {other}")}})),
    };
    Answer::json(200, &body)
}

fn piped(mut command: Command, text: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Ran::from_output(child.wait_with_output().unwrap())
}

async fn set_up(place: &Place, args: &[&str], server: &Server, key: &str) -> Ran {
    let mut command = place.posse(args.iter().copied());
    command.env("ANTHROPIC_BASE_URL", server.url());
    let line = format!("{key}\n");
    tokio::task::spawn_blocking(move || piped(command, &line)).await.unwrap()
}

#[tokio::test]
async fn a_key_is_stored_for_its_user_alone_once_it_worked() {
    let (place, server) = (Place::new(), provider().await);
    let refused = set_up(&place, &["setup", "anthropic"], &server, "another-key-0001").await;
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains("invalid x-api-key") && refused.stderr.contains("check the key"),
        "{refused:?}"
    );
    assert!(!place.home().join(".config").exists(), "nothing is stored before it worked");
    let ran = set_up(&place, &["setup", "anthropic"], &server, KEY).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!format!("{ran:?}").contains(KEY));
    assert!(ran.stderr.contains("2 models · default anthropic:claude-sonnet-4-5"), "{ran:?}");
    let file = place.home().join(".config/posse/keys/anthropic");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{KEY}\n"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.files_with(KEY), [file], "the key is in no other file");
    let asked = server.requests().pop().unwrap();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(asked.json()["max_tokens"], 16, "one tiny request");
    // The file is enough from now on, and the key goes to the server that it was tested with.
    let answer = Ran::beside(place.posse(["run", "Say OK"])).await;
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "OK\n"), "{answer:?}");
}

#[tokio::test]
async fn a_server_of_ones_own_is_set_up_with_its_address() {
    let (place, server) = (Place::new(), provider().await);
    let url = server.url().to_owned();
    let ran = set_up(&place, &["setup", "other", "--base-url", &url], &server, KEY).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let answer = Ran::beside(place.posse(["run", "Say OK"])).await;
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "OK\n"), "{answer:?}");
    let config = std::fs::read_to_string(place.home().join(".config/posse/config.toml")).unwrap();
    assert!(
        config.contains("model = \"other:gpt-5\"") && config.contains("wire = \"openai-compatible\""),
        "{config}"
    );
}

#[test]
fn without_a_terminal_posse_alone_prints_its_help_and_setup_says_what_to_name() {
    let place = Place::new();
    let ran = place.run([]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.contains("Usage: posse") && ran.stderr.contains("Examples:"), "{ran:?}");
    let ran = place.run(["setup"]);
    assert!(ran.code == 1 && ran.stderr.contains("posse setup anthropic < key.txt"), "{ran:?}");
    let ran = place.run(["setup", "antropic"]);
    assert!(ran.code == 1 && ran.stderr.contains("did you mean `anthropic`?"), "{ran:?}");
}

#[tokio::test]
async fn posse_alone_at_a_terminal_asks_for_a_provider_and_a_hidden_key_and_starts_a_chat() {
    let (place, server) = (Place::new(), provider().await);
    let mut command = place.posse([]);
    command.env("TERM", "xterm").env("ANTHROPIC_BASE_URL", server.url());
    let shown = tokio::task::spawn_blocking(move || {
        let terminal = Terminal::new(100);
        command.stdin(terminal.stdio()).stdout(terminal.stdio()).stderr(terminal.stdio());
        let mut child = command.spawn().unwrap();
        drop(command);
        let (mut hand, shown, reader) = terminal.watch();
        let sees = |text: &str| until(text, || shown.lock().unwrap().contains(text).then_some(()));
        sees("Which provider?");
        sees("> ");
        hand.write_all(b"antropic\n").unwrap();
        sees("did you mean `anthropic`?");
        hand.write_all(b"anthropic\n").unwrap();
        sees("Key for anthropic: ");
        hand.write_all(format!("x\x7f{KEY}\r").as_bytes()).unwrap();
        sees("only you can read it");
        sees("claude-sonnet-4-5");
        child.kill().unwrap();
        child.wait().unwrap();
        reader.join().unwrap();
        shown.lock().unwrap().clone()
    })
    .await
    .unwrap();
    assert!(!shown.contains(KEY) && shown.contains("••••"), "{shown}");
    assert!(place.home().join(".config/posse/keys/anthropic").exists());
}

#[tokio::test]
async fn models_are_listed_with_windows_and_prices() {
    let (place, server) = (Place::new(), provider().await);
    let url = server.url();
    let config = format!("[providers.openai]\nbase_url = \"{url}\"\n[aliases]\nfast = \"openai:gpt-5\"\n");
    place.write("home/.config/posse/config.toml", &config);
    let posse = |args: &[&str]| {
        let mut command = place.posse(args.iter().copied());
        for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
            command.env(name, KEY);
        }
        command.env("ANTHROPIC_BASE_URL", url).env("GOOGLE_GEMINI_BASE_URL", url);
        Ran::beside(command)
    };
    let ran = posse(&["models", "--json"]).await;
    let models = ran.json();
    let names: Vec<&str> = models.iter().filter_map(|model| model["model"].as_str()).collect();
    let expected = [
        "anthropic:claude-haiku-4-5",
        "anthropic:claude-sonnet-4-5",
        "gemini:gemini-2.5-pro",
        "openai:gpt-5",
    ];
    assert_eq!(names, expected, "{ran:?}");
    let sonnet = &models[1];
    assert_eq!(
        (&sonnet["context_window"], &sonnet["input_usd_per_million"], &sonnet["default"]),
        (&json!(200_000), &json!(3.0), &json!(true))
    );
    assert_eq!(models[2]["input_usd_per_million"], Value::Null, "an unknown price is not invented");
    let ran = posse(&["models", "anthropic", "--matching", "haiku"]).await;
    assert!(ran.stdout.contains("anthropic:claude-haiku-4-5") && ran.stdout.contains("$1.00"), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    let none = place.run(["models", "vllm"]);
    assert_eq!(none.code, 1, "{none:?}");
}

#[tokio::test]
async fn the_doctor_marks_only_what_it_checked() {
    let (place, server) = (Place::new(), provider().await);
    let doctor = |args: &[&str], key: &str| {
        let mut command = place.posse(["doctor"].iter().chain(args).copied());
        command.env("ANTHROPIC_API_KEY", key).env("ANTHROPIC_BASE_URL", server.url());
        Ran::beside(command)
    };
    let line = |ran: &Ran, topic: &str| {
        let found = ran
            .stdout
            .lines()
            .find(|line| line[line.find(' ').unwrap_or(0)..].trim_start().starts_with(topic));
        found.unwrap_or_else(|| panic!("{topic}: {ran:?}")).to_owned()
    };
    let offline = doctor(&[], KEY).await;
    assert!(line(&offline, "model").starts_with("· "), "{offline:?}");
    assert!(line(&offline, "model").contains("not asked (--online asks)"), "{offline:?}");
    assert!(line(&offline, "keys").starts_with("· "), "a key was seen, not checked: {offline:?}");
    assert_eq!(server.requests().len(), 0, "nobody is asked unasked");
    let online = doctor(&["--online"], KEY).await;
    assert!(line(&online, "online").starts_with("✓ "), "{online:?}");
    assert!(line(&online, "online").contains("anthropic:claude-sonnet-4-5 answered in"), "{online:?}");
    let refused = doctor(&["--online"], "another-key-0001").await;
    assert!(refused.code == 1 && line(&refused, "online").starts_with("✗ "), "{refused:?}");
    let json = doctor(&["--json"], KEY).await.json();
    let model = json.iter().find(|finding| finding["topic"] == "model").unwrap();
    assert_eq!((&model["ok"], &model["state"]), (&json!(true), &json!("not_checked")));
}

#[test]
fn the_doctor_says_which_of_a_stored_key_and_a_variable_wins() {
    let place = Place::new();
    let file = place.write("home/key", "stored\n");
    let config = format!("[providers.anthropic]\napi_key_file = \"{}\"\n", file.display());
    place.write("home/.config/posse/config.toml", &config);
    let mut command = place.posse(["doctor"]);
    command.env("ANTHROPIC_API_KEY", KEY);
    let ran = Ran::of(command);
    let said = format!("anthropic: {} (wins over ANTHROPIC_API_KEY)", file.display());
    assert!(ran.stdout.contains(&said), "{ran:?}");
    std::fs::remove_file(&file).unwrap();
    let ran = place.run(["doctor"]);
    assert!(ran.code == 1 && ran.stdout.contains("✗ keys"), "{ran:?}");
}

#[test]
fn settings_are_read_and_changed_and_comments_stay() {
    let place = Place::new();
    let path = place.write("home/.config/posse/config.toml", "# mine\n[limits]\nmax_turns = 5 # few\n");
    let ran = place.run(["config", "set", "limits.max_turns", "9"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# mine\n[limits]\nmax_turns = 9 # few\n");
    assert_eq!(place.run(["config", "get", "limits.max_turns"]).stdout, "9\n");
    place.write("workspace/posse.toml", "[limits]\nmax_turns = 3\n");
    assert_eq!(place.run(["config", "get", "limits.max_turns"]).stdout, "3\n", "the lower limit counts");
    assert_eq!(place.run(["config", "list"]).stdout.lines().count(), 2);
    assert!(place.run(["config", "path"]).stdout.contains(path.to_str().unwrap()));
    assert_eq!(place.run(["config", "set", "--project", "model", "openai:gpt-5"]).code, 0);
    assert_eq!(place.run(["config", "get", "model"]).stdout, "openai:gpt-5\n");
    assert_eq!(place.run(["config", "unset", "--project", "model"]).code, 0);
    let unset = place.run(["config", "get", "model"]);
    assert_eq!((unset.code, unset.stdout.as_str()), (0, ""), "{unset:?}");
    assert!(unset.stderr.contains("`model` is not set and has no fixed default"), "{unset:?}");
    let usual = place.run(["config", "get", "limits.max_tool_calls"]);
    assert_eq!((usual.code, usual.stdout.as_str()), (0, "1000\n"), "{usual:?}");
    assert!(usual.stderr.contains("`limits.max_tool_calls` is not set; this is the default"), "{usual:?}");
    let shown = place.run(["config", "get", "limits.max_tool_calls", "--json"]).json().pop().unwrap();
    assert_eq!((&shown["value"], &shown["file"]), (&"1000".into(), &serde_json::Value::Null));
    for (args, said) in [
        (&["set", "limits.max_trns", "5"][..], "did you mean `limits.max_turns`?"),
        (&["set", "limits.max_turns", "many"], "max_turns"),
        (&["set", "--project", "grant.allow", "[\"bash\"]"], "grant.allow"),
        (&["set", "providers.x.api_key", "abc"], "would put a secret"),
        (
            &["set", "model", "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
            "would put a secret",
        ),
        (&["get", "limits.max_trns"], "error[KEY_NOT_FOUND]"),
        (&["get", "limits.max_trns"], "did you mean `limits.max_turns`?"),
    ] {
        let ran = place.run(["config"].iter().chain(args).copied());
        assert!(ran.code == 1 && ran.stderr.contains(said), "{args:?}: {ran:?}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# mine\n[limits]\nmax_turns = 9 # few\n");
}

#[test]
fn an_editor_changes_a_copy_that_must_be_loadable() {
    let place = Place::new();
    let path = place.write("home/.config/posse/config.toml", "model = \"a:b\"\n");
    let edit = |script: &str| {
        let editor = place.write_program("editor.sh", &format!("#!/bin/sh\n{script}\n"));
        let mut command = place.posse(["config", "edit"]);
        command.env("EDITOR", editor);
        Ran::of(command)
    };
    let mut command = place.posse(["config", "edit"]);
    command.env_remove("EDITOR").env_remove("VISUAL");
    let refused = Ran::of(command);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(refused.stderr.contains("the editor `vi` needs a terminal"), "{refused:?}");
    assert!(refused.stderr.contains("`posse config set`"), "{refused:?}");
    assert_eq!(edit("echo 'model = \"c:d\"' > \"$1\"").code, 0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "model = \"c:d\"\n");
    let ran = edit("echo 'modle = 1' > \"$1\"");
    assert!(ran.code == 1 && ran.stderr.contains("your text is in"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "model = \"c:d\"\n");
}

#[test]
fn mistakes_in_the_file_of_the_named_agent_are_told() {
    let place = Place::new();
    let model = place.script("- text: Done.");
    let agent = "---\nname: helper\ndescription: d\ntools: [read, hammer]\ncolour: red\n---\nYou help.\n";
    place.write("home/.config/posse/agents/helper.md", agent);
    let checked = place.run(["agents", "check", "helper"]);
    assert!(checked.stdout.contains("hammer"), "{checked:?}");
    let ran = place.run(["run", "--model", &model, "--agent", "helper", "Do it"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{ran:?}");
    assert!(ran.stderr.contains("warning: ~/.config/posse/agents/helper.md"), "{ran:?}");
    assert!(ran.stderr.contains("hammer"), "{ran:?}");
}

#[test]
fn a_broken_tool_that_is_allowed_says_what_is_wrong_with_it() {
    let place = Place::new();
    place.write("home/.config/posse/tools/deploy/tool.json", "{\"name\": \"deploy\", \"nonsense\": 1}");
    let ran = place.run(["run", "--model", &place.script("- text: Done."), "--allow", "deploy", "Do it"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("error[TOOL_INVALID]: the tool `deploy` cannot be used: "), "{ran:?}");
    assert!(ran.stderr.contains("nonsense"), "{ran:?}");
}

#[test]
fn install_without_a_terminal_stores_a_key_only_if_told_to() {
    let place = Place::new();
    let install = |more: &[&str]| {
        let args = ["mcp", "install", "--host", "claude-code", "--write"];
        let mut command = place.posse(args.iter().chain(more).copied());
        command.env("ANTHROPIC_API_KEY", KEY);
        Ran::of(command)
    };
    let ran = install(&[]);
    assert!(
        ran.code == 0 && ran.stderr.contains("was not stored") && ran.stderr.contains("--store-key"),
        "{ran:?}"
    );
    assert_eq!(place.files_with(KEY), Vec::<std::path::PathBuf>::new());
    assert_eq!(install(&["--store-key"]).code, 0);
    assert_eq!(place.files_with(KEY), [place.home().join(".config/posse/keys/anthropic")]);
}
