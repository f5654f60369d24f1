use super::*;
use proptest::prelude::*;

#[test]
fn the_nearest_wins_then_the_format_and_the_rest_is_listed_as_shadowed() {
    let case = Case::new();
    let paths = [
        "project/sub/.posse/agents/writer.md",
        "project/sub/.claude/agents/deep/writer.md",
        "project/sub/.github/agents/writer.agent.md",
        "project/.posse/agents/writer.md",
        "home/.posse/agents/writer.md",
        "config/posse/agents/writer.md",
        "home/.claude/agents/writer.md",
        "config/goose/agents/writer.md",
    ];
    for path in paths.iter().rev() {
        case.write(path, &format!("---\n{path}"));
    }
    let registry = case.load();
    for (at, path) in paths.iter().enumerate() {
        let snapshot = registry.snapshot();
        assert_eq!(snapshot.find("writer").unwrap().prompt, *path);
        let hidden = &snapshot.entry("writer").unwrap().shadowed;
        let mut hidden: Vec<String> = hidden.iter().map(|c| case.short(&c.read.origin.path)).collect();
        assert_eq!(hidden.pop().as_deref(), Some("built-in"));
        // `~/.posse/agents` and `~/.config/posse/agents` have one rank; the first in the table comes first.
        assert_eq!(hidden, paths[at + 1..]);
        case.remove(path);
        registry.reload().unwrap();
    }
    assert_eq!(registry.snapshot().find("writer").unwrap().origin.path, "built-in");
}

#[test]
fn two_files_of_one_rank_with_one_name_both_get_a_warning_and_the_first_by_path_counts() {
    let case = Case::new();
    case.write("home/.claude/agents/a/x.md", "name: same\n---\nfirst");
    case.write("home/.claude/agents/b.md", "name: same\n---\nsecond");
    case.write("home/.claude/agents/c.md", "name: same\n---\nthird");
    case.write("home/.gemini/agents/same.md", "another rank");
    let snapshot = case.load().snapshot();
    assert_eq!(snapshot.find("same").unwrap().prompt, "first");
    let entry = snapshot.entry("same").unwrap();
    let remarks = |candidate: &AgentCandidate| -> Vec<String> {
        candidate.remarks().map(|remark| case.short(&remark.text)).collect()
    };
    assert_eq!(remarks(&entry.chosen), ["home/.claude/agents/b.md has the same name and does not count"]);
    for twin in &entry.shadowed[..2] {
        assert_eq!(
            remarks(twin),
            ["does not count: home/.claude/agents/a/x.md has the same name and comes first"]
        );
    }
    assert_eq!(remarks(&entry.shadowed[2]), [""; 0]);
}

#[test]
fn a_bad_file_keeps_its_name_and_tells_its_errors() {
    let case = Case::new();
    case.write("home/.posse/agents/general.md", "broken: `tools` is a number\n---\n");
    let snapshot = case.load().snapshot();
    assert_eq!(code(&snapshot.find("general").unwrap_err()), ErrorCode::AgentInvalid);
    assert_eq!(
        case.short(&told(&snapshot, "general")),
        "AGENT_INVALID: the agent `general` cannot be used (home/.posse/agents/general.md): line 1: `tools` is a \
         number\nhint: correct the file; `posse agents check` shows everything about it"
    );
    assert!(snapshot.agents().all(|agent| agent.name.as_str() != "general"));
    assert_eq!(snapshot.entry("general").unwrap().shadowed.len(), 1);
}

#[test]
fn a_name_that_no_agent_can_have_is_listed_with_its_error() {
    let case = Case::new();
    case.write("home/.posse/agents/x.md", "name: ../x\u{1b}[31m\n---\n");
    let snapshot = case.load().snapshot();
    let text = told(&snapshot, "../x\u{1b}[31m");
    assert!(text.starts_with("AGENT_INVALID: the agent `../x\\u{1b}[31m` cannot be used"), "{text}");
}

