//! Tasks after the fact: listing, looking into them, going on, and conversations.

use posse_testkit::server::{Recorded, Server};
use posse_testkit::wire::Say;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Place, Ran, Running, until};

const SCRIPT: &str = "
- text: First I look.
  calls: [{read: {path: a.txt}}, {ls: {}}]
- text: It says alpha.
";

/// A place with one finished task.
fn place() -> (Place, String) {
    let place = Place::new();
    place.write("workspace/a.txt", "alpha one\n");
    let model = place.script(SCRIPT);
    let ran = place.run(["run", "--json", "--model", &model, "What does a.txt say?\nBe brief."]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    (place, id)
}

// R074 R075
#[test]
fn a_list_has_the_newest_first_and_one_object_per_line() {
    let (place, first) = place();
    let model = place.script("- text: Nothing to do.");
    let second = place.run(["run", "--json", "--model", &model, "Second"]).envelope();
    let rows = place.tasks();
    let ids: Vec<&Value> = rows.iter().map(|row| &row["task_id"]).collect();
    assert_eq!(ids, [&second["task_id"], &json!(first)]);
    let row = &rows[1];
    let expected = json!({
        "task_id": first,
        "parent": null,
        "agent": "orchestrator",
        "title": row["title"],
        "status": "completed",
        "turns": 2,
        "input_tokens": row["input_tokens"],
        "output_tokens": row["output_tokens"],
        "cost_usd": 0.0,
        "tree_cost_usd": 0.0,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "completed_at": row["completed_at"],
        "workspace": place.workspace().canonicalize().unwrap(),
    });
    assert_eq!(*row, expected);
    let ended = row["completed_at"].as_str().unwrap();
    assert!(ended.starts_with("20") && ended.ends_with('Z'), "{row}");
    assert!(row["title"].as_str().unwrap().starts_with("What does a.txt say?"), "{row}");
    assert!(
        row["created_at"].as_str() <= row["updated_at"].as_str() && row["input_tokens"].as_u64() > Some(0)
    );

    let plain = place.run(["tasks", "list", "--limit", "1"]);
    let lines: Vec<Vec<&str>> = plain.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((plain.code, lines.len()), (0, 2), "{plain:?}");
    assert_eq!(lines[0], ["ID", "STATE", "AGENT", "TASK", "TURNS", "TOKENS", "COST", "TOOK", "AGE"]);
    assert_eq!(lines[1][..3], [second["task_id"].as_str().unwrap(), "completed", "orchestrator"]);
    assert!(plain.stderr.contains(" · --limit 2 · --all · --since 7d"), "{plain:?}");
}

#[test]
fn an_empty_list_says_what_to_do() {
    let place = Place::new();
    let ran = place.run(["tasks", "list"]);
    let expected = "no tasks yet; `posse run \"…\"` starts one\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", expected));
    assert_eq!(place.run(["tasks", "list", "--json"]).stdout, "");
}

