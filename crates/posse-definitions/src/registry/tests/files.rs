use super::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::fs::symlink;

/// A time after which every time stamp is reliable.
fn later() -> i64 {
    now_s() + 100
}

fn own(snapshot: &RegistrySnapshot) -> Vec<&str> {
    let own = snapshot.entries().iter().filter(|entry| entry.chosen.read.origin.path != "built-in");
    own.map(|entry| entry.name.as_str()).collect()
}

#[test]
fn only_files_that_changed_are_read_again() {
    let case = Case::new();
    for name in ["a", "b", "c"] {
        case.write(&format!("home/.posse/agents/{name}.md"), "one");
    }
    let registry = case.load();
    reads();
    registry.reload();
    assert_eq!(reads(), 3, "files this young could have changed without a new time stamp");
    assert!(registry.reload_at(later()).is_none());
    reads();
    assert!(registry.reload_at(later()).is_none());
    assert_eq!(reads(), 0);

    case.write("home/.posse/agents/b.md", "two");
    case.remove("home/.posse/agents/c.md");
    let snapshot = registry.reload_at(later()).unwrap();
    assert_eq!(reads(), 1);
    assert_eq!(own(&snapshot), ["a", "b"]);
    assert_eq!(snapshot.find("b").unwrap().prompt, "two");
    assert_eq!(snapshot.find("a").unwrap().prompt, "one");
}

#[test]
fn a_file_that_takes_the_place_of_another_is_noticed() {
    let case = Case::new();
    case.write("home/.posse/agents/a.md", "one");
    case.write("home/other", "two");
    let registry = case.load();
    registry.reload_at(later());
    fs::rename(case.path("home/other"), case.path("home/.posse/agents/a.md")).unwrap();
    assert_eq!(registry.reload_at(later()).unwrap().find("a").unwrap().prompt, "two");
    // The same content under a name that sorts earlier.
    fs::rename(case.path("home/.posse/agents/a.md"), case.path("home/.posse/agents/0.md")).unwrap();
    assert_eq!(own(&registry.reload_at(later()).unwrap()), ["0"]);
}

#[test]
fn each_format_has_its_endings_and_only_some_are_nested() {
    let case = Case::new();
    for path in [
        ".posse/agents/native.md",
        ".posse/agents/deep/no.md",
        ".posse/agents/no.txt",
        ".posse/agents/no.md~",
        ".posse/agents/.no.md",
        ".claude/agents/x/y/claude.md",
        ".claude/agents/.hidden/no.md",
        ".github/agents/copilot.agent.md",
        ".github/agents/plain.md",
        ".codex/agents/x/codex.toml",
        ".codex/agents/no.md",
        ".kilo/agents/kilo.md",
        ".agents/agents/hands.md",
        ".factory/droids/droid.md",
        ".acai/subagents/acai.md",
    ] {
        case.write(&format!("project/{path}"), "x");
    }
    let snapshot = case.load().snapshot();
    assert_eq!(
        own(&snapshot),
        ["acai", "claude", "codex", "copilot", "droid", "hands", "kilo", "native", "plain"]
    );
    assert_eq!(snapshot.find("codex").unwrap().origin.format, Format::Codex);
    assert_eq!(snapshot.remarks(), []);
}

#[test]
fn no_link_is_followed_and_each_is_told() {
    let case = Case::new();
    case.write("outside/secret.md", "secret");
    case.write("project/.claude/agents/real.md", "x");
    symlink(case.path("outside/secret.md"), case.path("project/.claude/agents/file.md")).unwrap();
    symlink(case.path("outside"), case.path("project/.claude/agents/directory")).unwrap();
    symlink(case.path("project/.claude/agents"), case.path("project/.claude/agents/circle")).unwrap();
    fs::create_dir(case.path("project/.gemini")).unwrap();
    symlink(case.path("outside"), case.path("project/.gemini/agents")).unwrap();
    let snapshot = case.load().snapshot();
    assert_eq!(own(&snapshot), ["real"]);
    let remarks: Vec<String> = texts(snapshot.remarks()).into_iter().map(|text| case.short(text)).collect();
    assert_eq!(
        remarks,
        [
            "project/.claude/agents/circle is a link and is not followed",
            "project/.claude/agents/directory is a link and is not followed",
            "project/.claude/agents/file.md is a link and is not followed",
            "project/.gemini/agents is a link that leads out of the project and is not followed",
        ]
    );
}