#[test]
fn an_unknown_name_gets_the_nearest_one_and_a_bounded_list() {
    let case = Case::new();
    let snapshot = case.load().snapshot();
    let all = "There are: code-reviewer, general, investigator, researcher, test-writer, writer";
    for (name, meant) in [
        ("reseacher", "did you mean `researcher`? "),
        ("Code_Reviewer", "did you mean `code-reviewer`? "),
        ("xyz", ""),
        ("", ""),
    ] {
        let expected = format!("AGENT_NOT_FOUND: no agent is called `{name}`\nhint: {meant}{all}");
        assert_eq!(told(&snapshot, name), expected);
    }
    for number in 0..40 {
        case.write(&format!("home/.posse/agents/a{number}.md"), "x");
    }
    case.write("home/.posse/agents/secret.md", "hidden: yes\n---\n");
    let snapshot = case.load().snapshot();
    let text = told(&snapshot, &"é".repeat(10_000));
    assert!(text.len() < 1_000 && text.ends_with(" and 16 more"), "{text}");
    assert!(!told(&snapshot, "secrets").contains("secret`?"), "hidden agents are not offered");
    snapshot.find("secret").unwrap();
}

#[test]
fn a_disabled_agent_keeps_its_name() {
    let case = Case::new();
    case.write("home/.posse/agents/general.md", "disabled: yes\n---\n");
    let snapshot = case.load().snapshot();
    assert_eq!(
        case.short(&told(&snapshot, "general")),
        "AGENT_NOT_FOUND: the agent `general` is disabled in home/.posse/agents/general.md\n\
         hint: enable it there, or ask another agent"
    );
}

#[test]
fn a_changed_content_makes_the_next_version_and_old_snapshots_stay_as_they_were() {
    let case = Case::new();
    case.write("home/.posse/agents/base.md", "---\none");
    case.write("home/.posse/agents/child.md", "extends: base\n---\n");
    case.write("home/.posse/agents/other.md", "x");
    let registry = case.load();
    let versions = || {
        let snapshot = registry.snapshot();
        ["base", "child", "other"].map(|name| snapshot.entry(name).map(|entry| entry.version))
    };
    let old = registry.snapshot();
    assert_eq!(versions(), [Some(1), Some(1), Some(1)]);
    assert!(registry.reload().is_none(), "nothing changed");

    case.write("home/.posse/agents/base.md", "---\ntwo");
    registry.reload().unwrap();
    assert_eq!(versions(), [Some(2), Some(2), Some(1)]);
    assert_eq!(registry.snapshot().find("child").unwrap().prompt, "two");
    assert_eq!(old.find("child").unwrap().prompt, "one");

    case.remove("home/.posse/agents/base.md");
    registry.reload().unwrap();
    assert_eq!(versions(), [None, Some(3), Some(1)]);
    case.write("home/.posse/agents/base.md", "---\nthree");
    registry.reload().unwrap();
    assert_eq!(versions(), [Some(3), Some(4), Some(1)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Six names that extend each other at random, some broken, some twice, some not trusted.
    #[test]
    fn whatever_extends_whatever_nothing_is_lost_and_nothing_untrusted_is_ready(
        made in prop::collection::vec((0..6usize, prop::option::of(0..7usize), 0..8u8, 0..4u32), 0..12),
    ) {
        let candidates: Vec<AgentCandidate> = made
            .iter()
            .map(|(name, extends, kind, distance)| {
                let extends = extends.map_or(String::new(), |name| format!("extends: a{name}\n"));
                let broken = if *kind == 0 { "broken: yes\n" } else { "" };
                let text = format!("name: a{name}\n{extends}{broken}---\nbody {name}");
                let file = DefinitionFile {
                    path: "p",
                    relative: "x.md",
                    format: None,
                    scope: posse_core::definition::DefinitionScope::Project { distance: *distance },
                    bytes: text.as_bytes(),
                };
                let standing = if *kind == 1 { TrustStanding::NotTrusted } else { TrustStanding::Trusted };
                AgentCandidate::new(&Arc::new(reader(file).remove(0)), standing)
            })
            .collect();
        let entries = rank::arrange(candidates.iter().cloned(), &mut rank::AgentVersions::default());
        let kept: usize = entries.iter().map(|entry| 1 + entry.shadowed.len()).sum();
        prop_assert_eq!(kept, candidates.len());
        for entry in &entries {
            let first = candidates.iter().find(|candidate| candidate.read.name == entry.name).unwrap();
            prop_assert!(Arc::ptr_eq(&first.read, &entry.chosen.read));
            prop_assert_eq!(entry.version, 1);
            if let AgentState::Ready(_) = entry.state {
                prop_assert_eq!(entry.chosen.standing, TrustStanding::Trusted);
                prop_assert!(entry.chosen.read.errors().next().is_none());
            }
        }
    }
}
