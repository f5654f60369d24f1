//! With which tools models delegate: chosen by the user, told by the doctor.

use crate::support::Place;

const SCRIPT: &str = r#"
orchestrator:
  - calls: [{Agent: {prompt: "Say hello.", type: general}}]
  - calls: [{run_subagent: {task: "Find out which files are in this directory. Return their names."}}]
  - text: "{result:0}"
general:
  - text: Hello.
investigator:
  - calls: [{ls: {}}]
  - text: <answer>none</answer>
"#;

#[test]
fn the_user_chooses_the_tools_to_delegate_with() {
    let place = Place::new();
    let model = place.script(SCRIPT);
    place.write("home/.config/posse/config.toml", "[session]\ntools = [\"agent\", \"run_subagent\"]\n");
    // Every agent plays its own part of the script.
    for name in ["general", "investigator"] {
        let path = format!("home/.posse/agents/{name}.md");
        let text = format!("---\nname: {name}\ndescription: Mine\nmodel: {model}#{name}\n---\nYou work.\n");
        place.write(&path, &text);
    }
    let ran = place.run(["run", "--model", &format!("{model}#orchestrator"), "--json", "Who is there?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let envelope = ran.envelope();
    assert_eq!(envelope["sections"]["answer"], "none", "{envelope}");
    assert_eq!(place.tasks().len(), 3);
    let prompt = place.journal(envelope["task_id"].as_str().unwrap())[0].to_string();
    assert!(
        prompt.contains("### run_subagent") && !prompt.contains("Available specialist agents"),
        "{prompt}"
    );
}

#[test]
fn the_usual_prompt_lists_who_can_be_asked() {
    let place = Place::new();
    let model = place.script("orchestrator:\n  - text: done\n");
    let ran = place.run(["run", "--model", &model, "--json", "Hello"]);
    let prompt = place.journal(ran.envelope()["task_id"].as_str().unwrap())[0].to_string();
    assert!(prompt.contains("Available specialist agents (use subagent tool to delegate):"), "{prompt}");
    assert!(prompt.contains("  code-reviewer  - Reviews code for mistakes"), "{prompt}");
}

#[test]
fn the_doctor_tells_what_delegating_costs_in_every_request() {
    let place = Place::new();
    let ran = place.run(["doctor"]);
    let line = ran.stdout.lines().find(|line| line.contains("prompt tokens")).unwrap().to_owned();
    for part in ["prompt ", "subagent ", "shared_context ", "guidance ", " to delegate"] {
        assert!(line.contains(part), "{line}");
    }
    place.write("home/.config/posse/config.toml", "[session]\ntools = [\"teleport\"]\n");
    let ran = place.run(["doctor"]);
    assert!(ran.code == 1 && ran.stdout.contains("there are: subagent, shared_context"), "{ran:?}");
    let model = place.script("orchestrator:\n  - text: done\n");
    let ran = place.run(["run", "--model", &model, "Hello"]);
    assert!(ran.code == 1 && ran.stderr.contains("`session.tools`"), "{ran:?}");
}

#[test]
fn a_child_finds_its_script_from_wherever_it_is_taken_up() {
    let place = Place::new();
    place.write(
        "workspace/k.yaml",
        "lead:
- calls: [{subagent: {action: define, name: helper, description: Helps, system_prompt: Help., model: 'scripted:k.yaml#helper'}}]
- calls: [{subagent: {action: spawn, agent: helper, task: Help}}]
- {calls: [{subagent: {action: status, task_id: '{result:0:/task_id}', wait_ms: 1000}}], repeat_until: '\"completed\"'}
- text: Done.
helper:
- text: Helped.
",
    );
    let ran = place.run(["run", "--json", "--model", "scripted:k.yaml#lead", "Do it"]);
    assert_eq!((ran.code, &ran.envelope()["status"]), (0, &serde_json::json!("completed")), "{ran:?}");
    let id = format!("{}.t_01", ran.envelope()["task_id"].as_str().unwrap());
    let model = place.journal(&id)[0]["agent"]["model"].as_str().unwrap().to_owned();
    assert_eq!(model, format!("scripted:{}#helper", place.workspace().join("k.yaml").display()));
}
