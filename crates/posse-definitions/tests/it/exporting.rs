//! Checks that exported files are read back as the original, as far as the format can express it.

use posse_core::definition::{Definition, DefinitionScope, Format, TaskIn};
use posse_core::grant::{AccessLevel, Decision, Grant, RequestedCall};
use posse_core::pattern::ToolPattern;
use posse_core::tool::ToolEffect;
use posse_definitions::{DefinitionFile, ExportedFile, export, read};

use crate::corpus::fixtures;

/// Returns every usable definition of the corpus.
fn definitions() -> Vec<Definition> {
    let reads = fixtures().into_iter().flat_map(|(format, relative, path)| {
        let bytes = std::fs::read(path).unwrap();
        read(DefinitionFile {
            path: &relative,
            relative: &relative,
            format,
            scope: DefinitionScope::User,
            bytes: &bytes,
        })
    });
    reads.filter_map(|read| read.definition).collect()
}

fn read_back(export: &ExportedFile, format: Format) -> Definition {
    let file = DefinitionFile {
        path: &export.file_name,
        relative: &export.file_name,
        format: Some(format),
        scope: DefinitionScope::User,
        bytes: export.text.as_bytes(),
    };
    let mut reads = read(file);
    let read = reads.remove(0);
    read.definition.unwrap_or_else(|| panic!("{:?}\n{}", read.remarks, export.text))
}

#[test]
fn our_own_format_says_everything_but_rules_and_what_belongs_to_others() {
    let all = definitions();
    assert!(all.len() > 60, "{}", all.len());
    for mut expected in all {
        // Our own format rejects a missing description and one above 1,024 characters.
        if expected.description.is_empty() {
            continue;
        }
        expected.rights.rules.clear();
        let mut actual = read_back(&export(&expected, Format::Native), Format::Native);
        actual.origin = expected.origin.clone();
        actual.kept.tools_written = expected.kept.tools_written.clone();
        expected.kept.extra.clear();
        expected.model.options.clear();
        expected.kept.display_name = None;
        expected.mode.disabled = false;
        assert_eq!(actual, expected);
    }
}

