use super::*;

#[test]
fn own_fields_count_before_inherited_ones_and_the_addition_comes_last() {
    let case = Case::new();
    case.write(
        "home/.posse/agents/base.md",
        "description: the base\nmodel: m1\ntools: read bash\nturns: 5\nwall: 60\nappend: base addition\nhidden: yes\n---\nBase prompt.\n",
    );
    case.write("home/.posse/agents/middle.md", "extends: base\nappend: middle addition\nturns: 7\n---\n");
    case.write(
        "home/.posse/agents/child.md",
        "extends: middle\ndescription: the child\nmodel: m2\ntools: write\n---\n",
    );
    case.write("home/.posse/agents/other.md", "extends: middle\nappend: more\n---\nOwn prompt.");
    let snapshot = case.load().snapshot();
    let child = snapshot.find("child").unwrap();
    assert_eq!(child.prompt, "Base prompt.\n\nbase addition\n\nmiddle addition");
    assert_eq!((child.name.as_str(), child.description.as_str()), ("child", "the child"));
    assert_eq!(child.origin.path, case.path("home/.posse/agents/child.md").display().to_string());
    assert_eq!(child.model.candidates, ["m2"]);
    assert_eq!((child.limits.turns, child.limits.wall_s), (Some(7), Some(60)));
    assert_eq!(child.rights, Rights::only(["write"]));
    assert!(!child.mode.hidden);
    let other = snapshot.find("other").unwrap();
    assert_eq!((other.prompt.as_str(), other.description.as_str()), ("Own prompt.\n\nmore", "the base"));
    assert_eq!(other.rights, Rights::only(["read", "bash"]));
}

#[test]
fn what_was_forbidden_stays_forbidden() {
    let case = Case::new();
    case.write("home/.posse/agents/base.md", "deny: bash\nread_only: yes\n---\n");
    case.write(
        "home/.posse/agents/child.md",
        "extends: base\ndeny: grep\ntools: bash write grep read\n---\n",
    );
    let child = case.load().snapshot().find("child").unwrap();
    assert!(
        !child.rights.mentions("bash") && !child.rights.mentions("grep") && child.rights.mentions("read")
    );
    assert_eq!(child.rights.access, AccessLevel::ReadOnly);
}

#[test]
fn an_addition_without_a_parent_is_added_to_the_own_prompt() {
    let case = Case::new();
    case.write("home/.posse/agents/a.md", "append: more\n---\nPrompt.\n");
    assert_eq!(case.load().snapshot().find("a").unwrap().prompt, "Prompt.\n\nmore");
}

#[test]
fn an_agent_that_extends_its_own_name_means_the_one_it_hides() {
    let case = Case::new();
    case.write("project/.posse/agents/a.md", "extends: a\nappend: project\n---\n");
    case.write("home/.posse/agents/a.md", "extends: a\nappend: user\n---\n");
    case.write("home/.claude/agents/a.md", "---\nbase");
    let registry = case.load();
    assert_eq!(registry.snapshot().find("a").unwrap().prompt, "base\n\nuser\n\nproject");
    case.remove("home/.claude/agents/a.md");
    let snapshot = registry.reload().unwrap();
    assert!(told(&snapshot, "a").contains("it extends `a`, and there is no such agent"));
}

#[test]
fn circles_missing_and_broken_parents_and_long_chains_are_errors_of_that_agent_alone() {
    let case = Case::new();
    for (name, text) in [
        ("one", "extends: two\n---\n"),
        ("two", "extends: three\n---\n"),
        ("three", "extends: two\n---\n"),
        ("orphan", "extends: nobody\n---\n"),
        ("bad", "broken: no body\n---\n"),
        ("heir", "extends: bad\n---\n"),
        ("fine", "---\nfine"),
    ] {
        case.write(&format!("home/.posse/agents/{name}.md"), text);
    }
    for number in 0..10 {
        let extends = if number == 0 { String::new() } else { format!("extends: c{}\n", number - 1) };
        case.write(&format!("home/.posse/agents/c{number}.md"), &format!("{extends}---\n"));
    }
    let snapshot = case.load().snapshot();
    for (name, expected) in [
        ("one", "what it extends is a circle: one, two, three, two"),
        ("two", "what it extends is a circle: two, three, two"),
        ("orphan", "it extends `nobody`, and there is no such agent"),
        ("heir", "it extends `bad`, which cannot be used: no body (home/.posse/agents/bad.md)"),
        ("c9", "it extends more than 8 agents, one after another"),
    ] {
        let text = case.short(&told(&snapshot, name));
        assert!(text.starts_with("AGENT_INVALID") && text.contains(expected), "{text}");
    }
    snapshot.find("fine").unwrap();
    snapshot.find("c8").unwrap();
}
