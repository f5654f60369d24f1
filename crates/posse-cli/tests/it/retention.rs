//! Retention at the terminal: what goes, what is kept and why, and when the configured caps are applied.

use std::fs;

use posse_core::id::TaskId;
use posse_core::outcome::StopReason;
use posse_runtime::ports::{JournalStore, NewTask};
use posse_store::SqliteStore;
use posse_testkit::store_suite::{asked, finished, new_task, replied};
use serde_json::Value;

use crate::support::{Place, Ran, until};
use crate::worktrees;

const LARGE: usize = 200_000;

/// Writes tasks straight into the store; those without an end belong to a process that is gone.
fn fill(place: &Place, tasks: &[(&str, Option<&str>, bool)]) {
    let store = SqliteStore::open(place.state().join("posse.db")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (id, parent, has_ended) in tasks {
        let id = TaskId::from_store((*id).to_owned());
        let parent = parent.map(|parent| TaskId::from_store(parent.to_owned()));
        runtime.block_on(async {
            store.create(NewTask { id: id.clone(), parent, ..new_task("s") }).await.unwrap();
            let mut records = vec![asked(1), replied(&"x".repeat(LARGE), 1, 2)];
            records.extend(has_ended.then(|| finished(StopReason::Answered, "done")));
            store.append(&id, 1, &records).await.unwrap();
        });
    }
}

fn ids(place: &Place) -> Vec<String> {
    let mut ids: Vec<String> =
        place.tasks().iter().map(|task| task["task_id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

fn store_bytes(place: &Place) -> u64 {
    fs::metadata(place.state().join("posse.db")).unwrap().len()
}

fn summary(ran: &Ran) -> Value {
    let last = ran.json().pop().unwrap();
    assert_eq!(last["type"], "gc", "{ran:?}");
    last
}

#[test]
fn gc_deletes_old_trees_whole_gives_their_space_back_and_says_what_it_kept() {
    let place = Place::new();
    let tree = [("old", None, true), ("old.t_01", Some("old"), true), ("old.t_02", Some("old.t_01"), true)];
    fill(&place, &tree);
    let interrupted = [("left", None, true), ("left.t_01", Some("left"), false)];
    fill(&place, &interrupted);
    let before = store_bytes(&place);

    let dry = place.run(["gc", "--older-than", "0d", "--dry-run"]);
    assert!(dry.code == 0 && dry.stdout.starts_with("old "), "{dry:?}");
    assert!(dry.stderr.contains("would delete 3 tasks in 1 tree"), "{dry:?}");
    assert_eq!(ids(&place).len(), 5);

    let young = place.run(["gc", "--older-than", "1d"]);
    assert!(young.code == 0 && young.stderr.contains("deleted 0 tasks"), "{young:?}");

    let ran = place.run(["gc", "--older-than", "0d"]);
    assert!(ran.code == 0 && ran.stderr.contains("deleted 3 tasks in 1 tree"), "{ran:?}");
    assert!(ran.stderr.contains("because they were interrupted: left ("), "{ran:?}");
    assert_eq!(ids(&place), ["left", "left.t_01"]);
    assert!(before - store_bytes(&place) > 3 * LARGE as u64, "{before} and {}", store_bytes(&place));
    let gone = place.run(["tasks", "show", "old"]);
    assert!(gone.code == 1 && gone.stderr.contains("TASK_NOT_FOUND"), "{gone:?}");
    let doctor = place.run(["doctor"]);
    assert!(
        doctor.stdout.contains("last `posse gc`") && doctor.stdout.contains("3 tasks deleted"),
        "{doctor:?}"
    );
}

#[test]
fn a_task_of_a_process_that_lives_is_never_deleted() {
    let place = Place::new();
    fill(&place, &[("mine", None, false)]);
    let store = SqliteStore::open(place.state().join("posse.db")).unwrap();
    // This test is the process; the owner is written as `posse` writes it, without the part that names the machine.
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let started = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    let owner = format!("{}:{started}", std::process::id());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.claim(&TaskId::root("mine"), &owner)).unwrap();
    for arguments in
        [&["gc", "--older-than", "0d", "--json"][..], &["tasks", "delete", "mine", "--force", "--json"]]
    {
        let ran = place.run(arguments.iter().copied());
        assert_eq!(summary(&ran)["kept"]["running"], 1, "{ran:?}");
        assert_eq!(ran.code, i32::from(arguments[0] == "tasks"), "{ran:?}");
    }
    assert_eq!(ids(&place), ["mine"]);
}

#[test]
fn tasks_delete_takes_whole_trees_and_keeps_what_is_unfinished_unless_forced() {
    let place = Place::new();
    fill(&place, &[("a", None, true), ("a.t_01", Some("a"), true), ("b", None, true), ("c", None, false)]);
    fill(&place, &[("room.t_01", Some("room"), true)]);
    let inside = place.run(["tasks", "delete", "a.t_01"]);
    assert!(inside.code == 1 && inside.stderr.contains("posse tasks delete a`"), "{inside:?}");

    let ran = place.run(["tasks", "delete", "a", "b", "c", "room.t_01"]);
    assert!(ran.code == 1 && ran.stderr.contains("deleted 3 tasks in 2 trees"), "{ran:?}");
    assert!(ran.stderr.contains("interrupted: c") && ran.stderr.contains("results: room.t_01"), "{ran:?}");
    assert_eq!(ids(&place), ["c", "room.t_01"]);

    let forced = place.run(["tasks", "delete", "--force", "c", "room.t_01"]);
    assert!(forced.code == 0, "{forced:?}");
    assert_eq!(ids(&place), [""; 0]);
    let unknown = place.run(["tasks", "delete", "c"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("TASK_NOT_FOUND"), "{unknown:?}");
}

#[test]
fn changes_that_nobody_applied_keep_their_task_and_go_with_it_when_they_were() {
    let place = worktrees::place();
    let ran = worktrees::run(&place, "- calls: [write: {path: new.txt, content: made}]\n- text: Done.\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let task = ids(&place).remove(0);
    let worktree = place.state().join("worktrees").join(&task);
    let kept = place.run(["gc", "--older-than", "0d", "--json"]);
    assert_eq!(summary(&kept)["kept"]["changes_not_applied"], 1, "{kept:?}");
    assert!(worktree.exists());
    assert_eq!(place.run(["tasks", "apply", &task]).code, 0);
    let ran = place.run(["gc", "--older-than", "0d", "--json"]);
    assert_eq!(summary(&ran)["tasks"], 1, "{ran:?}");
    assert!(!worktree.exists() && place.workspace().join("new.txt").exists());
}

#[test]
fn a_size_cap_takes_the_oldest_and_leaves_results_that_a_host_may_still_want() {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", "[store]\nmax_size = \"700kB\"\n");
    fill(
        &place,
        &[("room.t_01", Some("room"), true), ("a", None, true), ("b", None, true), ("c", None, true)],
    );
    let ran = place.run(["gc", "--json"]);
    assert_eq!(summary(&ran)["kept"]["result_not_collected"], 1, "{ran:?}");
    let left = ids(&place);
    assert!(left.contains(&"c".to_owned()) && !left.contains(&"a".to_owned()), "{left:?}");
    assert!(left.contains(&"room.t_01".to_owned()), "{left:?}");
    assert!(store_bytes(&place) <= 700_000, "{}", store_bytes(&place));
    // Told an age, they go; but the next task of the room must not get the id of the last.
    fill(&place, &[("room.t_02", Some("room"), true)]);
    let ran = place.run(["gc", "--older-than", "0d", "--json"]);
    assert_eq!(summary(&ran)["kept"]["newest_of_room"], 1, "{ran:?}");
    assert_eq!(ids(&place), ["room.t_02"]);
}

#[test]
fn gc_without_a_rule_deletes_nothing_and_says_how_to_give_one() {
    let place = Place::new();
    fill(&place, &[("a", None, true)]);
    let ran = place.run(["gc"]);
    assert!(ran.code == 1 && ran.stderr.contains("posse gc --older-than 30d"), "{ran:?}");
    assert_eq!(ids(&place), ["a"]);
    place.write("home/.config/posse/config.toml", "[store]\nmax_size = \"lots\"\n");
    let wrong = place.run(["gc"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("500MB"), "{wrong:?}");
}

#[test]
fn configured_caps_are_applied_after_a_run_by_another_process() {
    let place = Place::new();
    fill(&place, &[("old", None, true)]);
    let model = place.script("- text: Done.\n");
    let run = |place: &Place| {
        let ran = place.run(["run", "--model", &model, "go"]);
        assert!(ran.code == 0 && ran.stdout == "Done.\n", "{ran:?}");
    };
    run(&place);
    assert!(!place.state().join("retention.json").exists(), "nothing was asked for");
    place.write("home/.config/posse/config.toml", "[store]\nmax_age = \"0d\"\n");
    run(&place);
    until("the old task is deleted", || (!ids(&place).contains(&"old".to_owned())).then_some(()));
    until("it is told what was done", || fs::read(place.state().join("retention.json")).ok());
}

#[test]
fn what_deleted_tasks_cost_is_still_in_the_sum() {
    let place = Place::new();
    fill(&place, &[("a", None, true), ("b", None, true)]);
    let cost = || place.run(["cost", "--by", "project", "--json"]).stdout;
    let before = cost();
    assert_eq!(place.run(["tasks", "delete", "a"]).code, 0);
    assert_eq!(cost(), before);
}
