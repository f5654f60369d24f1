//! Servers that want to know who asks: signing in with a browser, here or on another machine, and what is kept of it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use posse_testkit::guarded::{Guarded, REFRESH, TOKEN, browse, page};
use serde_json::{Value, json};

use crate::support::{Place, Ran};

fn place(guarded: &Guarded) -> Place {
    let place = Place::new();
    let config = format!("[grant]\nallow = [\"mcp__far\"]\n[mcp.servers.far]\nurl = \"{}\"\n", guarded.url());
    place.write("home/.config/posse/config.toml", &config);
    place
}

/// Signs in with a browser that agrees to everything. The address that it is sent back to is asked for, or pasted.
async fn login(mut command: Command, is_pasted: bool) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let first = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        lines.read_line(&mut line).map(|_| (line, lines))
    });
    let (line, mut lines) = first.await.unwrap().unwrap();
    let mut input = child.stdin.take().unwrap();
    if let Ok(said) = serde_json::from_str::<Value>(&line) {
        let back = browse(said["url"].as_str().unwrap()).await.unwrap();
        match is_pasted {
            true => writeln!(input, "\n  {back}  ").unwrap(),
            false => assert!(page(&back).await.unwrap().1.contains("close this window")),
        }
    }
    drop(input);
    let ended = tokio::task::spawn_blocking(move || {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut lines, &mut rest).unwrap();
        let mut output = child.wait_with_output().unwrap();
        output.stdout = format!("{line}{rest}").into_bytes();
        Ran::from_output(output)
    });
    ended.await.unwrap()
}

async fn run(place: &Place, args: &[&str]) -> Ran {
    Ran::beside(place.posse(args.iter().copied())).await
}

fn kept(place: &Place) -> Vec<PathBuf> {
    let files = std::fs::read_dir(place.state().join("mcp")).into_iter().flatten().flatten();
    files.map(|file| file.path()).filter(|path| path.to_string_lossy().ends_with(".sign-in.json")).collect()
}

async fn stands(place: &Place) -> Value {
    run(place, &["servers", "--json"]).await.json().remove(0)
}

// S08 S26 S32 Seen to fail without `hide` and without what servers are told in the redactor.
#[tokio::test]
async fn somebody_signs_in_uses_the_server_and_signs_out_and_nothing_of_it_is_seen() {
    let guarded = Guarded::start().await;
    let place = place(&guarded);
    let model = place.script("- calls: [mcp__far__whoami: {}]\n- text: Done.\n");
    let log = place.root().join("log.jsonl").display().to_string();
    let go = ["--log", &log, "--debug-payloads", "run", "--mode", "auto", "--model", &model, "--json", "Go"];
    let ran = run(&place, &go).await;
    assert!(ran.stderr.contains("posse servers login far"), "{ran:?}");
    assert_eq!(stands(&place).await["sign_in"], "needed");

    let ran = login(place.posse(["servers", "login", "far", "--json"]), false).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json()[1]["sign_in"], "signed_in", "{ran:?}");
    let files = kept(&place);
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(std::fs::metadata(&files[0]).unwrap().mode() & 0o777, 0o600);
    let stands_now = stands(&place).await;
    assert!(stands_now["sign_in"] == "signed_in" && stands_now["expires_at"].is_string(), "{stands_now}");
    assert!(run(&place, &["servers"]).await.stdout.contains("signed in"));

    let ran = run(&place, &go).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let result = run(&place, &["tasks", "show", &id, "--result", "1.0"]).await.stdout;
    assert!(result.contains("you are [redacted"), "{result}");
    let used = guarded.requests().iter().filter(|request| request.header("authorization").is_some()).count();
    assert!(used > 0 && place.root().join("log.jsonl").exists());
    for secret in [TOKEN, REFRESH] {
        assert_eq!(place.files_with(secret), files, "in no journal, store or log");
        assert!(!format!("{ran:?}").contains(secret));
    }
    let from_a_task = |args: [&'static str; 3]| {
        let mut command = place.posse(args);
        command.env("POSSE_TASK", "t");
        Ran::beside(command)
    };
    assert_eq!(from_a_task(["servers", "logout", "far"]).await.code, 1, "an agent signs nobody out");
    assert_eq!(from_a_task(["servers", "login", "far"]).await.code, 1, "nor in");

    assert_eq!(run(&place, &["servers", "logout", "far"]).await.code, 0);
    assert_eq!((kept(&place).len(), &stands(&place).await["sign_in"]), (0, &Value::Null));
}

#[tokio::test]
async fn where_there_is_no_browser_the_address_is_pasted() {
    let guarded = Guarded::start().await;
    let place = place(&guarded);
    let ran = login(place.posse(["servers", "login", "far", "--paste", "--json"]), true).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(stands(&place).await["sign_in"], "signed_in");
    let nothing = run(&place, &["servers", "login", "far", "--paste"]).await;
    assert!(nothing.code == 1 && nothing.stderr.contains("no address came"), "{nothing:?}");
    assert_eq!(stands(&place).await["sign_in"], "signed_in", "what was there stays");
    let wrong = "[mcp.servers.here]\ncommand = \"true\"\n";
    place.write("home/.config/posse/config.toml", wrong);
    let ran = run(&place, &["servers", "login", "here"]).await;
    assert!(ran.code == 1 && ran.stderr.contains("nobody signs in to `here`"), "{ran:?}");
}

// S10 S13 G21 Seen to fail without the origin in `ServerConfig::key`.
#[tokio::test]
async fn a_project_s_server_at_the_same_address_is_not_told_what_the_operator_s_is() {
    let guarded = Guarded::start().await;
    let place = place(&guarded);
    assert_eq!(login(place.posse(["servers", "login", "far", "--json"]), false).await.code, 0);
    place.write("home/.config/posse/config.toml", "");
    let file = json!({"mcpServers": {"far": {"type": "http", "url": guarded.url()}}});
    place.write("workspace/.mcp.json", &file.to_string());
    assert_eq!(run(&place, &["trust"]).await.code, 0);
    let before = guarded.requests().len();
    let ran = run(&place, &["servers", "show", "far", "--start"]).await;
    assert!(ran.code == 1 && ran.stderr.contains("MCP_SIGN_IN_REQUIRED"), "{ran:?}");
    let after = &guarded.requests()[before..];
    assert!(!after.is_empty() && after.iter().all(|request| request.header("authorization").is_none()));
}
