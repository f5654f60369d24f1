//! Which tools a run is given, by whom, and which files it may change.

use std::os::unix::fs::PermissionsExt;

use posse_testkit::server::Server;
use posse_testkit::wire::Say;
use serde_json::{Value, json};

use crate::support::{Place, Ran};

/// A tool in this directory that says who it is.
fn tool(place: &Place, dir: &str, name: &str, effect: &str, says: &str) {
    let manifest = json!({
        "name": name, "description": "Says who it is", "effect": effect, "command": ["./run.sh"],
        "input_schema": {"type": "object"},
    });
    place.write(&format!("{dir}/{name}/tool.json"), &manifest.to_string());
    let program = place.write(&format!("{dir}/{name}/run.sh"), &format!("#!/bin/sh\necho {says}\n"));
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

const USER_TOOLS: &str = "home/.config/posse/tools";
const PROJECT_TOOLS: &str = "workspace/.posse/tools";

fn configure(place: &Place, text: &str) {
    place.write("home/.config/posse/config.toml", text);
}

/// The result of a call to this tool, and the tools that were refused.
fn call(place: &Place, tool: &str, args: &[&str]) -> (String, Value) {
    let model = place.script(&format!("[{{calls: [{{{tool}: {{}}}}]}}, {{text: Done.}}]"));
    let mut all = vec!["run", "--json", "--model", &model];
    all.extend(args);
    all.push("Go");
    let ran = place.run(all);
    assert_eq!(ran.code, 0, "{ran:?}");
    let envelope = ran.envelope();
    let id = envelope["task_id"].as_str().unwrap();
    (place.run(["tasks", "show", id, "--result", "1.0"]).stdout, envelope["refused_tools"].clone())
}

#[test]
fn read_only_also_leaves_out_what_the_configuration_allows() {
    let place = Place::new();
    configure(&place, "[grant]\nallow = [\"bash\", \"change\", \"look\"]\n");
    tool(&place, USER_TOOLS, "change", "idempotent", "changed");
    tool(&place, USER_TOOLS, "look", "pure", "looked");
    assert!(call(&place, "change", &[]).0.contains("changed"));
    for name in ["bash", "change", "write"] {
        let (result, refused) = call(&place, name, &["--read-only"]);
        assert_eq!(refused, json!([name]), "{result}");
    }
    assert!(call(&place, "look", &["--read-only"]).0.contains("looked"));
}

#[test]
fn a_tool_of_the_project_does_not_take_the_place_or_the_right_of_one_of_the_user() {
    let place = Place::new();
    tool(&place, USER_TOOLS, "ticket", "pure", "the user");
    tool(&place, PROJECT_TOOLS, "ticket", "pure", "the project");
    tool(&place, PROJECT_TOOLS, "other", "pure", "the project");
    configure(&place, "[grant]\nallow = [\"ticket\", \"other\"]\n");
    assert!(call(&place, "ticket", &[]).0.contains("the user"));
    let (result, refused) = call(&place, "other", &[]);
    assert_eq!(refused, json!(["other"]), "{result}");
    assert_eq!(call(&place, "other", &["--read-only"]).1, json!(["other"]));
    assert!(call(&place, "other", &["--allow", "other"]).0.contains("the project"));
}

// S10 Seen to fail without `strange` in `grant_again`.
#[tokio::test]
async fn a_tool_of_the_project_goes_on_with_a_task_only_as_it_was_allowed() {
    for changes in [false, true] {
        let place = Place::new();
        tool(&place, PROJECT_TOOLS, "look", "pure", "the first");
        let server = Server::handler(|request| match posse_testkit::wire::turn(request) {
            0 => Say::call("a", "look", json!({})).answer(request),
            1 => Say::text("So far.").answer(request),
            2 => Say::call("b", "look", json!({})).answer(request),
            _ => Say::text("Done.").answer(request),
        })
        .await;
        let posse = async |args: &[&str]| {
            let mut command = place.posse(args.iter().copied());
            command.env("OLLAMA_HOST", server.url());
            Ran::beside(command).await
        };
        let run = ["run", "--json", "--allow", "look", "--max-turns", "2", "--model", "ollama:qwen3", "Go"];
        let begun = posse(&run).await;
        let id = begun.envelope()["task_id"].as_str().unwrap().to_owned();
        if changes {
            tool(&place, PROJECT_TOOLS, "look", "pure", "the second");
        }
        let resumed = posse(&["tasks", "resume", &id, "--max-turns", "5"]).await;
        assert_eq!(resumed.code, 0, "{resumed:?}");
        assert_eq!(resumed.stderr.contains("note: not allowed any more: `look`"), changes, "{resumed:?}");
        let sent = server.requests()[3].json()["messages"].to_string();
        assert!(sent.contains("the first") && !sent.contains("the second"), "{sent}");
    }
}

#[tokio::test]
async fn what_is_denied_today_is_taken_from_a_task_that_goes_on() {
    let place = Place::new();
    place.write("workspace/effects.txt", "");
    let server = Server::handler(|request| {
        let command = |id: &str| Say::call(id, "bash", json!({"command": "echo once >> effects.txt"}));
        match posse_testkit::wire::turn(request) {
            0 => command("a").answer(request),
            // The wrap-up turn of the first process.
            1 => Say::text("So far.").answer(request),
            2 => command("b").answer(request),
            _ => Say::text("Done.").answer(request),
        }
    })
    .await;
    let posse = async |args: &[&str]| {
        let mut command = place.posse(args.iter().copied());
        command.env("OLLAMA_HOST", server.url());
        Ran::beside(command).await
    };
    let model = ["--model", "ollama:qwen3"];
    let begun =
        posse(&["run", "--json", "--allow", "bash", "--max-turns", "2", model[0], model[1], "Go"]).await;
    let id = begun.envelope()["task_id"].as_str().unwrap().to_owned();
    assert_eq!(begun.envelope()["reason"], "turns_exhausted", "{begun:?}");

    place.write("workspace/posse.toml", "[grant]\ndeny = [\"bahs\"]\n");
    let typo = posse(&["tasks", "resume", &id, "--max-turns", "5"]).await;
    assert!(typo.code == 1 && typo.stderr.starts_with("error[INVALID_TOOL]"), "{typo:?}");
    place.write("workspace/posse.toml", "[grant]\ndeny = [\"bash\"]\n");
    let resumed = posse(&["tasks", "resume", &id, "--max-turns", "5"]).await;
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "Done.\n"), "{resumed:?}");
    assert!(resumed.stderr.contains("note: not allowed any more: `bash`"), "{resumed:?}");
    let effects = std::fs::read_to_string(place.workspace().join("effects.txt")).unwrap();
    assert_eq!(effects, "once\n");

    let requests = server.requests();
    let offered = |at: usize| requests[at].json()["tools"].to_string().contains("\"bash\"");
    assert_eq!((requests.len(), offered(0), offered(2), offered(3)), (4, true, false, false));
    let sent = requests[2].json()["messages"].to_string();
    assert!(sent.contains("You are not allowed to use these tools any more: `bash`."), "{sent}");
    let told = posse_testkit::wire::results(&requests[3]).pop().unwrap();
    assert!(told.contains("refused: the tool `bash` is not granted to this task"), "{told}");
    // What was taken away does not come back.
    place.write("workspace/posse.toml", "");
    let shown = place.run(["tasks", "show", &id]).stdout;
    assert!(shown.contains("!       not allowed any more: bash"), "{shown}");
}

