//! Logs, spans and transcripts of the real program.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use posse_testkit::server::{Answer, Server};
use serde_json::{Value, json};

use crate::support::{Place, Ran};

const SCRIPT: &str = "
- text: CONFIDENTIAL thought
  calls: [{read: {path: a.txt}}]
- text: CONFIDENTIAL answer
";

fn place() -> (Place, String) {
    let place = Place::new();
    place.write("workspace/a.txt", "CONFIDENTIAL file\n");
    let model = place.script(SCRIPT);
    (place, model)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

#[test]
fn a_log_is_private_grows_from_run_to_run_and_has_no_texts() {
    // R179
    let (place, model) = place();
    let log = place.root().join("posse.log");
    let run = |more: &[&str]| {
        let args = ["run", "--json", "--model", &model, "--log", log.to_str().unwrap()];
        let ran = place.run(args.iter().chain(more).copied().chain(["CONFIDENTIAL task"]));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        std::fs::read_to_string(&log).unwrap()
    };
    let first = run(&[]);
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!first.contains("CONFIDENTIAL") && !first.contains("a.txt"), "{first}");
    let events: Vec<Value> = lines(&first).iter().map(|line| line["event"].clone()).collect();
    assert_eq!(events, ["started", "replied", "tool_finished", "replied", "finished"]);
    let second = run(&["--debug-payloads"]);
    let grown = second.strip_prefix(&first).expect("the first run is still there");
    for text in
        ["CONFIDENTIAL task", "CONFIDENTIAL thought", "a.txt", "CONFIDENTIAL file", "CONFIDENTIAL answer"]
    {
        assert!(grown.contains(text), "{text}: {grown}");
    }
}

#[test]
fn a_task_that_goes_on_is_logged_with_what_was_said() {
    let place = Place::new();
    let model = place.script("[{text: Hello.}, {text: Again.}]");
    let log = place.root().join("posse.log");
    let mut chat =
        place.posse(["chat", "--model", &model, "--debug-payloads", "--log", log.to_str().unwrap()]);
    let input = place.write("input", "CONFIDENTIAL first\nCONFIDENTIAL second\n");
    chat.stdin(std::fs::File::open(input).unwrap());
    let ran = Ran::of(chat);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Hello.\nAgain.\n"), "{ran:?}");
    let log = lines(&std::fs::read_to_string(log).unwrap());
    let events: Vec<&str> = log.iter().map(|line| line["event"].as_str().unwrap()).collect();
    let answered = ["reply_text", "replied", "finished"];
    let expected =
        [&["task_text", "started"][..], &answered, &["message_text", "task_text", "resumed"], &answered];
    assert_eq!(events, expected.concat());
    assert_eq!(log[5]["payload"]["text"], "CONFIDENTIAL second");
}

#[test]
fn delegation_is_logged_with_the_tasks_it_is_about() {
    // R177 R178 R229
    let place = Place::new();
    let log = place.root().join("posse.log");
    place.write(
        "home/.config/posse/config.toml",
        &format!("[log]\nfile = \"{}\"\nlevel = \"warn\"\n", log.display()),
    );
    let mut demo = place.posse(["demo", "--json"]);
    demo.env("POSSE_LOG", "info");
    let session = Ran::of(demo).envelope()["task_id"].clone();
    let log = lines(&std::fs::read_to_string(&log).unwrap());
    assert!(log.iter().all(|line| line["session_id"] == session && line["time"].is_string()));
    let task = |short: &str| json!(format!("{}.{short}", session.as_str().unwrap()));
    let mut collected: Vec<_> = log
        .iter()
        .filter(|line| line["event"] == "subagent" && line["action"] == "collect")
        .map(|line| (&line["task_id"], &line["agent"], &line["status"], &line["turns_used"]))
        .collect();
    let done = json!("completed");
    let [first, second, third] = [task("t_01"), task("t_02"), task("t_03")];
    let expected = [
        (&first, &json!("researcher"), &done, &json!(7)),
        (&second, &json!("remediator"), &done, &json!(8)),
        (&third, &json!("writer"), &done, &json!(3)),
    ];
    // Two of them work side by side.
    collected.sort_by_key(|(task, ..)| task.as_str());
    assert_eq!(collected, expected);
    for action in ["spawn", "status"] {
        assert!(log.iter().any(|line| line["action"] == action && line["task_id"] == first), "{action}");
    }
    let calls = |of: &Value| {
        let of_task = log.iter().filter(|line| line["event"] == "tool_finished" && line["task_id"] == *of);
        of_task.map(|line| line["level"].clone()).collect::<Vec<_>>()
    };
    assert!(calls(&session).len() > 20 && calls(&first).len() == 11, "{log:#?}");
    assert!(calls(&session).iter().chain(&calls(&first)).all(|level| level == "info"));
    let by = "subagent:researcher:t_01";
    let written = log.iter().find(|line| line["event"] == "shared_context" && line["written_by"] == by);
    let written = written.expect("the researcher writes");
    assert!(
        written["version"] == 1
            && written["value_size_tokens"].as_u64() > Some(0)
            && written["key"].is_string(),
        "{written}"
    );
}

