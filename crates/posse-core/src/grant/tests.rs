use super::*;
use proptest::prelude::*;

fn patterns(raw: &[&str]) -> Vec<ToolPattern> {
    raw.iter().flat_map(|raw| ToolPattern::parse(raw).unwrap()).collect()
}

fn everything() -> Grant {
    Grant::root(["read", "write", "edit", "bash", "grep", "subagent", "shared_context"].map(str::to_owned), 3)
}

/// By an operator whose kernel confines processes.
fn confined() -> Grant {
    let tools = everything().tools().map(str::to_owned).collect();
    Grant::of_root(RootGrant { tools, depth: 3, sandbox: SandboxTier::Kernel, ..RootGrant::default() })
}

fn command(command: &str) -> String {
    serde_json::json!({ "command": command }).to_string()
}

fn path(path: &str) -> String {
    serde_json::json!({ "path": path }).to_string()
}

fn allows(grant: &Grant, tool: &str, arguments: &str) -> bool {
    let effect = if ["read", "grep"].contains(&tool) { ToolEffect::Pure } else { ToolEffect::Unsafe };
    grant.decide(RequestedCall { tool, effect, arguments, workspace: "" }) == Decision::Allow
}

fn of_command(grant: &Grant, text: &str) -> Decision {
    let arguments = command(text);
    grant.decide(RequestedCall {
        tool: "bash",
        effect: ToolEffect::Unsafe,
        arguments: &arguments,
        workspace: "",
    })
}

