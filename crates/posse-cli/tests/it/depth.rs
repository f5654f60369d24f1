//! How deep agents delegate: a setting of the user, the same at every door.

use serde_json::json;

use crate::support::Place;

/// Three agents, each of which asks the next one; only the last does the work.
const SCRIPT: &str = r#"
lead:
  - calls: [{Agent: {prompt: "Ask the next one.", type: first}}]
  - text: "{result:0}"
first:
  - calls: [{Agent: {prompt: "Ask the next one.", type: second}}]
  - text: "first heard: {result:0}"
second:
  - calls: [{subagent: {action: spawn, agent: third, task: Do it}}]
  - calls: [{subagent: {action: wait, task_ids: [t_03], timeout_ms: 45000}}]
  - calls: [{subagent: {action: collect, task_id: t_03}}]
  - text: "second heard: {result:0:/result}"
third:
  - calls: [{subagent: {action: list_agents}}]
  - text: "third was told: {result:0}"
"#;

pub fn place(settings: &str) -> (Place, String) {
    let place = Place::new();
    let model = place.script(SCRIPT);
    for name in ["first", "second", "third"] {
        let text = format!(
            "---\nname: {name}\ndescription: The {name} one\nmodel: {model}#{name}\ntools: Read, Agent\n---\nYou work.\n"
        );
        place.write(&format!("home/.posse/agents/{name}.md"), &text);
    }
    let config = format!("[session]\ntools = [\"subagent\", \"agent\"]\n{settings}");
    place.write("home/.config/posse/config.toml", &config);
    (place, model)
}

// R004 R360
#[test]
fn agents_delegate_as_deep_as_the_session_allows_and_no_deeper() {
    let (place, model) = place("max_depth = 3\n");
    let ran = place.run(["run", "--json", "--model", &format!("{model}#lead"), "Do it"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = ran.envelope()["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("first heard: second heard: third was told: "), "{text}");
    assert!(text.contains("Max sub-agent depth (3) reached. Cannot spawn further sub-agents."), "{text}");
    let mut rows = place.tasks();
    rows.sort_by_key(|row| row["task_id"].as_str().unwrap().to_owned());
    assert_eq!(rows.len(), 4, "{rows:?}");
    for pair in rows.windows(2) {
        assert_eq!(pair[1]["parent"], pair[0]["task_id"], "each one was asked by the one before: {rows:?}");
    }
}

// R004 R122 R360
#[test]
fn by_default_only_the_orchestrator_delegates() {
    let (place, model) = place("");
    let ran = place.run(["run", "--json", "--model", &format!("{model}#lead"), "Do it"]);
    let text = ran.envelope()["text"].as_str().unwrap().to_owned();
    let refused = "first heard: refused: Max sub-agent depth (1) reached. Cannot spawn further sub-agents.";
    let lacks = "`first` works without `subagent`, which its definition names: not granted here";
    assert_eq!(text, format!("{refused}\n\n[note: {lacks}]"), "{ran:?}");
    assert_eq!(place.tasks().len(), 2);
}

#[test]
fn an_agent_that_does_not_list_the_right_to_delegate_does_not_have_it() {
    let (place, model) = place("max_depth = 8\n");
    let text =
        format!("---\nname: first\ndescription: Inherits all tools\nmodel: {model}#first\n---\nYou work.\n");
    place.write("home/.posse/agents/first.md", &text);
    let ran = place.run(["run", "--json", "--model", &format!("{model}#lead"), "Do it"]);
    let text = ran.envelope()["text"].as_str().unwrap().to_owned();
    assert!(
        text.starts_with("first heard: refused: the tool `subagent` is not granted to this task"),
        "{text}"
    );
    assert_eq!(place.tasks().len(), 2);
}

#[test]
fn the_doctor_shows_the_depth_and_the_limits_and_a_wrong_value_is_named() {
    let (place, _) = place("max_depth = 3\nmax_running = 12\nmax_open_tasks = 40\non_limit = \"queue\"\n");
    let told = |place: &Place| {
        let ran = place.run(["doctor", "--json"]);
        let finding = ran.json().into_iter().find(|finding| finding["topic"] == "delegation");
        finding.unwrap_or_else(|| panic!("{ran:?}"))["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        told(&place),
        "depth 3 · up to 12 running tasks per parent, more are queued · up to 40 open tasks"
    );
    assert_eq!(
        told(&Place::new()),
        "depth 1 · up to 5 running tasks per parent, more are refused · up to 200 open tasks"
    );
    place.write("home/.config/posse/config.toml", "[session]\nmax_depth = 9\n");
    let ran = place.run(["doctor"]);
    assert!(
        ran.code == 1 && ran.stdout.contains("`max_depth`") && ran.stdout.contains("from 1 to 8"),
        "{ran:?}"
    );
}

#[test]
fn a_defined_agent_delegates_only_where_the_session_is_deep_enough() {
    let script = r#"
lead:
  - calls: [{subagent: {action: define, name: boss, description: Delegates, system_prompt: Delegate., tools: [subagent], model: "MODEL#boss"}}]
  - calls: [{Agent: {prompt: "Ask somebody.", type: boss}}]
  - text: "{result:0}"
boss:
  - calls: [{Agent: {prompt: "Do it.", type: worker}}]
  - text: "{result:0}"
worker:
  - text: "Worked."
"#;
    for (depth, expected) in [(2, "Worked."), (1, "refused: Max sub-agent depth (1) reached.")] {
        let (place, model) = place(&format!("max_depth = {depth}\n"));
        place.write("script.yaml", &script.replace("MODEL", &model));
        let worker = format!("---\nname: worker\ndescription: Works\nmodel: {model}#worker\n---\nWork.\n");
        place.write("home/.posse/agents/worker.md", &worker);
        let ran = place.run(["run", "--json", "--model", &format!("{model}#lead"), "Do it"]);
        assert_eq!(ran.envelope()["status"], json!("completed"), "{ran:?}");
        assert!(ran.envelope()["text"].as_str().unwrap().starts_with(expected), "{depth}: {ran:?}");
    }
}