#[test]
fn every_export_can_be_read_in_its_format_and_has_no_more_rights() {
    let calls = [
        ("read", r#"{"path":"src/a.rs"}"#, ToolEffect::Pure),
        ("grep", r#"{"path":"src"}"#, ToolEffect::Pure),
        ("write", r#"{"path":"docs/a.md"}"#, ToolEffect::Idempotent),
        ("edit", r#"{"path":"src/a.rs"}"#, ToolEffect::Unsafe),
        ("bash", r#"{"command":"git status"}"#, ToolEffect::Unsafe),
        ("bash", r#"{"command":"git push origin"}"#, ToolEffect::Unsafe),
        ("bash", r#"{"command":"rm x"}"#, ToolEffect::Unsafe),
        ("subagent", r#"{"agent":"tester"}"#, ToolEffect::Unsafe),
        ("subagent", r#"{"agent":"stranger"}"#, ToolEffect::Unsafe),
        ("mcp__github__issues", r#"{}"#, ToolEffect::Unsafe),
    ];
    let root = Grant::root(calls.iter().map(|(tool, ..)| (*tool).to_owned()), 3);
    for before in definitions() {
        for format in Format::ALL.iter().copied() {
            let export = export(&before, format);
            // Reported, and not written unless forced.
            if export.excess.is_some() {
                assert!(can_be_beyond(format, &before), "{} to {}", before.name, format.wire());
                continue;
            }
            if before.description.is_empty() && needs_description(format) {
                continue;
            }
            if before.prompt.is_empty() && format == Format::Codex {
                continue;
            }
            let after = read_back(&export, format);
            assert_eq!(
                (&after.name, &after.description),
                (&before.name, &before.description),
                "{}",
                export.text
            );
            assert_eq!(after.prompt, before.prompt, "{}", export.text);
            for (tool, arguments, effect) in calls {
                let allowed = |d: &Definition| {
                    let call = RequestedCall { tool, effect, arguments, workspace: "" };
                    root.narrow(&d.rights).decide(call) == Decision::Allow
                };
                assert!(
                    allowed(&before) || !allowed(&after) || only_reads(format, tool),
                    "{} to {}: {tool} {arguments} {:?}\n{}",
                    before.name,
                    format.wire(),
                    export.lost,
                    export.text
                );
            }
        }
    }
}

/// Returns whether the format can at most say that an agent is read-only, because it has no tool list.
fn only_reads(format: Format, tool: &str) -> bool {
    matches!(format, Format::Codex | Format::Cursor) && ["read", "grep", "subagent"].contains(&tool)
}

/// Returns whether excess rights are expected: goose cannot restrict tools, and others read an empty list as
/// none.
fn can_be_beyond(format: Format, d: &Definition) -> bool {
    let has_rights = d.rights != posse_core::grant::Rights::default();
    match format {
        Format::Goose => has_rights,
        Format::Acai | Format::Qwen | Format::Pi => has_rights,
        _ => false,
    }
}

#[test]
fn an_export_asks_for_less_where_it_cannot_say_it_exactly() {
    let narrow = |keys: &str| definition(&format!("---\nname: a\ndescription: d\n{keys}\n---\nBody\n"));
    for keys in [
        "tools: Read, Grep",
        "tools: []",
        "disallowed_tools: Write",
        "write_paths: docs",
        "network: none",
        "network: docs.rs",
        "read_roots: docs",
    ] {
        let d = narrow(keys);
        assert!(export(&d, Format::Codex).text.contains("sandbox_mode = \"read-only\""), "{keys}");
        assert!(export(&d, Format::Cursor).text.contains("readonly: true"), "{keys}");
        assert!(export(&d, Format::Goose).excess.unwrap().contains("goose"), "{keys}");
    }
    for format in Format::ALL.iter().copied() {
        let free = export(&narrow("max_turns: 3"), format);
        assert_eq!(free.excess, None, "{}", format.wire());
        assert!(!free.text.contains("read-only") && !free.text.contains("readonly"), "{}", free.text);
    }
    for format in [Format::Acai, Format::Qwen, Format::Pi] {
        assert!(export(&narrow("tools: []"), format).excess.is_some(), "{}", format.wire());
    }
    let offline = export(&narrow("network: none"), Format::Claude).text;
    let denied = "disallowedTools:\n- Bash\n- WebSearch\n- WebFetch\n";
    assert!(offline.contains(denied) && !offline.contains("mcp__") && !offline.contains('*'), "{offline}");
    assert!(
        offline.contains("tools:\n- Read\n- Write\n"),
        "no list would be all tools of all servers: {offline}"
    );
    let half = export(&narrow("disallowed_tools: Write"), Format::Copilot).text;
    assert!(!half.contains("- edit") && half.contains("- read"), "there, edit is also write: {half}");
    let writer = narrow("tools: Read, Edit, Write, Bash\nwrite_paths: docs");
    assert!(export(&writer, Format::Claude).text.contains("tools:\n- Read\ndisallowedTools"), "{writer:?}");
    assert!(export(&writer, Format::Native).text.contains("write_paths"));
}

#[test]
fn tools_are_called_as_the_other_side_calls_them() {
    let all = "tools: Read, Write, Edit, Bash, Grep, Glob, LS";
    let d = definition(&format!("---\nname: a\ndescription: d\n{all}\n---\nBody\n"));
    let tools = |format| {
        let text = export(&d, format).text;
        let after = text.split_once("tools:").unwrap().1.split("\n---").next().unwrap().to_owned();
        let until_key = after.split("\n").take_while(|line| line.is_empty() || !line.contains(": "));
        let lines: Vec<String> =
            until_key.map(|line| line.trim_start_matches("- ").trim().to_owned()).collect();
        lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        tools(Format::Qwen),
        "read_file write_file edit run_shell_command grep_search glob list_directory"
    );
    assert_eq!(tools(Format::OpenHands), "file_editor terminal grep glob");
    assert_eq!(tools(Format::Acai), "Read, Write, Edit, Bash, Grep, Glob, LS");
    assert_eq!(tools(Format::Pi), "read, write, edit, bash, grep, find, ls");
    assert_eq!(tools(Format::Factory), "Read Create Edit Execute Grep Glob LS");
    let reader = definition("---\nname: a\ndescription: d\ntools: Read, Grep\n---\nBody\n");
    assert!(!export(&reader, Format::OpenHands).text.contains("file_editor"), "it would write as well");
}

fn needs_description(format: Format) -> bool {
    matches!(
        format,
        Format::Native | Format::Acai | Format::Claude | Format::Gemini | Format::Codex | Format::Qwen
    )
}

fn definition(text: &str) -> Definition {
    let file = DefinitionFile {
        path: "a.md",
        relative: "a.md",
        format: Some(Format::Native),
        scope: DefinitionScope::User,
        bytes: text.as_bytes(),
    };
    read(file).remove(0).definition.unwrap()
}

const FULL: &str = "---\nname: a\ndescription: Looks.\nmodel: anthropic:claude-sonnet-4-5\ntools: [Read, Grep, 'Bash(git *)']\n\
                    disallowed_tools: Write\neffort: max\ntemperature: 0.2\nmax_turns: 7\ntimeout: 90\naccess: read-only\n---\nLook at it.\n";

#[test]
fn each_format_gets_its_own_words() {
    let d = definition(FULL);
    let text = |format| export(&d, format).text;
    assert_eq!(
        text(Format::Claude),
        "---\nname: a\ndescription: Looks.\nmodel: claude-sonnet-4-5\ntools:\n- Read\n- Grep\n- Bash(git *)\ndisallowedTools:\n- Write\n\
         effort: max\npermissionMode: plan\nmaxTurns: 7\n---\nLook at it.\n"
    );
    assert_eq!(
        text(Format::Opencode),
        "---\ndescription: Looks.\nmode: subagent\nmodel: anthropic/claude-sonnet-4-5\nreasoningEffort: max\ntemperature: 0.2\nsteps: 7\n\
         permission:\n  \"*\": deny\n  read: allow\n  grep: allow\n  edit: deny\n---\nLook at it.\n"
    );
    assert_eq!(
        text(Format::Gemini),
        "---\nname: a\ndescription: Looks.\ntools:\n- read_file\n- grep_search\ntemperature: 0.2\nmax_turns: 7\ntimeout_mins: 2\n---\nLook at it.\n"
    );
    assert_eq!(
        text(Format::Codex),
        "name = \"a\"\ndescription = \"Looks.\"\nmodel_reasoning_effort = \"xhigh\"\nsandbox_mode = \"read-only\"\n\
         developer_instructions = \"Look at it.\"\n"
    );
    assert_eq!(
        text(Format::Cursor),
        "---\nname: a\ndescription: Looks.\nmodel: claude-sonnet-4-5\nreadonly: true\n---\nLook at it.\n"
    );
    assert_eq!(export(&d, Format::Copilot).file_name, "a.agent.md");
    assert_eq!(
        export(&d, Format::Cursor).lost,
        [
            "which tools it may use",
            "that it may call `bash(git *)`: other calls could not be refused",
            "the effort",
            "the temperature",
            "the most turns",
            "the time limit",
            "that the task stands in the prompt"
        ]
    );
}

#[test]
fn values_that_yaml_would_misread_are_written_so_that_they_are_read_back() {
    for odd in [
        "yes",
        "a: b # c",
        "*x",
        "- y",
        "",
        "null",
        "1.0",
        "é\u{1f600}",
        "two\nlines",
        " lead",
        "'q' \"d\"",
        "{{task}}",
        "---",
    ] {
        let mut d = definition("---\nname: a\ndescription: d\n---\nBody\n");
        d.prompt_append = Some(odd.to_owned());
        d.kept.color = Some(odd.to_owned());
        d.answer.verify = vec![odd.trim().to_owned()];
        d.task_in = Some(TaskIn::User);
        d.rights.access = AccessLevel::ReadOnly;
        d.rights.deny = vec![ToolPattern::call("bash", "rm: -rf # x")];
        let mut back = read_back(&export(&d, Format::Native), Format::Native);
        back.origin = d.origin.clone();
        assert_eq!(back, d, "{odd:?}");
    }
}
