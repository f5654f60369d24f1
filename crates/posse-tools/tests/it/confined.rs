//! What the kernel holds the processes of a task to, as far as its grant and its operator say so. Where a test was seen
//! to fail, it was on tier T1.

use std::collections::BTreeSet;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_core::budget::BudgetCaps;
use posse_core::confinement::NetworkReach;
use posse_core::grant::{AccessLevel, Grant, NetworkGrant, Rights, SandboxTier};
use posse_core::limits::Limits;
use posse_runtime::budget::TaskAccount;
use posse_runtime::driver::{CallingRun, TaskJournal};
use posse_runtime::observe::Observers;
use posse_runtime::ports::{ToolOutput, Verifier};
use posse_runtime::toolbox::Toolbox;
use posse_sandbox::confinement::{ProcessConfinement, ProcessLimits, WorkspaceTop};
use posse_sandbox::protected::{FileProtection, names};
use posse_sandbox::supervisor::{CommandJob, StreamMode, WorkDirectory};
use posse_sandbox::{Sandbox, SandboxSettings, SandboxWish};
use posse_testkit::memory::MemoryStore;
use posse_tools::verify::CommandVerifier;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Place, task_with, task_without};
use crate::world::{World, has_bubblewrap};

/// The tiers that can be built here.
fn tiers() -> Vec<SandboxWish> {
    let mut tiers = vec![SandboxWish::T1];
    if has_bubblewrap() {
        tiers.push(SandboxWish::T2);
    } else {
        eprintln!("bubblewrap is not installed: tier t2 is not tested");
    }
    tiers
}

fn settings(wish: SandboxWish) -> SandboxSettings {
    SandboxSettings {
        wish,
        network: NetworkReach::Full,
        search: std::env::var_os("PATH").unwrap_or_default(),
        temporary: std::env::temp_dir(),
        ..SandboxSettings::default()
    }
}

/// A workspace in which a task of this grant works.
fn world(name: &str, settings: SandboxSettings, grant: &Grant) -> World {
    let mut world = World::new(name);
    world.launch.sandbox = Sandbox::new(settings);
    world.context.grant = Arc::new(grant.clone());
    world.context.run = Some(Arc::new(CallingRun {
        limits: Limits::default(),
        workspace: world.path().display().to_string(),
        tools: Toolbox::default(),
        budget: Arc::new(TaskAccount::root(BudgetCaps::default())),
        journal: journal(Observers::default()),
    }));
    world
}

fn journal(observers: Observers) -> TaskJournal {
    TaskJournal::new(Arc::new(MemoryStore::new()), observers, posse_core::id::TaskId::root("s1"), 1, 1)
}

fn all() -> Grant {
    Grant::root(["bash".to_owned()], 3)
}

fn writing(paths: &[&str]) -> Rights {
    Rights { write_paths: Some(paths.iter().map(|path| (*path).to_owned()).collect()), ..Rights::default() }
}

fn put(at: &Path, files: &[&str]) {
    for file in files {
        std::fs::create_dir_all(at.join(file).parent().unwrap()).unwrap();
        std::fs::write(at.join(file), "old\n").unwrap();
    }
}

