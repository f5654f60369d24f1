//! `kill -9` on an MCP server, on any of three workers and on supervisors of calls, at any instant: no task is lost, no effect
//! happens twice, and every call whose end nobody saw is marked in doubt.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use posse_core::journal::Record;
use posse_runtime::ports::TaskRow;
use serde_json::json;

use crate::mcp::host::Host;
use crate::support::{Place, Running, processes_of, supervisors_of, until};

/// Kills that hit a living process. `cargo xtask chaos` asks for many more.
const KILLS: usize = 60;
/// Kills after which a round is left to end.
const KILLS_PER_ROUND: usize = 8;
const WORKERS: usize = 3;
const TASKS: usize = 8;
/// Calls with an effect of each task.
const NOTES: usize = 4;
/// The span in which the next kill falls: some calls, less than a task.
const SPAN: Duration = Duration::from_millis(120);
/// Interval of looking for supervisors.
const LOOK: Duration = Duration::from_millis(2);

fn script() -> String {
    let mut script = "noter:\n".to_owned();
    for n in 0..NOTES {
        writeln!(script, "- delay_ms: 5\n  calls: [note_down: {{what: {n}}}]").unwrap();
    }
    script + "- text: I noted it.\n"
}

/// A place with an agent whose tool leaves a line for every time it runs, and takes a moment before and after.
fn place() -> Place {
    let place = Place::new();
    place.write("workspace/notes.txt", "");
    let manifest = json!({
        "name": "note_down", "description": "Notes something down", "command": ["./run.sh"], "effect": "unsafe",
        "input_schema": { "type": "object", "properties": { "what": { "type": "integer" } } },
    });
    place.write("home/.config/posse/tools/note_down/tool.json", &manifest.to_string());
    place.write_program(
        "home/.config/posse/tools/note_down/run.sh",
        "#!/bin/sh\nsleep 0.01\necho \"$POSSE_IDEMPOTENCY_KEY\" >> notes.txt\nsleep 0.01\necho noted\n",
    );
    let model = place.script(&script());
    let agent =
        format!("---\nname: noter\ndescription: Notes\nmodel: {model}#noter\n---\nYou note things down.\n");
    place.write("home/.config/posse/agents/noter.md", &agent);
    let config = format!("model = \"{model}#noter\"\n[mcp]\non_exit = \"leave\"\n");
    place.write("home/.config/posse/config.toml", &config);
    place
}

#[derive(Default, Debug)]
struct KillCounts {
    servers: usize,
    workers: usize,
    supervisors: usize,
    tasks: usize,
    effects: usize,
    in_doubt: usize,
    /// In doubt because the supervisor was lost, not the driver.
    lost_supervisors: usize,
}

impl KillCounts {
    fn kills(&self) -> usize {
        self.servers + self.workers + self.supervisors
    }
}

/// Spawns the tasks through a server, kills it some time later, and returns the ids that it had promised by then.
fn promise_tasks(place: &Place, random: &mut fastrand::Rng, counts: &mut KillCounts) -> BTreeSet<String> {
    let mut host = Host::start(place, &["--allow", "note_down"]);
    host.initialize("2025-11-25");
    for n in 1..=TASKS {
        let task = json!({ "action": "spawn", "agent": "noter", "task": format!("note {n}"), "queue": true });
        host.send("tools/call", json!({ "name": "subagent", "arguments": task }));
    }
    let answers = host.killed_after(SPAN.mul_f64(4.0 * random.f64()));
    counts.servers += 1;
    let spawned =
        answers.iter().filter_map(|answer| answer["result"]["structuredContent"]["task_id"].as_str());
    spawned.map(str::to_owned).collect()
}

fn start_worker(place: &Place) -> Running {
    Running::start(place.posse(["worker", "--local", "--until-idle", "--json"]))
}

/// Waits until a call is under way, however slow the machine is; empty if the workers ended first.
fn wait_for_supervisors(ids: &[&str], workers: &mut [Running]) -> Vec<i32> {
    loop {
        let targets = supervisors_of(ids);
        if !targets.is_empty() || workers.iter_mut().all(|worker| worker.ends_within(LOOK)) {
            return targets;
        }
    }
}

