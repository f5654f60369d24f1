//! `kill -9` at any instant of a task loses nothing and repeats nothing: what was finished stays finished, what may or
//! may not have happened is said, and the task ends as if nobody had interfered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{PATIENCE, Place, Ran, Running};

/// Kills that hit a living process.
const KILLS: usize = 200;
/// Some instants come after the end of a run that was quicker than the others.
const ATTEMPTS_MAX: usize = 2 * KILLS;
/// Runs that are measured; the first ones are slower, because nothing is in memory yet.
const MEASURED: usize = 6;
/// As many as there are cores on a small machine.
const WORKERS: usize = 2;

/// Turns of the task: `n` notes with the user's own tool, `b` runs a command, the others only look.
const TURNS: [&[char]; 9] = [
    &['r', 'n', 'g'],
    &['n'],
    &['b', 'r'],
    &['r', 'g', 'l'],
    &['n', 'n'],
    &['l', 'b', 'n'],
    &['r'],
    &['b', 'b'],
    &['n', 'g', 'l'],
];
const CALLS: u64 = 20;

fn script() -> String {
    let mut script = String::new();
    for (turn, calls) in TURNS.iter().enumerate() {
        writeln!(script, "- delay_ms: 3\n  calls:").unwrap();
        for (index, kind) in calls.iter().enumerate() {
            let key = format!("{}.{index}", turn + 1);
            let call = match kind {
                'n' => format!("note_down: {{what: note {key}}}"),
                'b' => format!("bash: {{command: echo {key} >> commands.txt}}"),
                'r' => "read: {path: a.txt}".to_owned(),
                'g' => format!("grep: {{pattern: alpha{index}{turn}}}"),
                _ => format!("ls: {{path: sub{turn}}}"),
            };
            writeln!(script, "    - {call}").unwrap();
        }
    }
    script + "- text: All twenty calls are made.\n"
}

/// A workspace with a tool of the user's own, which leaves a line for every time it runs.
fn place() -> (Place, String) {
    let place = Place::new();
    place.write("workspace/a.txt", "alpha\n");
    // Commands may write to files that are there; making one at the top of the workspace is not theirs.
    for file in ["notes.txt", "commands.txt"] {
        place.write(&format!("workspace/{file}"), "");
    }
    for turn in 0..TURNS.len() {
        place.write(&format!("workspace/sub{turn}/b.txt"), "beta\n");
    }
    let manifest = r#"{"name": "note_down", "description": "Notes something down", "command": ["./run.sh"],
        "input_schema": {"type": "object", "properties": {"what": {"type": "string"}}}, "effect": "unsafe"}"#;
    place.write("workspace/.posse/tools/note_down/tool.json", manifest);
    let program = place.write(
        "workspace/.posse/tools/note_down/run.sh",
        "#!/bin/sh\necho \"$POSSE_IDEMPOTENCY_KEY\" >> notes.txt\necho noted\n",
    );
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let model = place.script(&script());
    (place, model)
}

fn start(place: &Place, model: &str) -> Running {
    Running::start(place.posse(["run", "--json", "--allow", "note_down,bash", "--model", model, "Do it all"]))
}