/// Which of these a command can write to, in one call.
async fn written(world: &World, paths: &[&str]) -> BTreeSet<String> {
    let tries: String =
        paths.iter().map(|path| format!("(echo new >>{path}) 2>/dev/null && echo {path}\n")).collect();
    let output = world.bash(&format!("{tries}true")).await;
    assert!(!output.is_error, "{}", output.text);
    output.text.lines().filter(|line| paths.contains(line)).map(str::to_owned).collect()
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

// S34 Seen to fail with the last list alone, and with the first alone, in `rulesets`.
#[tokio::test]
async fn a_command_writes_only_where_its_task_may() {
    for wish in tiers() {
        let paths =
            ["docs/new", "docs/a/new", "src/a.rs", "src/new.rs", "out/new", "top", "lib/x", "lib/b/x"];
        for (rights, expected) in [
            (vec![], vec!["docs/new", "docs/a/new", "src/a.rs", "src/new.rs", "lib/x", "lib/b/x"]),
            (vec![writing(&["docs/**", "src/*.rs"])], vec!["docs/new", "docs/a/new", "src/a.rs"]),
            // Each of several narrowings holds.
            (vec![writing(&["docs", "lib/b"]), writing(&["docs/a/**", "src"])], vec!["docs/a/new"]),
            (vec![writing(&["docs/a"]), writing(&["docs", "src"])], vec!["docs/a/new"]),
            // What is not there yet is made, so that it can be written to.
            (vec![writing(&["out/**"])], vec!["out/new"]),
            (vec![writing(&[])], vec![]),
            (vec![Rights { access: AccessLevel::ReadOnly, ..Rights::default() }], vec![]),
            (vec![writing(&["../**", "/**", "docs/../src/**"])], vec![]),
        ] {
            let grant = rights.iter().fold(all(), |grant, rights| grant.narrow(rights));
            let world = world("where", settings(wish), &grant);
            put(world.path(), &["docs/a/old", "src/a.rs", "lib/b/old"]);
            assert_eq!(written(&world, &paths).await, set(&expected), "{wish:?} {rights:?}");
        }
    }
}

/// Which of these a command can read, in one call.
async fn readable(world: &World, paths: &[&str]) -> BTreeSet<String> {
    let tries: String =
        paths.iter().map(|path| format!("cat {path} >/dev/null 2>&1 && echo {path}\n")).collect();
    let output = world.bash(&format!("{tries}true")).await;
    assert!(!output.is_error, "{}", output.text);
    output.text.lines().filter(|line| paths.contains(line)).map(str::to_owned).collect()
}

// S01 S34 Seen to fail without `places::read_root`.
#[tokio::test]
async fn a_command_reads_only_its_read_roots_and_no_link_widens_them() {
    let reading = |paths: &[&str]| Rights {
        read_roots: Some(paths.iter().map(|path| (*path).to_owned()).collect()),
        ..Rights::default()
    };
    for wish in tiers() {
        let paths = ["docs/a", "docs/in/b", "src/c", "docs/way/c"];
        for (rights, expected) in [
            (vec![], paths.to_vec()),
            (vec![reading(&["docs"])], vec!["docs/a", "docs/in/b"]),
            (vec![reading(&["docs"]), reading(&["docs/way"])], vec![]),
            (vec![reading(&["docs/way"])], vec![]),
            (vec![reading(&["docs"]), reading(&["docs/way-in"])], vec![]),
            (vec![reading(&["docs"]), reading(&["docs/in", "src"])], vec!["docs/in/b"]),
            // What it may write, it may not read for that.
            (vec![reading(&["docs/in"]), writing(&["src/**"])], vec!["docs/in/b"]),
        ] {
            let grant = rights.iter().fold(all(), |grant, rights| grant.narrow(rights));
            let world = world("roots", settings(wish), &grant);
            put(world.path(), &["docs/a", "docs/in/b", "src/c"]);
            std::os::unix::fs::symlink("../src", world.path().join("docs/way")).unwrap();
            std::os::unix::fs::symlink("in", world.path().join("docs/way-in")).unwrap();
            assert_eq!(readable(&world, &paths).await, set(&expected), "{wish:?} {rights:?}");
        }
    }
}

/// Every kind of protected file, once.
const PROTECTED: &[&str] = &[
    ".git/hooks/pre-commit",
    ".git/config",
    ".GIT/config",
    ".env",
    ".Env.local",
    ".envrc",
    ".ssh/authorized_keys",
    "server.PEM",
    "id_ed25519",
    ".aws/credentials",
    ".netrc",
    ".npmrc",
    ".bashrc",
    ".zshenv",
    ".profile",
    ".posse/agents/me.md",
    "posse.toml",
    ".claude/agents/me.md",
    ".claude/settings.json",
    ".codex/config.toml",
    ".opencode/agent/me.md",
    ".gemini/agents/me.md",
    ".github/agents/me.md",
    ".GitHub/Workflows/ci.yml",
    ".qwen/agents/me.md",
    ".cursor/agents/me.md",
    ".agents/agents/me.md",
    ".acai/subagents/me.md",
    ".mcp.json",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    ".husky/pre-commit",
    ".gitmodules",
    ".cargo/config.toml",
    "opencode.json",
    "crush.json",
    ".hg/hgrc",
    ".gitea/workflows/ci.yml",
    "lefthook.yaml",
    "mise.toml",
    "AGENTS.md",
];

/// Tries hard: writes, makes the directory, puts something else in its place, takes away what holds it.
fn assault(path: &str) -> String {
    let holder = Path::new(path).parent().map_or(".", |parent| parent.to_str().unwrap());
    let top = Path::new(path).iter().next().unwrap().to_str().unwrap();
    format!(
        "echo evil >src/evil; mkdir -p '{holder}'; echo evil >>'{path}'; cp src/evil '{path}'; mv -f src/evil '{path}'; \
         echo evil >src/evil; ln -f src/evil '{path}'; ln -sf src/evil '{path}'; mv '{top}' src/moved; rm -rf '{path}' '{top}'; \
         mkdir -p '{holder}'; echo evil >'{path}'; rm -rf src/moved src/evil;\n"
    )
}

// G20 S04 S09 S11 S33 Seen to fail with the top of the workspace given as a whole, and with a protected name that the file
// tools know and the layout does not.
#[tokio::test]
async fn protected_files_are_written_by_no_tool_and_by_no_command() {
    for wish in tiers() {
        for existing in [false, true] {
            let world = world("protected", settings(wish), &all());
            let place = Place { outside: tempfile::tempdir().unwrap(), root: world.path().to_owned() };
            put(world.path(), &["src/a.rs", "README.md"]);
            if existing {
                put(world.path(), PROTECTED);
            }
            let before = snapshot(&place);
            let tools = || {
                let task = place.task();
                for path in PROTECTED {
                    task.refused("write", json!({"path": path, "content": "evil"}), "is protected");
                }
            };
            // They have a runtime of their own.
            std::thread::scope(|scope| scope.spawn(tools).join().unwrap());
            let script: String = PROTECTED.iter().map(|path| assault(path)).collect();
            let output =
                world.bash(&format!("exec 2>/dev/null\n{script}echo new >>README.md; echo over")).await;
            assert!(output.text.contains("over"), "{}", output.text);
            let mut after = snapshot(&place);
            // Honest work beside them goes on.
            assert_eq!(
                after.iter().find(|(path, _)| path == "README.md").unwrap().1,
                "old\nnew\n",
                "{wish:?}"
            );
            after
                .iter_mut()
                .filter(|(path, _)| path == "README.md")
                .for_each(|(_, text)| *text = "old\n".to_owned());
            assert_eq!(after, before, "{wish:?}, existing: {existing}");
        }
    }
}

// G20 S04 S11 Seen to fail with a table of the file tools that has one name more than that of the sandbox, and the other way
// round.
#[tokio::test]
async fn every_name_of_the_table_is_kept_from_the_file_tools_and_from_commands() {
    let paths: Vec<String> = names().map(|name| name.pattern.replace('*', "x")).collect();
    for wish in tiers() {
        for existing in [false, true] {
            let world = world("table", settings(wish), &all());
            let place = Place { outside: tempfile::tempdir().unwrap(), root: world.path().to_owned() };
            put(world.path(), &["src/a.rs"]);
            if existing {
                put(world.path(), &paths.iter().map(String::as_str).collect::<Vec<_>>());
            }
            let before = snapshot(&place);
            let tools = || {
                let task = place.task();
                for path in &paths {
                    task.refused("write", json!({"path": path, "content": "evil"}), "is protected");
                }
            };
            // They have a runtime of their own.
            std::thread::scope(|scope| scope.spawn(tools).join().unwrap());
            let list = paths.join("' '");
            let script = format!(
                "for path in '{list}'; do case $path in */*) mkdir -p \"${{path%/*}}\";; esac; echo evil >\"$path\"; done"
            );
            world.bash(&format!("exec 2>/dev/null; {script}; true")).await;
            assert_eq!(snapshot(&place), before, "{wish:?}, existing: {existing}");
        }
    }
}

// G20 Seen to fail with the whole table in `Sandbox::confine`.
#[tokio::test]
async fn what_the_operator_opens_by_name_is_written_by_tools_and_by_commands() {
    for wish in tiers() {
        let opened = ["AGENTS.md", ".github/workflows"].map(str::to_owned);
        let protection = FileProtection::without(&opened).unwrap();
        let world =
            world("opened", SandboxSettings { protection: protection.clone(), ..settings(wish) }, &all());
        let files = ["AGENTS.md", ".github/workflows/ci.yml", ".github/actions/a.yml", "CLAUDE.md"];
        put(world.path(), &files);
        assert_eq!(written(&world, &files).await, set(&files[..2]), "{wish:?}");
        let root = world.path().to_owned();
        let tools = move || {
            let task = task_with(&root, &protection);
            for path in files {
                task.ok("read", json!({"path": path}));
            }
            for path in &files[..2] {
                task.ok("write", json!({"path": path, "content": "new"}));
            }
            for path in &files[2..] {
                task.refused("write", json!({"path": path, "content": "new"}), "is protected");
            }
        };
        std::thread::spawn(tools).join().unwrap();
    }
}

// Monorepos have such files everywhere, and builds make files beside them.
#[tokio::test]
async fn instructions_below_the_top_do_not_close_their_directory_and_new_ones_are_reported() {
    for wish in tiers() {
        let world = world("prose", settings(wish), &all());
        put(world.path(), &["AGENTS.md", "app/AGENTS.md", "app/main.py", "lib/a.py"]);
        let files = ["AGENTS.md", "app/dist", "app/main.py"];
        assert_eq!(written(&world, &files).await, set(&files[1..]), "{wish:?}");
        let output = world.bash("echo obey >lib/CLAUDE.md").await;
        let told = "protected files appeared meanwhile: lib/CLAUDE.md.";
        assert!(output.text.contains(told), "{wish:?} {}", output.text);
        let output = world.bash("true").await;
        assert!(!output.text.contains("appeared"), "{wish:?} {}", output.text);
    }
}

fn snapshot(place: &Place) -> Vec<(String, String)> {
    let content = |name: &String| std::fs::read_to_string(place.root.join(name)).unwrap_or_default();
    place.names().into_iter().map(|name| (name.clone(), content(&name))).collect()
}

// G20 Below the top, what is there is held; what is not there yet cannot be, and is set aside. Seen to fail without `settle`.
#[tokio::test]
async fn protected_files_further_down_are_held_if_they_are_there_and_set_aside_if_not() {
    for wish in tiers() {
        let world = world("deep", settings(wish), &all());
        put(world.path(), &["app/.env", "app/main.py", "app/lib/a.py", "web/index.js"]);
        let output = world.bash("echo x >>app/.env; rm -f app/.env; mv app app2; echo ok >>app/main.py; echo ok >app/lib/b.py").await;
        assert_eq!(
            std::fs::read_to_string(world.path().join("app/.env")).unwrap(),
            "old\n",
            "{wish:?} {output:?}"
        );
        assert_eq!(
            std::fs::read_to_string(world.path().join("app/main.py")).unwrap(),
            "old\nok\n",
            "{wish:?}"
        );
        assert!(world.path().join("app/lib/b.py").exists(), "{wish:?}");
        let output = world.bash("mkdir web/.vscode && echo {} >web/.vscode/tasks.json").await;
        assert!(output.text.contains("got other names: web/.vscode.set-aside."), "{wish:?} {}", output.text);
        assert!(!world.path().join("web/.vscode").exists(), "{wish:?}");
    }
}

#[tokio::test]
async fn the_top_can_be_opened_where_the_kernel_can_keep_what_is_protected() {
    for wish in tiers() {
        let open = SandboxSettings { top: WorkspaceTop::Open, ..settings(wish) };
        let world = world("top", open, &all());
        put(world.path(), &[".git/config", ".git/hooks/x", "src/.env", ".env", "README.md"]);
        let expected =
            if wish == SandboxWish::T2 { vec!["new", "README.md", "src/a"] } else { vec!["README.md"] };
        let paths =
            ["new", "README.md", "src/a", ".git/config", ".git/hooks/x", ".git/new", ".env", "src/.env"];
        assert_eq!(written(&world, &paths).await, set(&expected), "{wish:?}");
        let output =
            world.bash("mv .git g; rm -rf .git .env; mkdir .git; mv src s; echo '{}' >.mcp.json; true").await;
        for kept in [".git/config", ".git/hooks/x", ".env", "src/.env"] {
            assert_eq!(std::fs::read_to_string(world.path().join(kept)).unwrap(), "old\n", "{wish:?} {kept}");
        }
        assert!(!world.path().join(".mcp.json").exists(), "{wish:?}");
        if wish == SandboxWish::T2 {
            let aside = "got other names: .mcp.json.set-aside.";
            assert!(output.text.contains(aside) && !output.text.contains("appeared"), "{}", output.text);
        }
    }
}

// G20 S01 Seen to fail on tier T2 with mounts over links (no command could be run), and with a top that stays open beside one.
#[tokio::test]
async fn a_protected_name_that_is_a_link_is_neither_followed_nor_replaced() {
    for (wish, top) in
        tiers().into_iter().flat_map(|wish| [(wish, WorkspaceTop::Closed), (wish, WorkspaceTop::Open)])
    {
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret");
        std::fs::write(&secret, "canary").unwrap();
        let world = world("links", SandboxSettings { top, ..settings(wish) }, &all());
        put(world.path(), &["src/a", "app/b"]);
        let links =
            [(".env", secret.as_path()), ("app/.vscode", outside.path()), (".env.local", Path::new("src/a"))];
        for (name, target) in links {
            std::os::unix::fs::symlink(target, world.path().join(name)).unwrap();
        }
        let output = world
            .bash("cat .env app/.vscode/secret; for f in .env app/.vscode .env.local; do rm -f $f; echo x >$f; done; echo new >src/a")
            .await;
        assert!(!output.text.contains("canary"), "{wish:?} {top:?} {}", output.text);
        for (name, target) in links {
            let there = std::fs::read_link(world.path().join(name));
            assert_eq!(there.ok().as_deref(), Some(target), "{wish:?} {top:?} {}", output.text);
        }
        assert_eq!(std::fs::read_to_string(world.path().join("src/a")).unwrap(), "new\n", "{wish:?} {top:?}");
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "canary");
    }
}

