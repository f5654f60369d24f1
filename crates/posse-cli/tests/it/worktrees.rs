//! Tasks in worktrees of their own: what they see, what is kept of them, how it comes back, and what a hostile repository
//! gets to run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Place, Ran, Running};

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository with a commit, something staged, something changed, something untracked and something ignored.
pub fn place() -> Place {
    let place = Place::new();
    let workspace = place.workspace();
    git(&workspace, &["init", "-q"]);
    place.write("workspace/.gitignore", "ignored\n");
    place.write("workspace/text.txt", "one\ntwo\nthree\nfour\nfive\n");
    place.write("workspace/gone.txt", "gone\n");
    place.write("workspace/sub/deep.txt", "deep\n");
    std::os::unix::fs::symlink("text.txt", workspace.join("link")).unwrap();
    git(&workspace, &["add", "-A"]);
    git(&workspace, &["commit", "-qm", "first"]);
    fs::remove_file(workspace.join("gone.txt")).unwrap();
    place.write("workspace/text.txt", "one\ntwo, changed\nthree\nfour\nfive\n");
    place.write("workspace/staged.txt", "staged\n");
    git(&workspace, &["add", "staged.txt"]);
    place.write("workspace/untracked.txt", "untracked\r\n");
    place.write("workspace/ignored", "ignored");
    place
}

/// Everything of a repository that must not change: files, index, HEAD, refs, stashes, and whatever else git keeps.
fn fingerprint(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(directory).unwrap().display().to_string();
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_symlink() => {
                    found.push((
                        name,
                        fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes(),
                    ));
                }
                _ => found.push((name, fs::read(entry.path()).unwrap())),
            }
        }
    }
    found.sort();
    found
}

