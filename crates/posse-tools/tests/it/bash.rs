//! What a model sees of a shell command.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::edits::{ChangeKind, FileChange};
use posse_runtime::ports::{ToolOutput, Verifier};
use posse_sandbox::launch::CommandEnvironment;
use posse_sandbox::supervisor::WorkDirectory;
use posse_tools::verify::CommandVerifier;
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_command_runs_in_the_workspace_and_both_streams_are_one() {
    let world = World::new("both");
    let output = world.bash("echo one; echo two >&2; echo three; basename $PWD >name; cat; cat name").await;
    let name = world.path().file_name().unwrap().to_str().unwrap();
    let changed = vec![FileChange { kind: ChangeKind::Created, ..FileChange::named("name") }];
    assert_eq!(output, ToolOutput { changed, ..ToolOutput::text(format!("one\ntwo\nthree\n{name}")) });
}

#[tokio::test]
async fn a_workspace_can_be_an_open_directory_that_was_renamed() {
    let mut world = World::new("renamed");
    let (old, new) = (world.path().join("old"), world.path().join("new"));
    std::fs::create_dir(&old).unwrap();
    world.launch.directory = WorkDirectory::Open(Arc::new(OwnedFd::from(std::fs::File::open(&old).unwrap())));
    std::fs::rename(&old, &new).unwrap();
    std::fs::create_dir(&old).unwrap();
    assert!(!world.bash("touch here").await.is_error);
    assert!(new.join("here").exists() && !old.join("here").exists());
}

#[tokio::test]
async fn how_a_command_ended_is_said() {
    let world = World::new("endings");
    for (command, text, is_error) in [
        ("true", "(no output)", false),
        ("echo bad >&2; exit 3", "exit code 3\nbad", true),
        ("kill -SEGV $$", "ended by signal 11\n(no output)", true),
        (
            "no_such_program_here",
            "exit code 127\nbash: line 1: no_such_program_here: command not found",
            true,
        ),
        (
            "printf 'a\\033[1mb\\000c\\377'",
            "a\\u{1b}[1mb\\u{0}c\\xff\n[1 bytes shown are not UTF-8; they stand as \\xNN]",
            false,
        ),
    ] {
        assert_eq!(world.bash(command).await, ToolOutput { is_error, ..ToolOutput::text(text) }, "{command}");
    }
}

#[tokio::test]
async fn arguments_that_cannot_work_are_refused_with_a_reason() {
    let mut world = World::new("refused");
    for (arguments, text) in [
        (json!({"command": " "}), "`command` is empty"),
        (json!({"command": "a\0b"}), "`command` contains a NUL character, which no program can be given"),
        (
            json!({"command": 7}),
            "the arguments are not valid: invalid type: integer `7`, expected a string at line 1 column 12",
        ),
        (
            json!({"command": "x".repeat(100_001)}),
            "`command` has 100001 bytes, at most 100000 are possible; write a script file and run that",
        ),
    ] {
        assert_eq!(world.bash_with(arguments).await, ToolOutput::error(text));
    }
    world.context.time_left = Duration::ZERO;
    assert_eq!(
        world.bash("touch x").await,
        ToolOutput::error("no time is left: the command was not started")
    );
    world.context.time_left = Duration::from_secs(9);
    world.context.cancel.cancel();
    assert_eq!(world.bash("touch x").await, ToolOutput::error("cancelled before the command was started"));
    assert!(!world.path().join("x").exists());
    world.context = crate::world::context("refused");
    world.launch.directory = WorkDirectory::Path("/no/such/directory".into());
    let output = world.bash("true").await;
    assert!(output.is_error && output.text.contains("No such file or directory"), "{}", output.text);
}

#[tokio::test]
async fn without_bash_there_is_sh() {
    let mut world = World::new("sh");
    let sh = std::fs::canonicalize("/bin/sh").unwrap();
    std::os::unix::fs::symlink(sh, world.path().join("sh")).unwrap();
    let path = world.path().as_os_str().to_owned();
    world.launch.environment = CommandEnvironment::new([("PATH".into(), path)], vec![], vec![]);
    assert_eq!(world.bash("echo $0").await, ToolOutput::text("sh"));
}