#[test]
fn a_task_is_shown_turn_by_turn_by_its_id_or_the_beginning_of_it() {
    let (place, id) = place();
    let shown = place.run(["tasks", "show", &id]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(lines[0].starts_with(&format!("✓ orchestrator {id} · completed · ")), "{}", lines[0]);
    assert!(lines[0].contains(" · 2 turns · 2 tools · ") && lines[0].contains(" tokens · $0.0000 · "));
    assert!(lines[0].ends_with(" · sandbox t1") || lines[0].ends_with(" · sandbox t2"), "{}", lines[0]);
    assert_eq!(lines[1], "task    What does a.txt say? Be brief.");
    assert!(lines[2].starts_with("1       \"First I look.\" · "), "{}", lines[2]);
    assert!(lines[2].contains("Read a.txt (") && lines[2].contains("  $0.000   "), "{}", lines[2]);
    assert!(lines[3].starts_with("2       answered  $0.000   "), "{}", lines[3]);
    assert_eq!(lines[4..], ["answer  It says alpha."]);
    let whole = place.run(["tasks", "show", &id, "--turn", "1"]).stdout;
    assert!(whole.starts_with("turn 1 · $0.000 · "), "{whole}");
    assert!(whole.contains("\nFirst I look.\n") && whole.contains("alpha one"), "{whole}");
    assert!(!whole.contains("It says alpha."), "{whole}");
    assert_eq!(place.run(["tasks", "show", &id, "--text"]).stdout, "It says alpha.\n");
    let unknown = place.run(["tasks", "show", &id, "--turn", "9"]);
    assert!(unknown.stderr.contains(&format!("`{id}` has no turn 9; it has 2")), "{unknown:?}");
    assert_eq!(place.run(["tasks", "show", &id[..4]]).stdout, shown.stdout);

    let records = place.journal(&id);
    let kinds: Vec<&str> = records.iter().map(|record| record["record"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "started", "asked", "replied", "observed", "observed", "done", "done", "asked", "replied",
            "finished"
        ]
    );
}

#[test]
fn one_result_is_shown_in_full() {
    let place = Place::new();
    let text: String = (0..200).map(|n| format!("{n} bottles\n")).collect();
    place.write("workspace/long.txt", &text);
    let model = place.script("[{calls: [{ls: {}}, {read: {path: long.txt}}]}, {text: Long.}]");
    let id = place.run(["run", "--json", "--model", &model, "Go"]).envelope()["task_id"].clone();
    let id = id.as_str().unwrap();
    let whole = place.run(["tasks", "show", id, "--result", "1.1"]);
    assert_eq!(whole.code, 0, "{whole:?}");
    assert!((0..200).all(|n| whole.stdout.contains(&format!("{n} bottles\n"))), "{whole:?}");
    let transcript = place.run(["tasks", "show", id]);
    assert!(!transcript.stdout.contains("100 bottles"), "a transcript is short: {transcript:?}");
    let unknown = place.run(["tasks", "show", id, "--result", "7.7"]);
    let expected = format!(
        "error[INVALID_REQUEST]: `{id}` has no result `7.7`\n  hint: results are numbered TURN.INDEX, such as 3.0\n"
    );
    assert_eq!((unknown.code, unknown.stderr), (1, expected));
}

#[test]
fn a_child_is_found_by_its_short_id() {
    let place = Place::new();
    let ran = place.run(["demo", "--json"]);
    let root = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let state = place.state().join("demo");
    let shown = place.run(["tasks", "show", "t_02", "--state", state.to_str().unwrap()]);
    let first = shown.stdout.lines().next().unwrap_or_default().to_owned();
    assert!(first.starts_with(&format!("✓ remediator {root}.t_02 · completed · ")), "{shown:?}");
    assert!(
        first.contains(" · 8 turns · ") && shown.stdout.contains(&format!("  from {root}\n")),
        "{shown:?}"
    );
    assert!(first.ends_with(" · sandbox off"), "{shown:?}");
    let session = place.run(["tasks", "show", &root[..5], "--state", state.to_str().unwrap()]);
    assert!(session.stdout.starts_with(&format!("✓ orchestrator {root} · ")), "{session:?}");
}

#[test]
fn a_finished_task_gives_its_answer_again_without_a_model() {
    let (place, id) = place();
    let before = place.journal(&id).len();
    place.write("script.yaml", "- fail: {kind: unauthorised, message: nobody may ask me}\n");
    let ran = place.run(["tasks", "resume", &id, "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let envelope = ran.envelope();
    assert_eq!((&envelope["text"], &envelope["turns"]), (&json!("It says alpha."), &json!(2)));
    assert_eq!(place.journal(&id).len(), before, "nothing was added");
}

#[test]
fn a_task_that_a_living_process_drives_is_left_to_it() {
    let place = Place::new();
    let model = place.script("[{calls: [{ls: {}}]}, {text: Done., delay_ms: 600000}]");
    let mut running = Running::start(place.posse(["run", "--json", "--model", &model, "Wait"]));
    let turn = running.until(|event| event["type"] == "turn" && event["turn"] == 2);
    let id = turn["task_id"].as_str().unwrap();
    assert_eq!(place.tasks()[0]["status"], "running");
    let refused = place.run(["tasks", "resume", id]);
    let expected = format!(
        "error[TASK_NOT_RESUMABLE]: `{id}` is being driven by process {}\n  \
         hint: wait for it, or end that process first\n",
        running.id()
    );
    assert_eq!((refused.code, &refused.stderr), (1, &expected));
    let talk = place.run(["chat", "--resume", id]);
    assert_eq!((talk.code, &talk.stderr), (1, &expected));

    running.kill();
    assert_eq!(place.tasks()[0]["status"], "interrupted");
    place.script("[{calls: [{ls: {}}]}, {text: Done.}]");
    let resumed = place.run(["tasks", "resume", id, "--json"]);
    assert_eq!((resumed.code, &resumed.envelope()["text"]), (0, &json!("Done.")), "{resumed:?}");
}

/// However two processes meet, one of them finishes the task and nothing is done twice.
#[test]
fn two_that_go_on_with_a_task_at_once_do_not_do_its_work_twice() {
    let mut lost = 0;
    for _ in 0..8 {
        let place = Place::new();
        place.write("workspace/effects.txt", "");
        let steps: String = (0..12)
            .map(|n| format!("- {{delay_ms: 5, calls: [{{bash: {{command: echo {n} >> effects.txt}}}}]}}\n"))
            .collect();
        let model = place.script(&format!("{steps}- text: Done.\n"));
        let mut first =
            Running::start(place.posse(["run", "--json", "--allow", "bash", "--model", &model, "Go"]));
        let event = first.until(|event| event["type"] == "replied" && event["turn"] == 2);
        first.kill();
        let id = event["task_id"].as_str().unwrap();
        let resume = || Running::start(place.posse(["tasks", "resume", id, "--json"]));
        let both = [resume(), resume()].map(Running::end);
        for ran in &both {
            let refused = ["error[TASK_NOT_RESUMABLE]", "error[OWNER_LOST]"];
            let left_it = ran.code == 1 && refused.iter().any(|code| ran.stderr.starts_with(code));
            lost += usize::from(left_it);
            assert!(left_it || (ran.code == 0 && ran.envelope()["text"] == "Done."), "{ran:?}");
        }
        let last = place.run(["tasks", "resume", id, "--json"]);
        assert_eq!((last.code, &last.envelope()["status"]), (0, &json!("completed")), "{both:?} {last:?}");
        let effects = std::fs::read_to_string(place.workspace().join("effects.txt")).unwrap();
        let mut seen: Vec<&str> = effects.lines().collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), effects.lines().count(), "done twice: {effects}");
    }
    eprintln!("{lost} of 16 gave way");
    assert!(lost > 0, "they never met");
}

/// `posse chat` with these lines on its standard input.
async fn chat(mut command: Command, lines: &'static str) -> Ran {
    let talk = move || {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        Ran::from_output(child.wait_with_output().unwrap())
    };
    tokio::task::spawn_blocking(talk).await.unwrap()
}

/// What was said so far, as the provider got it.
fn said(request: &Recorded) -> Vec<(String, String)> {
    let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    let without_system = messages.iter().filter(|message| message["role"] != "system");
    without_system.map(|m| (m["role"].as_str().unwrap().to_owned(), text(m))).collect()
}

#[tokio::test]
async fn messages_of_a_chat_are_one_conversation_that_can_be_taken_up_again() {
    let place = Place::new();
    let server = Server::handler(|request| {
        let turn = posse_testkit::wire::turn(request);
        Say::text(&format!("answer {}", turn + 1)).answer(request)
    })
    .await;
    let command = |args: &[&str]| {
        let mut command = place.posse(["chat"]);
        command.args(args).env("OLLAMA_HOST", server.url());
        command
    };
    let ran = chat(command(&["--model", "ollama:qwen3"]), "My name is Ada.\n\nWhat is my name?\n").await;
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "answer 1\nanswer 2\n"), "{ran:?}");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let pair = |role: &str, text: &str| (role.to_owned(), text.to_owned());
    let mut expected = vec![
        pair("user", "My name is Ada."),
        pair("assistant", "answer 1"),
        pair("user", "What is my name?"),
    ];
    assert_eq!(said(&requests[1]), expected);

    let rows = place.tasks();
    assert_eq!((rows.len(), &rows[0]["turns"]), (1, &json!(2)), "{rows:?}");
    let id = rows[0]["task_id"].as_str().unwrap();
    let ran = chat(command(&["--resume", id]), "And now?\n").await;
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "answer 3\n"), "{ran:?}");
    expected.extend([pair("assistant", "answer 2"), pair("user", "And now?")]);
    assert_eq!(said(&server.requests()[2]), expected);
    assert_eq!(place.tasks().len(), 1);
}

