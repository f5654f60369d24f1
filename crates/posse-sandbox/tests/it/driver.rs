//! A runtime that is killed with `kill -9`. The test starts itself again as that runtime.

use std::process::{Command, Stdio};

use crate::world::{PATIENCE, World, alive, context, holds_within, until};

const ROLE: &str = "POSSE_TEST_DRIVER";

#[tokio::test]
async fn nothing_is_left_after_the_runtime_was_killed() {
    let task = format!("killed-{}", std::process::id());
    if let Some(task) = std::env::var_os(ROLE) {
        return drive(task.to_str().unwrap()).await;
    }
    let mut driver = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "driver::nothing_is_left_after_the_runtime_was_killed"])
        .env(ROLE, &task)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The shell and its three sleepers; the helper can only be seen by the superuser.
    until(|| alive(&task).len() >= 4).await;
    driver.kill().unwrap();
    driver.wait().unwrap();
    assert!(holds_within(PATIENCE, || alive(&task).is_empty()).await, "{:?}", alive(&task));
}

async fn drive(task: &str) {
    let mut world = World::new(task);
    world.context = context(task);
    let output = world.bash("setsid sleep 300 & (trap '' TERM HUP; exec sleep 301) & sleep 302; true").await;
    unreachable!("the command outlived its runtime: {output:?}");
}
