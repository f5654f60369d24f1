//! What a dead process left is gone on with by `posse worker`: every task of a tree ends, nothing that was finished happens
//! twice, every result is delivered once, and several workers do not fight.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use posse_core::journal::Record;
use posse_runtime::ports::TaskRow;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, Ran, Running, processes_of, until};

/// Kills that hit a living process.
const KILLS: usize = 100;
const ATTEMPTS_MAX: usize = 2 * KILLS;
/// As many as there are cores on a small machine.
const AT_ONCE: usize = 2;
/// Children of the orchestrator: two of them have to wait for a place.
const CHILDREN: usize = 7;
/// Calls with an effect of each child.
const NOTES: usize = 2;

/// An orchestrator that delegates, waits and collects, and children that note something down.
fn script() -> String {
    let mut script = "boss:\n- delay_ms: 3\n  calls:\n".to_owned();
    for n in 1..=CHILDREN {
        let task = format!("{{action: spawn, agent: noter, task: note {n}, queue: true}}");
        writeln!(script, "    - subagent: {task}").unwrap();
    }
    script += "- calls: [subagent: {action: wait, mode: all, timeout_ms: 30000}]\n";
    script += "  repeat_until: '\"timed_out\":false'\n- delay_ms: 3\n  calls:\n";
    for n in 0..CHILDREN {
        writeln!(script, "    - subagent: {{action: collect, task_id: '{{result:1.{n}:/task_id}}'}}")
            .unwrap();
    }
    script += "- text: All have reported.\nnoter:\n";
    for n in 0..NOTES {
        writeln!(script, "- delay_ms: 5\n  calls: [note_down: {{what: {n}}}]").unwrap();
    }
    script + "- text: I noted it.\n"
}

/// A place with a tool of the user's own, which leaves a line for every time it runs, and an agent that uses it.
fn place(script: &str) -> (Place, String) {
    let place = Place::new();
    place.write("workspace/notes.txt", "");
    let manifest = r#"{"name": "note_down", "description": "Notes something down", "command": ["./run.sh"],
        "input_schema": {"type": "object", "properties": {"what": {"type": "integer"}}}, "effect": "unsafe"}"#;
    place.write("home/.config/posse/tools/note_down/tool.json", manifest);
    let program = place.write(
        "home/.config/posse/tools/note_down/run.sh",
        "#!/bin/sh\necho \"$POSSE_IDEMPOTENCY_KEY\" >> notes.txt\necho noted\n",
    );
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let model = place.script(script);
    let agent =
        format!("---\nname: noter\ndescription: Notes\nmodel: {model}#noter\n---\nYou note things down.\n");
    place.write("home/.config/posse/agents/noter.md", &agent);
    (place, format!("{model}#boss"))
}

fn start(place: &Place, model: &str) -> Running {
    Running::start(place.posse(["run", "--json", "--allow", "note_down", "--model", model, "Delegate"]))
}

fn worker(place: &Place) -> Running {
    Running::start(place.posse(["worker", "--local", "--until-idle", "--json"]))
}

/// Lets a process run for so long, then kills it. `true` if it was still there.
fn kill_after(mut running: Running, wait: Duration) -> bool {
    let ended = running.ends_within(wait);
    running.kill();
    !ended
}

#[derive(Default, Debug)]
struct Counts {
    kills: usize,
    /// Killed before the orchestrator was in the store.
    before_the_start: usize,
    after_the_end: usize,
    /// Kills that hit the worker.
    workers: usize,
    effects: usize,
    in_doubt: usize,
}

/// Every task has ended, every call has one result, and what is done happened once.
fn examine(place: &Place, counts: &mut Counts) {
    let tasks = place.stored();
    assert_eq!(tasks.len(), CHILDREN + 1);
    let mut noted: BTreeMap<String, usize> = BTreeMap::new();
    for line in std::fs::read_to_string(place.workspace().join("notes.txt")).unwrap_or_default().lines() {
        *noted.entry(line.to_owned()).or_default() += 1;
    }
    assert!(noted.values().all(|times| *times == 1), "done twice: {noted:?}");
    counts.effects += noted.len();
    for (row, records) in &tasks {
        assert_eq!(row.state.wire(), "completed", "{row:?}");
        let ends = records.iter().filter(|record| matches!(record, Record::Finished { .. })).count();
        assert_eq!(ends, 1, "{}: one end", row.id);
        let mut keys = BTreeSet::new();
        for record in records {
            let Record::Done { result, .. } = record else { continue };
            assert!(keys.insert(result.key), "{}: two results for {}", row.id, result.key);
            if row.parent.is_some() {
                let times = noted.get(&format!("{}/{}", row.id, result.key)).copied().unwrap_or(0);
                assert!(result.in_doubt || times == 1, "{}: {} is done, so it happened", row.id, result.key);
                counts.in_doubt += usize::from(result.in_doubt);
            }
        }
        if row.parent.is_some() {
            assert_eq!(keys.len(), NOTES, "{}", row.id);
        }
        until("no process of it is left", || processes_of(row.id.as_str()).is_empty().then_some(()));
    }
    delivered_once(&tasks);
}