#[test]
fn a_directory_of_agents_may_be_a_link_inside_its_project_and_anywhere_for_the_user() {
    let case = Case::new();
    case.write("project/.agents/agents/shared.md", "x");
    fs::create_dir(case.path("project/.claude")).unwrap();
    symlink("../.agents/agents", case.path("project/.claude/agents")).unwrap();
    case.write("dotfiles/mine.md", "x");
    fs::create_dir(case.path("home/.posse")).unwrap();
    symlink(case.path("dotfiles"), case.path("home/.posse/agents")).unwrap();
    let snapshot = case.load().snapshot();
    assert_eq!(own(&snapshot), ["mine", "shared"]);
    assert_eq!(snapshot.entry("shared").unwrap().shadowed.len(), 1);
    assert_eq!(snapshot.remarks(), []);
}

#[test]
fn what_is_no_regular_file_or_too_large_is_listed_with_its_error_and_not_opened() {
    let case = Case::new();
    case.write("project/.posse/agents/large.md", &"x".repeat(1024 * 1024 + 1));
    case.write("project/.posse/agents/limit.md", &"x".repeat(1024 * 1024));
    let pipe = case.path("project/.posse/agents/pipe.md");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert!(exists(&pipe));
    // Opening the pipe would block forever.
    let registry = case.load();
    let snapshot = registry.snapshot();
    assert_eq!(own(&snapshot), ["large", "limit", "pipe"]);
    let why = |name: &str| texts(snapshot.entry(name).unwrap().chosen.read.errors()).concat();
    assert_eq!(why("large"), "the file is larger than 1048576 bytes");
    assert_eq!(why("pipe"), "the file is a named pipe, not a regular file");
    snapshot.find("limit").unwrap();
    assert!(registry.reload().is_none(), "an error that stays is no change");
}

#[test]
fn the_depth_is_bounded_and_what_is_deeper_is_told() {
    let case = Case::new();
    case.write("project/.claude/agents/1/2/3/4/5/6/7/seven.md", "x");
    case.write("project/.claude/agents/1/2/3/4/5/6/7/8/eight.md", "x");
    let snapshot = case.load().snapshot();
    assert_eq!(own(&snapshot), ["seven"]);
    assert_eq!(
        case.short(texts(snapshot.remarks())[0]),
        "project/.claude/agents/1/2/3/4/5/6/7/8 is deeper than 8 levels and is not entered"
    );
}

#[test]
fn a_file_in_place_of_a_directory_is_told() {
    let case = Case::new();
    case.write("project/.posse/agents", "x");
    case.write("project/.claude", "x");
    let snapshot = case.load().snapshot();
    let remarks: Vec<String> = texts(snapshot.remarks()).into_iter().map(|text| case.short(text)).collect();
    assert_eq!(remarks, ["project/.posse/agents is not a directory"]);
}

#[test]
fn a_reader_that_panics_costs_one_file() {
    let case = Case::new();
    case.write("home/.posse/agents/bug.md", "panic: yes\n---\n");
    case.write("home/.posse/agents/fine.md", "x");
    let snapshot = case.load().snapshot();
    snapshot.find("fine").unwrap();
    assert!(told(&snapshot, "bug").contains("could not be read because of a bug in Posse"));
}

#[test]
fn built_in_agents_are_there_without_any_file() {
    let case = Case::new();
    let snapshot = case.load().snapshot();
    let names: Vec<&str> = snapshot.agents().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["code-reviewer", "general", "investigator", "researcher", "test-writer", "writer"]);
}
