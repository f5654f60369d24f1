//! What a stranger does wrong, and what the machine does wrong: each gets an exit code, a code to branch on, and words
//! that say what to do. The messages are compared word for word, because they are the product too.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use posse_testkit::server::{Answer, Server};
use serde_json::json;

use crate::support::{Place, Ran};

const OK: &str = "- text: Done.";

/// Standard error with the place's own path left out, and nothing on standard output.
#[track_caller]
fn complaint(place: &Place, ran: Ran) -> String {
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    ran.stderr.replace(place.root().to_str().unwrap(), "PLACE")
}

#[track_caller]
fn complains(place: &Place, args: &[&str], expected: &[&str]) {
    let found = complaint(place, place.run(args.iter().copied()));
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn no_key() {
    let place = Place::new();
    complains(
        &place,
        &["run", "Do it"],
        &[
            "error[MODEL_NOT_CONFIGURED]: no model is configured",
            "  hint: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or name a model with `--model \
             provider:name` (`--model ollama:qwen3` needs no key). `posse demo` needs neither key nor network",
        ],
    );
    complains(
        &place,
        &["run", "--model", "anthropic:claude-sonnet-4-5", "Do it"],
        &[
            "error[MODEL_NOT_CONFIGURED]: `anthropic` needs a key and ANTHROPIC_API_KEY is not set",
            "  hint: export ANTHROPIC_API_KEY=…, or try `posse demo`, which needs none",
        ],
    );
    let mut command = place.posse(["run", "Do it"]);
    command.env("OLLAMA_HOST", "localhost");
    let found = complaint(&place, Ran::of(command));
    assert!(found.contains("name one of its models, such as `--model ollama:qwen3`"), "{found}");
    assert_eq!(place.tasks().len(), 0, "a request that cannot begin leaves no task");
}

#[test]
fn a_provider_or_a_model_that_is_none() {
    let place = Place::new();
    complains(
        &place,
        &["run", "--model", "nobody:x", "Do it"],
        &[
            "error[MODEL_UNKNOWN]: no provider is called `nobody`",
            "  hint: there are: anthropic, openai, openai-responses, gemini, ollama, openrouter, groq, deepseek, \
             mistral, vllm, llamacpp, scripted; others go into `[providers.nobody]` of your configuration",
        ],
    );
    complains(
        &place,
        &["run", "--model", "claude-sonnet-4-5", "Do it"],
        &[
            "error[MODEL_NOT_CONFIGURED]: `anthropic` needs a key and ANTHROPIC_API_KEY is not set",
            "  hint: export ANTHROPIC_API_KEY=…, or try `posse demo`, which needs none",
        ],
    );
    complains(
        &place,
        &["run", "--model", "qwen3", "Do it"],
        &[
            "error[MODEL_UNKNOWN]: `qwen3` names no provider",
            "  hint: write `provider:model`, for example `anthropic:claude-sonnet-4-5`",
        ],
    );
}

#[tokio::test]
async fn a_model_that_its_provider_does_not_know() {
    let place = Place::new();
    let body =
        json!({"type": "error", "error": {"type": "not_found_error", "message": "model: claude-nope"}});
    let server = Server::handler(move |_| Answer::json(404, &body)).await;
    let command = |args: &[&str]| {
        let mut command = place.posse(["run", "--model", "anthropic:claude-nope", "Do it"]);
        command.args(args).env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "canary-key");
        command
    };
    let ran = Ran::beside(command(&["--json"])).await;
    let envelope = ran.envelope();
    assert_eq!(
        (ran.code, &envelope["status"], &envelope["reason"]),
        (1, &json!("failed"), &json!("model_failed"))
    );
    let detail = envelope["detail"].as_str().unwrap();
    assert!(detail.contains("unknown_model") && detail.contains("model: claude-nope"), "{detail}");
    assert_eq!(server.requests().len(), 1, "asking again would not help");
    let ran = Ran::beside(command(&[])).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.contains("claude-nope") && !ran.stderr.contains("canary-key"), "{ran:?}");
}

#[test]
fn a_configuration_that_cannot_be_read() {
    let place = Place::new();
    let hint = "  hint: check the path and its permissions";
    let dir = place.root().to_str().unwrap();
    complains(
        &place,
        &["run", "--config", dir, "Do it"],
        &["error[CONFIG_UNREADABLE]: PLACE cannot be read", "  because: Is a directory (os error 21)", hint],
    );
    complains(
        &place,
        &["run", "--config", "none.toml", "Do it"],
        &[
            "error[CONFIG_UNREADABLE]: none.toml cannot be read",
            "  because: No such file or directory (os error 2)",
            hint,
        ],
    );
}

