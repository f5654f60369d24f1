//! Reads the built-in agents and examples with the same reader as all other files.

use std::path::Path;

use posse_core::definition::{DefinitionScope, FieldFate, Format, ParsedFile, TaskIn};
use posse_core::grant::{Decision, Grant, RequestedCall};
use posse_core::tool::ToolEffect;
use posse_definitions::places::AgentPlaces;
use posse_definitions::registry::AgentRegistry;
use posse_definitions::trust::TrustPolicy;
use posse_definitions::{DefinitionFile, builtin, read};

fn assert_faultless(read: &ParsedFile) {
    let (name, at) = (&read.name, &read.origin.path);
    assert_eq!(read.remarks, [], "{name} ({at})");
    assert!(
        read.fields.iter().all(|field| !matches!(field.fate, FieldFate::Ignored(_))),
        "{name}: {:?}",
        read.fields
    );
    let definition = read.definition.as_ref().expect(name);
    assert!(!definition.description.is_empty() && !definition.prompt.is_empty(), "{name}");
}

// R320
#[test]
fn every_built_in_agent_is_read_without_a_remark() {
    let reads: Vec<ParsedFile> = builtin::files().flat_map(read).collect();
    reads.iter().for_each(assert_faultless);
    let names: Vec<&str> = reads.iter().map(|read| read.name.as_str()).collect();
    assert_eq!(names, ["code-reviewer", "general", "investigator", "researcher", "test-writer", "writer"]);
}

#[test]
fn agents_whose_work_is_reading_cannot_change_anything() {
    let nowhere = tempfile::tempdir().unwrap();
    let registry =
        AgentRegistry::load(AgentPlaces::find(nowhere.path(), None, None, 0), read, TrustPolicy::Nothing);
    let snapshot = registry.snapshot();
    let everything = Grant::root(["read", "grep", "write", "edit", "bash"].map(str::to_owned), 2);
    for (name, may_write, may_run) in [
        ("general", true, true),
        ("test-writer", true, true),
        ("writer", true, false),
        ("researcher", false, false),
        ("investigator", false, false),
        ("code-reviewer", false, false),
    ] {
        let grant = everything.narrow(&snapshot.find(name).unwrap().rights);
        let may = |tool: &str, effect| {
            let arguments = r#"{"path":"a","command":"ls"}"#;
            grant.decide(RequestedCall { tool, effect, arguments, workspace: "" }) == Decision::Allow
        };
        assert!(may("read", ToolEffect::Pure) && may("grep", ToolEffect::Pure), "{name}");
        assert_eq!(may("write", ToolEffect::Unsafe), may_write, "{name}");
        assert_eq!(may("bash", ToolEffect::Unsafe), may_run, "{name}");
    }
    assert_eq!(snapshot.find("investigator").unwrap().task_in, Some(TaskIn::System));
}

// R042
#[test]
fn the_examples_are_good_files_in_our_format_and_in_that_of_the_specification() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let (bytes, relative) = (std::fs::read(&path).unwrap(), path.file_name().unwrap().to_str().unwrap());
        for format in [Format::Native, Format::Acai] {
            let file = DefinitionFile {
                path: relative,
                relative,
                format: Some(format),
                scope: DefinitionScope::User,
                bytes: &bytes,
            };
            read(file).iter().for_each(assert_faultless);
        }
        names.push(relative.to_owned());
    }
    names.sort();
    assert_eq!(names, ["code-reviewer.md", "researcher.md", "test-writer.md"]);
}
