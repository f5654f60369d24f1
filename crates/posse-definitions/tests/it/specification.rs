//! Agent files as the first seed document describes them: five keys, a body, two directories.

use std::fs;
use std::os::unix::fs::MetadataExt;

use posse_core::definition::{DefinitionScope, Format, ParsedFile, TaskIn};
use posse_core::grant::Grant;
use posse_definitions::places::AgentPlaces;
use posse_definitions::registry::AgentRegistry;
use posse_definitions::trust::TrustPolicy;
use posse_definitions::{DefinitionFile, read};

const SCOPE: DefinitionScope = DefinitionScope::Project { distance: 0 };

fn read_file(relative: &str, text: &str) -> ParsedFile {
    let path = &format!(".acai/subagents/{relative}");
    let mut reads = read(DefinitionFile {
        path,
        relative,
        format: Some(Format::Acai),
        scope: SCOPE,
        bytes: text.as_bytes(),
    });
    assert_eq!(reads.len(), 1);
    reads.remove(0)
}

// R002, R003, R008-R010, R012, R014, R016, R017, R023-R025
#[test]
fn a_file_has_five_keys_and_a_prompt_and_comments_are_none_of_it() {
    let text = "---\nname: code-reviewer\ndescription: Reviews code # for the list\nmodel: anthropic:sonnet  # optional\n\
                tools: Read, Grep # optional\ntimeout: 600 # seconds\n---\nYou review code.\n";
    let read = read_file("code-reviewer.md", text);
    assert_eq!(read.remarks, []);
    let definition = read.definition.unwrap();
    assert_eq!(
        (definition.name.as_str(), definition.description.as_str()),
        ("code-reviewer", "Reviews code")
    );
    assert_eq!(definition.model.candidates, ["anthropic:sonnet"]);
    let tools: Vec<String> = definition.rights.tools.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(tools, ["read", "grep"]);
    assert_eq!(definition.limits.wall_s, Some(600));
    assert_eq!(definition.prompt.trim_end(), "You review code.");
    assert_eq!(definition.task_in, Some(TaskIn::System));
    let origin = (definition.origin.path.as_str(), definition.origin.scope);
    assert_eq!(origin, (".acai/subagents/code-reviewer.md", SCOPE));
}

// R013, R015
#[test]
fn without_tools_and_timeout_there_are_all_tools_and_300_seconds() {
    let read = read_file("a.md", "---\nname: a\ndescription: d\n---\nYou do.\n");
    let definition = read.definition.unwrap();
    assert_eq!(definition.limits.wall_s, Some(300));
    assert!(definition.model.candidates.is_empty(), "the parent's model");
    let parent = Grant::root(["read", "write", "bash"].map(str::to_owned), 2);
    let child = parent.narrow(&definition.rights);
    assert_eq!(child.tools().collect::<Vec<_>>(), parent.tools().collect::<Vec<_>>());
}

// R020
#[test]
fn all_twelve_friendly_names_of_tools_are_understood() {
    for (written, ours) in [
        ("Read", "read"),
        ("Edit", "edit"),
        ("Write", "write"),
        ("Bash", "bash"),
        ("Grep", "grep"),
        ("Glob", "glob"),
        ("LS", "ls"),
        ("DirectoryTree", "directory_tree"),
        ("Think", "think"),
        ("Skill", "skill"),
        ("Agent", "subagent"),
        ("Subagent", "subagent"),
    ] {
        let read =
            read_file("a.md", &format!("---\nname: a\ndescription: d\ntools: {written}\n---\nYou do.\n"));
        let tools = read.definition.unwrap().rights.tools.unwrap();
        assert_eq!(tools.iter().map(ToString::to_string).collect::<Vec<_>>(), [ours], "{written}");
    }
}

// R008, R009, R031, R046
#[test]
fn what_is_missing_or_does_not_fit_is_an_error_that_says_what() {
    for (relative, text, said) in [
        ("a.md", "---\ndescription: d\n---\nYou do.\n", "`name`"),
        ("a.md", "---\nname: a\n---\nYou do.\n", "`description` is missing"),
        ("a.md", "---\nname: b\ndescription: d\n---\nYou do.\n", "`b`"),
        ("a.md", "---\nname: a\ndescription: d\ntools: {x: 1}\n---\nYou do.\n", "tools"),
        ("a.md", "You do.\n", "there is no frontmatter"),
    ] {
        let read = read_file(relative, text);
        assert!(read.definition.is_none(), "{text}");
        let errors: Vec<&str> = read.errors().map(|remark| remark.text.as_str()).collect();
        assert!(errors.iter().any(|error| error.contains(said)), "{said}: {errors:?}");
    }
}