pub fn run(place: &Place, steps: &str) -> Ran {
    let model = place.script(steps);
    let ran =
        place.run(["run", "--json", "--isolation", "worktree", "--allow", "bash", "--model", &model, "Work"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

fn id(ran: &Ran) -> String {
    ran.envelope()["task_id"].as_str().unwrap().to_owned()
}

fn content(place: &Place, path: &str) -> String {
    fs::read_to_string(place.workspace().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn a_task_works_on_the_files_as_they_are_and_leaves_them_as_they_were() {
    let place = place();
    let before = fingerprint(&place.workspace());
    let ran = run(
        &place,
        r#"
        - calls:
            - bash: {command: "cat text.txt untracked.txt staged.txt link; ls -a; git log --oneline; git status --short; git diff --stat"}
            - read: {path: text.txt}
        - calls:
            - edit: {path: text.txt, old_string: "five", new_string: "five, by the task"}
            - write: {path: sub/new.txt, content: "new\n"}
            - bash: {command: "printf '\\000\\001' > binary && chmod +x sub/deep.txt && rm staged.txt && ln -s sub dir && touch ignored"}
        - text: Done.
        "#,
    );
    assert_eq!(fingerprint(&place.workspace()), before, "nothing of the repository was touched");
    let id = id(&ran);
    let seen = place.run(["tasks", "show", &id, "--result", "1.0"]).stdout;
    assert!(
        seen.contains("two, changed") && seen.contains("untracked") && seen.contains("staged\n"),
        "{seen}"
    );
    assert!(!seen.contains("ignored\n") && !seen.contains("gone.txt"), "{seen}");
    assert!(seen.contains("The files as they were when the task began") && seen.contains("first"), "{seen}");
    assert!(!seen.contains(" M "), "it begins without changes: {seen}");
    // Changed files of the envelope are those of the worktree, commands included.
    let expected = ["binary", "dir", "staged.txt", "sub/deep.txt", "sub/new.txt", "text.txt"];
    assert_eq!(ran.envelope()["changed_files"], serde_json::json!(expected));

    let diff = place.posse(["tasks", "diff", &id]).output().unwrap();
    let patch = String::from_utf8_lossy(&diff.stdout);
    assert!(patch.contains("+five, by the task") && patch.contains("GIT binary patch"), "{patch}");
    let applied = place.run(["tasks", "apply", &id, "--json"]);
    assert_eq!(applied.code, 0, "{applied:?}");
    assert_eq!(content(&place, "text.txt"), "one\ntwo, changed\nthree\nfour\nfive, by the task\n");
    assert_eq!(content(&place, "sub/new.txt"), "new\n");
    assert_eq!(fs::read(place.workspace().join("binary")).unwrap(), [0, 1]);
    assert_eq!(fs::read_link(place.workspace().join("dir")).unwrap(), Path::new("sub"));
    assert!(!place.workspace().join("staged.txt").exists());
    let mode = fs::metadata(place.workspace().join("sub/deep.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    let index = |entries: Vec<(String, Vec<u8>)>| entries.into_iter().find(|(name, _)| name == ".git/index");
    assert_eq!(index(fingerprint(&place.workspace())), index(before), "the index is the person's");
    assert!(!place.state().join("worktrees").join(&id).join("tree").exists());
    let again = place.run(["tasks", "apply", &id]);
    assert!(again.code == 0 && again.stderr.contains("was applied before"), "{again:?}");
    assert!(place.run(["tasks", "diff", &id]).stdout.contains("+five, by the task"), "the patch is kept");
}

#[test]
fn what_changed_on_both_sides_is_merged_or_nothing_is() {
    let place = place();
    let ran = run(
        &place,
        r#"
        - calls: [{read: {path: text.txt}}]
        - calls:
            - edit: {path: text.txt, old_string: "five", new_string: "five, by the task"}
            - write: {path: other.txt, content: "by the task\n"}
        - text: Done.
        "#,
    );
    let id = id(&ran);
    place.write("workspace/text.txt", "one\ntwo, changed\nthree\nfour\nfive, by me\n");
    let before = fingerprint(&place.workspace());
    let refused = place.run(["tasks", "apply", &id]);
    assert!(refused.code == 1 && refused.stderr.contains("MERGE_CONFLICT"), "{refused:?}");
    assert!(refused.stderr.contains("text.txt: 1 place was changed on both sides"), "{refused:?}");
    assert_eq!(fingerprint(&place.workspace()), before, "not even what could be applied");
    place.write("workspace/text.txt", "one, by me\ntwo, changed\nthree\nfour\nfive\n");
    let applied = place.run(["tasks", "apply", &id]);
    assert!(applied.code == 0 && applied.stdout.contains("merged  text.txt"), "{applied:?}");
    assert_eq!(content(&place, "text.txt"), "one, by me\ntwo, changed\nthree\nfour\nfive, by the task\n");
    assert_eq!(content(&place, "other.txt"), "by the task\n");
}

#[test]
fn protected_files_are_applied_only_when_a_person_says_so_and_a_patch_can_be_given_up() {
    let place = place();
    let steps = "[{calls: [{bash: {command: 'echo KEY=1 > .env; echo x > y'}}]}, {text: Done.}]";
    let id = id(&run(&place, steps));
    let refused = place.run(["tasks", "apply", &id]);
    assert!(refused.code == 1 && refused.stderr.contains("hold secrets: .env"), "{refused:?}");
    assert!(!place.workspace().join("y").exists());
    let root = place.state().join("worktrees").join(&id);
    assert!(
        root.join("changes.patch").exists() && root.join("tree/y").exists(),
        "nothing is deleted unasked"
    );
    assert_eq!(place.run(["tasks", "discard", &id]).code, 0);
    assert!(!root.exists());
    let gone = place.run(["tasks", "diff", &id]);
    assert!(gone.code == 1 && gone.stderr.contains("has no worktree"), "{gone:?}");
}

#[test]
fn below_the_root_of_a_repository_paths_are_those_of_the_directory() {
    let place = place();
    // A command that is confined cannot write above its workspace.
    place.write("home/.config/posse/config.toml", "[sandbox]\ntier = \"off\"\n");
    place.write("workspace/only-ignored/ignored", "x");
    for (directory, command, expected) in [
        ("sub", "echo x > deep.txt; echo y > ../up.txt", vec!["deep.txt", "../up.txt"]),
        ("only-ignored", "echo z > seen.txt; ls", vec!["seen.txt"]),
    ] {
        let model =
            place.script(&format!("[{{calls: [{{bash: {{command: '{command}'}}}}]}}, {{text: Done.}}]"));
        let args = ["run", "--json", "--isolation", "worktree", "--allow", "bash", "--model", &model, "Work"];
        let mut posse = place.posse(args);
        posse.current_dir(place.workspace().join(directory));
        let ran = Ran::of(posse);
        assert_eq!(ran.code, 0, "{ran:?}");
        let mut changed: Vec<String> =
            serde_json::from_value(ran.envelope()["changed_files"].clone()).unwrap();
        changed.sort_by_key(|name| name.starts_with(".."));
        assert_eq!(changed, expected);
        assert_eq!(place.run(["tasks", "apply", &id(&ran)]).code, 0);
    }
    assert_eq!(content(&place, "sub/deep.txt"), "x\n");
    assert_eq!(content(&place, "up.txt"), "y\n");
    assert_eq!(content(&place, "only-ignored/seen.txt"), "z\n");
}

#[test]
fn a_worktree_in_which_nothing_was_changed_is_not_kept() {
    let place = place();
    let id = id(&run(&place, "[{calls: [{read: {path: text.txt}}]}, {text: Done.}]"));
    assert!(!place.state().join("worktrees").join(&id).exists());
    assert!(place.run(["tasks", "diff", &id]).stderr.contains("has no worktree"));
}

#[test]
fn without_a_repository_a_worktree_is_refused() {
    let place = Place::new();
    let model = place.script("[{text: Done.}]");
    let refused = place.run(["run", "--isolation", "worktree", "--model", &model, "Work"]);
    assert!(refused.code == 1 && refused.stderr.contains("ISOLATION_UNAVAILABLE"), "{refused:?}");
    assert!(place.tasks().is_empty());
    let children = "boss:\n- calls: [{subagent: {action: spawn, agent: general, task: look, isolation: worktree}}]\n- text: done\n";
    let model = format!("{}#boss", place.script(children));
    let ran = place.run(["run", "--json", "--model", &model, "Work"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let journal = place.journal(&id(&ran));
    let told = journal.iter().find(|record| record["record"] == "done").unwrap();
    assert_eq!(told["result"]["is_error"], true, "{told}");
    assert!(told["result"]["text"].as_str().unwrap().contains("ISOLATION_UNAVAILABLE"), "{told}");
    assert_eq!(place.tasks().len(), 1, "nothing is left of the child");
}

#[test]
fn a_delegated_task_works_apart_while_its_parent_does_not() {
    let place = place();
    let script = "boss:\n\
        - calls: [{subagent: {action: define, name: apart, description: x, tools: [write], system_prompt: You work., model: 'MODEL#apart'}}]\n\
        - calls: [{subagent: {action: spawn, agent: apart, task: change it, isolation: worktree}}]\n\
        - calls: [{subagent: {action: wait, mode: all, timeout_ms: 30000}}]\n  repeat_until: '\"timed_out\":false'\n\
        - calls: [{write: {path: mine.txt, content: mine}}]\n\
        - text: done\n\
        apart:\n- calls: [{write: {path: sub/theirs.txt, content: theirs}}]\n- text: done\n";
    let path = place.root().join("script.yaml").display().to_string();
    let model = place.script(&script.replace("MODEL", &format!("scripted:{path}")));
    let ran = place.run(["run", "--json", "--model", &format!("{model}#boss"), "Work"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        place.workspace().join("mine.txt").exists() && !place.workspace().join("sub/theirs.txt").exists()
    );
    let child = format!("{}.t_01", id(&ran));
    let finished = place.journal(&child).pop().unwrap();
    assert_eq!(finished["outcome"]["changed_files"], serde_json::json!(["sub/theirs.txt"]));
    let envelope: serde_json::Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(envelope["kept_apart"], serde_json::json!([child]), "whoever ran it is told what waits");
    assert_eq!(place.run(["tasks", "apply", &child]).code, 0);
    assert_eq!(content(&place, "sub/theirs.txt"), "theirs");
}

#[test]
fn a_task_that_was_killed_goes_on_in_the_same_worktree() {
    let place = place();
    let model = place.script(
        "[{calls: [{write: {path: one.txt, content: one}}]}, {delay_ms: 5000, calls: [{write: {path: two.txt, content: two}}]}, {text: Done.}]",
    );
    let mut running =
        Running::start(place.posse(["run", "--json", "--isolation", "worktree", "--model", &model, "Work"]));
    running.until(|line| line["type"] == "turn" && line["turn"] == 2);
    running.kill();
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    let early = place.run(["tasks", "apply", &id]);
    assert!(early.code == 1 && early.stderr.contains("was interrupted"), "{early:?}");
    place.write("workspace/later.txt", "after it began");
    let resumed = place.run(["tasks", "resume", &id, "--json"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let changed = &resumed.envelope()["changed_files"];
    assert_eq!(*changed, serde_json::json!(["one.txt", "two.txt"]), "{resumed:?}");
    assert_eq!(place.run(["tasks", "apply", &id]).code, 0);
    assert_eq!(content(&place, "two.txt"), "two");
}

/// A project with a tool of its own, and a command that changes it where it runs.
fn place_with_tool() -> (Place, &'static str) {
    let place = place();
    // At t2 files of these names are read-only in a worktree as well.
    place.write("home/.config/posse/config.toml", "[sandbox]\ntier = \"t1\"\n");
    let manifest = r#"{"name": "hello", "description": "Says it", "command": ["./run.sh"], "input_schema": {"type": "object"}}"#;
    place.write("workspace/.posse/tools/hello/tool.json", manifest);
    let program = place.write("workspace/.posse/tools/hello/run.sh", "#!/bin/sh\necho as it was\n");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    (place, "cd .posse/tools/hello && sed -i 's/as it was/changed/' run.sh && cat run.sh")
}

#[test]
fn a_task_in_a_worktree_does_not_change_the_tools_it_calls() {
    // S11 Seen to fail with the worktree as the place of the project's tools, in `Setup::tools`.
    let (place, change) = place_with_tool();
    let model = place.script(&format!(
        "[{{calls: [{{bash: {{command: \"{change}\"}}}}]}}, {{calls: [{{hello: {{}}}}]}}, {{delay_ms: 600000, text: Done.}}]"
    ));
    let allow = ["--allow", "bash", "--allow", "hello"];
    let run = ["run", "--json", "--isolation", "worktree", "--model", &model];
    let mut running = Running::start(place.posse(run.into_iter().chain(allow).chain(["Work"])));
    running.until(|line| line["type"] == "turn" && line["turn"] == 3);
    running.kill();
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    let seen = |call: &str| place.run(["tasks", "show", &id, "--result", call]).stdout;
    assert!(seen("1.0").contains("echo changed"), "{}", seen("1.0"));
    assert!(seen("2.0").contains("as it was"), "{}", seen("2.0"));
    // Also when it goes on in another process.
    place.script("[{text: x}, {text: x}, {calls: [{hello: {}}]}, {text: Done.}]");
    let resumed = place.run(["tasks", "resume", &id, "--json"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    assert!(seen("3.0").contains("as it was"), "{}", seen("3.0"));
}

#[test]
fn nor_does_a_delegated_one() {
    // S11 Seen to fail with the worktree as `project` in `WorktreeProvider::open`.
    let (place, change) = place_with_tool();
    let script = "boss:\n\
        - calls: [{subagent: {action: define, name: apart, description: x, tools: [bash, hello], system_prompt: You work., model: 'MODEL#apart'}}]\n\
        - calls: [{subagent: {action: spawn, agent: apart, task: change it, isolation: worktree}}]\n\
        - calls: [{subagent: {action: wait, mode: all, timeout_ms: 30000}}]\n  repeat_until: '\"timed_out\":false'\n\
        - text: done\n\
        apart:\n- calls: [{bash: {command: \"CHANGE\"}}]\n- calls: [{hello: {}}]\n- text: done\n";
    let path = place.root().join("script.yaml").display().to_string();
    let script = script.replace("MODEL", &format!("scripted:{path}")).replace("CHANGE", change);
    let model = format!("{}#boss", place.script(&script));
    let ran = place.run(["run", "--json", "--allow", "bash", "--allow", "hello", "--model", &model, "Work"]);
    let child = format!("{}.t_01", id(&ran));
    let seen = |call: &str| place.run(["tasks", "show", &child, "--result", call]).stdout;
    assert!(seen("1.0").contains("echo changed"), "{}", seen("1.0"));
    assert!(seen("2.0").contains("as it was"), "{}", seen("2.0"));
}

/// Everything in a repository that git would run is a canary.
#[test]
fn nothing_of_a_hostile_repository_is_run() {
    // S09 G21. Seen to fail with `git status` beside our own listing, and with the repository's configuration in force where
    // contents are read if our attributes are not there either: each of the two is enough to keep filters from being run.
    let place = place();
    let workspace = place.workspace();
    let canary = place.root().join("canary");
    let program =
        place.write("bite.sh", &format!("#!/bin/sh\necho \"$0 $@\" >> {}\ncat\n", canary.display()));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let bite = program.display().to_string();
    for (key, value) in [
        ("core.fsmonitor", &bite),
        ("core.sshCommand", &bite),
        ("core.pager", &bite),
        ("core.editor", &bite),
        ("core.askPass", &bite),
        ("diff.external", &bite),
        ("diff.bite.command", &bite),
        ("diff.bite.textconv", &bite),
        ("merge.bite.driver", &bite),
        ("filter.bite.clean", &bite),
        ("filter.bite.smudge", &bite),
        ("filter.bite.process", &bite),
        ("gpg.program", &bite),
        ("commit.gpgSign", &"true".to_owned()),
        ("alias.ls-files", &format!("!{bite}")),
        ("core.worktree", &"/".to_owned()),
        ("remote.origin.url", &format!("ext::{bite}")),
        ("remote.origin.promisor", &"true".to_owned()),
    ] {
        git(&workspace, &["config", "--file", ".git/config", key, value]);
    }
    place.write("workspace/.gitattributes", "* filter=bite diff=bite merge=bite\n");
    for hook in [
        "post-index-change",
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "fsmonitor-watchman",
        "post-commit",
        "pre-auto-gc",
    ] {
        let path = workspace.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(&program, &path).unwrap();
    }
    let before = fingerprint(&workspace);
    let ran = run(
        &place,
        r#"
        - calls: [{read: {path: text.txt}}]
        - calls: [{edit: {path: text.txt, old_string: "five", new_string: "five, by the task"}}]
        - text: Done.
        "#,
    );
    let id = id(&ran);
    assert_eq!(fingerprint(&workspace), before);
    assert!(place.run(["tasks", "diff", &id]).stdout.contains("+five, by the task"));
    place.write("workspace/text.txt", "one, by me\ntwo, changed\nthree\nfour\nfive\n");
    let applied = place.run(["tasks", "apply", &id]);
    assert_eq!(applied.code, 0, "{applied:?}");
    assert_eq!(content(&place, "text.txt"), "one, by me\ntwo, changed\nthree\nfour\nfive, by the task\n");
    assert!(!canary.exists(), "{}", fs::read_to_string(&canary).unwrap_or_default());
    // The canary sings: git itself runs it.
    let _ = Command::new("git")
        .args(["status"])
        .current_dir(&workspace)
        .env("GIT_WORK_TREE", &workspace)
        .output();
    assert!(canary.exists(), "the test would not notice anything");
}

/// Names that a crafted index brings along lead neither out of the work tree nor out of the copy.
#[test]
fn links_in_a_repository_lead_nowhere() {
    let place = place();
    let secret = place.write("secret/key.txt", "SECRET-CONTENT");
    std::os::unix::fs::symlink(secret.parent().unwrap(), place.workspace().join("out")).unwrap();
    let hash = git(&place.workspace(), &["hash-object", "-w", "text.txt"]);
    let entry = format!("100644 {}\tout/key.txt", hash.trim());
    let mut child = Command::new("git")
        .args(["update-index", "--add", "--index-info"])
        .current_dir(place.workspace())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("{entry}\n").as_bytes()).unwrap();
    child.wait().unwrap();
    let ran =
        run(&place, "[{calls: [{bash: {command: 'ls -l; cat out/key.txt; touch made'}}]}, {text: Done.}]");
    let tree = place.state().join("worktrees").join(id(&ran)).join("tree");
    assert!(fs::symlink_metadata(tree.join("out")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&secret).unwrap(), "SECRET-CONTENT");
    let copied: Vec<(String, Vec<u8>)> = fingerprint(&tree);
    let has_secret = |content: &[u8]| String::from_utf8_lossy(content).contains("SECRET-CONTENT");
    assert!(!copied.iter().any(|(_, content)| has_secret(content)));
}

#[test]
fn a_task_without_an_end_in_sight_cannot_have_its_files_taken() {
    let place = place();
    let model = place.script("[{calls: [{write: {path: a, content: a}}]}, {delay_ms: 600000, text: Done.}]");
    let mut running =
        Running::start(place.posse(["run", "--json", "--isolation", "worktree", "--model", &model, "Work"]));
    running.until(|line: &Value| line["type"] == "turn" && line["turn"] == 2);
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    for command in ["apply", "discard"] {
        let refused = place.run(["tasks", command, &id]);
        assert!(refused.code == 1 && refused.stderr.contains("is at work"), "{refused:?}");
    }
    running.kill();
}

// S09 A program that a task could have put into the workspace is not the git that we start. Seen to fail with all of the search path
// in `search`.
#[test]
fn a_git_in_the_workspace_is_not_started() {
    use std::os::unix::fs::PermissionsExt;
    let place = place();
    let planted = place.write("workspace/bin/git", "#!/bin/sh\ntouch \"$HOME/ran\"\nexit 1\n");
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o755)).unwrap();
    let model = place.script("[{calls: [{write: {path: sub/new.txt, content: new}}]}, {text: Done.}]");
    let path = format!("{}:{}", planted.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut posse = place.posse(["run", "--json", "--isolation", "worktree", "--model", &model, "Work"]);
    posse.env("PATH", path).env("HOME", place.home());
    let ran = Ran::of(posse);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.envelope()["changed_files"], serde_json::json!(["sub/new.txt"]));
    assert!(!place.home().join("ran").exists());
}

/// Names that are options of git, or more than a name, wherever they are taken for one.
const NAMES_LIKE_OPTIONS: [&str; 8] = [
    "-rf",
    "--output=x",
    "--upload-pack=touch ran",
    "-ccore.fsmonitor=touch ran",
    "--",
    "--all/-n",
    ":(exclude)*",
    "@{-1}",
];

// S07 Seen to fail with the names as arguments of `git add` in `Worktrees::commit`, and without `GIT_LITERAL_PATHSPECS`.
#[test]
fn no_name_in_a_repository_is_taken_for_an_option() {
    let place = place();
    for name in NAMES_LIKE_OPTIONS {
        place.write(&format!("workspace/{name}"), "old\n");
    }
    // A branch that git itself would not have made.
    let head = git(&place.workspace(), &["rev-parse", "HEAD"]);
    place.write("workspace/.git/refs/heads/--upload-pack=touch ran", &head);
    place.write("workspace/.git/HEAD", "ref: refs/heads/--upload-pack=touch ran\n");
    let before = fingerprint(&place.workspace());
    let calls: String = NAMES_LIKE_OPTIONS
        .iter()
        .map(|name| {
            let (read, write) = (
                serde_json::json!({ "path": name }),
                serde_json::json!({ "path": name, "content": format!("new {name}\n") }),
            );
            format!("- calls: [{{read: {read}}}]\n- calls: [{{write: {write}}}]\n")
        })
        .collect();
    let ran = run(&place, &format!("{calls}- text: Done.\n"));
    assert_eq!(fingerprint(&place.workspace()), before);
    let mut changed: Vec<&str> = NAMES_LIKE_OPTIONS.to_vec();
    changed.sort_unstable();
    assert_eq!(ran.envelope()["changed_files"], serde_json::json!(changed));
    let applied = place.run(["tasks", "apply", &id(&ran), "--json"]);
    assert_eq!(applied.code, 0, "{applied:?}");
    for name in NAMES_LIKE_OPTIONS {
        assert_eq!(content(&place, name), format!("new {name}\n"));
    }
    for made in ["x", "ran"] {
        assert!(!place.workspace().join(made).exists(), "{made}");
    }
}