/// Kills workers and supervisors until the round has had its share or everything has ended.
fn kill_workers(place: &Place, random: &mut fastrand::Rng, counts: &mut KillCounts) {
    let tasks = place.stored();
    let ids: Vec<&str> = tasks.iter().map(|(row, _)| row.id.as_str()).collect();
    let mut workers: Vec<Running> = (0..WORKERS).map(|_| start_worker(place)).collect();
    for _ in 1..KILLS_PER_ROUND {
        let chosen = random.usize(..WORKERS);
        let ended = workers[chosen].ends_within(SPAN.mul_f64(random.f64()));
        let targets = if random.bool() { wait_for_supervisors(&ids, &mut workers) } else { Vec::new() };
        if !targets.is_empty() {
            // SAFETY: a plain system call. A supervisor that has ended meanwhile makes it fail, which counts as no kill.
            let hit = unsafe { libc::kill(targets[random.usize(..targets.len())], libc::SIGKILL) } == 0;
            counts.supervisors += usize::from(hit);
        } else if !ended {
            std::mem::replace(&mut workers[chosen], start_worker(place)).kill();
            counts.workers += 1;
        }
    }
    for ran in workers.into_iter().map(Running::end) {
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    // A worker leaves what a living process drives, also if that one is killed a moment later.
    let ran = start_worker(place).end();
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// The next server delivers the result of every task that was promised or stored.
fn deliver(place: &Place, promised: &BTreeSet<String>, tasks: &[(TaskRow, Vec<Record>)]) {
    let known: BTreeSet<String> = tasks.iter().map(|(row, _)| row.id.short().to_owned()).collect();
    assert!(promised.is_subset(&known), "lost: {promised:?} {known:?}");
    let mut host = Host::start(place, &["--allow", "note_down"]);
    host.initialize("2025-11-25");
    for id in &known {
        let result = host.tool("subagent_result", json!({ "task_id": id }));
        assert_eq!((&result["status"], &result["text"]), (&json!("completed"), &json!("I noted it.")));
    }
    host.leave();
}

/// Every task has ended once, every call has one result, and whatever is not in doubt happened exactly once.
fn examine(place: &Place, tasks: &[(TaskRow, Vec<Record>)], counts: &mut KillCounts) {
    let mut effects: BTreeMap<String, usize> = BTreeMap::new();
    for line in std::fs::read_to_string(place.workspace().join("notes.txt")).unwrap().lines() {
        *effects.entry(line.to_owned()).or_default() += 1;
    }
    assert!(effects.values().all(|times| *times == 1), "repeated: {effects:?}");
    counts.effects += effects.len();
    counts.tasks += tasks.len();
    for (row, records) in tasks {
        assert_eq!(row.state.wire(), "completed", "{row:?}");
        let outcomes: Vec<_> = records
            .iter()
            .filter_map(|record| match record {
                Record::Finished { outcome, .. } => Some(outcome),
                _ => None,
            })
            .collect();
        assert_eq!(outcomes.len(), 1, "{}: one end", row.id);
        let mut doubtful = BTreeMap::new();
        for record in records {
            let Record::Done { result, .. } = record else { continue };
            let happened = effects.contains_key(&format!("{}/{}", row.id, result.key));
            assert!(result.in_doubt || (happened && !result.is_error), "unmarked: {} {result:?}", row.id);
            assert_eq!(doubtful.insert(result.key, result.in_doubt), None, "{}: two results", row.id);
            counts.lost_supervisors += usize::from(result.text.starts_with("the supervisor"));
        }
        assert_eq!(doubtful.len(), NOTES, "{}", row.id);
        let in_journal: Vec<_> = doubtful.iter().filter(|(_, doubt)| **doubt).map(|(key, _)| *key).collect();
        let told: Vec<_> = outcomes[0].in_doubt.iter().map(|doubt| doubt.key).collect();
        assert_eq!(told, in_journal, "{}", row.id);
        counts.in_doubt += told.len();
        until("no process of it is left", || processes_of(row.id.as_str()).is_empty().then_some(()));
    }
}

fn play_round(random: &mut fastrand::Rng, counts: &mut KillCounts) {
    let place = place();
    let promised = promise_tasks(&place, random, counts);
    kill_workers(&place, random, counts);
    let tasks = place.stored();
    examine(&place, &tasks, counts);
    deliver(&place, &promised, &tasks);
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|e| panic!("{variable}: {e}")))
}

// G1 G2 G3 G9 Seen to fail with `cut_off: false` in `ToolOutput::cut_off`.
#[test]
fn tasks_of_a_host_are_neither_lost_nor_repeated_when_anything_is_killed_at_any_instant() {
    let seed = number_from("POSSE_TEST_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let wanted = number_from("POSSE_CHAOS_KILLS").map_or(KILLS, |kills| kills as usize);
    eprintln!("seed {seed} (POSSE_TEST_SEED repeats it)");
    let mut counts = KillCounts::default();
    for round in 0.. {
        if counts.kills() >= wanted {
            break;
        }
        assert!(round < wanted, "most rounds must have kills that hit: {counts:?}");
        play_round(&mut fastrand::Rng::with_seed(seed.wrapping_add(round as u64)), &mut counts);
    }
    eprintln!("{} kills: {counts:?} · 0 lost, 0 repeated, 0 unmarked", counts.kills());
    assert!(counts.in_doubt > 0 && counts.lost_supervisors > 0, "too few kills hit a call: {counts:?}");
}