#[test]
fn a_configuration_with_a_mistake() {
    let place = Place::new();
    for (text, expected, meant) in [
        (
            "model = \"a:b\"\n[limits]\nmax_turns = \"three\"\n",
            "3:13: `max_turns`: invalid type: string \"three\", expected a whole number from 1 to 10000",
            None,
        ),
        (
            "[limits]\nmax_turns = 0\n",
            "2:13: `max_turns`: invalid value: integer `0`, expected a whole number from 1 to 10000",
            None,
        ),
        (
            "[providers.x]\nwire = \"open-ai\"\n",
            "2:8: `wire`: unknown variant `open-ai`, expected one of `anthropic`, `openai`, `openai-compatible`, \
             `openai-responses`, `gemini`",
            Some("openai"),
        ),
        (
            "[grant]\nalow = [\"bash\"]\n",
            "2:1: unknown field `alow`, expected `allow` or `deny`",
            Some("allow"),
        ),
        ("[limits\n", "1:8: unclosed table, expected `]`", None),
    ] {
        let path = place.write("home/.config/posse/config.toml", text);
        let expected = format!("error[CONFIG_INVALID]: PLACE/home/.config/posse/config.toml:{expected}");
        let hint = meant.map(|name| format!("  hint: did you mean `{name}`?"));
        let lines: Vec<&str> = [Some(expected.as_str()), hint.as_deref()].into_iter().flatten().collect();
        complains(&place, &["run", "Do it"], &lines);
        let doctor = place.run(["doctor"]);
        let place_of_mistake = expected.strip_prefix("error[CONFIG_INVALID]: PLACE").unwrap();
        assert!(doctor.code == 1 && doctor.stdout.contains(place_of_mistake), "{doctor:?}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_provider_that_is_half_configured() {
    let place = Place::new();
    let path = place.write("own.toml", "[providers.x]\nbase_url = \"http://localhost\"\n");
    let args = ["run", "--config", path.to_str().unwrap(), "--model", "x:y", "Do it"];
    complains(
        &place,
        &args,
        &[
            "error[CONFIG_INVALID]: `providers.x` needs a `wire`",
            "  hint: one of anthropic, openai, openai-compatible, openai-responses, gemini",
        ],
    );
    place.write("own.toml", "[providers.x]\nwire = \"openai\"\n");
    complains(
        &place,
        &args,
        &[
            "error[CONFIG_INVALID]: `providers.x` needs a `base_url`",
            "  hint: where its API begins, such as \"https://llm.example/v1\"",
        ],
    );
}

#[test]
fn a_project_that_wants_more_than_a_project_may() {
    let place = Place::new();
    for (text, key) in [
        ("[providers.openai]\nbase_url = \"http://evil.example\"\n", "providers"),
        ("[grant]\nallow = [\"bash\"]\n", "grant.allow"),
        ("[bash]\nenv = [\"AWS_SECRET_ACCESS_KEY\"]\n", "bash.env"),
    ] {
        place.write("workspace/posse.toml", text);
        let expected =
            format!("error[CONFIG_INVALID]: PLACE/workspace/posse.toml: `{key}` cannot be set by a project");
        complains(
            &place,
            &["run", "Do it"],
            &[
                &expected,
                "  hint: put it into the user's configuration, or pass `--config PLACE/workspace/posse.toml` if you \
                 trust this file",
            ],
        );
    }
}

#[test]
fn a_state_directory_that_cannot_be() {
    let place = Place::new();
    let model = place.script(OK);
    place.write("file", "");
    let below_a_file = place.root().join("file/state");
    let hint = "  hint: check that its directory exists and is writable by this user, or choose another state directory";
    for (state, shown, why) in [
        (below_a_file.to_str().unwrap(), "PLACE/file/state", "Not a directory (os error 20)"),
        ("/proc/posse", "/proc/posse", "No such file or directory (os error 2)"),
    ] {
        let error =
            format!("error[STORE_UNAVAILABLE]: the store `{shown}/posse.db` cannot be opened for writing");
        let because = format!("  because: {why}");
        complains(&place, &["run", "--state", state, "--model", &model, "Do it"], &[&error, &because, hint]);
        complains(&place, &["tasks", "list", "--state", state], &[&error, &because, hint]);
    }
}

#[test]
fn a_store_that_is_damaged_or_from_a_later_program_is_left_alone() {
    let place = Place::new();
    let model = place.script(OK);
    assert_eq!(place.run(["run", "--model", &model, "Do it"]).code, 0);
    let path = place.state().join("posse.db");
    let sound = fs::read(&path).unwrap();

    // The schema's number stands in the header, at byte 60.
    let mut file = File::options().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(60)).unwrap();
    file.write_all(&99u32.to_be_bytes()).unwrap();
    drop(file);
    let newer = fs::read(&path).unwrap();
    let expected = [
        "error[STORE_NEWER]: the store `PLACE/state/posse.db` has schema 99; this program knows up to 15",
        "  hint: use the newer program that wrote it, or another state directory; the file was not changed",
    ];
    complains(&place, &["run", "--model", &model, "Do it"], &expected);
    complains(&place, &["tasks", "list"], &expected);
    assert!(fs::read(&path).unwrap() == newer, "the file was not changed");

    let garbage = vec![b'x'; sound.len()];
    fs::write(&path, &garbage).unwrap();
    for args in [&["run", "--model", &model, "Do it"][..], &["tasks", "list"], &["tasks", "show", "abc"]] {
        let found = complaint(&place, place.run(args.iter().copied()));
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(
            lines[0],
            "error[STORE_CORRUPT]: the store `PLACE/state/posse.db` is damaged or is not a SQLite database"
        );
        let hint = "  hint: nothing was changed; keep a copy, try `sqlite3 PLACE/state/posse.db .recover`, then move the \
                    file and its `-wal` away to start with an empty store";
        assert_eq!(lines[2], hint);
    }
    let doctor = place.run(["doctor"]);
    assert!(doctor.code == 1 && doctor.stdout.contains("is damaged"), "{doctor:?}");
    assert!(fs::read(&path).unwrap() == garbage, "the file was not changed");

    fs::write(&path, sound).unwrap();
    assert_eq!(place.tasks().len(), 1);
}

#[test]
fn a_program_gets_the_error_as_its_last_line() {
    let place = Place::new();
    for (args, code, error) in [
        (
            &["run", "--json", "--model", "nobody:x", "Do it"][..],
            1,
            ("MODEL_UNKNOWN", "no provider is called `nobody`"),
        ),
        (&["tasks", "show", "nothing", "--json"], 1, ("TASK_NOT_FOUND", "no task is called `nothing`")),
        (&["run", "--json", "--nope", "x"], 2, ("INVALID_REQUEST", "there is no argument `--nope`")),
    ] {
        let ran = place.run(args.iter().copied());
        assert_eq!(ran.code, code, "{ran:?}");
        let last = ran.json().pop().unwrap();
        assert_eq!(
            (&last["type"], &last["code"], &last["message"]),
            (&json!("error"), &json!(error.0), &json!(error.1))
        );
        assert!(last["hint"].is_string() && !ran.stderr.is_empty(), "{ran:?}");
    }
    assert_eq!(place.run(["run", "--nope", "x"]).stdout, "");
    assert_eq!(place.run(["--help", "--json"]).code, 0);
}

#[test]
fn what_init_writes_is_said_with_what_reads_it() {
    let place = Place::new();
    let ran = place.run(["init"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines[0].starts_with("posse.toml")
            && lines[0].ends_with("read by every posse command in this project")
    );
    assert!(
        lines[1].starts_with(".posse/agents/reviewer.md") && lines[1].contains("posse run --agent reviewer")
    );
    let again = place.run(["init"]);
    assert!(again.stdout.lines().all(|line| line.contains("exists, left as it is")), "{again:?}");
}

#[test]
fn a_task_that_says_nothing() {
    let place = Place::new();
    let model = place.script(OK);
    for task in ["", "  \n", "-"] {
        complains(
            &place,
            &["run", "--model", &model, task],
            &[
                "error[INVALID_REQUEST]: the task is empty",
                "  hint: say what to do: posse run \"Why is the login test flaky?\"",
            ],
        );
    }
}

#[test]
fn a_task_that_is_not_there() {
    let place = Place::new();
    let expected =
        ["error[TASK_NOT_FOUND]: no task is called `zzzz`", "  hint: `posse tasks list` shows what there is"];
    for args in [&["tasks", "show", "zzzz"][..], &["tasks", "resume", "zzzz"], &["chat", "--resume", "zzzz"]]
    {
        complains(&place, args, &expected);
    }
}

#[test]
fn a_tool_that_is_not_there() {
    let place = Place::new();
    let model = place.script(OK);
    complains(
        &place,
        &["run", "--model", &model, "--allow", "bash,zap", "Do it"],
        &[
            "error[INVALID_TOOL]: there is no tool `zap` to allow or to deny",
            "  hint: there are: read, edit, write, grep, glob, ls, directory_tree, think, skill, bash, fetch, subagent, shared_context, ask_parent, report_progress",
        ],
    );
}

#[test]
fn a_script_with_a_mistake() {
    let place = Place::new();
    let model = place.script("- text: a\n- txt: b\n");
    let hint = "  hint: a script is a list of steps with `text`, `calls`, `fail` and so on, or a map from roles to such lists";
    complains(
        &place,
        &["run", "--model", &model, "Do it"],
        &[
            "error[SCRIPT_INVALID]: PLACE/script.yaml:2:3: unknown field `txt`, expected one of text, thinking, calls, \
             usage, stop, fail, delay_ms, until_file, word_ms, repeat_until, repeat_max",
            hint,
        ],
    );
    complains(
        &place,
        &["run", "--model", "scripted:none.yaml", "Do it"],
        &[
            "error[SCRIPT_INVALID]: cannot read the script `PLACE/workspace/none.yaml`: No such file or directory (os error 2)",
            "  hint: write the model as `scripted:path/to/file.yaml#role`",
        ],
    );
}

#[test]
fn a_command_line_with_a_mistake() {
    let place = Place::new();
    for args in [
        &["run"][..],
        &["run", "--max-turns", "0", "Do it"],
        &["fly"],
        &["run", "--max-cost", "-1", "Do it"],
        &["run", "--max-cost=nan", "Do it"],
        &[],
    ] {
        let ran = place.run(args.iter().copied());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
        assert!(ran.stderr.contains("Usage: posse") || ran.stderr.contains("  hint: "), "{ran:?}");
    }
}

/// A file system of two megabytes, where this user may mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }

    /// Leaves this many bytes.
    fn fill(&self, leave: usize) {
        let mut file = File::create(self.0.join("filler")).unwrap();
        let mut written = 0;
        while file.write_all(&[b'x'; 4096]).is_ok() {
            written += 4096;
        }
        file.set_len(written - leave as u64).unwrap();
    }

    fn make_space(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    let place = Place::new();
    place.write("workspace/effects.txt", "");
    let Some(disk) = SmallDisk::mount(&place.state()) else {
        eprintln!("this user may not mount a file system, so a full disk was not tested");
        return;
    };
    let text: String = (0..1500).map(|n| format!("{n} green bottles\n")).collect();
    place.write("workspace/long.txt", &text);
    let steps: String = (0..20)
        .map(|n| format!("- calls: [{{read: {{path: long.txt, offset: {}}}}}, {{bash: {{command: echo {n} >> effects.txt}}}}]\n", n + 1))
        .collect();
    let model = place.script(&format!("{steps}- text: Done.\n"));
    assert_eq!(place.run(["tasks", "list"]).code, 0, "the store is made while there is space");
    disk.fill(200 * 1024);

    let ran = place.run(["run", "--json", "--allow", "bash", "--model", &model, "Do it"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let said = ran.stderr.replace(place.root().to_str().unwrap(), "PLACE");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0], "error[DISK_FULL]: there is no space left to write to the store `PLACE/state/posse.db`",
        "{said}"
    );
    let hint = "  hint: free some space and try again, a task with `posse tasks resume`; what was acknowledged before is kept and readable";
    assert_eq!(*lines.last().unwrap(), hint);

    // Reading works on a full disk.
    let row = place.tasks().remove(0);
    assert_eq!(row["status"], "interrupted");
    let turns = row["turns"].as_u64().unwrap();
    assert!((1..20).contains(&turns), "{row}");
    let id = row["task_id"].as_str().unwrap();
    let kept = place.journal(id);
    let refused = place.run(["tasks", "resume", id]);
    assert!(refused.code == 1 && refused.stderr.contains("error[DISK_FULL]"), "{refused:?}");

    disk.make_space();
    let ran = place.run(["tasks", "resume", id, "--json"]);
    let envelope = ran.envelope();
    assert_eq!((ran.code, &envelope["status"], &envelope["text"]), (0, &json!("completed"), &json!("Done.")));
    assert_eq!(place.journal(id)[..kept.len()], kept, "what was acknowledged is still there");
    let effects = fs::read_to_string(place.workspace().join("effects.txt")).unwrap();
    let mut seen: Vec<&str> = effects.lines().collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(effects.lines().count(), seen.len(), "nothing was done twice: {effects}");
    let in_doubt = envelope["in_doubt"].as_array().unwrap().len();
    assert!(in_doubt + seen.len() >= 20, "what is not done is in doubt: {envelope} {effects}");
    let doctor = place.run(["doctor"]);
    assert!(doctor.stdout.contains("integrity ok"), "{doctor:?}");
}

#[test]
fn a_disk_that_was_full_from_the_beginning() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place.state()) else {
        eprintln!("this user may not mount a file system, so a full disk was not tested");
        return;
    };
    let model = place.script(OK);
    disk.fill(0);
    let found = complaint(&place, place.run(["run", "--model", &model, "Do it"]));
    assert!(found.contains("error[DISK_FULL]: there is no space left"), "{found}");
    disk.make_space();
    assert_eq!(place.run(["run", "--model", &model, "Do it"]).stdout, "Done.\n");
}