#[tokio::test]
async fn the_largest_command_still_fits() {
    let world = World::new("largest");
    let command = format!(": {}", "x".repeat(99_998));
    assert_eq!(world.bash(&command).await, ToolOutput::text("(no output)"));
}

#[tokio::test]
async fn long_output_keeps_both_ends_inside_the_limit_and_counts_exactly() {
    let mut world = World::new("long");
    world.context.output_bytes_max = 2_000;
    let output = world.bash("seq 1 100000").await;
    assert!(output.text.len() <= 2_000, "{}", output.text.len());
    assert!(
        output.text.starts_with("1\n2\n3\n") && output.text.ends_with("\n99999\n100000"),
        "{}",
        output.text
    );
    // More than is kept, and less: each byte is shown or counted as left out.
    for total in [1_000_000, 20_000] {
        let output = world.bash(&format!("head -c {total} /dev/zero | tr '\\0' @")).await.text;
        let notice = output.lines().find(|line| line.starts_with('[')).unwrap();
        let shown = output.matches('@').count();
        assert_eq!(notice, format!("[{} of {total} bytes left out]", total - shown));
        assert!(output.len() <= 2_000 && shown > 1_000, "{}", output.len());
    }
}

#[tokio::test]
async fn secrets_and_descriptors_of_the_runtime_do_not_reach_a_command() {
    let mut world = World::new("canary");
    let canary = ("POSSE_CANARY_API_KEY", "canary-7f3a");
    let environment = std::env::vars_os().chain([(canary.0.into(), canary.1.into())]);
    let environment: Vec<(OsString, OsString)> =
        environment.chain([("LC_X".into(), "passes".into())]).collect();
    world.launch.environment = CommandEnvironment::new(environment, vec![], vec![]);
    // The test's own environment is inherited by a careless `Command`: cargo sets this one.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let file = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let output =
        world.bash("env; tr '\\0' '\\n' </proc/$PPID/environ; echo FDS; ls /proc/self/fd").await.text;
    assert!(!output.contains("canary-7f3a") && !output.contains("CARGO_MANIFEST_DIR"), "{output}");
    assert!(output.contains("LC_X=passes") && output.contains("POSSE_TASK=canary-"), "{output}");
    // 3 is the directory that `ls` itself has open.
    assert!(output.ends_with("FDS\n0\n1\n2\n3"), "{output}");
}

#[tokio::test]
async fn a_timeout_is_never_longer_than_what_is_left_of_the_run() {
    let mut world = World::new("left");
    world.context.time_left = Duration::from_secs(3);
    let begun = Instant::now();
    let output =
        world.bash_with(json!({"command": "echo before; exec sleep 300", "timeout_ms": 600_000})).await;
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let text = "timed out: the command and all it started were stopped after 3000 ms; output so far:\nbefore";
    assert_eq!(output, ToolOutput::cut_off(text));
}

#[tokio::test]
async fn a_command_asked_to_end_may_clean_up() {
    let world = World::new("cleanup");
    let command = "trap 'echo cleaned; exit 0' TERM; sleep 300 & wait";
    let output = world.bash_with(json!({"command": command, "timeout_ms": 5000})).await;
    assert!(output.is_error && output.text.ends_with("\ncleaned"), "{}", output.text);
}

#[tokio::test]
async fn output_of_a_background_child_that_ends_soon_is_waited_for() {
    let world = World::new("late");
    // It is waited for as long as it is not silent for 200 ms, which on a busy machine it may be.
    let mut outputs = Vec::new();
    while outputs.last() != Some(&ToolOutput::text("now\nlate")) {
        assert!(outputs.len() < 20, "{outputs:?}");
        outputs.push(world.bash("(sleep 0.03; echo late) & echo now").await);
    }
}

// S07 Seen to fail without the `--` in `shell_args`: the shell takes the command for options of its own.
#[tokio::test]
async fn a_command_that_begins_with_a_dash_is_a_command() {
    let world = World::new("dash");
    let output = world.bash("--rcfile=x || echo ran").await;
    assert!(output.text.contains("--rcfile=x: ") && output.text.ends_with("ran"), "{}", output.text);
    let check = CommandVerifier::new(world.launch.clone()).run("-l || true", &world.context).await;
    assert!(check.passed(), "{}", check.ending());
}
