//! What a command says about a result.

use std::path::PathBuf;
use std::time::Duration;

use posse_core::verify::{VerifyEnding, VerifyEvidence};
use posse_runtime::ports::Verifier;
use posse_sandbox::supervisor::Supervisor;
use posse_tools::verify::CommandVerifier;

use crate::world::World;

async fn run(world: &World, command: &str) -> VerifyEvidence {
    CommandVerifier::new(world.launch.clone()).run(command, &world.context).await
}

#[tokio::test]
async fn a_command_runs_in_the_workspace_and_its_ending_is_told() {
    let world = World::new("verify-endings");
    std::fs::write(world.path().join("here"), "").unwrap();
    for (command, ending, output) in [
        ("ls", VerifyEnding::Exited(0), "here"),
        ("echo one; echo two >&2; exit 3", VerifyEnding::Exited(3), "one\ntwo"),
        ("true", VerifyEnding::Exited(0), ""),
        ("kill -SEGV $$", VerifyEnding::Stopped("ended by signal 11".to_owned()), ""),
        (
            "sleep 1000 & echo started",
            VerifyEnding::Exited(0),
            "started\n[1 background process was stopped when the command ended]",
        ),
    ] {
        let found = run(&world, command).await;
        assert_eq!(
            (found.command.as_str(), &found.ending, found.output.as_str()),
            (command, &ending, output)
        );
    }
    world.assert_nothing_is_left();
}

#[tokio::test]
async fn long_output_keeps_its_beginning_and_its_end() {
    let mut world = World::new("verify-long");
    world.context.output_bytes_max = 1_000;
    let found = run(&world, "echo first; seq 100000; echo last; exit 1").await;
    assert!(
        found.output.len() <= 1_000
            && found.output.starts_with("first\n")
            && found.output.ends_with("\nlast")
    );
    assert!(found.output.contains("bytes left out]"), "{}", found.output);
}

#[tokio::test]
async fn a_command_has_no_more_time_than_the_run_and_can_be_stopped() {
    let mut world = World::new("verify-time");
    world.context.time_left = Duration::from_secs(3);
    let found = run(&world, "echo begun; sleep 1000").await;
    assert!(matches!(&found.ending, VerifyEnding::Stopped(why) if why.starts_with("timed out")), "{found:?}");
    assert_eq!((found.output.as_str(), found.exit_code()), ("begun", None));
    world.context.time_left = Duration::from_secs(600);
    world.context.cancel.cancel();
    let found = run(&world, "sleep 1000").await;
    assert!(matches!(&found.ending, VerifyEnding::Stopped(why) if why.starts_with("cancelled")), "{found:?}");
    world.assert_nothing_is_left();
}

#[tokio::test]
async fn what_cannot_be_started_is_not_called_a_failure_of_the_work() {
    let mut world = World::new("verify-lost");
    world.launch.supervisor = Supervisor { program: PathBuf::from("/no/such/helper"), args: Vec::new() };
    assert!(matches!(run(&world, "true").await.ending, VerifyEnding::NotRun(_)));
}