// S12 Seen to fail without `exposure` in `define` and in `Report::of`.
#[test]
fn whoever_gives_too_much_to_one_agent_is_told() {
    let place = Place::new();
    configure(&place, "[grant]\nallow = [\"fetch\"]\n");
    for (name, tools) in [("all", "read, fetch"), ("part", "fetch")] {
        let file = format!("---\nname: {name}\ndescription: x\ntools: {tools}\n---\nYou look.");
        place.write(&format!("home/.config/posse/agents/{name}.md"), &file);
    }
    let warning = "give one of these to another agent";
    let report = |name: &str| place.run(["agents", "check", name]).stdout;
    assert!(report("all").contains(warning) && !report("part").contains(warning), "{}", report("all"));
    let define = |name: &str, tools: &str| {
        format!(
            "{{subagent: {{action: define, name: {name}, description: d, system_prompt: p, tools: [{tools}]}}}}"
        )
    };
    let (first, second) = (define("one", "read, fetch"), define("two", "read"));
    let model = place.script(&format!("[{{calls: [{first}, {second}]}}, {{text: Done.}}]"));
    let ran = place.run(["run", "--json", "--model", &model, "Go"]);
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let seen = |call: &str| place.run(["tasks", "show", &id, "--result", call]).stdout;
    assert!(seen("1.0").contains(warning), "{}", seen("1.0"));
    assert!(seen("1.1").contains("defined") && !seen("1.1").contains(warning), "{}", seen("1.1"));
}

/// The file names tools that nobody granted; the task works without them, and says so at the end of `posse run` too.
#[test]
fn a_tool_that_the_file_names_and_the_task_does_not_get_is_told_at_every_door() {
    let place = Place::new().unconfined();
    let script = "lead:\n- calls: [subagent: {action: spawn, agent: builder, task: Build it}]\n- calls: [subagent: {action: wait}]\n- calls: [subagent: {action: collect, task_id: t_01}]\n- text: \"{result:0:/warnings/0}; {result:0:/warnings/1}\"\nbuilder:\n- text: Built.\n";
    let model = place.script(script);
    let file = format!(
        "---\nname: builder\ndescription: Builds\nmodel: {model}#builder\ntools: Read, Bash, Agent\nmax_turns: 400\n---\nYou build.\n"
    );
    place.write("home/.posse/agents/builder.md", &file);
    let lacks = "`builder` works without `bash`, `subagent`, which its definition names: not granted here";
    let ran = place.run([
        "run",
        "--json",
        "--agent",
        "builder",
        "--model",
        &format!("{model}#builder"),
        "Build it",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let warnings = ran.envelope()["warnings"].to_string();
    assert!(warnings.contains("`builder` works without `bash`, which its definition names"), "{warnings}");
    assert!(warnings.contains("asks for max_turns 400 and gets"), "{warnings}");
    let ran = place.run(["run", "--json", "--model", &format!("{model}#lead"), "Build it"]);
    let lowered = "`builder` asks for max_turns 400 and gets 25";
    assert_eq!(ran.envelope()["text"], format!("{lowered}; {lacks}"), "{ran:?}");
}