/// The orchestrator collected each child once, with what the child said.
fn delivered_once(tasks: &[(TaskRow, Vec<Record>)]) {
    let (_, records) = tasks.iter().find(|(row, _)| row.parent.is_none()).unwrap();
    let mut collected = BTreeSet::new();
    for record in records {
        let Record::Done { result, .. } = record else { continue };
        let answer: Value = serde_json::from_str(&result.text).unwrap();
        assert!(!result.is_error && !result.in_doubt, "{answer}");
        if answer["result"].is_string() || answer["text"].is_string() {
            assert!(answer.to_string().contains("I noted it."), "{answer}");
            assert!(collected.insert(answer["task_id"].as_str().unwrap().to_owned()), "twice: {answer}");
        }
    }
    assert_eq!(collected.len(), CHILDREN, "{collected:?}");
}

fn kill_one(random: &mut fastrand::Rng, whole: Duration, counts: &mut Counts) {
    let (place, model) = place(&script());
    let instant = |random: &mut fastrand::Rng| whole.mul_f64(random.f64());
    counts.kills += usize::from(kill_after(start(&place, &model), instant(random)));
    if random.u8(..4) == 0 {
        let killed = kill_after(worker(&place), instant(random));
        counts.workers += usize::from(killed);
        counts.kills += usize::from(killed);
    }
    let before = place.stored();
    let ran = worker(&place).end();
    assert_eq!(ran.code, 0, "{ran:?}");
    let Some((root, _)) = before.iter().find(|(row, _)| row.parent.is_none()) else {
        counts.before_the_start += 1;
        assert_eq!(ran.stdout, "", "there was nothing to go on with");
        return;
    };
    counts.after_the_end += usize::from(root.state.wire() == "completed");
    examine(&place, counts);
}

/// How long the tree takes when nobody interferes: the median.
fn whole_duration() -> Duration {
    let measure = || {
        let (place, model) = place(&script());
        let began = Instant::now();
        let mut running = start(&place, &model);
        assert!(running.ends_within(PATIENCE));
        let took = began.elapsed();
        let ran = running.end();
        assert_eq!((ran.code, &ran.envelope()["text"]), (0, &json!("All have reported.")), "{ran:?}");
        let mut counts = Counts::default();
        examine(&place, &mut counts);
        assert_eq!((counts.effects, counts.in_doubt), (CHILDREN * NOTES, 0));
        took
    };
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(|| [measure(), measure()])).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    took.sort_unstable();
    took[took.len() / 2]
}