#[tokio::test]
async fn a_conversation_goes_on_in_its_own_workspace_with_what_it_was_given() {
    let place = Place::new();
    place.write("workspace/a.txt", "alpha\n");
    place.write("elsewhere/b.txt", "beta\n");
    let model = place.script("[{text: Hello.}, {calls: [{read: {path: a.txt}}]}, {text: Read.}]");
    let ran = chat(place.posse(["chat", "--model", &model, "--read-only"]), "Hi\n").await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    for flag in [
        &["--allow", "bash"][..],
        &["--max-turns", "3"],
        &["--timeout", "3"],
        &["--effort", "low"],
        &["--no-stream"],
    ] {
        let refused = place.run(["chat", "--resume", &id].iter().chain(flag).copied());
        let expected = format!("error[INVALID_REQUEST]: `{}` cannot be changed in a conversation", flag[0]);
        assert!(refused.code == 1 && refused.stderr.starts_with(&expected), "{refused:?}");
    }
    let mut command = place.posse(["chat", "--resume", &id]);
    command.current_dir(place.root().join("elsewhere"));
    let ran = chat(command, "Read a.txt\n").await;
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Read.\n"), "{ran:?}");
    let result = place.run(["tasks", "show", &id, "--result", "2.0"]).stdout;
    assert!(result.contains("alpha"), "{result}");
}

