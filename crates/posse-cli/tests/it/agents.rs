//! Agents of every tool: found, shown, checked, trusted, run, written.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Place, Ran};

const REVIEWER: &str =
    "---\nname: reviewer\ndescription: Looks at changes\ntools: Read, Grep\n---\nYou review.\n";

/// A workspace that is a repository with a reviewer for Claude Code.
fn project() -> Place {
    let place = Place::new();
    fs::create_dir(place.workspace().join(".git")).unwrap();
    place.write("workspace/.claude/agents/reviewer.md", REVIEWER);
    place
}

fn listed(place: &Place, name: &str) -> Value {
    let ran = place.run(["agents", "list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json().into_iter().find(|agent| agent["name"] == name).unwrap_or_else(|| panic!("{ran:?}"))
}

fn run_reviewer(place: &Place, script: &str, more: &[&str]) -> Ran {
    let model = place.script(script);
    let mut args = vec!["run", "--json", "--model", &model, "--agent", "reviewer"];
    args.extend(more);
    args.push("Look at it");
    place.run(args)
}

#[test]
fn everybodys_agents_are_listed_with_what_they_would_have_here() {
    let place = project();
    place.write(
        "workspace/.opencode/agents/deep/planner.md",
        "---\ndescription: Plans\npermission:\n  edit: deny\n---\nYou plan.",
    );
    place.write("workspace/.codex/agents/x.toml", "name = \"explorer\"\ndescription = \"Explores\"\ndeveloper_instructions = \"You explore.\"\nsandbox_mode = \"read-only\"\n");
    place.write(
        "home/.posse/agents/writer.md",
        "---\nname: writer\ndescription: Mine\nmax_turns: 7\n---\nYou write.",
    );
    let reviewer = listed(&place, "reviewer");
    assert_eq!(reviewer["format"], "claude");
    assert_eq!(reviewer["state"], "not trusted");
    assert_eq!(reviewer["tools"], json!(["grep", "read"]), "{reviewer}");
    assert_eq!(listed(&place, "deep-planner")["format"], "opencode");
    let explorer = listed(&place, "explorer");
    assert!(!explorer["tools"].to_string().contains("write"), "{explorer}");
    let writer = listed(&place, "writer");
    assert_eq!((&writer["state"], &writer["max_turns"]), (&json!("ready"), &json!(7)));
    assert!(writer["shadows"].to_string().contains("built-in"), "the user's comes before ours: {writer}");
    assert_eq!(listed(&place, "general")["state"], "ready");
    let text = place.run(["agents", "list"]);
    assert!(text.stdout.contains("reviewer") && text.stderr.contains("posse trust"), "{text:?}");
}

#[test]
fn an_agent_of_a_project_runs_after_a_person_said_yes_to_what_it_says_now() {
    let place = project();
    let refused = run_reviewer(&place, "[{text: Fine.}]", &[]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("AGENT_NOT_TRUSTED") && refused.stderr.contains("posse trust"),
        "{refused:?}"
    );
    let trusted = place.run(["trust"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    assert!(trusted.stdout.contains("reviewer") && trusted.stdout.contains("trusted now"), "{trusted:?}");
    let ran = run_reviewer(&place, "[{text: Fine.}]", &[]);
    assert_eq!((ran.code, &ran.envelope()["text"]), (0, &json!("Fine.")), "{ran:?}");
    assert_eq!(listed(&place, "reviewer")["state"], "ready");

    place.write("workspace/.claude/agents/reviewer.md", &REVIEWER.replace("Read, Grep", "Read, Write"));
    assert_eq!(listed(&place, "reviewer")["state"], "not trusted");
    assert_eq!(run_reviewer(&place, "[{text: Fine.}]", &[]).code, 1);
    assert_eq!(run_reviewer(&place, "[{text: Fine.}]", &["--trust"]).code, 0);
    assert_eq!(run_reviewer(&place, "[{text: Fine.}]", &[]).code, 1, "--trust is for one run");

    place.run(["trust"]);
    assert!(place.run(["trust", "--list"]).stdout.contains("workspace"));
    assert_eq!(place.run(["trust", "--revoke"]).code, 0);
    assert_eq!(run_reviewer(&place, "[{text: Fine.}]", &[]).code, 1);
}

// S14 Seen to fail without `ASKED_FOR` in `Setup::grant`: the definition gets `bash`.
#[test]
fn a_definition_never_gets_more_than_the_operator_grants() {
    let place = project().unconfined();
    place.write("workspace/.claude/agents/reviewer.md", &REVIEWER.replace("Read, Grep", "Read, Bash, Write"));
    let script = "[{calls: [{bash: {command: id}}, {grep: {pattern: x}}, {read: {path: a}}]}, {text: Done.}]";
    place.write("workspace/a", "alpha");
    let ran = run_reviewer(&place, script, &["--trust"]);
    let envelope = ran.envelope();
    assert_eq!(envelope["refused_tools"], json!(["bash", "grep"]), "{envelope}");
    let id = envelope["task_id"].as_str().unwrap();
    assert!(place.run(["tasks", "show", id, "--result", "1.2"]).stdout.contains("alpha"));
    let allowed = run_reviewer(&place, script, &["--trust", "--allow", "bash"]);
    assert_eq!(allowed.envelope()["refused_tools"], json!(["grep"]));
}

#[test]
fn the_doctor_tells_what_became_of_each_key_and_fails_on_errors_only() {
    let place = project();
    place.write(
        "workspace/.claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: Looks: at changes\ntools: Read, WebSearch\nmodel: opus\nhooks: {}\nfavourite: 7\n---\nYou review.\n",
    );
    let ran = place.run(["agents", "check"]);
    assert_eq!(ran.code, 0, "warnings are no failure: {ran:?}");
    for part in ["hooks", "ignored", "favourite", "honoured", "web_search", "→ tools", "→ model", "tokens"]
    {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let report = place.run(["agents", "check", "reviewer", "--json"]).json().remove(0);
    assert_eq!((&report["name"], &report["format"]), (&json!("reviewer"), &json!("claude")));
    assert!(report["remarks"].to_string().contains("YAML"), "{report}");

    place.write("workspace/.posse/agents/broken.md", "---\nname: other\ndescription: x\n---\nYou.");
    let broken = place.run(["agents", "check"]);
    assert_eq!(broken.code, 1, "{broken:?}");
    assert!(broken.stdout.contains("error"), "{broken:?}");
    let run =
        place.run(["run", "--model", &place.script("[{text: x}]"), "--trust", "--agent", "broken", "Go"]);
    assert!(run.stderr.contains("AGENT_INVALID"), "a broken file is not gone: {run:?}");
    assert_eq!(place.run(["agents", "check", "nobody"]).code, 1);
}

#[test]
fn a_new_definition_is_sound_and_nothing_is_overwritten() {
    let place = project();
    let made = place.run(["agents", "new", "helper"]);
    assert_eq!((made.code, made.stdout.trim()), (0, ".posse/agents/helper.md"), "{made:?}");
    let checked = place.run(["agents", "check", "helper", "--json"]).json().remove(0);
    assert_eq!(checked["remarks"], json!([]), "{checked}");
    assert!(!checked["tools"].to_string().contains("write"), "{checked}");
    assert_eq!(place.run(["agents", "new", "helper"]).code, 1);
    assert_eq!(place.run(["agents", "new", "../x"]).code, 1);
    let mine = place.run(["agents", "new", "mine", "--user"]);
    assert!(mine.stdout.contains(".config/posse/agents/mine.md"), "{mine:?}");
    assert_eq!(listed(&place, "mine")["state"], "ready");
}

#[test]
fn definitions_can_be_written_for_other_tools_and_for_editors() {
    let place = project();
    let schema: Value = serde_json::from_str(&place.run(["agents", "schema"]).stdout).unwrap();
    assert!(schema["properties"]["max_turns"].is_object(), "{schema}");
    let exported = place.run(["agents", "export", "reviewer", "--to", "codex"]);
    assert!(exported.stdout.contains("developer_instructions"), "{exported:?}");
    assert!(exported.stderr.contains("lost: "), "Codex has no list of tools: {exported:?}");
    let file = place.root().join("out.md");
    let path = file.to_str().unwrap();
    assert_eq!(place.run(["agents", "export", "reviewer", "--to", "posse", "--out", path]).code, 0);
    assert!(fs::read_to_string(&file).unwrap().contains("name: reviewer"));
    assert_eq!(place.run(["agents", "export", "reviewer", "--to", "posse", "--out", path]).code, 1);
    assert!(
        place.run(["agents", "export", "reviewer", "--to", "nobody"]).stderr.contains("there are: posse")
    );
}

#[test]
fn a_nearer_definition_hides_a_farther_one_and_both_are_shown() {
    let place = project();
    place.write("workspace/sub/.posse/agents/reviewer.md", &REVIEWER.replace("Looks at changes", "Nearer"));
    let ran = |args: &[&str]| {
        let mut command = place.posse(args.iter().copied());
        command.current_dir(place.workspace().join("sub"));
        Ran::of(command)
    };
    let agents = ran(&["agents", "list", "--json"]).json();
    let reviewer = agents.iter().find(|agent| agent["name"] == "reviewer").unwrap();
    assert_eq!(reviewer["description"], "Nearer");
    assert!(reviewer["shadows"].to_string().contains(".claude/agents/reviewer.md"), "{reviewer}");
    let checked = ran(&["agents", "check", "reviewer", "--json"]).json();
    assert_eq!(checked.len(), 2, "{checked:?}");
    assert!(checked[1]["hidden_by"].as_str().unwrap().contains("sub/.posse"), "{checked:?}");
}

/// Runs an agent of the user with these flags, and returns its first event.
fn started(place: &Place, more: &[&str]) -> (Value, Ran) {
    let mut args = vec!["run", "--json", "--agent", "mine"];
    args.extend(more);
    args.push("Go");
    let ran = place.run(args);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    (place.journal(&id).remove(0), ran)
}

#[test]
fn what_a_person_says_for_one_run_counts_before_the_file() {
    let place = Place::new();
    let (file, flag) = (place.write("file.yaml", "[{text: A.}]"), place.write("flag.yaml", "[{text: B.}]"));
    let (file, flag) = (format!("scripted:{}", file.display()), format!("scripted:{}", flag.display()));
    place.write(
        "home/.posse/agents/mine.md",
        &format!("---\nname: mine\ndescription: x\nmodel: {file}\neffort: low\nmax_turns: 3\ntimeout: 60\n---\nYou."),
    );
    place.write("home/.config/posse/config.toml", &format!("model = \"{flag}\"\n"));
    let (own, ran) = started(&place, &[]);
    assert_eq!(ran.envelope()["text"], "A.", "without a flag the file counts: {ran:?}");
    let agent = |start: &Value| start["agent"].clone();
    assert_eq!(agent(&own)["limits"]["turns_max"], 3, "{own}");
    assert_eq!(agent(&own)["settings"]["effort"], "low", "{own}");
    let (told, ran) =
        started(&place, &["-m", &flag, "--effort", "high", "--max-turns", "40", "--timeout", "600"]);
    assert_eq!(ran.envelope()["text"], "B.", "{ran:?}");
    let limits = &agent(&told)["limits"];
    assert_eq!((&limits["turns_max"], &limits["wall_ms_max"]), (&json!(40), &json!(600_000)), "{told}");
    assert_eq!(agent(&told)["settings"]["effort"], "high", "{told}");
}

#[test]
fn a_person_can_name_a_hidden_agent() {
    let place = Place::new();
    place.write("home/.config/opencode/agents/mine.md", "---\ndescription: x\nmode: primary\n---\nYou.");
    let model = place.script("[{text: Here.}]");
    let (_, ran) = started(&place, &["-m", &model]);
    assert_eq!(ran.envelope()["text"], "Here.");
}

#[test]
fn the_advice_after_a_refusal_is_one_that_helps() {
    let place = Place::new().unconfined();
    place
        .write("home/.posse/agents/mine.md", "---\nname: mine\ndescription: x\ntools: Read, Bash\n---\nYou.");
    let model = place.script(
        "[{calls: [{grep: {pattern: x}}, {bash: {command: id}}, {write: {path: a, content: b}}]}, {text: Done.}]",
    );
    let ran = |more: &[&str]| {
        let mut args = vec!["run", "-m", &model];
        args.extend(more);
        args.push("Go");
        place.run(args).stderr
    };
    let by_file = ran(&["--agent", "mine"]);
    assert!(
        by_file.contains("refused: grep,write · the file of the agent `mine` does not give it"),
        "{by_file}"
    );
    assert!(by_file.contains("refused: bash · to allow: posse run --allow bash"), "{by_file}");
    let read_only = ran(&["--read-only"]);
    assert!(read_only.contains("refused: bash,write · left out by the mode `plan`"), "{read_only}");
    place.write("home/.config/posse/config.toml", "[grant]\ndeny = [\"bash\"]\n");
    let denied = ran(&["--allow", "bash"]);
    assert!(denied.contains("refused: bash · `deny` in your configuration names it"), "{denied}");
}

#[test]
fn what_is_shown_before_trust_is_what_comes_after_it() {
    let place = project();
    let base = "---\nname: base\ndescription: Base\ntools: Read\nmax_turns: 4\n---\nYou are the base.\n";
    place.write("workspace/.posse/agents/base.md", base);
    place
        .write("workspace/.posse/agents/heir.md", "---\nname: heir\ndescription: Heir\nextends: base\n---\n");
    place.write("workspace/.posse/agents/lost.md", "---\nname: lost\ndescription: x\nextends: nobody\n---\n");
    let shown = |name: &str| place.run(["agents", "show", name, "--json"]).json().remove(0);
    let before = shown("heir");
    assert_eq!((&before["tools"], &before["max_turns"]), (&json!(["read"]), &json!(4)), "{before}");
    assert_eq!(before["system_prompt"], "You are the base.");
    let lost = listed(&place, "lost");
    assert_eq!(lost["state"], "error", "trust would not help: {lost}");
    assert!(lost["problems"].to_string().contains("no such agent"), "{lost}");
    let checked = place.run(["agents", "check", "lost"]);
    assert!(checked.stdout.contains("no such agent"), "{checked:?}");
    assert!(!checked.stdout.contains("lets it run"), "{checked:?}");
    assert_eq!(checked.code, 1);
    // A model is told nothing of it.
    let model = place.script("[{calls: [{subagent: {action: spawn, agent: lost, task: x}}]}, {text: Done.}]");
    let ran = place.run(["run", "--json", "-m", &model, "Go"]);
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let told = place.run(["tasks", "show", &id, "--result", "1.0"]).stdout;
    assert!(told.contains("AGENT_NOT_TRUSTED") && !told.contains("no such agent"), "{told}");

    assert_eq!(place.run(["trust"]).code, 0);
    let mut after = shown("heir");
    assert_eq!(after["state"], "ready");
    after["state"] = before["state"].clone();
    assert_eq!(after, before);
}

#[test]
fn trust_can_be_given_to_some_and_says_to_what() {
    let place = project();
    place.write(
        "workspace/.posse/agents/one.md",
        "---\nname: one\ndescription: x\ntools: Read, Bash(git *)\nwrite_paths: docs\n---\nYou.",
    );
    place.write("workspace/.posse/agents/two.md", "---\nname: two\ndescription: x\nextends: one\n---\n");
    place.write("workspace/.posse/agents/bad.md", "---\nname: other\ndescription: x\n---\nYou.");
    let two = place.run(["trust", "two"]);
    assert_eq!(two.code, 0, "{two:?}");
    assert!(
        two.stderr.contains("`two` does not run yet: it extends") && two.stderr.contains("one.md"),
        "{two:?}"
    );
    let one = place.run(["trust", "one"]);
    assert!(one.stdout.contains("trusted now") && !one.stdout.contains("reviewer"), "{one:?}");
    assert!(one.stdout.contains("only bash(git *)") && one.stdout.contains("writes only docs"), "{one:?}");
    assert_eq!(
        (&listed(&place, "one")["state"], &listed(&place, "reviewer")["state"]),
        (&json!("ready"), &json!("not trusted"))
    );
    let unknown = place.run(["trust", "nobody", "reviewer"]);
    assert_eq!(unknown.code, 1);
    assert_eq!(listed(&place, "reviewer")["state"], "not trusted", "all or nothing");
    let all = place.run(["trust", "--json"]).json();
    let state = |name: &str| all.iter().find(|file| file["agent"] == name).unwrap().clone();
    assert_eq!(state("bad")["state"], "has errors: not trusted", "{all:?}");
    assert!(state("bad")["errors"].as_u64() > Some(0), "{all:?}");
    assert_eq!(state("reviewer")["tools"], json!(["grep", "read"]));
    let trusted = fs::read_to_string(place.state().join("trust.json")).unwrap();
    assert_eq!(trusted.matches("\": [").count(), 1, "{trusted}");
    assert_eq!(
        trusted.lines().filter(|line| line.trim().trim_matches([',', '"']).len() == 64).count(),
        3,
        "{trusted}"
    );
}

#[test]
fn nothing_is_called_trusted_that_could_not_be_written_down() {
    let place = project();
    place.write("state", "not a directory");
    let ran = place.run(["trust"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(!ran.stdout.contains("trusted now"), "{ran:?}");
    fs::remove_file(place.state()).unwrap();
    let mut inside = place.posse(["trust"]);
    inside.env("POSSE_TASK", "abc");
    let refused = Ran::of(inside);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("only a person can trust"), "{refused:?}");
}

#[test]
fn a_list_can_be_asked_what_a_flag_would_change() {
    let place = Place::new().unconfined();
    place.write(
        "home/.posse/agents/mine.md",
        "---\nname: mine\ndescription: x\ntools: Read, Bash(git *)\ndisallowed_tools: Bash(git push *)\nhidden: true\n---\nYou.",
    );
    let without = listed(&place, "mine");
    assert_eq!(without["tools"], json!(["read"]));
    assert_eq!(without["not_given"], json!(["bash: only with --allow bash"]), "{without}");
    assert_eq!(without["hidden"], true);
    let text = place.run(["agents", "list"]).stdout;
    assert!(text.contains("hidden · x") && text.contains("bash: only with --allow bash"), "{text}");
    let with = place.run(["agents", "list", "--allow", "bash"]).stdout;
    assert!(!with.contains("only with --allow bash"), "{with}");
    let checked = place.run(["agents", "check", "mine", "--allow", "bash", "--json"]).json().remove(0);
    assert_eq!(
        (&checked["tools"], &checked["not_given"]),
        (&json!(["bash", "read"]), &json!([])),
        "{checked}"
    );
    let checked = place.run(["agents", "check", "mine"]).stdout;
    assert!(checked.contains("not given") && checked.contains("a guard rail, not a wall"), "{checked}");
    assert_eq!(place.run(["agents", "list", "--allow", "nothing"]).code, 1);
}

#[test]
fn a_new_agent_says_whom_it_hides_and_where_it_is_seen() {
    let place = project();
    let made = place.run(["agents", "new", "general"]);
    assert!(made.stderr.contains("stands before the agent `general` of built-in"), "{made:?}");
    assert!(made.stderr.contains("seen by posse in this directory and below"), "{made:?}");
    let hidden = place.run(["agents", "new", "general", "--user", "--json"]);
    let value = hidden.json().remove(0);
    assert!(value["hidden_by"].as_str().unwrap().contains("workspace/.posse"), "{value}");
    assert!(value["path"].as_str().unwrap().ends_with("agents/general.md"), "{value}");
    let init = place.run(["init", "--json"]);
    assert_eq!(init.json().len(), 2, "{init:?}");
    assert_eq!(init.json()[0]["state"], "written", "{init:?}");
    assert!(init.stderr.contains("posse trust"), "{init:?}");
}

// S27 Seen to fail with a `visible` that changes nothing.
#[test]
fn what_an_untrusted_file_says_cannot_steer_a_terminal_behind_a_pipe() {
    let place = project();
    place.write(
        "workspace/.claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: \"a\\e[2Jb\"\n---\nYou \u{1b}[31mreview.\n",
    );
    for args in [&["agents", "list"][..], &["agents", "show", "reviewer"], &["agents", "check"], &["trust"]] {
        let ran = place.run(args.iter().copied());
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{ran:?}");
    }
}

#[test]
fn a_list_that_cannot_be_written_is_a_failure() {
    for args in
        [&["agents", "list"][..], &["agents", "list", "--json"], &["tasks", "list"], &["doctor"], &["init"]]
    {
        let place = Place::new();
        place.run(["run", "-m", &place.script("[{text: Done.}]"), "Go"]);
        let mut command = place.posse(args.iter().copied());
        command.stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"), "{args:?}");
    }
}

#[test]
fn an_export_that_would_give_more_is_refused_unless_somebody_insists() {
    let place = project();
    let refused = place.run(["agents", "export", "reviewer", "--to", "goose"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(refused.stderr.contains("goose cannot say") && refused.stderr.contains("--force"), "{refused:?}");
    let forced = place.run(["agents", "export", "reviewer", "--to", "goose", "--force"]);
    assert!(forced.code == 0 && forced.stderr.contains("warning: goose cannot say"), "{forced:?}");
    let value = place.run(["agents", "export", "reviewer", "--to", "codex", "--json"]).json().remove(0);
    assert_eq!((&value["file_name"], &value["excess"]), (&json!("reviewer.toml"), &Value::Null), "{value}");
    assert!(value["text"].as_str().unwrap().contains("read-only"), "{value}");
    let help = place.run(["agents", "export", "--help"]).stdout;
    for format in [
        "posse",
        "acai",
        "claude",
        "opencode",
        "gemini",
        "copilot",
        "codex",
        "qwen",
        "cursor",
        "openhands",
        "pi",
        "factory",
        "goose",
    ] {
        assert!(help.contains(format), "{format}: {help}");
    }
}

#[test]
fn write_paths_hold_for_absolute_paths_as_well() {
    let place = Place::new();
    place.write(
        "home/.posse/agents/mine.md",
        "---\nname: mine\ndescription: x\nwrite_paths: docs/**\n---\nYou.",
    );
    fs::create_dir(place.workspace().join("docs")).unwrap();
    let at = place.workspace().canonicalize().unwrap().display().to_string();
    let model = place.script(&format!(
        "[{{calls: [{{write: {{path: {at}/docs/a.md, content: a}}}}, {{write: {{path: {at}/b.md, content: b}}}}]}}, {{text: Done.}}]"
    ));
    let (_, ran) = started(&place, &["-m", &model]);
    assert!(place.workspace().join("docs/a.md").exists(), "{ran:?}");
    assert!(!place.workspace().join("b.md").exists(), "{ran:?}");
}

#[test]
fn nobody_is_sent_in_a_circle_for_a_file_with_errors() {
    let place = project();
    place.write("workspace/.posse/agents/bad.md", "---\nname: other\ndescription: x\n---\nYou.");
    let trusted = place.run(["trust"]);
    assert!(trusted.stdout.contains("has errors"), "{trusted:?}");
    let model = place.script("[{text: Fine.}]");
    let refused = place.run(["run", "--model", &model, "--agent", "bad", "Look at it"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("`posse agents check bad`"), "{refused:?}");
}

#[test]
fn agents_of_a_project_that_contains_the_home_directory_are_found_and_others_are_told() {
    let place = Place::new();
    let agent = |name: &str| format!("---\nname: {name}\ndescription: Looks\n---\nYou look.\n");
    place.write(".posse/agents/outer.md", &agent("outer"));
    let run = |here: std::path::PathBuf| {
        let mut command = place.posse(["agents", "list"]);
        Ran::of({
            command.current_dir(here);
            command
        })
    };
    let ran = run(place.root().to_owned());
    assert!(ran.stdout.contains("outer"), "{ran:?}");
    std::fs::create_dir(place.root().join(".git")).unwrap();
    std::fs::create_dir(place.home().join("work")).unwrap();
    let ran = run(place.home().join("work"));
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("the project would contain your home directory"), "{ran:?}");
}

#[test]
fn an_export_to_acai_has_the_tool_names_of_acai() {
    let place = Place::new();
    let file = "---\nname: helper\ndescription: Helps\ntools: [read, ls, directory_tree, bash, think]\n---\nYou help.\n";
    place.write("home/.posse/agents/helper.md", file);
    let ran = place.run(["agents", "export", "helper", "--to", "acai"]);
    assert!(ran.stdout.contains("\ntools: Read, LS, DirectoryTree, Bash, Think\n"), "{ran:?}");
}

#[test]
fn a_list_of_agents_says_whose_each_is() {
    let place = Place::new();
    place.write("home/.posse/agents/helper.md", "---\nname: helper\ndescription: Helps\n---\nYou help.\n");
    place.write(
        "workspace/.posse/agents/local.md",
        "---\nname: local\ndescription: Helps here\n---\nYou help.\n",
    );
    let ran = place.run(["agents", "list", "--json"]);
    let listed = ran.json();
    let all: Vec<&serde_json::Value> = listed
        .iter()
        .flat_map(|line| line.as_array().map_or_else(|| vec![line], |all| all.iter().collect()))
        .collect();
    for (name, source) in [("helper", "user"), ("local", "project"), ("general", "built-in")] {
        let agent =
            all.iter().find(|agent| agent["name"] == name).unwrap_or_else(|| panic!("{name}: {ran:?}"));
        assert_eq!(agent["source"], source, "{name}");
    }
}