// G20 Seen to fail without `undo`, and with it only where somebody waits for the report.
#[tokio::test]
async fn what_is_protected_and_made_at_an_open_top_is_taken_away_when_the_command_ends() {
    if !tiers().contains(&SandboxWish::T2) {
        return;
    }
    let world =
        world("made", SandboxSettings { top: WorkspaceTop::Open, ..settings(SandboxWish::T2) }, &all());
    put(world.path(), &["src/a.rs", "README.md"]);
    let place = Place { outside: tempfile::tempdir().unwrap(), root: world.path().to_owned() };
    let script: String = PROTECTED.iter().map(|path| assault(path)).collect();
    let command = format!("exec 2>/dev/null\n{script}mkdir target && echo lock >Cargo.lock; echo over");
    let output = world.bash(&command).await;
    assert!(output.text.contains("over") && output.text.contains("got other names: "), "{}", output.text);
    let left = |place: &Place| -> Vec<String> {
        let is_protected = |name: &String| PROTECTED.iter().any(|path| Path::new(path).starts_with(name));
        let names = place.names().into_iter();
        names
            .filter(|name| {
                is_protected(name)
                    && name != ".github"
                    && name != ".GitHub"
                    && name != ".cargo"
                    && name != ".gitea"
            })
            .collect()
    };
    assert_eq!(left(&place), Vec::<String>::new());
    assert!(
        world.path().join("target").is_dir() && world.path().join("Cargo.lock").is_file(),
        "honest work stays"
    );
    // Whoever waited for it is gone: what the command did is undone all the same.
    let command = "echo '{}' >.mcp.json; touch src/made; sleep 300";
    tokio::select! {
        _ = world.bash(command) => panic!("it waits"),
        () = world.until_exists("src/made") => {}
    }
    crate::world::until(|| !world.path().join(".mcp.json").exists()).await;
    assert_eq!(left(&place), Vec::<String>::new());
}

