//! Lists for people: what is shown by default, what flags add, and how it fits a terminal.

use std::fs;

use posse_core::id::TaskId;
use posse_runtime::ports::{JournalStore, NewTask};
use posse_store::SqliteStore;
use posse_testkit::store_suite::new_task;
use unicode_width::UnicodeWidthStr;

use crate::support::{Place, Ran};
use crate::terminal::all_on_terminal;

const DELEGATES: &str = r#"
lead:
  - calls: [{subagent: {action: define, name: helper, description: Helps, system_prompt: You help., tools: [read], model: "scripted:s.yaml#helper"}}]
  - calls: [{subagent: {action: spawn, agent: helper, task: One}}, {subagent: {action: spawn, agent: helper, task: Two}}]
  - calls: [{subagent: {action: status, task_id: "{result:2.0:/task_id}"}}]
    repeat_until: '"completed"'
  - calls: [{subagent: {action: status, task_id: "{result:2.1:/task_id}"}}]
    repeat_until: '"completed"'
  - text: Done.
helper:
  - text: Helped.
"#;

fn ids(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.code, 0, "{ran:?}");
    let rows = ran.stdout.lines().skip(1).filter(|line| !line.starts_with(' '));
    rows.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

fn task_of(ran: &Ran) -> String {
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.envelope()["task_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_list_has_the_tasks_of_this_project_and_all_has_those_of_others() {
    let place = Place::new();
    let model = place.script("- text: Hello.\n");
    fs::create_dir_all(place.workspace().join(".git")).unwrap();
    fs::create_dir_all(place.workspace().join("part/nested/.git")).unwrap();
    fs::create_dir_all(place.root().join("workspace2")).unwrap();
    let run_in = |directory: &str| {
        let mut command = place.posse(["run", "--json", "--model", &model, "Greet"]);
        command.current_dir(place.root().join(directory));
        task_of(&Ran::of(command))
    };
    let [top, part, nested, other] =
        ["workspace", "workspace/part", "workspace/part/nested", "workspace2"].map(run_in);
    let list_in = |directory: &str, flags: &[&str]| {
        let mut command = place.posse(["tasks", "list"].iter().chain(flags).copied());
        command.current_dir(place.root().join(directory));
        Ran::of(command)
    };
    let here = list_in("workspace/part", &[]);
    assert_eq!(ids(&here), [part.clone(), top.clone()]);
    assert!(here.stderr.starts_with("2 tasks of ") && here.stderr.contains("/workspace · --all"), "{here:?}");
    assert_eq!(ids(&list_in("workspace/part/nested", &[])), [nested.as_str()]);
    let all = list_in("workspace", &["--all"]);
    assert_eq!(ids(&all), [other, nested, part, top]);
    assert!(all.stdout.starts_with("ID") && all.stdout.contains("PROJECT"), "{all:?}");
    let none = list_in("home", &[]);
    assert_eq!(none.stdout, "");
    assert!(none.stderr.contains("no tasks in ~ yet; `--all`"), "{none:?}");
}

#[test]
fn subagents_are_counted_below_their_root_and_unfold_on_request() {
    let place = Place::new();
    place.write("workspace/s.yaml", DELEGATES);
    let task = task_of(&place.run(["run", "--json", "--model", "scripted:s.yaml#lead", "Go"]));
    let folded = place.run(["tasks", "list"]);
    assert_eq!(ids(&folded), [task.as_str()]);
    let remark = folded.stdout.lines().nth(2).unwrap().trim();
    assert_eq!(remark, "2 subagents: 2 completed", "{folded:?}");
    let unfolded = place.run(["tasks", "list", "--children"]);
    assert_eq!(ids(&unfolded), [format!("{task}.t_02"), format!("{task}.t_01"), task]);
    assert!(!unfolded.stdout.contains("subagents"), "{unfolded:?}");
}

#[test]
fn a_list_can_be_narrowed_by_age_and_sorted() {
    let place = Place::new();
    let first = task_of(&place.run(["run", "--json", "--model", &place.script("- text: Hello.\n"), "Short"]));
    let long = place.script("[{calls: [{ls: {}}]}, {calls: [{ls: {}}]}, {text: Done.}]");
    place.write("home/.config/posse/config.toml", "[prices.\"scripted:*\"]\ninput = 1.0\noutput = 10.0\n");
    let dear = task_of(&place.run(["run", "--json", "--model", &long, "Long"]));
    let last = task_of(&place.run(["run", "--json", "--model", &place.script("- text: Hello.\n"), "Short"]));
    let by = |key: &str| ids(&place.run(["tasks", "list", "--sort", key]));
    assert_eq!(by("newest"), [last.clone(), dear.clone(), first.clone()]);
    assert_eq!(by("cost")[0], dear);
    assert_eq!(by("updated")[0], last);
    assert_eq!(ids(&place.run(["tasks", "list", "--since", "1h", "--limit", "2"])), [last, dear]);
}

#[test]
fn a_list_fits_the_terminal_and_wide_characters_line_up() {
    let place = Place::new();
    let model = place.script("- text: Hello.\n");
    for task in [
        "エラーメッセージを直して、それからテストを全部実行してください",
        "Fix the message of the error and then run every test",
    ] {
        task_of(&place.run(["run", "--json", "--model", &model, task]));
    }
    let shown = all_on_terminal(place.posse(["tasks", "list"]));
    let shown = crate::terminal::lines(100, &shown);
    let rows: Vec<&String> = shown.iter().filter(|line| line.contains("orchestrator")).collect();
    assert_eq!(rows.len(), 2, "{shown:?}");
    assert!(rows.iter().all(|line| line.width() == rows[0].width() && line.width() < 100), "{shown:?}");
    assert!(rows.iter().all(|line| line.contains('…')), "{shown:?}");
}

#[tokio::test]
async fn a_task_that_no_worker_has_taken_yet_is_queued() {
    let place = Place::new();
    let store = SqliteStore::open(place.state().join("posse.db")).unwrap();
    for (id, owner) in [("later", ""), ("begun", "1:1:elsewhere")] {
        let id = TaskId::from_store(id.to_owned());
        store.create(NewTask { id, owner: owner.to_owned(), ..new_task("s") }).await.unwrap();
    }
    drop(store);
    let list = async |status| Ran::beside(place.posse(["tasks", "list", "--all", "--status", status])).await;
    assert_eq!(ids(&list("queued").await), ["later"]);
    assert_eq!(ids(&list("running").await), ["begun"]);
}