// R006, R007, R025-R027, R029, R322
#[test]
fn files_of_project_and_user_are_loaded_and_the_projects_count_first() {
    let top = tempfile::tempdir().unwrap();
    let (project, home) = (top.path().join("project"), top.path().join("home"));
    for (base, name, prompt) in [
        (&project, "both", "of the project"),
        (&home, "both", "of the user"),
        (&project, "theirs", "of the project"),
        (&home, "mine", "of the user"),
    ] {
        let directory = base.join(".acai/subagents");
        fs::create_dir_all(&directory).unwrap();
        let text = format!("---\nname: {name}\ndescription: d\n---\n{prompt}\n");
        fs::write(directory.join(format!("{name}.md")), text).unwrap();
    }
    let user = fs::metadata(top.path()).unwrap().uid();
    let registry =
        AgentRegistry::load(AgentPlaces::find(&project, Some(&home), None, user), read, TrustPolicy::All);
    let snapshot = registry.snapshot();
    for (name, prompt, scope) in [
        ("both", "of the project", SCOPE),
        ("theirs", "of the project", SCOPE),
        ("mine", "of the user", DefinitionScope::User),
    ] {
        let found = snapshot.find(name).unwrap();
        assert_eq!((found.prompt.trim_end(), found.origin.scope), (prompt, scope), "{name}");
        assert!(found.origin.path.ends_with(&format!(".acai/subagents/{name}.md")), "{}", found.origin.path);
    }
    assert!(snapshot.find("nobody").is_err());
}

// R043
#[test]
fn the_documentation_names_the_directories_the_keys_and_how_files_are_used() {
    let documentation = include_str!("../../../../docs/agents.md");
    let top = tempfile::tempdir().unwrap();
    for directory in AgentPlaces::find(top.path(), None, None, 0).directories() {
        let parts: Vec<String> =
            directory.path.iter().rev().take(2).map(|part| part.to_string_lossy().into()).collect();
        let shown = format!("{}/{}", parts[1], parts[0]);
        // `.opencode/agent(s)` stands for two of them.
        let stem = shown.strip_suffix('s').unwrap_or(&shown);
        assert!(documentation.contains(stem), "{shown}");
    }
    for told in ["`description`", "`timeout`", "{{task}}", "nearest level wins", "Files are watched"] {
        assert!(documentation.contains(told), "{told}");
    }
    assert!(include_str!("../../../../docs/internals/definition.md").contains("# The life of a definition"));
}

// R021
#[test]
fn the_sample_reviewer_looks_at_four_things_and_grades_what_it_finds() {
    let sample = include_str!("../../../../examples/agents/code-reviewer.md").to_lowercase();
    for part in ["quality", "security vulnerabilities", "performance", "best practices", "severity levels"] {
        assert!(sample.contains(part), "{part}");
    }
}

// R036
#[test]
fn a_definition_is_its_model_its_prompt_its_tools_and_its_time() {
    let whole = "---\nname: a\ndescription: d\nmodel: anthropic:haiku\ntools: Read, Grep\ntimeout: 90\n---\nYou do.\n";
    let whole = read_file("a.md", whole).definition.unwrap();
    assert_eq!(
        (whole.model.candidates.as_slice(), whole.prompt.trim()),
        (&["anthropic:haiku".to_owned()][..], "You do.")
    );
    let tools: Vec<String> = whole.rights.tools.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!((tools, whole.limits.wall_s), (vec!["read".to_owned(), "grep".to_owned()], Some(90)));
    let bare = read_file("a.md", "---\nname: a\ndescription: d\n---\nYou do.\n").definition.unwrap();
    assert!(bare.model.candidates.is_empty() && bare.rights.tools.is_none(), "{bare:?}");
    assert_eq!(bare.limits.wall_s, Some(300));
}

// R083
#[test]
fn the_samples_of_the_specification_load_as_it_describes_them() {
    let directory = tempfile::tempdir().unwrap();
    let agents = directory.path().join(".posse/agents");
    fs::create_dir_all(&agents).unwrap();
    let samples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/incident");
    for entry in fs::read_dir(samples).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), agents.join(entry.file_name())).unwrap();
    }
    let user = fs::metadata(directory.path()).unwrap().uid();
    let registry =
        AgentRegistry::load(AgentPlaces::find(directory.path(), None, None, user), read, TrustPolicy::All);
    let snapshot = registry.snapshot();
    for (name, turns, tools) in [
        ("researcher", 10, &["search_logs", "query_metrics", "shared_context"][..]),
        ("senior_researcher", 15, &["search_logs", "query_metrics", "shared_context"]),
        ("analyst", 10, &["query_metrics", "shared_context"]),
        ("writer", 5, &["shared_context"]),
        ("remediator", 15, &["shared_context", "run_staging_command", "update_config"]),
    ] {
        let found = snapshot.find(name).unwrap();
        let asked: Vec<String> = found.rights.tools.iter().flatten().map(ToString::to_string).collect();
        assert_eq!(
            (found.limits.turns, asked.as_slice()),
            (Some(turns), tools.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>().as_slice()),
            "{name}"
        );
        assert!(!found.system_prompt().is_empty(), "{name}");
    }
    let senior = snapshot.find("senior_researcher").unwrap().system_prompt();
    assert!(
        senior.starts_with("You find out why") && senior.contains("do not repeat what is known"),
        "{senior}"
    );
}