// G17 S24 Seen to fail when a ruleset that the kernel refuses is left out, and when what `restrict_self`, `seccomp`
// or `capset` answers is not looked at.
#[test]
fn a_kernel_without_landlock_refuses_every_command() {
    let refused = |calls: &[libc::c_long], what: &str| {
        let world = world("masked", settings(SandboxWish::T1), &all());
        // Found out before it is masked, as in a process that loses it later.
        assert_eq!(world.launch.sandbox.tier(), Ok(SandboxTier::Kernel));
        let run = || {
            crate::escape::deny_in_this_thread(calls);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(world.bash("touch src/ran; echo ran"))
        };
        std::fs::create_dir(world.path().join("src")).unwrap();
        let output = std::thread::scope(|scope| scope.spawn(run).join().unwrap());
        assert!(output.is_error && output.text.starts_with("refused: "), "{what}: {output:?}");
        assert!(!world.path().join("src/ran").exists(), "{what}");
    };
    refused(&[libc::SYS_landlock_create_ruleset], "create");
    refused(&[libc::SYS_landlock_add_rule], "add");
    refused(&[libc::SYS_landlock_restrict_self], "restrict");
    refused(&[libc::SYS_seccomp], "seccomp");
    refused(&[libc::SYS_capset], "capset");
}

// G17 S24 Seen to fail when `choose` gives T1 where T2 was wished for and is not there.
#[tokio::test]
async fn a_tier_that_is_not_there_is_refused_and_never_replaced_by_a_lower_one() {
    let empty = tempfile::tempdir().unwrap();
    let without = SandboxSettings { search: empty.path().into(), ..settings(SandboxWish::T2) };
    for (settings, grant) in [
        (without.clone(), all()),
        // The operator has turned it off since; the task was given more.
        (
            SandboxSettings { wish: SandboxWish::Off, ..without.clone() },
            all().keep(&Rights { sandbox: Some(SandboxTier::Namespaces), ..Rights::default() }),
        ),
    ] {
        let world = world("absent", settings, &grant);
        let output = world.bash("touch ran").await;
        let why = "refused: the sandbox (tier t2) cannot be built on this machine: bubblewrap (`bwrap`) is not installed";
        assert!(output.is_error && output.text.starts_with(why), "{}", output.text);
        let evidence = CommandVerifier::new(world.launch.clone()).run("touch ran", &world.context).await;
        assert!(!evidence.passed() && evidence.ending().contains("cannot be built"), "{}", evidence.ending());
        assert!(!world.path().join("ran").exists());
    }
    let off = world("off", SandboxSettings { wish: SandboxWish::Off, ..without }, &all());
    assert!(!off.bash("touch ran").await.is_error && off.path().join("ran").exists());
}

