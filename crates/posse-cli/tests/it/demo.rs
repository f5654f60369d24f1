//! `posse demo`: the whole cycle of a delegation, for someone who has nothing set up.

use std::process::Command;

use serde_json::Value;

use crate::support::{Place, Ran};

const SHARED: &str = "shared context: decisions_made v1 (orchestrator) · findings_summary v1 (subagent:researcher:t_01) · \
    incident_report v1 (subagent:writer:t_03) · problem_summary v1 (orchestrator) · \
    remediation_status v2 (subagent:remediator:t_02) · scope v1 (orchestrator)";

/// `posse` with no environment at all.
fn bare(place: &Place, args: &[&str]) -> Command {
    let mut command = place.posse(args.iter().copied());
    command.env_clear();
    command
}

fn check_plain(ran: &Ran) {
    assert_eq!(ran.code, 0, "{ran:?}");
    for line in [
        "t_01 researcher completed · 7 turns",
        "t_02 remediator completed · 8 turns",
        "t_03 writer     completed · 3 turns",
        SHARED,
    ] {
        assert_eq!(ran.stderr.lines().filter(|have| *have == line).count(), 1, "{line}: {}", ran.stderr);
    }
    assert!(ran.stderr.contains("$0.0000 with its subagents") && !ran.stderr.contains("$?"), "{ran:?}");
    assert!(ran.stdout.starts_with("Root cause: on Feb 18 a config change"), "{ran:?}");
    assert!(ran.stdout.trim_end().ends_with("The incident report is in `incident_report`."), "{ran:?}");
}

#[test]
fn with_nothing_but_a_home() {
    let place = Place::new();
    let mut command = bare(&place, &["demo"]);
    command.env("HOME", place.home());
    check_plain(&Ran::of(command));
    assert!(place.home().join(".local/state/posse/demo/posse.db").is_file());
}

#[test]
fn without_a_home_but_with_a_state_directory() {
    let place = Place::new();
    let state = place.state();
    check_plain(&Ran::of(bare(&place, &["demo", "--state", state.to_str().unwrap()])));
    assert!(state.join("demo/posse.db").is_file());
    let ran = Ran::of(bare(&place, &["demo"]));
    let expected = "error[STORE_UNAVAILABLE]: there is no place to keep tasks: HOME is not set\n  \
                    hint: set HOME, or name a directory with --state\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (1, expected));
}

#[test]
fn as_json() {
    let place = Place::new();
    let ran = place.run(["demo", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let events = ran.json();
    let root = events[0]["task_id"].as_str().unwrap();
    let finished: Vec<(&str, &str, &Value)> = events
        .iter()
        .filter(|event| event["type"] == "finished")
        .map(|event| (event["task_id"].as_str().unwrap(), event["status"].as_str().unwrap(), &event["turns"]))
        .collect();
    let agent = |child: &str| {
        let started = |event: &&Value| event["type"] == "started" && event["task_id"] == child;
        events.iter().find(started).map(|event| event["agent"].clone()).unwrap()
    };
    for (number, who, turns) in [("t_01", "researcher", 7), ("t_02", "remediator", 8), ("t_03", "writer", 3)]
    {
        let child = format!("{root}.{number}");
        let ended: Vec<_> = finished.iter().filter(|(task, ..)| *task == child).collect();
        assert_eq!(ended, [&(child.as_str(), "completed", &Value::from(turns))]);
        assert_eq!(agent(&child), who);
    }
    let envelope = ran.envelope();
    assert_eq!((&envelope["task_id"], &envelope["status"]), (&root.into(), &"completed".into()));
    assert_eq!((finished.len(), finished[3].0), (4, root));
}

/// Any connection would fail in a name space without a network, and any socket but a local one is seen by the tracer.
#[test]
fn no_network_is_touched() {
    let place = Place::new();
    let tracer = ["-f", "-qq", "-e", "trace=socket,connect,sendto,bind", "-o"];
    let trace = place.root().join("trace");
    let mut command = Command::new("strace");
    let posse = bare(&place, &["demo", "--json"]);
    command.args(tracer).arg(&trace).arg(posse.get_program()).args(posse.get_args());
    command.current_dir(place.workspace()).env_clear().env("HOME", place.home());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    match command.output() {
        Ok(output) if output.status.success() => {
            let trace = std::fs::read_to_string(&trace).unwrap();
            let foreign: Vec<&str> =
                trace.lines().filter(|line| line.contains("AF_") && !line.contains("AF_UNIX")).collect();
            assert_eq!(foreign, Vec::<&str>::new());
            // Where a machine looks names up it would be through a local socket.
            assert!(!trace.contains("connect("), "{trace}");
        }
        traced => {
            eprintln!("cannot trace here ({traced:?}); trying a name space without a network");
            let mut command = Command::new("unshare");
            command.args(["-r", "-n"]).arg(posse.get_program()).args(posse.get_args());
            command.current_dir(place.workspace()).env_clear().env("HOME", place.home());
            command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
            let ran = Ran::of(command);
            assert_eq!(ran.code, 0, "{ran:?}");
        }
    }
}
