//! What a task has cost: the same in the tree, the summary, the listings, the envelope and `posse cost`, subagents included.

use posse_testkit::server::Server;
use posse_testkit::wire::Say;
use serde_json::{Value, json};

use crate::support::{Place, Ran, Running, until};
use crate::terminal::{lines, on_terminal};

/// A boss with two turns before and one after its helper, which has one. Each reply has a price of its own.
const SCRIPT: &str = "
boss:
- {calls: [subagent: {action: spawn, agent: helper, task: help}], usage: {input: 1000, output: 100}}
- calls: [subagent: {action: wait, mode: all, timeout_ms: 30000}]
  repeat_until: '\"timed_out\":false'
  usage: {input: 0, output: 0}
- {calls: [subagent: {action: collect, task_id: t_01}], usage: {input: 2000, output: 100}}
- {text: Done., usage: {input: 3000, output: 100}}
helper:
- {text: Helped., usage: {input: 500, output: 50}}
";

/// 6,000 tokens in and 300 out of the boss, at 1 and 10 dollars per million.
const OWN: f64 = 0.009;
/// 500 in and 50 out of the helper.
const HELPER: f64 = 0.001;

fn place() -> (Place, String) {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", "[prices.\"scripted:*\"]\ninput = 1.0\noutput = 10.0\n");
    let model = place.script(SCRIPT);
    let agent = format!("---\nname: helper\ndescription: Helps\nmodel: {model}#helper\n---\nYou help.\n");
    place.write("home/.config/posse/agents/helper.md", &agent);
    (place, format!("{model}#boss"))
}

fn close(value: &Value, expected: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - expected).abs() < 1e-9)
}

#[test]
fn the_price_of_a_task_includes_its_subagents_everywhere() {
    let (place, model) = place();
    let ran = place.run(["run", "--json", "--model", &model, "Delegate"]);
    let envelope = ran.envelope();
    assert!(close(&envelope["cost_usd"], OWN), "{envelope}");
    assert!(close(&envelope["tree_cost_usd"], OWN + HELPER), "{envelope}");
    assert!(close(&envelope["session"]["known_cost_usd"], OWN + HELPER), "{envelope}");
    assert_eq!(envelope["session"]["tasks"], 2, "{envelope}");
    let id = envelope["task_id"].as_str().unwrap();

    let rows = place.tasks();
    let row = |id: &str| rows.iter().find(|row| row["task_id"] == id).unwrap();
    let child = format!("{id}.t_01");
    assert!(close(&row(id)["cost_usd"], OWN) && close(&row(id)["tree_cost_usd"], OWN + HELPER), "{rows:?}");
    assert!(close(&row(&child)["cost_usd"], HELPER) && close(&row(&child)["tree_cost_usd"], HELPER));
    let listed = place.run(["tasks", "list"]).stdout;
    assert!(listed.lines().any(|line| line.starts_with(id) && line.contains(" $0.0100 ")), "{listed}");
    let shown = place.run(["tasks", "show", id]).stdout;
    assert!(shown.starts_with(&format!("✓ orchestrator {id} · completed · ")), "{shown}");
    assert!(shown.contains(" · 4 turns · "), "{shown}");
    assert!(shown.contains(" · $0.0090 · ") && shown.contains("$0.0100 with its subagents"), "{shown}");

    let plain = place.run(["run", "--model", &model, "Delegate"]);
    let last = plain.stderr.lines().last().unwrap();
    assert!(last.contains(" · $0.0090 · 6.8k tokens, $0.0100 with its subagents"), "{last}");
    let (_, on_screen) = on_terminal(120, place.posse(["run", "--model", &model, "Delegate"]));
    let on_screen = lines(120, &on_screen);
    let end = on_screen.iter().rev().find(|line| line.starts_with("✓ completed in ")).unwrap();
    assert!(end.ends_with(" · 4 turns · $0.010 with 1 subagent"), "{end}");
}

#[test]
fn a_worker_tells_the_price_with_subagents_too() {
    let (place, model) = place();
    let config = place.home().join(".config/posse/config.toml");
    let settings = std::fs::read_to_string(&config).unwrap();
    std::fs::write(config, format!("{settings}[sandbox]\ntier = \"off\"\n")).unwrap();
    let path = place.root().join("script.yaml");
    let gate = "- {calls: [bash: {command: 'touch begun; until [ -e go ]; do sleep 0.01; done'}], usage: {input: 0, output: 0}}\n";
    let script = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, script.replace("- {text: Done.", &format!("{gate}- {{text: Done."))).unwrap();
    let run = place.posse(["run", "--json", "--allow", "bash", "--model", &model, "Delegate"]);
    let running = Running::start(run);
    let begun = place.workspace().join("begun");
    until("the command began", || begun.exists().then_some(()));
    running.kill();
    place.write("workspace/go", "");
    let ran = place.run(["worker", "--local", "--until-idle", "--json"]);
    let told = ran.json().pop().unwrap_or_else(|| panic!("{ran:?}"));
    assert!(close(&told["cost_usd"], OWN) && close(&told["tree_cost_usd"], OWN + HELPER), "{told}");
}