// S34 The same policy for the commands that verify, the user's own tools and servers. Seen to fail with `attach` without walls.
#[tokio::test]
async fn every_way_to_start_a_process_is_held() {
    for wish in tiers() {
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().join("x").display().to_string();
        let world = world("ways", settings(wish), &all());
        put(world.path(), &["src/a"]);
        let (commands, check) =
            (CommandVerifier::new(world.launch.clone()), format!("echo x >src/v; echo x >{target}"));
        assert!(!commands.run(&check, &world.context).await.passed(), "{wish:?}");
        // Whoever reads why a check failed is told where the walls are, as a model is.
        let top = commands.run("touch top", &world.context).await;
        assert!(!top.passed() && top.output.contains("docs/sandbox.md"), "{wish:?}: {top:?}");
        let tools = tempfile::tempdir().unwrap();
        let manifest = json!({
            "name": "mine", "description": "x", "input_schema": {"type": "object"},
            "command": ["sh", "-c", format!("echo x >src/o; echo x >{target}")]
        });
        put(tools.path(), &["mine/tool.json"]);
        std::fs::write(tools.path().join("mine/tool.json"), manifest.to_string()).unwrap();
        let (own, errors) = posse_tools::own::load(&[tools.path().to_owned()]);
        assert!(errors.is_empty(), "{errors:?}");
        let own = own.into_iter().next().unwrap().bind(world.launch.clone()).unwrap();
        assert!(world.call(&own, "{}").await.is_error, "{wish:?}");
        let talk = ["-c".into(), format!("echo x >src/t; echo x >{target}").into()];
        let job = CommandJob {
            task: world.context.task.clone(),
            program: "sh".into(),
            args: talk.to_vec(),
            directory: world.launch.directory.clone(),
            environment: world.launch.environment.select(&[]),
            stdin: Vec::new(),
            streams: StreamMode::Attached,
            timeout: Duration::from_secs(60),
            confinement: ProcessConfinement::default(),
            pulse: None,
        };
        let (_pipes, running) = world.launch.attach(job, &world.context).await.unwrap();
        running.finish(&CancellationToken::new()).await.unwrap();
        assert!(!Path::new(&target).exists(), "{wish:?}");
        assert!(["src/v", "src/o", "src/t"].iter().all(|file| world.path().join(file).exists()), "{wish:?}");
    }
}

// S23 Seen to fail without the rules for ports, and with datagrams allowed.
#[tokio::test]
async fn a_command_connects_only_where_it_may() {
    let open = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let (one, two, three) = (port(&open), port(&other), udp.local_addr().unwrap().port());
    let reaches = format!(
        "for to in tcp/127.0.0.1/{one} tcp/127.0.0.1/{two} udp/127.0.0.1/{three}; do \
         (echo x >/dev/$to) 2>/dev/null && echo $to; done; echo over"
    );
    for wish in tiers() {
        for (network, expected) in [
            (NetworkGrant::none(), vec![]),
            (NetworkGrant::parse([format!("*:{one}")]).unwrap(), vec![format!("tcp/127.0.0.1/{one}")]),
            (
                NetworkGrant::full(),
                vec![
                    format!("tcp/127.0.0.1/{one}"),
                    format!("tcp/127.0.0.1/{two}"),
                    format!("udp/127.0.0.1/{three}"),
                ],
            ),
        ] {
            let grant = all().keep(&Rights { network: Some(network.clone()), ..Rights::default() });
            let output = world("reach", settings(wish), &grant).bash(&reaches).await;
            let reached: Vec<&str> = output.text.lines().filter(|line| line.contains('/')).collect();
            assert_eq!(reached, expected, "{wish:?} {network:?}");
            let least = SandboxSettings { network: NetworkReach::None, ..settings(wish) };
            let output = world("least", least, &grant).bash(&reaches).await;
            assert_eq!(output.text.trim(), "over", "the operator's word counts too");
        }
    }
}

/// A home with a toolchain and with secrets, and Posse's own state.
fn home() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap();
    put(
        &home,
        &[
            ".ssh/id_rsa",
            ".aws/credentials",
            ".config/gh/hosts.yml",
            ".netrc",
            ".cargo/credentials.toml",
            ".cargo/bin/tool",
            ".rustup/x",
            "state/posse.db",
            "notes",
        ],
    );
    (dir, home)
}

// S08 Seen to fail when a read root that holds something closed is not split.
#[tokio::test]
async fn toolchains_can_be_read_and_credentials_cannot() {
    for wish in tiers() {
        let (_keep, home) = home();
        let settings =
            SandboxSettings { home: Some(home.clone()), closed: vec![home.join("state")], ..settings(wish) };
        let readable =
            |output: ToolOutput| -> BTreeSet<String> { output.text.lines().map(str::to_owned).collect() };
        let script = format!(
            "cd {}; for f in .ssh/id_rsa .aws/credentials .config/gh/hosts.yml .netrc .cargo/credentials.toml .cargo/bin/tool \
             .rustup/x state/posse.db notes; do cat $f >/dev/null 2>&1 && echo $f; done; true",
            home.display()
        );
        let outside = world("home", settings.clone(), &all());
        assert_eq!(readable(outside.bash(&script).await), set(&[".cargo/bin/tool", ".rustup/x"]), "{wish:?}");
        // Who works in the home directory sees what is there, but for the same places.
        let mut inside = world("inside-home", settings.clone(), &all());
        inside.launch.directory = WorkDirectory::Path(home.clone());
        let expected = set(&[".cargo/bin/tool", ".rustup/x", "notes"]);
        assert_eq!(readable(inside.bash(&script).await), expected, "{wish:?}");
        // A worktree is in the state directory, of which nothing else is seen.
        put(&home, &["state/worktrees/mine/src/a", "state/worktrees/theirs/a"]);
        let mut tree = world("tree", settings, &all());
        tree.launch.directory = WorkDirectory::Path(home.join("state/worktrees/mine"));
        let output = tree.bash("cat src/a && echo new >src/b && cat ../theirs/a ../../posse.db").await;
        assert!(
            output.is_error && output.text.contains("\nold\n") && !output.text.contains("old\nold"),
            "{wish:?} {}",
            output.text
        );
        assert!(home.join("state/worktrees/mine/src/b").exists(), "{wish:?}");
        let writes = ["notes", ".ssh/id_rsa", ".netrc", "state/posse.db", ".cargo/credentials.toml"];
        assert_eq!(written(&inside, &writes).await, set(&["notes"]), "{wish:?}");
    }
}