#[tokio::test]
async fn the_last_conversation_of_this_project_is_continued_and_no_run_or_other_project() {
    let place = Place::new();
    place.write("elsewhere/b.txt", "beta\n");
    let none = place.run(["chat", "--continue"]);
    assert!(
        none.code == 1 && none.stderr.starts_with("error[TASK_NOT_FOUND]: there is no conversation"),
        "{none:?}"
    );
    let model = place.script("[{text: one}, {text: two}, {text: three}, {text: four}]");
    chat(place.posse(["chat", "--model", &model]), "Hi\n").await;
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    // Neither a run here nor a conversation of another project is the last conversation of this one.
    let single = place.script("- text: done");
    assert_eq!(place.run(["run", "--model", &single, "Go"]).code, 0);
    let mut other = place.posse(["chat", "--model", &single]);
    other.current_dir(place.root().join("elsewhere"));
    assert_eq!(chat(other, "Hello\n").await.code, 0);
    place.script("[{text: one}, {text: two}, {text: three}, {text: four}]");
    let mut command = place.posse_as_is(["chat", "--continue"]);
    command.arg("--json");
    let ran = chat(command, "Again\n").await;
    assert_eq!(
        (ran.code, &ran.envelope()["task_id"], &ran.envelope()["text"]),
        (0, &json!(id), &json!("two"))
    );
    let bare = place.run(["chat", "--resume"]);
    assert!(bare.code == 1 && bare.stderr.contains("posse chat --continue"), "{bare:?}");
}