fn lines(place: &Place, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(place.workspace().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[derive(Default, Debug)]
struct Counts {
    kills: usize,
    /// Killed before the task was in the store, so there is nothing to go on with.
    before_the_start: usize,
    /// Killed after the answer was in the store.
    after_the_end: usize,
    resumed_twice: usize,
    in_doubt: usize,
    /// In doubt, and it had happened.
    in_doubt_and_happened: usize,
    effects: usize,
    duplicates: usize,
}

/// Lets a process run for so long, then kills it. `true` if it was still there.
fn kill_after(mut running: Running, wait: Duration) -> bool {
    let ended = running.ends_within(wait);
    running.kill();
    !ended
}

/// One task, killed once or twice, resumed, and examined.
fn kill_one(random: &mut fastrand::Rng, whole: Duration, counts: &mut Counts) {
    let (place, model) = place();
    let instant = |random: &mut fastrand::Rng| whole.mul_f64(random.f64());
    counts.kills += usize::from(kill_after(start(&place, &model), instant(random)));
    let rows = place.tasks();
    let Some(row) = rows.first() else {
        counts.before_the_start += 1;
        assert_eq!((lines(&place, "notes.txt").len(), lines(&place, "commands.txt").len()), (0, 0));
        return;
    };
    counts.after_the_end += usize::from(row["status"] == "completed");
    let id = row["task_id"].as_str().unwrap();
    if random.u8(..4) == 0 {
        let resuming = Running::start(place.posse(["tasks", "resume", id, "--json"]));
        let killed = kill_after(resuming, instant(random));
        counts.resumed_twice += usize::from(killed);
        counts.kills += usize::from(killed);
    }
    let ran = place.run(["tasks", "resume", id, "--json"]);
    examine(&place, id, &ran, counts);
    let doctor = place.run(["doctor"]);
    assert!(doctor.code == 0 && doctor.stdout.contains("integrity ok"), "{doctor:?}");
}

fn examine(place: &Place, id: &str, ran: &Ran, counts: &mut Counts) {
    assert_eq!(ran.code, 0, "{ran:?}");
    let envelope = ran.envelope();
    assert_eq!(envelope["status"], "completed", "{ran:?}");
    assert_eq!(envelope["text"], "All twenty calls are made.");
    assert_eq!((&envelope["turns"], &envelope["tool_calls"]), (&10.into(), &CALLS.into()));

    // Every call has exactly one result in the journal; some of them are "in doubt".
    let mut doubtful = BTreeMap::new();
    for record in place.journal(id).iter().filter(|record| record["record"] == "done") {
        let result = &record["result"];
        let key = format!("{}.{}", result["key"]["turn"], result["key"]["index"]);
        let in_doubt = result["in_doubt"] == true;
        assert!(in_doubt || result["is_error"] != true || result["name"] == "ls", "{record}");
        assert_eq!(doubtful.insert(key, in_doubt), None, "two results for one call: {record}");
    }
    assert_eq!(doubtful.len() as u64, CALLS);
    let in_journal: BTreeSet<&str> =
        doubtful.iter().filter(|(_, in_doubt)| **in_doubt).map(|(key, _)| key.as_str()).collect();
    let told: BTreeSet<&str> =
        envelope["in_doubt"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(told, in_journal);
    counts.in_doubt += told.len();

    for (file, kind, prefix) in [("notes.txt", 'n', format!("{id}/")), ("commands.txt", 'b', String::new())] {
        let mut effects: BTreeMap<String, usize> = BTreeMap::new();
        for line in lines(place, file) {
            *effects.entry(line.strip_prefix(&prefix).unwrap().to_owned()).or_default() += 1;
        }
        counts.effects += effects.len();
        counts.duplicates += effects.values().filter(|times| **times > 1).count();
        let wanted: BTreeSet<String> = keys_of(kind).collect();
        for key in effects.keys() {
            assert!(wanted.contains(key), "{file} has {key}, which nobody asked for");
            counts.in_doubt_and_happened += usize::from(doubtful[key]);
        }
        for key in wanted.iter().filter(|key| !doubtful[*key]) {
            assert_eq!(effects.get(key), Some(&1), "{key} is done, so it happened once");
        }
    }
    assert!(
        told.iter().all(|key| ['n', 'b'].iter().any(|kind| keys_of(*kind).any(|k| k == *key))),
        "{told:?}"
    );
}

/// The calls of a kind.
fn keys_of(kind: char) -> impl Iterator<Item = String> {
    TURNS.iter().enumerate().flat_map(move |(turn, calls)| {
        let here = calls.iter().enumerate().filter(move |(_, have)| **have == kind);
        here.map(move |(index, _)| format!("{}.{index}", turn + 1))
    })
}

/// How long the task takes when nobody interferes: the median, with as many at a time as later.
fn whole_duration() -> Duration {
    let measure = || {
        let (place, model) = place();
        let began = Instant::now();
        let mut running = start(&place, &model);
        assert!(running.ends_within(PATIENCE));
        let took = began.elapsed();
        let ran = running.end();
        let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
        let mut counts = Counts::default();
        examine(&place, &id, &ran, &mut counts);
        assert_eq!((counts.effects, counts.in_doubt, counts.duplicates), (10, 0, 0));
        took
    };
    let work = || (0..MEASURED / WORKERS).map(|_| measure()).collect::<Vec<_>>();
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    took.sort_unstable();
    took[took.len() / 2]
}

#[test]
fn a_task_killed_at_any_instant_is_finished_later_and_nothing_happens_twice() {
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
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let sum = |part: fn(&Counts) -> usize| all.iter().map(part).sum::<usize>();
    eprintln!(
        "{} kills ({} before the task began, {} after its end, {} during a resume) · {} effects · {} in doubt, of which \
         {} had happened · {} duplicates",
        sum(|c| c.kills),
        sum(|c| c.before_the_start),
        sum(|c| c.after_the_end),
        sum(|c| c.resumed_twice),
        sum(|c| c.effects),
        sum(|c| c.in_doubt),
        sum(|c| c.in_doubt_and_happened),
        sum(|c| c.duplicates),
    );
    assert_eq!(sum(|c| c.duplicates), 0);
    assert!(sum(|c| c.in_doubt) > 0, "no kill hit a call, so this shows nothing");
}