#[test]
fn a_tool_call_that_failed_says_why_in_one_visible_line() {
    let place = Place::new();
    let model = place.script("[{calls: [{read: {path: \"no\\e[31msuch.txt\"}}, {ls: {}}]}, {text: Done.}]");
    let ran = place.run(["run", "--model", &model, "Go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{ran:?}");
    let line = ran.stderr.lines().find(|line| line.contains("read failed after")).unwrap_or_default();
    assert!(line.contains(" ms: ") && line.contains("no\\u{1b}[31msuch.txt"), "{ran:?}");
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains("ls failed"), "{ran:?}");
    let events = place.run(["run", "--json", "--model", &model, "Go"]).json();
    let finished = events.iter().filter(|event| event["type"] == "tool_finished");
    let mut whys: Vec<_> = finished.map(|event| (event["tool"].as_str().unwrap(), &event["why"])).collect();
    whys.sort_unstable_by_key(|(tool, _)| *tool);
    assert_eq!(whys[0], ("ls", &json!(null)));
    assert!(whys[1].1.as_str().unwrap().contains("such.txt"), "{whys:?}");
}

#[tokio::test]
async fn a_key_that_is_refused_is_named_and_not_shown() {
    let place = Place::new();
    let server = Server::handler(|_| {
        Answer::json(401, &json!({"error": {"type": "authentication_error", "message": "invalid key"}}))
    })
    .await;
    let configure = |key: &str| {
        let url = server.url();
        let text = format!("[providers.work]\nwire = \"openai\"\nbase_url = \"{url}\"\n{key}");
        place.write("home/.config/posse/config.toml", &text);
    };
    let run = async |variable: Option<&str>| {
        let mut command = place.posse(["run", "--model", "work:big", "Go"]);
        if let Some(name) = variable {
            command.env(name, "canary-73e1-key");
        }
        Ran::beside(command).await
    };
    configure("api_key_env = \"WORK_KEY\"\n");
    let unset = run(None).await;
    let text = "error[MODEL_NOT_CONFIGURED]: `work` needs a key and WORK_KEY is not set\n";
    assert!(unset.code == 1 && unset.stderr.starts_with(text), "{unset:?}");
    assert_eq!(server.requests().len(), 0, "nothing is sent without the key it needs");
    let refused = run(Some("WORK_KEY")).await;
    let text = "unauthorised (HTTP 401): invalid key (the key is from the variable WORK_KEY)";
    assert!(refused.stderr.contains(text) && !refused.stderr.contains("canary"), "{refused:?}");
    let file = place.write("key.txt", "canary-73e1-key");
    configure(&format!("api_key_file = \"{}\"\n", file.display()));
    let refused = run(None).await;
    let text = format!("invalid key (the key is from the file {})", file.display());
    assert!(refused.stderr.contains(&text), "{refused:?}");
    configure("");
    let refused = run(None).await;
    assert!(refused.stderr.contains("invalid key (no key was sent)"), "{refused:?}");
}

#[test]
fn help_is_a_command_too() {
    let place = Place::new();
    for words in [&[][..], &["tasks"], &["tasks", "list"]] {
        let asked = place.run(["help"].iter().chain(words).copied());
        let flag = place.run(words.iter().chain(&["--help"]).copied());
        assert_eq!((asked.code, &asked.stdout), (0, &flag.stdout), "{asked:?}");
        assert!(!asked.stdout.is_empty());
    }
    let unknown = place.run(["help", "tsks"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("tsks"), "{unknown:?}");
}