#[tokio::test]
async fn another_model_answers_from_the_next_message_on_and_the_journal_says_so() {
    let place = Place::new();
    let server = Server::handler(|request| Say::text("fine").answer(request)).await;
    let command = |args: &[&str]| {
        let mut command = place.posse_as_is(["chat", "--mode", "plan"]);
        command.args(args).env("OLLAMA_HOST", server.url());
        command
    };
    let lines = "one\n/model ollama:llama3\ntwo\n/model nowhere:x\nthree\n";
    let ran = chat(command(&["--model", "ollama:qwen3"]), lines).await;
    assert!(
        ran.code == 0 && ran.stderr.contains("ollama:llama3 answers from the next message on"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("error[MODEL_"), "an unknown provider changes nothing: {ran:?}");
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    // A conversation that is continued has the model that it had last, or that of the flag.
    chat(command(&["--resume", &id]), "four\n").await;
    chat(command(&["--resume", &id, "--model", "ollama:mistral"]), "five\n").await;
    let models: Vec<Value> =
        server.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(models, ["qwen3", "llama3", "llama3", "llama3", "mistral"]);
    let chosen: Vec<Value> = place
        .journal(&id)
        .into_iter()
        .filter(|record| record["record"] == "model_chosen")
        .map(|record| record["choice"]["model"].clone())
        .collect();
    assert_eq!(chosen, ["ollama:llama3", "ollama:mistral"]);
    let shown = place.run(["tasks", "show", &id]).stdout;
    assert!(shown.contains("model changed to ollama:llama3"), "{shown}");
    // The cost limit holds for the new model, whose price nobody knows.
    let ran = chat(command(&["--resume", &id, "--max-cost", "1", "--model", "ollama:qwen3"]), "six\n").await;
    assert!(ran.code == 1 && ran.stderr.contains("price"), "{ran:?}");
}

#[tokio::test]
async fn a_cost_limit_that_cannot_be_kept_is_refused_wherever_it_is_set() {
    let place = Place::new();
    let server = Server::handler(|request| Say::text("Hello.").answer(request)).await;
    let configure = |more: &str| {
        let provider = format!("[providers.work]\nwire = \"openai\"\nbase_url = \"{}\"\n", server.url());
        place.write("home/.config/posse/config.toml", &format!("{provider}{more}"));
    };
    let posse = async |args: &[&str]| Ran::beside(place.posse(args.iter().copied())).await;
    configure("");
    let ran = posse(&["run", "--json", "--model", "work:big", "Hi"]).await;
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let refuses = async |args: &[&str]| {
        let ran = posse(args).await;
        let text = "error[INVALID_REQUEST]: the price of `work:big` is not known";
        assert!(ran.code == 1 && ran.stderr.starts_with(text), "{args:?}: {ran:?}");
    };
    refuses(&["run", "--model", "work:big", "--max-cost", "1", "Hi"]).await;
    refuses(&["chat", "--model", "work:big", "--max-cost", "1"]).await;
    refuses(&["chat", "--resume", &id, "--max-cost", "1"]).await;
    configure("[limits]\nmax_cost_usd = 1.0\n");
    refuses(&["tasks", "resume", &id]).await;
    configure("[limits]\nmax_cost_usd = 1.0\n[prices.\"work:*\"]\ninput = 1.0\noutput = 1.0\n");
    assert_eq!(posse(&["tasks", "resume", &id]).await.code, 0);
}

#[tokio::test]
async fn commands_of_a_chat_are_not_sent_to_the_model() {
    let place = Place::new();
    let server = Server::handler(|request| Say::text("Hello.").answer(request)).await;
    let mut command = place.posse(["chat", "--model", "ollama:qwen3"]);
    command.env("OLLAMA_HOST", server.url());
    let ran = chat(command, "/help\n/modle gpt-5\n/etc/hosts?\n /note this\n/quit\nnever sent\n").await;
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Hello.\nHello.\n"), "{ran:?}");
    assert!(ran.stderr.starts_with("ollama:qwen3 · /help, /quit or Ctrl-D · the conversation is"), "{ran:?}");
    assert!(ran.stderr.contains("/quit   ends the conversation"), "{ran:?}");
    assert!(ran.stderr.contains("there is no command `/modle` and nothing was sent; /help lists"), "{ran:?}");
    let requests = server.requests();
    let asked: Vec<String> = requests.iter().map(|request| said(request).pop().unwrap().1).collect();
    assert_eq!(asked, ["/etc/hosts?", " /note this"]);
}

#[test]
fn a_short_id_names_a_child_of_this_project() {
    use posse_core::id::TaskId;
    use posse_runtime::ports::{ContextStore, JournalStore, NewTask};

    let place = Place::new();
    let elsewhere = place.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let store = posse_store::SqliteStore::open(place.state().join("posse.db")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (session, directory) in [("here", place.workspace()), ("there", elsewhere.clone())] {
        runtime.block_on(async {
            store.create_session(session, directory.to_str().unwrap(), 1).await.unwrap();
            let id = TaskId::from_store(format!("{session}.t_01"));
            let parent = Some(TaskId::root(session));
            let task = NewTask { id, parent, ..posse_testkit::store_suite::new_task(session) };
            store.create(task).await.unwrap();
        });
    }
    let shown = |directory: &std::path::Path| {
        let mut command = place.posse(["tasks", "show", "t_01"]);
        command.current_dir(directory);
        Ran::of(command)
    };
    assert!(shown(&place.workspace()).stdout.contains(" here.t_01 · "), "{:?}", shown(&place.workspace()));
    assert!(shown(&elsewhere).stdout.contains(" there.t_01 · "), "{:?}", shown(&elsewhere));
    let nowhere = shown(place.root());
    assert!(nowhere.code == 1 && nowhere.stderr.contains("TASK_NOT_FOUND"), "{nowhere:?}");
}

#[test]
fn json_lines_have_the_text_of_every_reply_the_task_and_its_cost_and_the_result_is_last() {
    let place = Place::new();
    let script = "lead:\n  - {thinking: Hm., text: First., calls: [{ls: {}}]}\n  - text: The whole answer of the task.\n";
    place.write("workspace/s.yaml", script);
    for flags in
        [&["--model", "scripted:s.yaml#lead"][..], &["--model", "scripted:s.yaml#lead", "--no-stream"]]
    {
        let ran = place.run([&["run", "--json"], flags, &["Look around"]].concat());
        let lines = ran.json();
        let of = |kind: &str| -> Vec<&Value> { lines.iter().filter(|line| line["type"] == kind).collect() };
        assert_eq!((&of("task")[0]["title"], &lines[0]["type"]), (&json!("Look around"), &json!("task")));
        let text = |turn: u64| -> String {
            let pieces = of("text").into_iter().filter(|line| line["turn"] == turn);
            pieces.map(|line| line["delta"].as_str().unwrap()).collect()
        };
        assert_eq!(
            (text(1).as_str(), text(2).as_str()),
            ("First.", "The whole answer of the task."),
            "{ran:?}"
        );
        assert_eq!((&of("thinking")[0]["turn"], &of("thinking")[0]["delta"]), (&json!(1), &json!("Hm.")));
        assert_eq!(of("cost").len(), 2, "{ran:?}");
        assert_eq!((&of("cost")[1]["usd"], &of("cost")[1]["tree_usd"]), (&json!(0.0), &json!(0.0)));
        assert_eq!(of("answer")[0]["line"], "The whole answer of the task.");
        assert!(of("text").iter().all(|line| line["seq"].is_null()), "{ran:?}");
        assert_eq!(lines.last().unwrap()["status"], "completed", "{ran:?}");
    }
}

#[test]
fn a_watched_task_shows_the_same_events_as_its_run() {
    let place = Place::new();
    place.write(
        "workspace/s.yaml",
        r#"
lead:
  - calls: [{subagent: {action: define, name: helper, description: Looks, system_prompt: You look., tools: [read], model: "scripted:s.yaml#helper"}}]
  - calls: [{subagent: {action: spawn, agent: helper, task: Look at a.txt}}, {no_such_tool: {}}]
  - calls: [{subagent: {action: wait}}]
  - text: The answer.
helper:
  - calls: [{read: {path: a.txt}}]
  - text: Found it.
"#,
    );
    let ran = place.run(["run", "--json", "--model", "scripted:s.yaml#lead", "Go"]);
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let mut told = ran.json();
    told.pop();
    let watched = place.run(["tasks", "watch", "--json", &id]);
    assert_eq!(watched.code, ran.code, "{watched:?}");
    // Told and committed are not the same instant, and two tasks have no common order.
    let in_order = |mut lines: Vec<Value>| {
        // Live lines are in no journal.
        lines.retain(|line| line["seq"].is_u64());
        lines.iter_mut().for_each(|line| assert!(line.as_object_mut().unwrap().remove("at").is_some()));
        lines.sort_by_key(|line| (line["task_id"].to_string(), line["seq"].as_u64()));
        lines
    };
    let told = in_order(told);
    assert!(told.iter().any(|line| line["type"] == "tool_refused"), "{told:?}");
    assert!(told.iter().any(|line| line["task_id"] != id && line["type"] == "tool_started"), "{told:?}");
    assert_eq!(in_order(watched.json()), told);

    let plain = place.run(["tasks", "watch", &id]);
    assert_eq!((plain.code, plain.stdout.as_str()), (ran.code, "The answer.\n"), "{plain:?}");
    assert!(plain.stderr.contains("t_01 read a.txt"), "{plain:?}");
}

#[test]
fn a_message_sent_from_another_terminal_is_read_by_a_task_at_work() {
    let place = Place::new();
    // The test decides when it ends, and the output of each turn differs.
    let model = place.script(
        "
- {calls: [{bash: {command: 'ls; date +%N'}}], repeat_until: go.txt, delay_ms: 50}
- text: Done.
",
    );
    let args = ["run", "--json", "--allow", "bash", "--max-turns", "200", "--model", &model, "Look"];
    let mut running = Running::start(place.posse(args));
    let started = running.until(|event| event["type"] == "started");
    let id = started["task_id"].as_str().unwrap().to_owned();
    let sent = place.run(["tasks", "send", &id, "Look at the tests too"]);
    let queued = format!("{id} · queued · the task reads it before its next turn\n{id} · delivered · ");
    assert!(sent.stdout.starts_with(&queued) && sent.stdout.contains("has read it, at turn "), "{sent:?}");
    let read = |record: &Value| record["record"] == "steered" && record["text"] == "Look at the tests too";
    until("the task has read it", || place.journal(&id).iter().any(read).then_some(()));
    place.write("workspace/go.txt", "");
    let ended = running.end();
    assert_eq!((ended.code, &ended.envelope()["text"]), (0, &json!("Done.")), "{ended:?}");
    let missed = place.run(["tasks", "send", &id, "One more", "--json"]);
    assert_eq!((missed.code, &missed.json()[0]["receipt"]), (1, &json!("missed")), "{missed:?}");
    let empty = place.run(["tasks", "send", &id, " "]);
    assert!(empty.code == 1 && empty.stderr.contains("the message is empty"), "{empty:?}");
}

#[test]
fn a_question_of_a_task_is_answered_from_another_terminal() {
    let place = Place::new();
    place.write(
        "workspace/k.yaml",
        "lead:
- calls: [{subagent: {action: define, name: helper, description: Helps, system_prompt: Help., model: 'scripted:k.yaml#helper', tools: [ask_parent]}}]
- calls: [{subagent: {action: spawn, agent: helper, task: Help}}]
- {calls: [{subagent: {action: status, task_id: t_01, wait_ms: 100}}], repeat_until: '\"completed\"', repeat_max: 2000, delay_ms: 100}
- calls: [{subagent: {action: collect, task_id: t_01}}]
- text: '{result:0:/result}'
helper:
- calls: [{ask_parent: {question: 'Which one?', options: [left, right], deadline_s: 600}}]
- text: 'It is {result:0}.'
",
    );
    let args = ["run", "--json", "--max-turns", "2000", "--model", "scripted:k.yaml#lead", "Do it"];
    let mut running = Running::start(place.posse(args));
    let started = running.until(|event| event["type"] == "started");
    let id = started["task_id"].as_str().unwrap().to_owned();
    let nothing = place.run(["tasks", "answer", &id, "left"]);
    assert!(nothing.code == 1 && nothing.stderr.contains("asks nothing"), "{nothing:?}");
    let child = format!("{id}.t_01");
    let asked = until("the task asks", || {
        let asked = place.run(["tasks", "answer", &child]);
        (asked.code == 0).then_some(asked)
    });
    assert_eq!(asked.stdout, "Which one?\n- left\n- right\n");
    let answered = place.run(["tasks", "answer", &child, "left", "--json"]);
    assert_eq!((answered.code, &answered.json()[0]["answered"]), (0, &json!(true)), "{answered:?}");
    let ended = running.end();
    assert_eq!((ended.code, &ended.envelope()["text"]), (0, &json!("It is left.")), "{ended:?}");
}

#[test]
fn resuming_a_completed_task_says_that_nothing_runs() {
    let (place, id) = place();
    let before = place.journal(&id).len();
    let ran = place.run(["tasks", "resume", &id]);
    assert!(ran.code == 0 && ran.stderr.contains("had completed: nothing runs"), "{ran:?}");
    assert_eq!((ran.stdout.as_str(), place.journal(&id).len()), ("It says alpha.\n", before));
}
