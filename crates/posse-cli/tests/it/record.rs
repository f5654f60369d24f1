//! A recording of a run gives the same run again when the provider is gone.

use std::os::unix::fs::PermissionsExt;

use posse_testkit::server::Server;
use posse_testkit::wire::{self, Say};
use serde_json::{Value, json};

use crate::support::{Place, Ran};

const KEY: &str = "canary-51d0aa-key";
const MODEL: &str = "anthropic:claude-sonnet-4-5";

fn run(place: &Place, url: &str, args: &[&str]) -> std::process::Command {
    let mut command = place.posse(["run", "--json", "--model", MODEL]);
    command.args(args).env("ANTHROPIC_BASE_URL", url);
    command
}

/// What a second run must have in common with the first.
fn essence(ran: &Ran) -> Value {
    let mut envelope = ran.envelope();
    for changing in ["task_id", "duration_ms"] {
        envelope[changing] = Value::Null;
    }
    envelope
}

#[tokio::test]
async fn a_recorded_run_is_played_again_without_the_provider() {
    let place = Place::new();
    place.write("workspace/a.txt", "alpha one\n");
    let tape = place.root().join("tape.jsonl");
    let tape = tape.to_str().unwrap();
    let server = Server::handler(|request| match wire::turn(request) {
        0 => Say::call("call_a", "read", json!({"path": "a.txt"}))
            .and_call("call_b", "ls", json!({"path": "."}))
            .answer(request),
        _ => Say::text(&format!("It says: {}", wire::results(request)[0])).answer(request),
    })
    .await;
    let url = server.url().to_owned();
    let mut command = run(&place, &url, &["--record", tape, "What does a.txt say?"]);
    command.env("ANTHROPIC_API_KEY", KEY);
    let first = Ran::beside(command).await;
    assert_eq!(first.code, 0, "{first:?}");
    assert!(first.envelope()["text"].as_str().unwrap().contains("alpha one"), "{first:?}");
    assert_eq!(server.requests().len(), 2);
    drop(server);

    assert_eq!(std::fs::metadata(tape).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.files_with(KEY), Vec::<std::path::PathBuf>::new());
    // No key is needed to play it.
    let second = Ran::beside(run(&place, &url, &["--replay", tape, "What does a.txt say?"])).await;
    assert_eq!(second.code, 0, "{second:?}");
    assert_eq!(essence(&second), essence(&first));

    // The recording answers what was asked, and nothing else.
    let other = Ran::beside(run(&place, &url, &["--replay", tape, "What does b.txt say?"])).await;
    assert_eq!(other.code, 1, "{other:?}");
    let detail = other.envelope()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("has no answer to this request"), "{detail}");
}