#[test]
fn spending_is_told_by_agent_model_day_and_project() {
    let (place, model) = place();
    let run = |args: &[&str]| place.run(["cost", "--json"].iter().chain(args).copied());
    for _ in 0..2 {
        assert_eq!(place.run(["run", "--model", &model, "Delegate"]).code, 0);
    }
    // Another directory of the same repository, and one that belongs to none.
    std::fs::create_dir_all(place.workspace().join(".git")).unwrap();
    for directory in ["workspace/below", "elsewhere"] {
        std::fs::create_dir(place.root().join(directory)).unwrap();
        let mut command = place.posse(["run", "--model", &model, "Delegate"]);
        command.current_dir(place.root().join(directory));
        assert_eq!(Ran::of(command).code, 0);
    }
    let total = |ran: &Ran| ran.json().pop().unwrap();
    let named = |ran: &Ran, name: &str| {
        let found = ran.json().into_iter().find(|line| line["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {ran:?}"))
    };
    for by in ["agent", "model", "day", "project"] {
        let ran = run(&["--by", by]);
        let all = total(&ran);
        assert_eq!((&all["by"], &all["tasks"], &all["turns"]), (&json!("total"), &json!(8), &json!(20)));
        assert!(close(&all["cost_usd"], 4.0 * (OWN + HELPER)), "{by}: {all}");
    }
    let by_agent = run(&["--by", "agent"]);
    assert!(close(&named(&by_agent, "helper")["cost_usd"], 4.0 * HELPER), "{by_agent:?}");
    assert_eq!(named(&by_agent, "orchestrator")["tasks"], 4);
    let by_model = run(&[]);
    assert!(close(&named(&by_model, &model)["cost_usd"], 4.0 * OWN), "{by_model:?}");
    let by_project = run(&["--by", "project"]);
    let workspace = place.workspace().canonicalize().unwrap().display().to_string();
    assert_eq!(named(&by_project, &workspace)["tasks"], 6, "{by_project:?}");
    assert_eq!(by_project.json().len(), 3, "two projects and the total: {by_project:?}");

    let since = run(&["--since", "1h"]);
    assert_eq!(total(&since)["tasks"], 8);
    let wrong = place.run(["cost", "--since", "yesterday"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("45m, 12h, 30d, 8w"), "{wrong:?}");
    let people = place.run(["cost", "--by", "agent"]);
    assert!(people.stdout.lines().nth(1).unwrap().contains("$0.0360"), "{people:?}");
    let words = |line: usize| people.stdout.lines().nth(line).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(words(0), ["AGENT", "TASKS", "TURNS", "INPUT", "CACHED", "OUTPUT", "COST"]);
    assert_eq!(words(3), ["total", "8", "20", "26.0k", "0%", "1.4k", "$0.0400"], "{people:?}");
    let by_task = run(&["--by", "task"]).json();
    assert_eq!((by_task.len(), &by_task[0]["by"], &by_task[0]["tasks"]), (5, &json!("task"), &json!(2)));
}

#[tokio::test]
async fn what_has_no_known_price_is_said_and_never_counted_as_free() {
    let (place, priced) = place();
    let server = Server::handler(|request| Say::text("Hello.").answer(request)).await;
    let config = format!(
        "[prices.\"scripted:*\"]\ninput = 1.0\noutput = 10.0\n\
         [providers.work]\nwire = \"openai\"\nbase_url = \"{}\"\n",
        server.url()
    );
    place.write("home/.config/posse/config.toml", &config);
    let posse = async |args: &[&str]| Ran::beside(place.posse(args.iter().copied())).await;
    let envelope = posse(&["run", "--json", "--model", "work:big", "Hi"]).await.envelope();
    assert_eq!((&envelope["cost_usd"], &envelope["tree_cost_usd"]), (&Value::Null, &Value::Null));
    let listed = posse(&["tasks", "list"]).await.stdout;
    assert!(listed.contains(" $? "), "{listed}");
    assert_eq!(posse(&["run", "--model", &priced, "Delegate"]).await.code, 0);
    let ran = posse(&["cost", "--by", "agent"]).await;
    assert!(ran.stdout.lines().nth(1).unwrap().contains("≥ $0.0090"), "{ran:?}");
    assert!(ran.stderr.contains("no price is known for"), "{ran:?}");
    let all = posse(&["cost", "--json"]).await.json().pop().unwrap();
    assert_eq!(all["cost_usd"], Value::Null, "{all}");
    assert!(
        close(&all["known_cost_usd"], OWN + HELPER) && all["unpriced_tokens"].as_u64() > Some(0),
        "{all}"
    );
}
