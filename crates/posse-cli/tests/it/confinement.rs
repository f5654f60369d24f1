//! What the operator says about the sandbox, and what a run makes of it.

use crate::support::{Place, Ran};

fn at_t1(more: &str) -> Place {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", &format!("[sandbox]\ntier = \"t1\"\n{more}"));
    place
}

#[test]
fn a_run_and_the_doctor_say_that_landlock_alone_keeps_the_top_closed() {
    let place = at_t1("");
    let model = place.script("[{text: Done.}]");
    let ran = place.run(["run", "--model", &model, "Do it"]);
    assert!(
        ran.stderr.contains("commands make nothing new at the top of the workspace (install bubblewrap)")
    );
    let doctor = place.run(["doctor"]).stdout;
    assert!(doctor.contains("nothing new at the top of the workspace (bubblewrap opens it)"), "{doctor}");
    assert!(doctor.contains("at a terminal auto, without one plan"), "{doctor}");
}

#[test]
fn a_command_reads_the_toolchain_that_it_is_told_about() {
    let place = at_t1("");
    place.write("cargo/registry/index/one", "the index\n");
    let token = place.write("cargo/credentials.toml", "the token\n");
    let command = format!("cat $CARGO_HOME/registry/index/one; cat {}", token.display());
    let model = place.script(&format!("[{{calls: [{{bash: {{command: '{command}'}}}}]}}, {{text: Done.}}]"));
    let mut posse = place.posse(["run", "--json", "--allow", "bash", "--model", &model, "Look"]);
    posse.env("CARGO_HOME", place.root().join("cargo"));
    let ran = Ran::of(posse);
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let seen = place.run(["tasks", "show", &id, "--result", "1.0"]).stdout;
    assert!(seen.contains("the index") && !seen.contains("the token"), "{seen}");
    assert!(seen.contains("[sandbox t1: closed to commands are"), "{seen}");
}

// S08 Seen to fail with `Workspace::open` in `Setup::tools`.
#[test]
fn file_tools_in_a_home_directory_do_not_see_its_keys() {
    let place = Place::new();
    for file in ["home/.ssh/id_ed25519", "home/.config/posse/config.toml", "home/notes.txt"] {
        place.write(file, "# canary\n");
    }
    let model = place.script(
        "[{calls: [{read: {path: .ssh/id_ed25519}}, {read: {path: .config/posse/config.toml}}, \
          {grep: {pattern: canary, glob: '.*/**'}}, {read: {path: notes.txt}}]}, {text: Done.}]",
    );
    let mut posse = place.posse(["run", "--json", "--model", &model, "Look"]);
    posse.current_dir(place.home());
    let ran = Ran::of(posse);
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let seen = |call: &str| place.run(["tasks", "show", &id, "--result", call]).stdout;
    for call in ["1.0", "1.1", "1.2"] {
        assert!(!seen(call).contains("# canary"), "{call}: {}", seen(call));
    }
    assert!(seen("1.0").contains("holds keys or sessions") && seen("1.3").contains("# canary"), "{ran:?}");
}

// G20 S04 Seen to fail with `Workspace::open_without` in `Setup::tools`.
#[test]
fn a_protected_file_is_written_after_the_operator_opened_it_by_name() {
    let script = "[{calls: [{write: {path: AGENTS.md, content: obey}}, {write: {path: opencode.json, content: '{}'}}]}, {text: Done.}]";
    for (unprotected, expected) in [("[]", [false, false]), ("[\"agents.md\"]", [true, false])] {
        let place = at_t1(&format!("unprotected = {unprotected}\n"));
        let model = place.script(script);
        let ran = place.run(["run", "--json", "--model", &model, "Write"]);
        let there = ["AGENTS.md", "opencode.json"].map(|name| place.workspace().join(name).exists());
        assert_eq!((ran.code, there), (0, expected), "{unprotected}: {ran:?}");
        let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
        let refusal = place.run(["tasks", "show", &id, "--result", "1.1"]).stdout;
        assert!(
            refusal.starts_with("`opencode.json` is protected: opencode obeys it when it starts"),
            "{refusal}"
        );
        assert!(refusal.contains("`unprotected = [\"opencode.json\"]` under `[sandbox]`"), "{refusal}");
        let doctor = place.run(["doctor"]).stdout;
        assert_eq!(doctor.contains("not protected: `agents.md`"), expected[0], "{doctor}");
    }
}

#[test]
fn a_name_that_is_not_protected_cannot_be_opened() {
    let place = at_t1("unprotected = [\"Makefile\"]\n");
    let ran = place.run(["run", "--model", "none:x", "Write"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr
            .contains("error[CONFIG_INVALID]: `sandbox.unprotected`: `Makefile` is not a protected name"),
        "{ran:?}"
    );
}