fn denied_command(grant: &Grant, text: &str) -> String {
    match of_command(grant, text) {
        Decision::Deny(why) => why,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_list_of_tools_can_allow_some_commands_only() {
    let rights = Rights { tools: Some(patterns(&["Read", "Bash(git *)"])), ..Rights::default() };
    let grant = everything().narrow(&rights);
    assert!(allows(&grant, "bash", &command("git status")));
    for plain in ["git commit -m 'Say why; then do it'", "git log \"a b\"", "git add . && git commit -m x"] {
        assert!(allows(&grant, "bash", &command(plain)), "{plain}");
    }
    for other in [
        "rm -rf x",
        "git status; rm -rf x",
        "git $(rm x)",
        "git log | sh",
        "X=1 git status",
        "",
        "\"git x\"",
        "git \"$(rm x)\"",
        "git log > x",
        "/tmp/git status",
    ] {
        assert!(!allows(&grant, "bash", &command(other)), "{other}");
    }
    assert!(!allows(&grant, "bash", "{}") && !allows(&grant, "bash", "no json"));
    assert!(allows(&grant, "read", &path("a")) && !allows(&grant, "write", &path("a")));
    let why = denied_command(&grant, "ls");
    assert_eq!(why, "`bash` is allowed to this task only for: git *");
}

#[test]
fn what_is_denied_stays_denied_when_it_cannot_be_told() {
    let rights = Rights { deny: patterns(&["Bash(rm *)", "Read(.env*)"]), ..Rights::default() };
    let grant = everything().narrow(&rights);
    assert!(allows(&grant, "bash", &command("ls")));
    for denied in [
        "rm x",
        "ls && rm x",
        "ls `rm x`",
        "'rm' x",
        "/bin/rm x",
        "ls | xargs rm",
        "sh -c 'rm x'",
        "echo 'rm x' | sh",
    ] {
        assert!(!allows(&grant, "bash", &command(denied)), "{denied}");
    }
    for fine in ["ls | head -1", "ls && pwd", "echo 'rm x'", "sh build.sh"] {
        assert!(allows(&grant, "bash", &command(fine)), "{fine}");
    }
    for denied in [".env", "./.env.local", "a/../.env", "/work/.env"] {
        assert!(!allows(&grant, "read", &path(denied)), "{denied}");
    }
    assert!(allows(&grant, "read", &path("env.md")));
}

#[test]
fn what_might_be_denied_is() {
    let rights = Rights { deny: patterns(&["Bash(git push *)", "Bash(cargo publish)"]), ..Rights::default() };
    let grant = everything().narrow(&rights);
    for denied in [
        "git push",
        "git push origin main",
        "/usr/bin/git push",
        "./git push",
        "git -C . push",
        "git --no-pager push x",
        "git -c a=b -C x push",
        "env git push",
        "env -i A=1 git push",
        "command git push",
        "nohup git push",
        "time git push",
        "time nohup git -C . push",
        "timeout 5 git push",
        "sudo -u me git push",
        "eval git push",
        "git status && git push",
        "git status | git push",
        "cargo publish",
        "cargo -q publish --dry-run",
        "cargo +nightly publish",
    ] {
        assert!(!allows(&grant, "bash", &command(denied)), "{denied}");
    }
    for fine in [
        "git status",
        "git commit -m push",
        "git stash push",
        "echo git push",
        "github push",
        "cargo test publish",
    ] {
        assert!(allows(&grant, "bash", &command(fine)), "{fine}");
    }
    let why = denied_command(&grant, "git status && git push");
    assert_eq!(why, "this task must not call `bash(git push *)` (this is about `git push`)");
}

#[test]
fn a_path_below_the_workspace_is_one_of_it_however_it_is_written() {
    let rights = Rights {
        write_paths: Some(vec!["docs/**".to_owned()]),
        deny: patterns(&["Read(.env)"]),
        ..Rights::default()
    };
    let grant = everything().narrow(&rights);
    let may = |tool: &str, at: &str, workspace: &str| {
        let arguments = path(at);
        grant.decide(RequestedCall { tool, effect: ToolEffect::Pure, arguments: &arguments, workspace })
            == Decision::Allow
    };
    assert!(may("write", "/home/me/project/docs/a.md", "/home/me/project"));
    assert!(may("write", "/home/me/project/docs/a.md", "/home/me/project/"));
    for outside in [
        "/home/me/project/src/a.rs",
        "/home/me/project2/docs/a.md",
        "/home/me/projectdocs/a.md",
        "/docs/a.md",
        "/home/me/project/docs/../src/a.rs",
        "/home/me/project/../docs/a.md",
    ] {
        assert!(!may("write", outside, "/home/me/project"), "{outside}");
    }
    assert!(!may("write", "/home/me/project/docs/a.md", "") && !may("write", "./docs", "./docs"));
    assert!(!may("read", "/home/me/project/.env", "/home/me/project"));
    assert!(!may("read", "/elsewhere/.env", "/home/me/project"), "in doubt");
}

#[test]
fn of_several_rules_the_last_that_fits_decides() {
    let rule = |pattern: &str, verdict| GrantRule { pattern: patterns(&[pattern]).remove(0), verdict };
    let rules = vec![
        rule("*", RuleVerdict::Allow),
        rule("bash", RuleVerdict::Ask),
        rule("bash(git *)", RuleVerdict::Allow),
        rule("bash(git push *)", RuleVerdict::Deny),
        rule("write", RuleVerdict::Deny),
    ];
    let grant = everything().narrow(&Rights { rules, ..Rights::default() });
    assert!(allows(&grant, "bash", &command("git status")) && allows(&grant, "read", &path("a")));
    assert!(!allows(&grant, "bash", &command("git push origin")) && !allows(&grant, "bash", &command("ls")));
    assert!(grant.offers("bash", ToolEffect::Unsafe), "some commands are allowed");
    assert!(!grant.offers("write", ToolEffect::Unsafe), "no call is");
    let asked =
        ApprovalQuestion { why: "`bash` needs a person's yes".to_owned(), covers: vec!["bash".to_owned()] };
    assert_eq!(of_command(&grant, "ls"), Decision::Ask(asked));
    let Decision::Ask(asked) = of_command(&grant, "git status && ls -l") else { panic!("it is asked about") };
    assert_eq!(asked.why, "`bash` needs a person's yes (this is about `ls -l`)");
}

#[test]
fn an_agent_that_only_looks_changes_nothing_but_can_still_talk() {
    let grant = everything().narrow(&Rights { access: AccessLevel::ReadOnly, ..Rights::default() });
    assert!(allows(&grant, "read", &path("a")) && allows(&grant, "shared_context", "{}"));
    assert!(!allows(&grant, "write", &path("a")) && !grant.offers("bash", ToolEffect::Unsafe));
}

#[test]
fn rules_about_agents_hold_at_every_door() {
    let only = |pattern: &str| {
        everything().narrow(&Rights { tools: Some(patterns(&[pattern])), ..Rights::default() })
    };
    for (arguments, agent) in [
        (r#"{"type":"researcher","prompt":"p"}"#, "researcher"),
        (r#"{"agent":"researcher","description":"d","prompt":"p"}"#, "researcher"),
        (r#"{"description":"d","prompt":"p"}"#, "general"),
        (r#"{"_text":"<prompt>p</prompt><agent>researcher</agent>"}"#, "general"),
        (r#"{"task":"t"}"#, "investigator"),
    ] {
        for known in ["researcher", "general", "investigator"] {
            let grant = only(&format!("Agent({known})"));
            assert_eq!(allows(&grant, "subagent", arguments), known == agent, "{arguments} {known}");
        }
    }
    let nobody = r#"{"action":"spawn","task":"t"}"#;
    assert!(!allows(&only("Agent(investigator)"), "subagent", nobody), "no agent is named");
}

// R364
#[test]
fn the_whole_depth_is_known_at_every_level() {
    let child = everything().narrow(&Rights::default());
    let grandchild = child.narrow(&Rights::default());
    assert_eq!([&child, &grandchild].map(|grant| (grant.depth(), grant.depth_max())), [(2, 3), (1, 3)]);
}

#[test]
fn writing_keeps_to_its_paths() {
    let rights = Rights { write_paths: Some(vec!["docs/**".to_owned()]), ..Rights::default() };
    let grant = everything().narrow(&rights);
    assert!(allows(&grant, "write", &path("docs/a/b.md")) && allows(&grant, "edit", &path("./docs/a.md")));
    for outside in ["src/a.rs", "docs/../src/a.rs", "/docs/a.md", "../docs/a.md"] {
        assert!(!allows(&grant, "write", &path(outside)), "{outside}");
    }
    assert!(allows(&grant, "read", &path("src/a.rs")) && !allows(&grant, "bash", &command("true")));
}

#[test]
fn an_agent_may_delegate_to_those_it_names_and_look_after_them() {
    let grant =
        everything().narrow(&Rights { tools: Some(patterns(&["Agent(researcher)"])), ..Rights::default() });
    let spawn =
        |agent: &str| serde_json::json!({ "action": "spawn", "agent": agent, "task": "x" }).to_string();
    assert!(
        allows(&grant, "subagent", &spawn("researcher")) && !allows(&grant, "subagent", &spawn("writer"))
    );
    assert!(allows(&grant, "subagent", r#"{"action":"collect","task_id":"t_01"}"#));
}

/// A grant after it was written down and read back.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Kept(#[serde(with = "snapshot")] Grant);

fn written_and_read(grant: &Grant) -> Grant {
    serde_json::from_str::<Kept>(&serde_json::to_string(&Kept(grant.clone())).unwrap()).unwrap().0
}

#[test]
fn a_journal_of_an_earlier_version_restricts_what_it_said_and_no_more() {
    let old =
        r#"{"tools":["bash","read"],"depth":1,"conditions":[{"tools":["bash(git *)"],"access":"whole"}]}"#;
    let Kept(grant) = serde_json::from_str(old).unwrap();
    assert!(allows(&grant, "bash", &command("git log")) && !allows(&grant, "bash", &command("ls")));
    assert_eq!(
        (grant.network(), grant.autonomy(), grant.sandbox()),
        (&NetworkGrant::full(), Autonomy::Rules, SandboxTier::None)
    );
}

#[test]
fn reading_keeps_to_its_roots() {
    let rights =
        Rights { read_roots: Some(vec!["docs".into(), "/usr/share/doc/".into()]), ..Rights::default() };
    let grant = everything().narrow(&rights);
    let may = |tool: &str, at: &str| {
        let arguments = path(at);
        let call = RequestedCall {
            tool,
            effect: ToolEffect::Pure,
            arguments: &arguments,
            workspace: "/home/me/project",
        };
        grant.decide(call) == Decision::Allow
    };
    for inside in [
        "docs",
        "docs/a.md",
        "./docs/x/../a.md",
        "/home/me/project/docs/a.md",
        "/usr/share/doc/x",
        "/usr/share/doc",
    ] {
        assert!(may("read", inside) && may("grep", inside), "{inside}");
    }
    for outside in [
        "src/a.rs",
        "docs2/a.md",
        "docs/../src/a.rs",
        ".",
        "/etc/passwd",
        "/usr/share/doc2",
        "../docs",
        "/docs",
    ] {
        assert!(!may("read", outside) && !may("grep", outside), "{outside}");
    }
    assert!(!may("edit", "src/a.rs") && !allows(&grant, "bash", &command("true")));
    let tighter = grant.keep(&Rights { sandbox: Some(SandboxTier::Kernel), ..Rights::default() });
    assert!(!allows(&tighter, "bash", &command("true")), "a wish for a tighter tier gives nothing");
    assert!(
        allows(&confined().narrow(&rights), "bash", &command("true")),
        "the kernel holds it to the roots"
    );
    let grandchild =
        grant.narrow(&Rights { read_roots: Some(vec!["docs/a".into(), "src".into()]), ..Rights::default() });
    let roots = |grant: &Grant| grant.read_roots("/home/me/project", Some);
    assert_eq!(roots(&grandchild), Some(vec!["/home/me/project/docs/a".to_owned()]));
    assert_eq!(roots(&grant), Some(vec!["/home/me/project/docs".to_owned(), "/usr/share/doc".to_owned()]));
    assert_eq!(roots(&everything()), None);
}

// S22
// Seen to fail when `permit` says yes to every address.
#[test]
fn a_task_reaches_the_hosts_it_was_given() {
    let root = Grant::root(["fetch", "bash", "web_search", "mcp__x", "read"].map(str::to_owned), 2);
    let of =
        |hosts: &[&str]| Rights { network: Some(NetworkGrant::parse(hosts).unwrap()), ..Rights::default() };
    let url = |url: &str| serde_json::json!({ "url": url }).to_string();
    let docs = root.narrow(&of(&["docs.rs", "*.example.com"]));
    assert!(allows(&root, "fetch", &url("https://anywhere.test/")));
    assert!(
        allows(&docs, "fetch", &url("https://docs.rs/x"))
            && allows(&docs, "fetch", &url("http://a.example.com"))
    );
    for elsewhere in [
        "https://evil.test",
        "https://docs.rs.evil.test",
        "https://docs.rs@evil.test",
        "https://evil.test/docs.rs",
        "https://docs.rs%00.evil.test",
        "file:///etc/passwd",
        "docs.rs",
        "",
    ] {
        assert!(!allows(&docs, "fetch", &url(elsewhere)), "{elsewhere}");
    }
    for tool in ["bash", "web_search", "mcp__x"] {
        assert!(!docs.offers(tool, ToolEffect::Pure), "{tool} is not held to hosts");
    }
    assert!(
        confined().narrow(&of(&["docs.rs"])).offers("bash", ToolEffect::Unsafe),
        "it has no network at all"
    );
    let none = docs.narrow(&of(&[]));
    assert!(!none.offers("fetch", ToolEffect::Pure) && none.offers("read", ToolEffect::Pure));
    let wider = docs.narrow(&of(&["*"]));
    assert_eq!(wider.network(), docs.network());
    let why = match docs.decide(RequestedCall {
        tool: "fetch",
        effect: ToolEffect::Pure,
        arguments: &url("https://evil.test/x"),
        workspace: "",
    }) {
        Decision::Deny(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why, "this task may reach only: *.example.com, docs.rs, not evil.test");
}

#[test]
fn a_list_can_allow_some_addresses_only() {
    let only = |pattern: &str| {
        let root = Grant::root(["fetch".to_owned()], 1);
        root.narrow(&Rights { tools: Some(patterns(&[pattern])), ..Rights::default() })
    };
    let url = |url: &str| serde_json::json!({ "url": url }).to_string();
    let docs = only("WebFetch(domain:docs.rs)");
    assert!(
        allows(&docs, "fetch", &url("https://docs.rs/a"))
            && !allows(&docs, "fetch", &url("https://x.docs.rs/a"))
    );
    let path = only("Fetch(https://docs.rs/serde/*)");
    assert!(allows(&path, "fetch", &url("https://docs.rs/serde/x")));
    for other in [
        "http://docs.rs/serde/x",
        "https://docs.rs/tokio",
        "https://docs.rs/serde/../tokio",
        "https://docs.rs.evil/serde/x",
    ] {
        assert!(!allows(&path, "fetch", &url(other)), "{other}");
    }
    let loose = only("Fetch(https://docs.rs*)");
    assert!(!allows(&loose, "fetch", &url("https://docs.rs.evil.test/")), "a host is compared as a host");
}

// S33 Seen to fail without `folded`, and with a `folded` that keeps dots at the end.
#[test]
fn another_spelling_of_a_denied_file_is_denied() {
    let grant = everything()
        .narrow(&Rights { deny: patterns(&["Read(.env)", "Write(.git/**)"]), ..Rights::default() });
    for denied in
        [".ENV", ".Env", ".env.", ".env ", ".env::$DATA", ".env:x", "./.eNv", "a/../.ENV", "/w/.ENV"]
    {
        assert!(!allows(&grant, "read", &path(denied)), "{denied}");
    }
    for denied in [".GIT/config", ".git./config", ".git:x/config", ".Git/hooks/x"] {
        assert!(!allows(&grant, "write", &path(denied)), "{denied}");
    }
    assert!(allows(&grant, "read", &path("environment")) && allows(&grant, "write", &path(".github/x")));
}

// S34: every tool that touches files or hosts is held to the same object, by each kind of rule. Seen to fail without the tools of
// servers in `off_network`.
#[test]
fn no_tool_is_outside_of_the_policy() {
    let tools = [
        "read",
        "grep",
        "glob",
        "ls",
        "directory_tree",
        "write",
        "edit",
        "bash",
        "fetch",
        "mcp__x",
        "web_search",
    ];
    let root = Grant::root(tools.map(str::to_owned), 1);
    let arguments = |tool: &str| match tool {
        "bash" => command("cat secret/x"),
        "fetch" => serde_json::json!({ "url": "https://secret.test/" }).to_string(),
        _ => path("secret/x"),
    };
    let may = |rights: Rights| -> Vec<&str> {
        let grant = root.keep(&rights);
        tools.into_iter().filter(|tool| allows(&grant, tool, &arguments(tool))).collect()
    };
    assert_eq!(may(Rights::default()), tools);
    let read_roots = Rights { read_roots: Some(vec!["open".to_owned()]), ..Rights::default() };
    assert_eq!(may(read_roots), ["write", "fetch", "mcp__x", "web_search"]);
    let write_paths = Rights { write_paths: Some(vec!["open/**".to_owned()]), ..Rights::default() };
    assert_eq!(
        may(write_paths),
        ["read", "grep", "glob", "ls", "directory_tree", "fetch", "mcp__x", "web_search"]
    );
    let network = Rights { network: Some(NetworkGrant::parse(["open.test"]).unwrap()), ..Rights::default() };
    assert_eq!(may(network), ["read", "grep", "glob", "ls", "directory_tree", "write", "edit"]);
    for tool in tools {
        let deny = Rights { deny: vec![ToolPattern::tool(tool)], ..Rights::default() };
        assert!(!may(deny).contains(&tool), "{tool}");
        let argument = if tool == "bash" { "cat *" } else { "secret/**" };
        let some = Rights { deny: vec![ToolPattern::call(tool, argument)], ..Rights::default() };
        // A host is denied by its name; what a server does with its arguments cannot be told, which counts as denied.
        assert_eq!(may(some).contains(&tool), tool == "fetch", "{tool}");
        let only = Rights { tools: Some(vec![ToolPattern::call(tool, "open/**")]), ..Rights::default() };
        assert!(!may(only).contains(&tool), "{tool}");
    }
    let domain = Rights { deny: patterns(&["Fetch(domain:secret.test)"]), ..Rights::default() };
    assert!(!may(domain).contains(&"fetch"));
}

#[test]
fn autonomy_says_who_is_asked_and_a_child_never_has_more_of_it() {
    let rule = GrantRule { pattern: patterns(&["bash(git *)"]).remove(0), verdict: RuleVerdict::Ask };
    let with = |autonomy| {
        let root = RootGrant {
            tools: ["bash", "read"].map(str::to_owned).into(),
            depth: 2,
            autonomy,
            ..RootGrant::default()
        };
        Grant::of_root(root).keep(&Rights { rules: vec![rule.clone()], ..Rights::default() })
    };
    let kind = |grant: &Grant, text: &str| match of_command(grant, text) {
        Decision::Allow => "allow",
        Decision::Ask(_) => "ask",
        Decision::Deny(_) => "deny",
    };
    let table = [
        (Autonomy::Free, ["allow", "allow", "ask"]),
        (Autonomy::Rules, ["ask", "allow", "ask"]),
        (Autonomy::Asks, ["ask", "ask", "ask"]),
        (Autonomy::Refuses, ["deny", "deny", "deny"]),
    ];
    let deny = Rights { deny: patterns(&["bash(rm *)"]), ..Rights::default() };
    for (autonomy, expected) in table {
        let grant = with(autonomy).keep(&deny);
        assert_eq!(["git log", "ls", "ls > x"].map(|text| kind(&grant, text)), expected, "{autonomy:?}");
        assert!(allows(&grant, "read", &path("a")), "{autonomy:?}");
        let freed = grant.narrow(&Rights { autonomy: Some(Autonomy::Free), ..Rights::default() });
        assert_eq!(freed.autonomy(), autonomy);
    }
}

fn any_rights() -> impl Strategy<Value = Rights> {
    let tool = || {
        let all = [
            "read",
            "write",
            "bash",
            "bash(git *)",
            "bash(ls)",
            "read(a)",
            "fetch(domain:a.test)",
            "*",
            "mcp__*",
            "fetch",
        ];
        proptest::sample::select(all.to_vec())
    };
    let list = move || proptest::collection::vec(tool(), 0..4);
    let verdict = || proptest::sample::select(vec![RuleVerdict::Allow, RuleVerdict::Ask, RuleVerdict::Deny]);
    let access =
        proptest::sample::select(vec![AccessLevel::Whole, AccessLevel::Whole, AccessLevel::ReadOnly]);
    let rules = proptest::collection::vec((tool(), verdict()), 0..4);
    let paths = || proptest::option::weighted(0.3, proptest::collection::vec("[a-b](/c)?", 0..2));
    let hosts =
        proptest::collection::vec(proptest::sample::select(vec!["a.test", "*.test", "*", "b.test:80"]), 0..3);
    let network = proptest::option::of(hosts.prop_map(|hosts| NetworkGrant::parse(hosts).unwrap()));
    let autonomy = proptest::option::weighted(0.3, any_autonomy());
    let sandbox = proptest::option::of(any_tier());
    let names = (proptest::option::of(list()), proptest::collection::vec(tool(), 0..2), rules, access);
    (names, paths(), paths(), network, autonomy, sandbox).prop_map(
        |((tools, deny, rules, access), write_paths, read_roots, network, autonomy, sandbox)| Rights {
            tools: tools.map(|tools| patterns(&tools)),
            deny: patterns(&deny),
            rules: rules
                .into_iter()
                .map(|(p, verdict)| GrantRule { pattern: patterns(&[p]).remove(0), verdict })
                .collect(),
            access,
            write_paths,
            read_roots,
            network,
            autonomy,
            sandbox,
        },
    )
}

fn any_autonomy() -> impl Strategy<Value = Autonomy> {
    proptest::sample::select(vec![Autonomy::Free, Autonomy::Rules, Autonomy::Asks, Autonomy::Refuses])
}

fn any_tier() -> impl Strategy<Value = SandboxTier> {
    proptest::sample::select(vec![SandboxTier::None, SandboxTier::Kernel, SandboxTier::Namespaces])
}

fn any_root() -> impl Strategy<Value = Grant> {
    let tools = ["read", "write", "bash", "fetch", "mcp__x", "subagent"].map(str::to_owned);
    let tools = proptest::sample::subsequence(tools.to_vec(), 0..=6);
    (tools, 0u32..4, any_autonomy(), any_tier()).prop_map(|(tools, depth, autonomy, sandbox)| {
        Grant::of_root(RootGrant {
            tools: tools.into_iter().collect(),
            depth,
            autonomy,
            sandbox,
            ..RootGrant::default()
        })
    })
}

/// Rank of a decision: 0 denied, 1 asked, 2 allowed.
fn worth(grant: &Grant, tool: &str, arguments: &str) -> u8 {
    let effect = if ["read", "fetch"].contains(&tool) { ToolEffect::Pure } else { ToolEffect::Unsafe };
    match grant.decide(RequestedCall { tool, effect, arguments, workspace: "/w" }) {
        Decision::Deny(_) => 0,
        Decision::Ask(_) => 1,
        Decision::Allow => 2,
    }
}

/// One of everything that some of the rights above speak of.
fn calls() -> Vec<(&'static str, String)> {
    let url = |url: &str| serde_json::json!({ "url": url }).to_string();
    let mut calls =
        vec![("mcp__x", "{}".to_owned()), ("subagent", "{}".to_owned()), ("bash", "{}".to_owned())];
    for at in ["a", "b", "a/c", "b/c/d", ".", "/w/a", "/etc/x", "../x"] {
        calls.extend([("read", path(at)), ("write", path(at))]);
    }
    for text in
        ["git log", "ls", "git a; ls", "ls > x", "env git log", "git -c a=b log", "xargs ls", "$(git x)"]
    {
        calls.push(("bash", command(text)));
    }
    for at in [
        "https://a.test",
        "https://x.test/y",
        "http://b.test",
        "http://b.test:81",
        "https://other",
        "nonsense",
    ] {
        calls.push(("fetch", url(at)));
    }
    calls
}

#[track_caller]
fn assert_within(child: &Grant, parent: &Grant) -> Result<(), TestCaseError> {
    prop_assert!(child.tools.is_subset(&parent.tools));
    prop_assert!(child.depth <= parent.depth);
    prop_assert!(parent.network.contains(&child.network));
    prop_assert!(child.autonomy >= parent.autonomy && child.sandbox >= parent.sandbox);
    prop_assert!(child.confined <= parent.confined);
    for (tool, arguments) in calls() {
        let (of_child, of_parent) = (worth(child, tool, &arguments), worth(parent, tool, &arguments));
        prop_assert!(of_child <= of_parent, "{} {}", tool, arguments);
        // An answer that covers what the child is asked about covers what its parent would be asked about.
        if (of_child, of_parent) == (1, 1) {
            let (ours, theirs) = (asks(parent, tool, &arguments), asks(child, tool, &arguments));
            prop_assert!(ours.iter().all(|rule| theirs.contains(rule)), "{:?} {:?}", ours, theirs);
        }
    }
    Ok(())
}

proptest! {
    // R362, G16, S14: seen to fail without the parent's conditions in `keep`, without `max` for autonomy or for the tier,
    // and with the network of the request instead of the narrowed one. That the conditions of the
    // request are added is not seen here, but by `writing_keeps_to_its_paths`, `reading_keeps_to_its_roots` and others.
    #[test]
    fn a_child_never_has_more_than_its_parent(
        root in any_root(),
        requests in proptest::collection::vec((any_rights(), any::<proptest::sample::Index>()), 0..6),
    ) {
        // A tree: each request is made by any of those that are there already.
        let mut tasks = vec![(root, None)];
        for (request, parent) in requests {
            let parent = parent.index(tasks.len());
            let child = tasks[parent].0.narrow(&request);
            prop_assert_eq!(&written_and_read(&child), &child);
            tasks.push((child, Some(parent)));
        }
        for (child, parent) in &tasks {
            let mut above = *parent;
            while let Some(at) = above {
                assert_within(child, &tasks[at].0)?;
                above = tasks[at].1;
            }
        }
    }

    // G16: after a restart under a stricter operator, and with an agent that was defined anew. Seen to fail without the conditions
    // of the other grant in `meet`.
    #[test]
    fn going_on_and_being_redefined_give_nothing_back(
        root in any_root(), then in any_rights(), today in any_rights(), redefined in any_rights(), again in any_rights(),
    ) {
        let task = root.narrow(&then);
        let allowed = root.keep(&today);
        let resumed = written_and_read(&task).meet(&allowed);
        assert_within(&resumed, &task)?;
        assert_within(&resumed, &allowed)?;
        // What was taken away does not come back when the operator gives it again.
        assert_within(&resumed.meet(&root), &resumed)?;
        // The agent of the parent changes; its grant does not, and its next children are within it.
        let child = resumed.narrow(&redefined).keep(&again);
        assert_within(&child, &resumed)?;
        assert_within(&child, &root)?;
        prop_assert_eq!(&resumed.meet(&allowed), &resumed);
    }

    #[test]
    fn a_call_that_is_allowed_is_of_a_tool_that_is_offered(root in any_root(), request in any_rights()) {
        let grant = root.narrow(&request);
        for (tool, arguments) in calls() {
            let effect = if ["read", "fetch"].contains(&tool) { ToolEffect::Pure } else { ToolEffect::Unsafe };
            if worth(&grant, tool, &arguments) > 0 {
                prop_assert!(grant.offers(tool, effect), "{} {}", tool, arguments);
            }
        }
    }
}

fn asks(grant: &Grant, tool: &str, arguments: &str) -> Vec<String> {
    let effect = if ["read", "fetch"].contains(&tool) { ToolEffect::Pure } else { ToolEffect::Unsafe };
    match grant.decide(RequestedCall { tool, effect, arguments, workspace: "/w" }) {
        Decision::Ask(asked) => asked.covers,
        Decision::Allow | Decision::Deny(_) => Vec::new(),
    }
}

#[test]
fn a_question_names_the_rules_that_ask_and_a_doubt_is_about_its_call_alone() {
    let rule =
        |pattern: &str| GrantRule { pattern: patterns(&[pattern]).remove(0), verdict: RuleVerdict::Ask };
    let push = everything().keep(&Rights { rules: vec![rule("bash(git push *)")], ..Rights::default() });
    let both = command("git status && git push");
    assert_eq!(asks(&push, "bash", &both), ["bash(git push *)"]);
    let child = push.narrow(&Rights { rules: vec![rule("bash")], ..Rights::default() });
    assert_eq!(asks(&child, "bash", &both), ["bash", "bash(git push *)"], "both rules ask");
    let every = push.narrow(&Rights { autonomy: Some(Autonomy::Asks), ..Rights::default() });
    assert_eq!(asks(&every, "write", &path("a")), ["write"]);
    assert_eq!(asks(&every, "bash", &both), ["bash", "bash(git push *)"]);
    let git = everything().narrow(&Rights { tools: Some(patterns(&["Bash(git *)"])), ..Rights::default() });
    let unclear = command("git $(rm x)");
    assert_eq!(asks(&git, "bash", &unclear), [format!("bash {unclear}")]);
}

#[test]
fn a_person_is_asked_about_a_new_task_and_not_about_looking_after_it() {
    let rule = GrantRule { pattern: patterns(&["subagent"]).remove(0), verdict: RuleVerdict::Ask };
    let grant = everything().keep(&Rights { rules: vec![rule], ..Rights::default() });
    for new in [
        r#"{"action":"spawn","agent":"a","task":"t"}"#,
        r#"{"description":"d","prompt":"p"}"#,
        r#"{"_text":"<prompt>p</prompt>"}"#,
        r#"{"task":"t"}"#,
        r#"{"type":"a","prompt":"p"}"#,
    ] {
        assert_eq!(asks(&grant, "subagent", new), ["subagent"], "{new}");
    }
    assert!(allows(&grant, "subagent", r#"{"action":"collect","task_id":"t_01"}"#));
}

// S34 Seen to fail with `Ok` for what only a rule asks about.
#[test]
fn a_place_that_a_call_came_to_is_decided_like_the_path_it_named() {
    let deny = patterns(&["Read(secret/**)"]);
    let ask = |raw: &str| GrantRule { pattern: patterns(&[raw]).remove(0), verdict: RuleVerdict::Ask };
    let permits = |grant: &Grant, place: &str| {
        let call = RequestedCall {
            tool: "read",
            effect: ToolEffect::Pure,
            arguments: &path("link/a"),
            workspace: "/w",
        };
        grant.permit_place(call, place).is_ok()
    };
    let denies = everything().narrow(&Rights { deny, ..Rights::default() });
    assert!(!permits(&denies, "secret/a") && permits(&denies, "docs/a"));
    let roots = Some(vec!["docs".to_owned(), "/w/link".to_owned()]);
    let roots = everything().narrow(&Rights { read_roots: roots, ..Rights::default() });
    assert!(!permits(&roots, "secret/a") && permits(&roots, "docs/a"));
    // Nobody was asked about the place, but about the call, if its rule is that general.
    let asks = |raw: &str| everything().narrow(&Rights { rules: vec![ask(raw)], ..Rights::default() });
    assert!(!permits(&asks("Read(secret/**)"), "secret/a"));
    assert!(permits(&asks("Read"), "secret/a") && permits(&asks("Read(link/**)"), "secret/a"));
    for (grant, minds) in [(everything(), false), (denies, true), (roots, true), (asks("Read"), false)] {
        assert_eq!(grant.looks_at_places("read"), minds);
    }
}

// S12 Seen to fail without `exposure`.
#[test]
fn one_agent_that_looks_and_takes_in_and_sends_is_warned_about() {
    let grant = |tools: &[&str], network: &[&str], sandbox| {
        Grant::of_root(RootGrant {
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            network: NetworkGrant::parse(network.iter().copied()).unwrap(),
            sandbox,
            ..RootGrant::default()
        })
    };
    let all = ["*"];
    let exposed = grant(&["read", "fetch"], &["docs.rs"], SandboxTier::Kernel).exposure().unwrap();
    assert!(exposed.contains("`read`") && exposed.contains("`fetch`"), "{exposed}");
    assert!(grant(&["grep", "mcp__mail__send"], &all, SandboxTier::Kernel).exposure().is_some());
    assert!(grant(&["bash"], &all, SandboxTier::None).exposure().is_some());
    assert_eq!(grant(&["bash"], &all, SandboxTier::Kernel).exposure(), None);
    assert_eq!(grant(&["fetch", "think"], &all, SandboxTier::Kernel).exposure(), None);
    assert_eq!(grant(&["read", "write"], &all, SandboxTier::Kernel).exposure(), None);
    assert_eq!(grant(&["read", "fetch"], &[], SandboxTier::Kernel).exposure(), None);
}
