//! Write leases between processes: a holder that is stopped or killed, and what a person sees of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::{Place, Ran, Running, processes_of, until};

/// Two agents that write below `src`. A holder may be silent for a second.
fn place() -> Place {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", "[session]\nlease_s = 1\n");
    for name in ["holder", "taker"] {
        let agent = format!("---\nname: {name}\ndescription: x\nwrite_paths: src/**\n---\nYou write.");
        place.write(&format!("home/.config/posse/agents/{name}.md"), &agent);
    }
    place.write("workspace/src/a.txt", "old\n");
    place
}

fn script(place: &Place, name: &str, steps: &str) -> String {
    format!("scripted:{}", place.write(&format!("{name}.yaml"), steps).display())
}

fn start(place: &Place, agent: &str, model: &str) -> Running {
    Running::start(place.posse(["run", "--json", "--agent", agent, "--model", model, "Write"]))
}

/// A holder that has read a file and thinks about what to write.
fn thinking_holder(place: &Place) -> Running {
    let steps = "[{calls: [{read: {path: src/a.txt}}]}, \
                  {delay_ms: 4000, calls: [{write: {path: src/a.txt, content: stale}}, {write: {path: src/new.txt, content: stale}}]}, \
                  {text: Done.}]";
    let model = script(place, "holder", steps);
    let mut holder = start(place, "holder", &model);
    holder.until(|line| line["type"] == "turn" && line["turn"] == 2);
    holder
}

/// Stops a process, but not while it is writing to the store: then nobody else could.
fn stop(running: &Running) {
    let me = running.id().to_string();
    let is_stopped = || {
        let stat = fs::read_to_string(format!("/proc/{me}/stat")).unwrap();
        stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T"))
    };
    let is_writing = || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks
            .lines()
            .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>())
            // SQLite takes POSIX locks; a FLOCK is of something else and may be held all the time.
            .any(|line| {
                line.contains(&"POSIX") && line.windows(2).any(|words| words[0] == "WRITE" && words[1] == me)
            })
    };
    loop {
        running.signal(libc::SIGSTOP);
        until("it is stopped", || is_stopped().then_some(()));
        if !is_writing() {
            return;
        }
        running.signal(libc::SIGCONT);
        // On a busy machine it gets no time to write if it is stopped again at once.
        until("it has written", || (!is_writing()).then_some(()));
    }
}

