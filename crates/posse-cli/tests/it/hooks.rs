//! `[[hooks]]`: commands of the user that run when something happens to a task.

use std::fs;

use serde_json::Value;

use crate::support::{Place, Ran};

fn place(hooks: &str) -> Place {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", hooks);
    place
}

fn told(place: &Place, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.workspace().join(file)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn run(place: &Place) -> Ran {
    let model = place.script("[{calls: [{ls: {}}]}, {text: Secret answer.}]");
    place.run(["run", "--model", &model, "Secret task"])
}

#[test]
fn hooks_get_the_event_as_json_before_the_program_ends_and_no_text_of_the_task() {
    let place = place(
        "[[hooks]]\nevent = \"task_start\"\ncommand = \"cat >> start.jsonl\"\n\
         [[hooks]]\nevent = \"task_end\"\ncommand = [\"sh\", \"-c\", \"cat >> end.jsonl\"]\n\
         [[hooks]]\nevent = \"post_tool\"\ncommand = \"cat >> tool.jsonl\"\n",
    );
    let ran = run(&place);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Secret answer.\n"), "{ran:?}");
    let (start, end, tool) =
        (told(&place, "start.jsonl"), told(&place, "end.jsonl"), told(&place, "tool.jsonl"));
    assert_eq!((start.len(), end.len(), tool.len()), (1, 1, 1), "{start:?} {end:?} {tool:?}");
    assert_eq!((start[0]["hook"].as_str(), start[0]["type"].as_str()), (Some("task_start"), Some("started")));
    assert_eq!((end[0]["status"].as_str(), &end[0]["task_id"]), (Some("completed"), &start[0]["task_id"]));
    assert_eq!(tool[0]["tool"], "ls");
    assert!(![start, end, tool].iter().any(|lines| format!("{lines:?}").contains("Secret")));
}

#[test]
fn a_hook_that_fails_or_hangs_is_one_warning_and_the_task_completes() {
    let place = place(
        "[[hooks]]\nevent = \"task_start\"\ncommand = \"echo broken >&2; exit 3\"\n\
         [[hooks]]\nevent = \"task_end\"\ncommand = \"sleep 600\"\ntimeout_s = 1\n\
         [[hooks]]\nevent = \"task_end\"\ncommand = [\"no-such-program-here\"]\n\
         [[hooks]]\nevent = \"task_end\"\ncommand = \"yes | head -c 10000000 >&2; cat >> end.jsonl\"\n",
    );
    let ran = run(&place);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Secret answer.\n"), "{ran:?}");
    let warnings: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("the hook for")).collect();
    assert_eq!(warnings.len(), 3, "{ran:?}");
    assert!(warnings[0].contains("`task_start` failed: exit status: 3 broken"), "{warnings:?}");
    assert!(warnings[1].contains("`task_end` failed: it did not end within 1 s"), "{warnings:?}");
    assert_eq!(told(&place, "end.jsonl").len(), 1, "the others ran");
}

#[test]
fn hooks_run_for_subagents_only_on_request_and_for_their_questions_always() {
    let place = place(
        "[[hooks]]\nevent = \"task_end\"\ncommand = \"cat >> own.jsonl\"\n\
         [[hooks]]\nevent = \"task_end\"\nsubagents = true\ncommand = \"cat >> all.jsonl\"\n\
         [[hooks]]\nevent = \"question\"\ncommand = \"cat >> asked.jsonl\"\n",
    );
    place.write(
        "workspace/k.yaml",
        "lead:
- calls: [{subagent: {action: define, name: helper, description: Helps, system_prompt: Help., model: 'scripted:k.yaml#helper', tools: [ask_parent]}}]
- calls: [{subagent: {action: spawn, agent: helper, task: Help}}]
- {calls: [{subagent: {action: status, task_id: t_01, wait_ms: 100}}], repeat_until: '\"completed\"', repeat_max: 2000, delay_ms: 100}
- text: Done.
helper:
- calls: [{ask_parent: {question: 'Secret question?', default: left, deadline_s: 1}}]
- text: Helped.
",
    );
    let ran = place.run(["run", "--model", "scripted:k.yaml#lead", "Go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((told(&place, "own.jsonl").len(), told(&place, "all.jsonl").len()), (1, 2));
    let asked = told(&place, "asked.jsonl");
    assert_eq!((asked.len(), asked[0]["hook"].as_str()), (1, Some("question")));
    assert!(!asked[0].to_string().contains("Secret"), "{asked:?}");
}

#[test]
fn a_worker_runs_hooks_too() {
    let place = place("[[hooks]]\nevent = \"task_end\"\ncommand = \"cat >> \\\"$HOME/end.jsonl\\\"\"\n");
    let model = place.script("- text: Hello.\n");
    let ran = place.run(["run", "--detach", "--model", &model, "Greet"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    crate::support::until("the hook of the worker ran", || {
        fs::read_to_string(place.home().join("end.jsonl")).ok().filter(|text| text.contains("\"task_end\""))
    });
}

#[test]
fn a_project_cannot_define_hooks_and_a_wrong_event_is_named() {
    let place = place("");
    place.write("workspace/posse.toml", "[[hooks]]\nevent = \"task_end\"\ncommand = \"touch owned\"\n");
    let refused = run(&place);
    assert!(refused.code == 1 && refused.stderr.contains("`hooks`"), "{refused:?}");
    assert!(!place.workspace().join("owned").exists());
    place.write("workspace/posse.toml", "");
    place.write("home/.config/posse/config.toml", "[[hooks]]\nevent = \"task_ended\"\ncommand = \"true\"\n");
    let wrong = run(&place);
    assert!(wrong.code == 1 && wrong.stderr.contains("task_end"), "{wrong:?}");
}