#[test]
fn what_a_person_writes_into_shared_context_is_logged() {
    // R229
    let (place, model) = place();
    assert_eq!(place.run(["run", "--model", &model, "Go"]).code, 0);
    let ran = place.run(["context", "write", "plan", "CONFIDENTIAL", "--log", "log"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let log = std::fs::read_to_string(place.workspace().join("log")).unwrap();
    let [line] = lines(&log).try_into().unwrap_or_else(|lines| panic!("{lines:?}"));
    let said = ["event", "action", "key", "version"].map(|name| line[name].clone());
    assert_eq!(said, [json!("shared_context"), json!("write"), json!("plan"), json!(1)]);
    assert!(line["written_by"].is_string() && !log.contains("CONFIDENTIAL"), "{log}");
}

#[test]
fn a_log_that_cannot_be_written_is_said_once_and_stops_nothing() {
    let (place, model) = place();
    for (log, said) in [
        (
            "/dev/full",
            "warning: the log /dev/full cannot be written: No space left on device (os error 28)\n",
        ),
        (
            "nowhere/log",
            "warning: the log nowhere/log cannot be opened: No such file or directory (os error 2)\n",
        ),
    ] {
        let ran = place.run(["run", "--json", "--model", &model, "--log", log, "Go"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, said), "{ran:?}");
        assert_eq!(ran.envelope()["text"], "CONFIDENTIAL answer");
    }
    let mut command = place.posse(["run", "--model", &model, "--log", "log", "Go"]);
    command.env("POSSE_LOG", "loud");
    let ran = Ran::of(command);
    assert!(
        ran.code == 1 && ran.stderr.starts_with("error[CONFIG_INVALID]: `loud` is no log level"),
        "{ran:?}"
    );
}

#[test]
fn nothing_is_opened_by_a_command_that_runs_no_task() {
    let (place, _) = place();
    let ran = place.run(["tasks", "list", "--log", "log"]);
    assert_eq!((ran.code, place.workspace().join("log").exists()), (0, false), "{ran:?}");
    let mut doctor = place.posse(["doctor", "--log", "log"]);
    doctor.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");
    let said = Ran::of(doctor).stdout;
    assert!(said.lines().any(|line| line.contains("log ") && line.ends_with(" log")), "{said}");
    assert!(said.contains("http://localhost:4318/v1/traces"), "{said}");
    assert!(!place.workspace().join("log").exists());
}

#[tokio::test]
async fn a_collector_gets_the_tree_of_a_whole_delegation() {
    let place = Place::new();
    let server = Server::handler(|_| Answer::json(200, &json!({}))).await;
    let mut demo = place.posse(["demo", "--json"]);
    demo.env("OTEL_EXPORTER_OTLP_ENDPOINT", server.url()).env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b");
    let ran = Ran::beside(demo).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.path == "/v1/traces"), "{requests:?}");
    assert!(requests.iter().all(|request| request.header("x-key") == Some("a b")), "{requests:?}");
    let spans: Vec<Value> = requests
        .iter()
        .flat_map(|r| r.json()["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned().unwrap())
        .collect();
    let by_id: BTreeMap<&str, &Value> =
        spans.iter().map(|span| (span["spanId"].as_str().unwrap(), span)).collect();
    let parent = |span: &Value| {
        let parent = span.get("parentSpanId").map(|id| by_id[id.as_str().unwrap()]);
        parent.map(|parent| parent["name"].as_str().unwrap())
    };
    let mut tasks: Vec<(&str, Option<&str>)> = spans
        .iter()
        .filter(|span| span["name"].as_str().unwrap().starts_with("invoke_agent"))
        .map(|span| (span["name"].as_str().unwrap(), parent(span)))
        .collect();
    let by = Some("execute_tool subagent");
    let expected = [
        ("invoke_agent orchestrator", None),
        ("invoke_agent remediator", by),
        ("invoke_agent researcher", by),
        ("invoke_agent writer", by),
    ];
    tasks.sort_unstable();
    assert_eq!(tasks, expected);
    let chats = |of: &str| {
        let chats = spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with("chat"));
        chats.filter(|span| parent(span) == Some(of)).count()
    };
    let children =
        ["remediator", "researcher", "writer"].map(|agent| chats(&format!("invoke_agent {agent}")));
    assert_eq!(children, [8, 7, 3]);
    assert!(spans.iter().all(|span| span["traceId"] == spans[0]["traceId"]));
    let sent = requests.iter().map(|request| String::from_utf8_lossy(&request.body)).collect::<String>();
    for text in ["Throughput", "demonstration", "connection pool"] {
        assert!(!sent.contains(text), "{text}");
    }
}

#[test]
fn a_dead_collector_is_said_and_a_wrong_one_refused() {
    let (place, model) = place();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let run = |endpoint: &str| {
        let mut command = place.posse(["run", "--json", "--model", &model, "Go"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
        Ran::of(command)
    };
    let ran = run(&format!("http://127.0.0.1:{port}"));
    assert_eq!((ran.code, &ran.envelope()["text"]), (0, &json!("CONFIDENTIAL answer")), "{ran:?}");
    let said = "telemetry: 4 of 4 spans did not get to 127.0.0.1: ";
    assert!(ran.stderr.starts_with(said) && ran.stderr.lines().count() == 1, "{ran:?}");
    let ran = run("localhost:4318");
    assert!(ran.code == 1 && ran.stderr.starts_with("error[CONFIG_INVALID]: the OTLP endpoint"), "{ran:?}");
    assert_eq!(place.tasks().len(), 1, "nothing was begun");
}

#[test]
fn a_task_is_exported_with_those_it_delegated() {
    let place = Place::new();
    let root = place.run(["demo", "--json"]).envelope()["task_id"].as_str().unwrap().to_owned();
    let state = place.state().join("demo");
    let export = |more: &[&str]| {
        let args = ["tasks", "export", &root[..5], "--state", state.to_str().unwrap()];
        place.run(args.iter().chain(more).copied())
    };
    let alone = export(&[]);
    assert_eq!((alone.code, alone.stderr.as_str()), (0, ""), "{alone:?}");
    assert!(alone.json().iter().all(|line| line["task_id"] == *root));
    let (first, last) = (alone.json()[0].clone(), alone.json().pop().unwrap());
    assert_eq!((&first["type"], &first["agent"]), (&json!("task"), &json!("orchestrator")));
    assert_eq!((&last["type"], &last["status"]), (&json!("outcome"), &json!("completed")));

    let tree = export(&["--tree"]);
    let headers: Vec<(Value, Value)> = tree
        .json()
        .into_iter()
        .filter(|line| line["type"] == "task")
        .map(|line| (line["task_id"].clone(), line["parent"].clone()))
        .collect();
    let child = |short: &str| (json!(format!("{root}.{short}")), json!(root));
    assert_eq!(headers, [(json!(root), Value::Null), child("t_01"), child("t_02"), child("t_03")]);

    let ran = export(&["--tree", "--out", "transcript.jsonl"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", "transcript.jsonl written\n"));
    let file = place.workspace().join("transcript.jsonl");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), tree.stdout);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.run(["tasks", "export", "nothing"]).code, 1);
}

#[test]
fn a_tree_is_exported_as_one_page_without_secrets() {
    let key = format!("sk-ant-{}", "a1B2".repeat(10));
    let place = Place::new();
    let model = place.script(&format!("- text: The key is {key}, and </script> is text.\n"));
    let id = place.run(["run", "--json", "--model", &model, "Say it"]).envelope()["task_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let ran = place.run(["tasks", "export", &id, "--tree", "--html", "--out", "task.html"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "task.html written\n"), "{ran:?}");
    let page = std::fs::read_to_string(place.workspace().join("task.html")).unwrap();
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!((&data["root"], &data["tasks"][0]["status"]), (&json!(id), &json!("completed")));
    let lines = data["answers"][format!("/tasks/{id}/transcript")]["items"].as_array().unwrap();
    assert!(lines.iter().any(|line| line["type"] == "outcome"), "{lines:?}");
    let events = data["answers"][format!("/tasks/{id}/events")]["events"].as_array().unwrap();
    assert_eq!(events.last().unwrap()["type"], "finished");
    assert!(page.contains("[redacted: ") && !page.contains(&key));
}

/// Every name that a transcript has is documented, and every documented name exists.
#[test]
fn a_transcript_has_the_documented_names() {
    let (place, model) = place();
    let ran = place.run(["run", "--json", "--model", &model, "Go"]);
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in place.run(["tasks", "export", &id]).json() {
        let kind = line["role"].as_str().or(line["type"].as_str()).unwrap().to_owned();
        let names = line.as_object().unwrap().keys().filter(|name| *name != "type" && *name != "role");
        seen.entry(kind).or_insert_with(|| names.cloned().collect());
    }
    let documented: BTreeMap<String, Vec<String>> = include_str!("../../../../docs/transcript.md")
        .lines()
        .filter_map(|line| {
            let [_, kind, names, _] = line.split('|').collect::<Vec<_>>().try_into().ok()?;
            let quoted = |text: &str| -> Vec<String> {
                text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
            };
            let mut names = quoted(names);
            names.sort_unstable();
            Some((quoted(kind).pop()?, names))
        })
        .collect();
    assert_eq!(seen, documented);
}