fn leases(place: &Place) -> Vec<Value> {
    let ran = place.run(["leases", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

fn take(place: &Place, steps: &str) -> Ran {
    let model = script(place, "taker", steps);
    place.run(["run", "--json", "--agent", "taker", "--model", &model, "Write"])
}

const WRITE: &str = "[{calls: [{write: {path: src/b.txt, content: new}}]}, {text: Done.}]";

#[test]
fn a_holder_that_was_stopped_for_too_long_writes_nothing_when_it_wakes() {
    // G9 T19. Seen to fail without what `Fence::raise` asks for; without `Job::permit` as well, the stale holder writes
    // `src/new.txt`, and only the comparison with what was read keeps `src/a.txt`.
    let place = place();
    let holder = thinking_holder(&place);
    let held = leases(&place);
    assert_eq!((held.len(), &held[0]["state"], &held[0]["paths"][0]), (1, &"held".into(), &"src/**".into()));
    assert_eq!(held[0]["process"], holder.id().to_string());
    let refused = take(&place, WRITE);
    assert_eq!(refused.code, 1, "{refused:?}");
    let message = "Cannot acquire file locks. Conflicts: src/**";
    assert!(refused.stdout.contains("LEASE_CONFLICT") && refused.stdout.contains(message), "{refused:?}");

    stop(&holder);
    until("the lease expires", || (leases(&place)[0]["state"] == "expired").then_some(()));
    // It holds the lease until the end of the test.
    let steps = "[{calls: [{read: {path: src/a.txt}}]}, {calls: [{write: {path: src/a.txt, content: new}}]}, \
                  {delay_ms: 600000, text: Done.}]";
    let model = script(&place, "taker", steps);
    let mut taker = start(&place, "taker", &model);
    taker.until(|line| line["type"] == "turn" && line["turn"] == 3);
    assert_eq!(leases(&place)[0]["process"], taker.id().to_string());

    holder.signal(libc::SIGCONT);
    let ran = holder.end();
    assert_eq!(fs::read_to_string(place.workspace().join("src/a.txt")).unwrap(), "new");
    assert!(!place.workspace().join("src/new.txt").exists(), "{ran:?}");
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let journal = place.journal(&id);
    let refused = |record: &&Value| {
        record["result"]["text"].as_str().is_some_and(|text| text.contains("lost its write paths"))
    };
    assert_eq!(journal.iter().filter(refused).count(), 2, "{journal:#?}");
    assert_eq!(leases(&place).len(), 1, "the taker has what it took");
    taker.kill();
}

#[test]
fn a_task_that_holds_nothing_writes_nothing_where_another_holds_a_lease() {
    // Seen to fail without `Job::permit`: the task has no lease that `Fence::raise` could find lost.
    let place = place();
    let thinks = script(&place, "holder", "[{delay_ms: 600000, text: Done.}]");
    let mut holder = start(&place, "holder", &thinks);
    holder.until(|line| line["type"] == "turn");
    let steps = "[{calls: [{read: {path: src/a.txt}}]}, \
                  {calls: [{write: {path: src/b.txt, content: new}}, {write: {path: other/b.txt, content: new}}, \
                  {edit: {path: src/a.txt, old_string: old, new_string: new}}]}, {text: Done.}]";
    let ran = place.run(["run", "--json", "--model", &script(&place, "free", steps), "Write"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fs::read_to_string(place.workspace().join("src/a.txt")).unwrap(), "old\n");
    assert!(!place.workspace().join("src/b.txt").exists(), "{ran:?}");
    assert!(place.workspace().join("other/b.txt").exists(), "what nobody holds can be written: {ran:?}");
    holder.kill();
}

#[test]
fn the_lease_of_a_killed_process_stands_in_nobodys_way() {
    // T17
    let place = place();
    let holder = thinking_holder(&place);
    let id = leases(&place)[0]["task_id"].as_str().unwrap().to_owned();
    holder.kill();
    assert_eq!(leases(&place)[0]["state"], "dead");
    let ran = take(&place, WRITE);
    assert_eq!((ran.code, leases(&place).len()), (0, 0), "{ran:?}");
    assert_eq!(fs::read_to_string(place.workspace().join("src/b.txt")).unwrap(), "new");
    // The interrupted task gets its lease again when it goes on, and reads what changed.
    let resumed = place.run(["tasks", "resume", &id, "--json"]);
    assert_eq!((resumed.code, leases(&place).len()), (0, 0), "{resumed:?}");
    assert_eq!(fs::read_to_string(place.workspace().join("src/new.txt")).unwrap(), "stale");
}

#[test]
fn a_person_sees_leases_and_can_take_them_away() {
    let place = place();
    let none = place.run(["leases"]);
    assert!(none.code == 0 && none.stderr.contains("nobody holds a write lease"), "{none:?}");
    let holder = thinking_holder(&place);
    let id = leases(&place)[0]["task_id"].as_str().unwrap().to_owned();
    let shown = place.run(["leases"]);
    assert!(shown.stdout.contains(&id) && shown.stdout.contains("src/**"), "{shown:?}");
    stop(&holder);
    // As long as it counts as alive, only force helps.
    place.write("home/.config/posse/config.toml", "[session]\nlease_s = 3600\n");
    let refused = place.run(["leases", "release", &id]);
    assert!(refused.code == 1 && refused.stderr.contains("LEASE_HELD"), "{refused:?}");
    let forced = place.run(["leases", "release", &id, "--force"]);
    assert!(forced.code == 0 && forced.stderr.contains("WARNING"), "{forced:?}");
    assert_eq!(leases(&place).len(), 0);
    let again = place.run(["leases", "release", &id]);
    assert!(again.stderr.contains("holds no write lease"), "{again:?}");
    holder.signal(libc::SIGCONT);
    assert_eq!(holder.end().code, 0, "what is free it gets again");
    let dead = thinking_holder(&place);
    dead.kill();
    let id = leases(&place)[0]["task_id"].as_str().unwrap().to_owned();
    assert_eq!(place.run(["leases", "release", &id]).code, 0);
    assert_eq!(leases(&place).len(), 0);
}

/// The same with commands, in a sandbox of this tier, where a holder may be silent for some seconds.
/// The lease is long enough for heartbeats that a busy machine delays by seconds.
fn place_with_commands(sandbox: &str) -> Place {
    let place = place();
    let config = format!("[session]\nlease_s = 30\n[grant]\nallow = [\"bash\"]\n[sandbox]\n{sandbox}");
    place.write("home/.config/posse/config.toml", &config);
    place.write("workspace/other/x", "");
    place
}

fn free(place: &Place, command: &str) -> Running {
    let steps = format!("[{{calls: [{{bash: {{command: \"{command}\"}}}}]}}, {{text: Done.}}]");
    let model = script(place, "free", &steps);
    Running::start(place.posse(["run", "--json", "--model", &model, "Write"]))
}

/// What a command says when it has begun, and waits for.
const BEGUN: &str = "touch other/begun; until [ -e other/go ]; do sleep 0.02; done";

fn has(place: &Place, path: &str) -> bool {
    place.workspace().join(path).exists()
}

#[test]
fn a_command_writes_nothing_where_another_holds_a_lease() {
    // G9 Seen to fail without `holds_leased`, for what is not there yet.
    for sandbox in ["tier = \"t1\"\n", "top = \"open\"\n", "", "write = [\"src\", \"deep\"]\n"] {
        let place = place_with_commands(sandbox);
        let wide =
            "---\nname: wide\ndescription: x\nwrite_paths: src/**, gen/**, deep/er/*.txt\n---\nYou write.";
        place.write("home/.config/posse/agents/wide.md", wide);
        place.write("workspace/deep/er/a.txt", "old\n");
        place.write("workspace/deep/b.txt", "old\n");
        let thinks = script(&place, "holder", "[{delay_ms: 600000, text: Done.}]");
        let mut holder = start(&place, "wide", &thinks);
        holder.until(|line| line["type"] == "turn");
        let tries = [
            "src/a.txt",
            "src/b.txt",
            "gen/a.txt",
            "deep/er/a.txt",
            "deep/er/b.txt",
            "deep/b.txt",
            "other/b.txt",
        ];
        let command: String = tries
            .iter()
            .map(|path| format!("(mkdir -p $(dirname {path}); echo new >> {path}) 2>/dev/null; "))
            .collect();
        let ran = free(&place, &format!("{command} mv src other/moved; true")).end();
        assert_eq!(ran.code, 0, "{ran:?}");
        let is_new = |path: &&&str| {
            fs::read_to_string(place.workspace().join(path)).is_ok_and(|text| text.contains("new"))
        };
        let written: Vec<&&str> = tries.iter().filter(is_new).collect();
        assert_eq!(written, [&"deep/b.txt", &"other/b.txt"], "{sandbox}");
        assert!(has(&place, "src/a.txt"), "{sandbox}: what is leased was moved away");
        holder.kill();
    }
}

#[test]
fn whoever_gets_a_lease_waits_for_commands_that_may_write_there() {
    // G9 Seen to fail without `still_writing` in `leases::wait`.
    let place = place_with_commands("");
    let command = free(&place, &format!("{BEGUN}; echo late >> src/a.txt"));
    until("the command has begun", || has(&place, "other/begun").then_some(()));
    let steps = "[{calls: [{read: {path: src/a.txt}}]}, {text: Done.}]";
    let mut holder = start(&place, "holder", &script(&place, "holder", steps));
    let wait = holder.until(|line| line["type"] == "waiting" || line["type"] == "turn");
    assert!(wait["why"] == "lease" && wait["paths"] == serde_json::json!(["src/**"]), "{wait}");
    assert_eq!(leases(&place)[0]["process"], holder.id().to_string(), "nobody else gets it meanwhile");
    place.write("workspace/other/go", "");
    assert_eq!(command.end().code, 0);
    let ran = holder.end();
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let read = place.run(["tasks", "show", &id, "--result", "1.0"]).stdout;
    assert!(read.contains("late"), "nothing changed after it was read: {read}");
}

#[test]
fn a_command_of_a_killed_process_is_waited_for_by_nobody() {
    let place = place_with_commands("");
    let command = free(&place, BEGUN);
    until("the command has begun", || has(&place, "other/begun").then_some(()));
    command.kill();
    assert_eq!(take(&place, WRITE).code, 0);
}

#[test]
fn a_command_ends_before_the_lease_of_its_stopped_runtime_does() {
    // G9 Seen to fail without `patience_ms` in the plan of the helper.
    let place = place_with_commands("");
    let steps = "[{calls: [{bash: {command: \"touch src/begun; until [ -e src/go ]; do sleep 0.02; done; echo stale > src/late.txt\"}}]}, {text: Done.}]";
    let mut holder = start(&place, "holder", &script(&place, "holder", steps));
    holder.until(|line| line["type"] == "turn");
    until("the command has begun", || has(&place, "src/begun").then_some(()));
    let id = leases(&place)[0]["task_id"].as_str().unwrap().to_owned();
    stop(&holder);
    until("the lease expires", || (leases(&place)[0]["state"] == "expired").then_some(()));
    let taken = take(&place, "[{calls: [{write: {path: src/go, content: new}}]}, {text: Done.}]");
    assert_eq!(taken.code, 0, "{taken:?}");
    until("the command is over", || {
        (has(&place, "src/late.txt") || processes_of(&id).is_empty()).then_some(())
    });
    assert!(!has(&place, "src/late.txt"), "a stale command wrote");
    holder.signal(libc::SIGCONT);
    let ran = holder.end();
    let told = place.run(["tasks", "show", &id, "--result", "1.0"]).stdout;
    assert!(told.contains("stopped: the task lost the right to write"), "{told} {ran:?}");
}

#[test]
fn a_command_is_ended_when_its_lease_is_taken_away() {
    // G9 Seen to fail with `Held` in place of `Lost`.
    let place = place_with_commands("");
    let steps = "[{calls: [{bash: {command: \"touch src/begun; sleep 600\"}}]}, {text: Done.}]";
    let holder = start(&place, "holder", &script(&place, "holder", steps));
    until("the command has begun", || has(&place, "src/begun").then_some(()));
    let id = leases(&place)[0]["task_id"].as_str().unwrap().to_owned();
    assert_eq!(place.run(["leases", "release", &id, "--force"]).code, 0);
    assert_eq!(holder.end().code, 0);
    let told = place.run(["tasks", "show", &id, "--result", "1.0"]).stdout;
    assert!(told.contains("stopped: the task lost the right to write"), "{told}");
}

/// A program of the user that says of itself that it only looks.
fn own_tool(place: &Place, script: &str) {
    let manifest = r#"{"name": "peek", "description": "Looks", "command": ["./run.sh"], "effect": "pure",
        "input_schema": {"type": "object"}}"#;
    place.write("home/.config/posse/tools/peek/tool.json", manifest);
    let program = place.write("home/.config/posse/tools/peek/run.sh", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

const PEEK: &str = "[{calls: [{peek: {}}]}, {text: Done.}]";

#[test]
fn neither_a_check_nor_a_tool_that_only_looks_writes_where_another_holds_a_lease() {
    // G9 Seen to fail without the fence in `Life::verify`, and with `writes_files` false for tools that declare no effect.
    let place = place_with_commands("");
    let thinks = script(&place, "thinks", "[{delay_ms: 600000, text: Done.}]");
    let mut holder = start(&place, "holder", &thinks);
    holder.until(|line| line["type"] == "turn");
    own_tool(
        &place,
        "(echo new >> src/a.txt) 2>/dev/null; (echo new > src/t.txt) 2>/dev/null; echo new > other/t.txt",
    );
    let check = "(echo new >> src/a.txt; echo new > src/v.txt) 2>/dev/null; echo new > other/v.txt";
    let model = script(&place, "free", PEEK);
    let ran = place.run(["run", "--json", "--allow", "peek", "--verify", check, "--model", &model, "Look"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(has(&place, "other/t.txt") && has(&place, "other/v.txt"), "both were run: {ran:?}");
    assert!(!has(&place, "src/t.txt") && !has(&place, "src/v.txt"), "{ran:?}");
    assert_eq!(fs::read_to_string(place.workspace().join("src/a.txt")).unwrap(), "old\n");
    holder.kill();
}

#[test]
fn a_check_and_a_tool_that_only_looks_are_ended_when_the_lease_is_taken_away() {
    // G9 Seen to fail without the fence in `Life::verify`, and with `writes_files` false for tools that declare no effect.
    for by_check in [true, false] {
        let place = place_with_commands("");
        own_tool(&place, "touch src/begun; sleep 600");
        let (check, steps) =
            if by_check { ("touch src/begun; sleep 600", "[{text: Done.}]") } else { ("true", PEEK) };
        let model = script(&place, "holder", steps);
        let run = ["run", "--json", "--agent", "holder", "--allow", "peek", "--verify", check];
        let mut running = Running::start(place.posse(run.into_iter().chain(["--model", &model, "Write"])));
        until("it has begun", || has(&place, "src/begun").then_some(()));
        let id = leases(&place)[0]["task_id"].as_str().unwrap().to_owned();
        assert_eq!(place.run(["leases", "release", &id, "--force"]).code, 0);
        let told = running.until(|line| {
            line["type"] == "verified" || (line["type"] == "tool_finished" && line["tool"] == "peek")
        });
        assert!(told.to_string().contains("lost the right to write"), "{told}");
        running.end();
    }
}