#[test]
fn a_tree_killed_at_any_instant_is_ended_by_a_worker_and_nothing_happens_twice() {
    let seed = std::env::var("POSSE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let whole = whole_duration();
    eprintln!("seed {seed} (POSSE_TEST_SEED repeats it) · a whole run takes {whole:?}");
    let (next, killed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut counts = Counts::default();
        while killed.load(Ordering::Relaxed) < KILLS {
            let number = next.fetch_add(1, Ordering::Relaxed);
            assert!(number < ATTEMPTS_MAX, "most kills must hit a living process: {counts:?}");
            let mut random = fastrand::Rng::with_seed(seed.wrapping_add(number as u64));
            let before = counts.kills;
            kill_one(&mut random, whole, &mut counts);
            killed.fetch_add(counts.kills - before, Ordering::Relaxed);
        }
        counts
    };
    let all: Vec<Counts> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let sum = |part: fn(&Counts) -> usize| all.iter().map(part).sum::<usize>();
    eprintln!(
        "{} kills ({} before the tree began, {} after its end, {} of workers) · {} effects · {} in doubt",
        sum(|c| c.kills),
        sum(|c| c.before_the_start),
        sum(|c| c.after_the_end),
        sum(|c| c.workers),
        sum(|c| c.effects),
        sum(|c| c.in_doubt),
    );
    assert!(sum(|c| c.in_doubt) > 0, "no kill hit a call, so this shows nothing");
}

#[test]
fn of_two_workers_one_drives_a_tree() {
    let mut both_found_it = 0;
    for round in 0..6 {
        let (place, model) = place(&script());
        let mut running = start(&place, &model);
        running.until(|event| event["type"] == "replied" && event["turn"] == 1 + round % 2);
        running.kill();
        let before = place.stored();
        let both = [worker(&place), worker(&place)].map(Running::end);
        let told: Vec<Value> = both.iter().flat_map(Ran::json).collect();
        assert!(both.iter().all(|ran| ran.code == 0), "{both:?}");
        assert_eq!(told.len(), 1, "one of them had it: {both:?}");
        both_found_it += usize::from(both.iter().any(|ran| ran.stdout.is_empty()));
        examine(&place, &mut Counts::default());
        for (row, records) in place.stored() {
            let was_running = before.iter().any(|(old, _)| old.id == row.id && old.state.is_running());
            let resumed = records.iter().filter(|record| matches!(record, Record::Resumed { .. })).count();
            assert!(resumed <= usize::from(was_running), "{}: resumed {resumed} times", row.id);
        }
    }
    assert_eq!(both_found_it, 6);
}

#[test]
fn a_detached_task_goes_on_without_its_orchestrator() {
    let script = |delay_ms: u64| {
        format!(
            "boss:\n- calls: [subagent: {{action: spawn, agent: noter, task: note it, detached: true}}]\n\
             - text: It goes on by itself.\n\
             noter:\n- delay_ms: {delay_ms}\n  calls: [note_down: {{what: 1}}]\n\
             - calls: [ask_parent: {{question: Is this enough?}}]\n- text: I noted it.\n"
        )
    };
    let (place, model) = place(&script(600_000));
    let ran = place.run(["run", "--allow", "note_down", "--model", &model, "Delegate"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "It goes on by itself.\n"), "{ran:?}");
    let tasks = place.tasks();
    let child = tasks.iter().find(|row| !row["parent"].is_null()).unwrap();
    assert_eq!(child["status"], "interrupted", "{tasks:?}");
    let id = child["task_id"].as_str().unwrap();
    assert!(
        ran.stderr.contains(&format!("{id} goes on with: posse worker --local --until-idle\n")),
        "{ran:?}"
    );

    place.script(&script(0));
    let ran = place.run(["worker", "--local", "--until-idle"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with(&format!("{id} · completed · answered · 3 turns · 2 tools")), "{ran:?}");
    let asked = place.run(["tasks", "show", id, "--result", "2.0"]).stdout;
    assert!(asked.starts_with("there is nobody to ask"), "{asked}");
    assert_eq!(std::fs::read_to_string(place.workspace().join("notes.txt")).unwrap(), format!("{id}/1.0\n"));
    let again = place.run(["worker", "--local", "--until-idle"]);
    let nothing = "nothing to go on with: no task is interrupted or waits for a worker\n";
    assert_eq!((again.code, again.stdout.as_str(), again.stderr.as_str()), (0, "", nothing));
}

// Seen to fail without `Session::finish_detached`: the child lost its request. Without `Session::release_tasks` too, the worker ended while the
// child was at work.
#[test]
fn a_worker_ends_after_the_tasks_that_were_detached_from_its_own() {
    let script = "boss:\n- delay_ms: 600000\n  calls: [subagent: {action: spawn, agent: noter, task: note it, \
                  detached: true}]\n- text: It goes on by itself.\n\
                  noter:\n- delay_ms: 1000\n  calls: [note_down: {what: 1}]\n- text: I noted it.\n";
    let (place, model) = place(script);
    let mut running = start(&place, &model);
    let root = running.until(|event| event["type"] == "turn")["task_id"].as_str().unwrap().to_owned();
    running.kill();
    place.script(&script.replace("delay_ms: 600000", "delay_ms: 0"));
    let ran = place.run(["worker", "--local", "--until-idle", "--task", &root]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ended = |id: &str| format!("{id} · completed · answered");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert!(lines[0].starts_with(&ended(&root)), "{ran:?}");
    assert!(lines[1].starts_with(&ended(&format!("{root}.t_01"))), "{ran:?}");
    let stored = place.stored();
    assert!(stored.iter().all(|(row, _)| row.state.wire() == "completed"), "{stored:?}");
    let (_, records) = stored.iter().find(|(row, _)| row.parent.is_some()).unwrap();
    assert!(!records.iter().any(|record| matches!(record, Record::Resumed { .. })), "{records:?}");
}

#[test]
fn what_cannot_be_gone_on_with_is_named_and_the_rest_goes_on() {
    let place = Place::new();
    let model = place.script("[{calls: [{ls: {}}]}, {text: Done., delay_ms: 600000}]");
    let mut ids = Vec::new();
    for directory in ["workspace", "elsewhere"] {
        place.write(&format!("{directory}/a.txt"), "alpha\n");
        let mut command = place.posse(["run", "--json", "--model", &model, "Wait"]);
        command.current_dir(place.root().join(directory));
        let mut running = Running::start(command);
        let event = running.until(|event| event["type"] == "turn" && event["turn"] == 2);
        ids.push(event["task_id"].as_str().unwrap().to_owned());
        running.kill();
    }
    std::fs::remove_dir_all(place.root().join("elsewhere")).unwrap();
    place.script("[{calls: [{ls: {}}]}, {text: Done.}]");
    let ran = place.run(["worker", "--local", "--until-idle"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains(&format!("{} · completed", ids[0])), "{ran:?}");
    assert!(ran.stdout.contains(&format!("{} · not taken up · ", ids[1])), "{ran:?}");
    let said = format!("error[TASK_NOT_RESUMABLE]: could not go on with {}\n", ids[1]);
    assert!(ran.stderr.contains(&said), "{ran:?}");
    let left = place.run(["tasks", "list", "--all", "--json", "--status", "interrupted"]).json();
    assert_eq!((left.len(), &left[0]["task_id"]), (1, &json!(ids[1])));
}

#[test]
fn a_worker_that_watches_takes_up_what_is_left_later_and_ends_when_told() {
    let place = Place::new();
    let model = place.script("[{calls: [{ls: {}}]}, {text: Done., delay_ms: 600000}]");
    let mut running = Running::start(place.posse(["run", "--json", "--model", &model, "Wait"]));
    let id = running.until(|event| event["type"] == "turn" && event["turn"] == 2)["task_id"].clone();
    let mut worker = Running::start(place.posse(["worker", "--local", "--json"]));
    assert!(!worker.ends_within(Duration::from_millis(500)), "it watches");
    assert_eq!(place.tasks()[0]["status"], "running", "a task that is driven is left alone");
    place.script("[{calls: [{ls: {}}]}, {text: Done.}]");
    running.kill();
    let told = worker.until(|line| line["type"] == "task");
    assert_eq!((&told["task_id"], &told["status"]), (&id, &json!("completed")));
    worker.signal(libc::SIGTERM);
    let ran = worker.end();
    assert_eq!((ran.code, ran.stderr.lines().count()), (0, 1), "{ran:?}");
}

const WAITING: &str = "boss:\n- calls: [subagent: {action: spawn, agent: noter, task: note it}]\n\
    - calls: [subagent: {action: wait, mode: all, timeout_ms: 45000}]\n- text: It has ended.\n\
    noter:\n- delay_ms: 600000\n  text: Too late.\n";

/// An orchestrator that waits for a child that never ends, and the two ids.
fn waiting() -> (Place, Running, [String; 2]) {
    let (place, model) = place(WAITING);
    let mut running = start(&place, &model);
    running.until(|event| event["type"] == "turn" && event["turn"] == 2);
    let ids = until("the child is there", || {
        let rows = place.tasks();
        let id = |child: bool| rows.iter().find(|row| row["parent"].is_null() != child);
        Some([id(false)?, id(true)?].map(|row| row["task_id"].as_str().unwrap().to_owned()))
    });
    (place, running, ids)
}

fn statuses(place: &Place) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    place.tasks().iter().map(|row| (text(&row["task_id"]), text(&row["status"]))).collect()
}

#[test]
fn a_task_of_another_process_is_cancelled_with_its_children() {
    let (place, running, [root, child]) = waiting();
    let began = Instant::now();
    let ran = place.run(["tasks", "cancel", &root]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, format!("{root} · cancelled\n").as_str()), "{ran:?}");
    assert!(began.elapsed() < Duration::from_secs(40), "it took {:?}", began.elapsed());
    let ended = running.end();
    assert_eq!((ended.code, &ended.envelope()["status"]), (130, &json!("cancelled")), "{ended:?}");
    assert_eq!(
        statuses(&place),
        BTreeMap::from([&root, &child].map(|id| (id.clone(), "cancelled".to_owned())))
    );
    let again = place.run(["tasks", "cancel", &root, "--json"]);
    assert_eq!((again.code, &again.json()[0]["note"]), (0, &json!("it had ended before")));
}

#[test]
fn a_child_that_is_cancelled_from_outside_leaves_its_orchestrator_to_go_on() {
    let (place, running, [root, child]) = waiting();
    let ran = place.run(["tasks", "cancel", &child]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, format!("{child} · cancelled\n").as_str()), "{ran:?}");
    let ended = running.end();
    assert_eq!((ended.code, &ended.envelope()["text"]), (0, &json!("It has ended.")), "{ended:?}");
    let expected = [(root, "completed"), (child, "cancelled")].map(|(id, status)| (id, status.to_owned()));
    assert_eq!(statuses(&place), BTreeMap::from(expected));
}

#[test]
fn what_a_dead_process_left_is_cancelled_at_once() {
    let (place, running, [root, child]) = waiting();
    running.kill();
    let ran = place.run(["tasks", "cancel", &root]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, format!("{root} · cancelled\n").as_str()), "{ran:?}");
    assert_eq!(
        statuses(&place),
        BTreeMap::from([&root, &child].map(|id| (id.clone(), "cancelled".to_owned())))
    );
    let idle = place.run(["worker", "--local", "--until-idle"]);
    assert_eq!((idle.code, idle.stdout.as_str()), (0, ""), "{idle:?}");
    let shown = place.run(["tasks", "show", &child]).stdout;
    assert!(shown.contains("\n–     cancelled\n"), "{shown}");
}