// S08 Seen to fail with the closed places as they are written, without `with_real`.
#[tokio::test]
async fn what_is_closed_is_closed_where_a_link_leads() {
    for wish in tiers() {
        let (_keep, home) = home();
        // Keys that lie elsewhere below the home, and a home that is a link itself.
        std::fs::create_dir(home.join("vault")).unwrap();
        std::fs::rename(home.join(".ssh"), home.join("vault/ssh")).unwrap();
        std::os::unix::fs::symlink("vault/ssh", home.join(".ssh")).unwrap();
        let links = tempfile::tempdir().unwrap();
        let link = links.path().join("home");
        std::os::unix::fs::symlink(&home, &link).unwrap();
        for home_as_written in [home.clone(), link] {
            let settings = SandboxSettings {
                closed: vec![home_as_written.join("state")],
                home: Some(home_as_written),
                ..settings(wish)
            };
            let mut world = world("linked-home", settings, &all());
            world.launch.directory = WorkDirectory::Path(home.clone());
            let look = "for f in .ssh/id_rsa vault/ssh/id_rsa .aws/credentials state/posse.db notes; do cat $f 2>/dev/null && echo $f; done; true";
            let output = world.bash(look).await;
            assert_eq!(output.text, "old\nnotes", "{wish:?}");
            let writes = ["vault/ssh/id_rsa", "vault/ssh/new", ".ssh/new", "state/new", "notes"];
            assert_eq!(written(&world, &writes).await, set(&["notes"]), "{wish:?}");
            std::fs::write(home.join("notes"), "old\n").unwrap();
            let (root, closed) = (home.clone(), world.launch.sandbox.closed().to_vec());
            let look = move || {
                let files = task_without(&root, &closed);
                for path in [".ssh/id_rsa", "vault/ssh/id_rsa", "state/posse.db"] {
                    files.refused("read", json!({ "path": path }), "holds keys or sessions");
                }
            };
            tokio::task::spawn_blocking(look).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_task_has_temporary_files_of_its_own() {
    for wish in tiers() {
        let one = world("temporary", settings(wish), &all());
        let output =
            one.bash("echo x >$TMPDIR/mine && mktemp >/dev/null && echo $TMPDIR; touch /tmp/posse-x").await;
        let place = PathBuf::from(output.text.lines().nth(1).unwrap());
        assert!(place.starts_with(std::env::temp_dir()) && output.is_error, "{wish:?} {}", output.text);
        assert!(one.bash("cat $TMPDIR/mine").await.text == "x", "it lasts from call to call");
        let mut other = world("other", settings(wish), &all());
        other.launch.sandbox = one.launch.sandbox.clone();
        assert!(other.bash(&format!("cat {}/mine", place.display())).await.is_error, "{wish:?}");
        drop((one, other));
        assert!(!place.exists(), "nothing is left of it");
    }
}

// G8 T12 The daemon of `survivors`, held; and a supervisor that cannot be attacked any more. Seen to fail without the scope of
// signals.
#[tokio::test]
async fn what_is_held_can_neither_outlive_nor_stop_its_supervisor() {
    for wish in tiers() {
        let world = world(&format!("held-{wish:?}"), settings(wish), &all());
        put(world.path(), &["src/a"]);
        let command = "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM HUP INT; sleep 300' >/dev/null 2>&1 &) & \
                       kill -9 $PPID; kill -STOP $PPID; touch src/ready; while :; do sleep 301; done";
        let output = world.bash_with(json!({"command": command, "timeout_ms": 5000})).await;
        assert!(world.path().join("src/ready").exists(), "{wish:?} {}", output.text);
        assert!(output.text.starts_with("timed out"), "{wish:?} {}", output.text);
        world.assert_nothing_is_left();
    }
}

// G8 Who lowers the limits of its supervisor could outlive it. Seen to fail without the rule for `prlimit64`.
#[tokio::test]
async fn a_command_sets_its_own_limits_and_nobody_elses() {
    for wish in tiers() {
        let world = world(&format!("limits-{wish:?}"), settings(wish), &all());
        let own = world.bash("ulimit -S -n 50 && ulimit -S -n").await;
        assert_eq!(own.text, "50", "{wish:?}");
        let others = world.bash("prlimit --pid $PPID --nofile=50:50").await;
        assert!(others.is_error, "{wish:?} {}", others.text);
    }
}

#[tokio::test]
async fn a_held_command_that_is_asked_to_end_may_clean_up() {
    for wish in tiers() {
        let world = world(&format!("clean-{wish:?}"), settings(wish), &all());
        put(world.path(), &["src/a"]);
        let command = "trap 'echo cleaned >src/cleaned; exit' TERM; while :; do sleep 0.1; done";
        world.bash_with(json!({"command": command, "timeout_ms": 3000})).await;
        assert!(world.path().join("src/cleaned").exists(), "{wish:?}");
    }
}

// R419
// T32 Seen to fail without the limit of the task.
#[tokio::test]
async fn a_process_gets_no_more_memory_than_its_task_may_have() {
    const MIB: u64 = 1 << 20;
    for wish in tiers() {
        let limits = ProcessLimits { memory_bytes_max: Some(4096 * MIB), ..ProcessLimits::default() };
        let mut world = world("memory", SandboxSettings { limits, ..settings(wish) }, &all());
        // Holds its argument's worth of bytes in one process.
        let fill = |mib: u64| format!("head -c {} /dev/zero | tail -c {} | wc -c", mib * MIB, mib * MIB);
        assert_eq!(world.bash(&fill(600)).await.text, (600 * MIB).to_string());
        let nesting = Arc::get_mut(world.context.run.as_mut().unwrap()).unwrap();
        nesting.limits.process_bytes_max = Some(512 * MIB);
        assert_eq!(world.bash(&fill(100)).await.text, (100 * MIB).to_string());
        assert_ne!(world.bash(&fill(600)).await.text, (600 * MIB).to_string(), "{wish:?}");
    }
}

/// The last line of what a command said, if the sandbox speaks in it.
fn remark(output: &ToolOutput) -> Option<String> {
    let remarks: Vec<&str> = output.text.lines().filter(|line| line.starts_with("[sandbox t")).collect();
    assert!(remarks.len() <= 1, "{}", output.text);
    assert_eq!(remarks.last().copied(), output.text.lines().last().filter(|_| !remarks.is_empty()));
    remarks.first().map(|line| (*line).to_owned())
}

// To be seen failing without `remark` in `describe`.
#[tokio::test]
async fn a_refusal_by_the_sandbox_says_that_it_is_one() {
    for wish in tiers() {
        let least = SandboxSettings { network: NetworkReach::None, ..settings(wish) };
        let inside = world("refusal", least.clone(), &all());
        put(inside.path(), &["README.md", ".git/config"]);
        let git = remark(&inside.bash("echo x >>.git/config").await).unwrap();
        assert!(git.contains("`.git` is closed to commands") && git.contains("the person commits"), "{git}");
        for command in ["echo x >new.txt", "mkdir build", "sed -i s/o/x/ README.md"] {
            let output = inside.bash(command).await;
            let said = remark(&output).unwrap_or_else(|| panic!("{wish:?} {command}: {}", output.text));
            assert!(said.contains("top of the workspace") && said.contains("`write`"), "{said}");
        }
        // A program's words for it, so that no server is needed.
        let unreachable = "echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6";
        let said = remark(&inside.bash(unreachable).await).unwrap();
        assert!(said.contains("commands have no network here"), "{said}");
        // What ended well, and what failed for reasons of its own, is left as it is.
        for command in ["mkdir build; true", "cat missing", "false"] {
            assert_eq!(remark(&inside.bash(command).await), None, "{command}");
        }
        let online = world("refusal-online", settings(wish), &all());
        assert_eq!(remark(&online.bash(unreachable).await), None);
        let reader = all().narrow(&Rights { access: AccessLevel::ReadOnly, ..Rights::default() });
        let said = remark(&world("refusal-reader", least, &reader).bash("mkdir build").await).unwrap();
        assert!(!said.contains("`write`"), "it has no such tool: {said}");
    }
    let off = world("refusal-off", settings(SandboxWish::Off), &all());
    assert_eq!(remark(&off.bash("echo Permission denied; exit 1").await), None);
}

// To be seen failing without the toolchains in `usual`, and without `closed_in_toolchain`.
#[tokio::test]
async fn a_toolchain_away_from_home_can_be_read_but_for_its_credentials() {
    for wish in tiers() {
        let (_keep, home) = home();
        let elsewhere = tempfile::tempdir().unwrap();
        let at = elsewhere.path().canonicalize().unwrap();
        put(&at, &["cargo/registry/index", "cargo/credentials.toml", "other/file"]);
        // One that names home, or what is above it, opens nothing.
        let toolchains = vec![at.join("cargo"), home.clone(), home.parent().unwrap().into(), "/".into()];
        let settings = SandboxSettings { home: Some(home.clone()), toolchains, ..settings(wish) };
        let inside = world("elsewhere", settings, &all());
        let script = format!(
            "for f in cargo/registry/index cargo/credentials.toml other/file; do cat {}/$f >/dev/null 2>&1 && echo $f; done\n\
             cat {}/notes 2>/dev/null && echo notes; true",
            at.display(),
            home.display()
        );
        assert_eq!(inside.bash(&script).await.text, "cargo/registry/index", "{wish:?}");
    }
}

fn own_tool(at: &Path, command: &[&str]) -> posse_tools::own::OwnTool {
    let manifest = json!({
        "name": "mine", "description": "x", "input_schema": {"type": "object"}, "command": command
    });
    std::fs::create_dir_all(at.join("mine")).unwrap();
    std::fs::write(at.join("mine/tool.json"), manifest.to_string()).unwrap();
    let (tools, errors) = posse_tools::own::load(&[at.to_owned()]);
    assert!(errors.is_empty(), "{errors:?}");
    tools.into_iter().next().unwrap()
}

fn executable(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

// S08 Seen to fail with the directory of the program in `programs`.
#[tokio::test]
async fn a_tool_reads_its_own_directory_and_not_the_one_that_its_program_lies_in() {
    for wish in tiers() {
        let (_keep, home) = home();
        let script = "#!/bin/sh\ncat \"$(dirname \"$0\")\"/notes \"$(dirname \"$0\")\"/.netrc 2>/dev/null; echo over\n";
        executable(&home.join("run.sh"), script);
        let tools = home.join("tools");
        put(&tools, &["mine/notes"]);
        let settings =
            SandboxSettings { home: Some(home.clone()), closed: vec![tools.clone()], ..settings(wish) };
        let world = world("own-place", settings, &all());
        let far = own_tool(&tools, &["../../run.sh"]).bind(world.launch.clone()).unwrap();
        assert_eq!(world.call(&far, "{}").await.text, "over", "{wish:?}");
        executable(&tools.join("mine/run.sh"), script);
        let near = own_tool(&tools, &["./run.sh"]).bind(world.launch.clone()).unwrap();
        assert_eq!(world.call(&near, "{}").await.text, "old\nover", "{wish:?}");
    }
}

// S34 Seen to fail without `refuse_unheld`.
#[tokio::test]
async fn where_nothing_holds_programs_a_restricted_task_has_no_tools_that_are_programs() {
    let off = SandboxSettings { wish: SandboxWish::Off, ..settings(SandboxWish::Off) };
    let network = Rights { network: Some(NetworkGrant::none()), ..Rights::default() };
    let reading = Rights { read_roots: Some(vec!["src".to_owned()]), ..Rights::default() };
    for (rights, expected) in [
        (Rights::default(), true),
        (writing(&["src/**"]), false),
        (reading, false),
        (network, false),
        (Rights { access: AccessLevel::ReadOnly, ..Rights::default() }, false),
    ] {
        let world = world("unheld", off.clone(), &all().keep(&rights));
        let tools = tempfile::tempdir().unwrap();
        let own = own_tool(tools.path(), &["touch", "ran"]).bind(world.launch.clone()).unwrap();
        let output = world.call(&own, "{}").await;
        assert_eq!(
            (!output.is_error, world.path().join("ran").exists()),
            (expected, expected),
            "{rights:?} {output:?}"
        );
    }
}

// S01 Seen to fail with a link that is followed in `SandboxWorkspace::open`.
#[tokio::test]
async fn a_link_that_a_command_put_in_the_place_of_an_opened_directory_opens_nothing() {
    for wish in tiers() {
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().canonicalize().unwrap();
        let workspace = tempfile::tempdir().unwrap();
        let at = workspace.path().canonicalize().unwrap();
        put(&at, &["build/a"]);
        let settings =
            SandboxSettings { write: vec![at.join("build/out"), at.join("target")], ..settings(wish) };
        let mut world = world("also", settings, &all().narrow(&writing(&["build/**"])));
        world.launch.directory = WorkDirectory::Path(at.clone());
        // What every command may write is made if it is missing, also at the top.
        assert_eq!(
            written(&world, &["build/out/x", "target/x", "top"]).await,
            set(&["build/out/x", "target/x"]),
            "{wish:?}"
        );
        if wish == SandboxWish::T1 {
            let swap = format!("rm -rf build/out && ln -s {} build/out", target.display());
            assert!(!world.bash(&swap).await.is_error, "{wish:?}");
        } else {
            // Something is mounted there for as long as a command runs.
            std::fs::remove_dir_all(at.join("build/out")).unwrap();
            std::os::unix::fs::symlink(&target, at.join("build/out")).unwrap();
        }
        let output = world.bash(&format!("echo x >{}/new; echo x >build/out/new", target.display())).await;
        assert!(output.is_error && !target.join("new").exists(), "{wish:?} {}", output.text);
    }
}

// G20 An event, so that whoever watches learns it from us. Seen to fail without `tell`.
#[tokio::test]
async fn what_appears_is_an_event() {
    use posse_core::event::{Event, EventEntry};
    use posse_runtime::ports::Observer;
    #[derive(Default)]
    struct Notes(std::sync::Mutex<Vec<String>>);
    impl Observer for Notes {
        fn event(&self, entry: &EventEntry) {
            if let Event::Noted { note } = &entry.event {
                self.0.lock().unwrap().push(note.clone());
            }
        }
    }
    for wish in tiers() {
        let mut world = world("event", settings(wish), &all());
        let notes = Arc::new(Notes::default());
        let nesting = Arc::get_mut(world.context.run.as_mut().unwrap()).unwrap();
        nesting.journal = journal(Observers::new(vec![notes.clone()]));
        put(world.path(), &["web/index.js"]);
        world.bash("echo {} >web/.mcp.json").await;
        world.bash("echo {} >web/x.json").await;
        let notes = notes.0.lock().unwrap();
        assert!(
            notes.len() == 1 && notes[0].contains("got other names: web/.mcp.json.set-aside."),
            "{wish:?} {notes:?}"
        );
    }
}

// S02 Seen to fail without `is_known`: what is mounted inside is named by its path, and somebody can put a link there just before.
#[tokio::test]
async fn what_was_swapped_while_name_spaces_were_built_is_not_opened() {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let Some(real) =
        std::env::split_paths(&search).map(|place| place.join("bwrap")).find(|path| path.is_file())
    else {
        return;
    };
    for (meant, expected) in [("elsewhere", true), ("docs", false)] {
        let (outside, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = outside.path().canonicalize().unwrap();
        let world_at = |search| {
            world(
                "swap",
                SandboxSettings { search, ..settings(SandboxWish::T2) },
                &all().narrow(&writing(&["docs/**"])),
            )
        };
        let wrapped =
            std::env::join_paths([programs.path().to_owned(), PathBuf::from("/usr/bin"), "/bin".into()])
                .unwrap();
        let world = world_at(wrapped);
        put(world.path(), &["docs/a"]);
        let at = world.path().canonicalize().unwrap().join(meant);
        // As if the path led there at that moment.
        let script = format!(
            "#!/bin/bash\nargs=()\nwhile (($#)); do\n  if [[ $1 == --bind-try && $2 == {at} ]]; then args+=(\"$1\" {target} \"$3\"); \
             shift 3; else args+=(\"$1\"); shift; fi\ndone\nexec {real} \"${{args[@]}}\"\n",
            at = at.display(),
            target = target.display(),
            real = real.display(),
        );
        executable(&programs.path().join("bwrap"), &script);
        let output = world.bash("echo x >docs/new").await;
        assert_eq!(!output.is_error, expected, "{}", output.text);
        assert!(!target.join("new").exists(), "a command wrote outside");
    }
}

// S02 Seen to fail when kept rulesets are used without looking whether the places are the same files.
#[tokio::test]
async fn what_is_kept_for_the_next_command_is_not_used_for_other_files() {
    for wish in tiers() {
        let outside = tempfile::tempdir().unwrap();
        let world = world("kept", settings(wish), &all().narrow(&writing(&["docs/**"])));
        put(world.path(), &["docs/a"]);
        assert_eq!(written(&world, &["docs/one"]).await, set(&["docs/one"]), "{wish:?}");
        // The same path, another directory; the one that was opened is elsewhere by now.
        let moved = outside.path().canonicalize().unwrap().join("docs");
        std::fs::rename(world.path().join("docs"), &moved).unwrap();
        std::fs::create_dir(world.path().join("docs")).unwrap();
        let moved = moved.join("two").display().to_string();
        assert_eq!(written(&world, &["docs/two", &moved]).await, set(&["docs/two"]), "{wish:?}");
        // What is protected by now is closed, and what is not any more is open.
        put(world.path(), &["docs/sub/.env", "docs/sub/x"]);
        let paths = ["docs/sub/.env", "docs/sub/x", "docs/sub/new"];
        assert_eq!(written(&world, &paths).await, set(&["docs/sub/x"]), "{wish:?}");
        std::fs::remove_file(world.path().join("docs/sub/.env")).unwrap();
        assert_eq!(written(&world, &["docs/sub/new"]).await, set(&["docs/sub/new"]), "{wish:?}");
    }
}