#[test]
fn a_task_is_watched_from_its_beginning_to_its_end_across_processes() {
    let (place, running, [root, child]) = waiting();
    let watching = [&root, &child].map(|id| Running::start(place.posse(["tasks", "watch", id, "--json"])));
    let [mut of_root, of_child] = watching;
    of_root.until(|event| event["type"] == "started");
    running.kill();
    until("it is said that nobody drives it", || {
        of_root.stderr().contains("it goes on with: posse tasks resume").then_some(())
    });
    place.script(&WAITING.replace("delay_ms: 600000", "delay_ms: 0"));
    let worked = worker(&place).end();
    assert_eq!(worked.code, 0, "{worked:?}");
    for (id, watched) in [(&root, of_root.end()), (&child, of_child.end())] {
        assert_eq!(watched.code, 0, "{watched:?}");
        // Two tasks have no common order, and live lines no place in the journal.
        let in_order = |mut events: Vec<Value>| {
            events.retain(|event| event["seq"].is_u64());
            events.sort_by_key(|event| (event["task_id"].to_string(), event["seq"].as_u64()));
            events
        };
        let all = in_order(place.run(["tasks", "watch", id, "--json"]).json());
        assert_eq!(all.last().unwrap()["type"], "finished", "{all:?}");
        assert_eq!(in_order(watched.json()), all, "it has seen everything, once");
    }
    let ended = place.run(["tasks", "watch", &child]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "Too late.\n"), "{ended:?}");
}

#[test]
fn lists_can_be_narrowed() {
    let (place, running, [root, child]) = waiting();
    let other = format!("scripted:{}", place.write("other.yaml", "- text: Hello.\n").display());
    let greeted = place.run(["run", "--json", "--model", &other, "Greet"]).envelope()["task_id"].clone();
    let listed = |flags: &[&str]| {
        let ran = place.run(["tasks", "list", "--json"].iter().chain(flags).copied());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json().iter().map(|row| row["task_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (tree, greeted) = (vec![child, root.clone()], vec![greeted.as_str().unwrap().to_owned()]);
    assert_eq!(listed(&["--session", &root[..6]]), tree);
    assert_eq!(listed(&["--status", "running"]), tree);
    assert_eq!(listed(&["--status", "running", "--limit", "1"]), tree[..1]);
    assert_eq!(listed(&["--status", "completed"]), greeted);
    assert_eq!(listed(&["--status", "completed", "--session", &root]), [""; 0]);
    running.kill();
    assert_eq!(listed(&["--status", "interrupted"]), tree);
    assert_eq!(listed(&["--status", "running"]), [""; 0]);
}
