use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use posse_core::grant::{Grant, GrantRule, Rights, RuleVerdict};
use posse_core::pattern::ToolPattern;
use posse_sandbox::closed_at_home;
use serde_json::json;

use crate::support::{Place, SECRET, Task, task_without};

/// All tools that take a path, called with it; none may show or change what is outside.
fn try_everything(task: &Task, path: &str) -> Vec<(&'static str, String, bool)> {
    let calls = [
        ("read", json!({"path": path})),
        ("edit", json!({"path": path, "old_string": "secret", "new_string": "broken"})),
        ("write", json!({"path": path, "content": "broken"})),
        ("grep", json!({"pattern": "secret", "path": path})),
        ("glob", json!({"pattern": "*", "path": path})),
        ("ls", json!({"path": path})),
        ("directory_tree", json!({"path": path})),
    ];
    let answers = calls.into_iter().map(|(tool, arguments)| (tool, task.call(tool, arguments)));
    answers.map(|(tool, output)| (tool, output.text, output.is_error)).collect()
}

// S01, S03
// Seen to fail without `ResolveFlags::BENEATH`.
#[test]
fn no_path_leads_outside() {
    let place = Place::new(&[("inside.txt", "inside")]);
    let outside = place.outside.path().canonicalize().unwrap();
    std::fs::create_dir(outside.join("root-sibling")).unwrap();
    std::fs::write(outside.join("root-sibling/secret.txt"), SECRET).unwrap();
    place.link(outside.join("secret.txt"), "file-link");
    place.link(&outside, "directory-link");
    place.link("../secret.txt", "relative-link");
    place.link("relative-link", "chain-1");
    place.link("chain-1", "chain-2");
    place.link("/proc/self/root", "proc-link");
    place.link("/proc/self/fd", "proc-fd");
    place.link("loop", "loop");
    place.link(outside.join("not-there-yet.txt"), "dangling");
    let task = place.task();
    let absolute = outside.join("secret.txt");
    let sibling = outside.join("root-sibling/secret.txt");
    for path in [
        "../secret.txt",
        "x/../../secret.txt",
        "..",
        "/",
        "/etc/passwd",
        absolute.to_str().unwrap(),
        sibling.to_str().unwrap(),
        "../root-sibling/secret.txt",
        "file-link",
        "directory-link",
        "directory-link/secret.txt",
        "directory-link/new/file.txt",
        "relative-link",
        "chain-2",
        "proc-link",
        "proc-link/etc/passwd",
        "proc-fd/0",
        "/proc/self/cwd/Cargo.toml",
        "loop",
        "dangling",
    ] {
        for (tool, text, is_error) in try_everything(&task, path) {
            assert!(is_error, "{tool} {path}: {text}");
            assert!(!text.contains(SECRET), "{tool} {path}: {text}");
        }
    }
    assert_eq!(std::fs::read_to_string(&absolute).unwrap(), SECRET);
    assert_eq!(std::fs::read_to_string(&sibling).unwrap(), SECRET);
    assert!(!outside.join("not-there-yet.txt").exists());
    assert!(!outside.join("new").exists());
    task.refused("read", json!({"path": "file-link"}), "leads outside the workspace through a symbolic link");
    task.refused("read", json!({"path": absolute}), "outside the workspace; paths are relative to");
}

// S01 Seen to fail with a link taken for a directory and opened without `NOFOLLOW`; that the walk still saw nothing outside is
// `open_beneath`, as in `no_path_leads_outside`.
#[test]
fn a_walk_does_not_follow_links() {
    let place = Place::new(&[("a/inside.txt", "no s-word")]);
    place.link(place.outside.path(), "a/out");
    place.link("..", "a/up");
    let task = place.task();
    assert_eq!(task.ok("grep", json!({"pattern": "secret"})), "[no match for `secret`]");
    let found = task.ok("glob", json!({"pattern": "**/*"}));
    assert!(!found.contains("secret.txt"), "{found}");
    assert_eq!(task.ok("directory_tree", json!({})), "./\n  a/\n    inside.txt\n    out@\n    up@");
}

#[test]
fn links_that_stay_inside_work() {
    let place = Place::new(&[("real/a.txt", "text")]);
    place.link("real", "link");
    let task = place.task();
    assert_eq!(task.ok("read", json!({"path": "link/a.txt"})), "     1\ttext");
    task.ok("edit", json!({"path": "link/a.txt", "old_string": "text", "new_string": "new"}));
    task.ok("write", json!({"path": "link/deep/b.txt", "content": "b"}));
    assert_eq!((place.get("real/a.txt"), place.get("real/deep/b.txt")), ("new".into(), "b".into()));
}

const TOOLS: &[&str] = &["read", "edit", "write", "grep", "glob", "ls", "directory_tree"];

fn about(path: &str) -> Vec<ToolPattern> {
    TOOLS.iter().map(|tool| ToolPattern::call(tool, path)).collect()
}

/// A workspace with a way from `docs` to `private` in each of its spellings.
fn with_ways() -> Place {
    let place =
        Place::new(&[("docs/a.txt", "no s-word"), ("private/key.txt", SECRET), ("private/d/b", SECRET)]);
    place.link("../private", "docs/way");
    place.link("../private/key.txt", "docs/key.txt");
    place.link("docs", "chain");
    place
}

// S01 S34 Seen to fail without `check` in `read`.
#[test]
fn a_link_inside_leads_around_no_rule() {
    let strings = |paths: &[&str]| Some(paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
    let everything = Grant::root(TOOLS.iter().map(|tool| (*tool).to_owned()), 3);
    let ask = |pattern| GrantRule { pattern, verdict: RuleVerdict::Ask };
    for (rights, open) in [
        (Rights { read_roots: strings(&["docs", "chain"]), ..Rights::default() }, "write"),
        (Rights { deny: about("private"), ..Rights::default() }, ""),
        (Rights { tools: Some(about("docs/**")), ..Rights::default() }, ""),
        (Rights { rules: about("private").into_iter().map(ask).collect(), ..Rights::default() }, ""),
    ] {
        let place = with_ways();
        let mut task = place.task();
        task.ok("read", json!({"path": "docs/key.txt"}));
        task.grant = everything.narrow(&rights);
        for path in ["docs/way", "docs/way/key.txt", "docs/way/d/b", "docs/key.txt", "chain/way/key.txt"] {
            for (tool, text, is_error) in try_everything(&task, path) {
                if tool != open {
                    assert!(is_error, "{rights:?}: {tool} {path}: {text}");
                    assert!(!text.contains(SECRET), "{rights:?}: {tool} {path}: {text}");
                }
            }
        }
        if open.is_empty() {
            assert_eq!(
                (place.get("private/key.txt"), place.get("private/d/b")),
                (SECRET.into(), SECRET.into())
            );
            task.refused(
                "write",
                json!({"path": "docs/way/made/new.txt", "content": "x"}),
                "is really `private/made",
            );
            assert!(!place.root.join("private/made").exists());
        }
        task.ok("read", json!({"path": "docs/a.txt"}));
    }
    let place = with_ways();
    let mut task = place.task();
    task.ok("read", json!({"path": "docs/way/key.txt"}));
    // What those above may write holds too.
    let above = everything.narrow(&Rights { write_paths: strings(&["docs/**"]), ..Rights::default() });
    task.grant = above.narrow(&Rights::default());
    let wanted = json!({"path": "docs/way/key.txt", "content": "x"});
    task.refused("write", wanted, "is really `private/key.txt`: this task may write only here: docs/**");
    let wanted = json!({"path": "docs/way/key.txt", "old_string": "s", "new_string": "x"});
    task.refused("edit", wanted, "this task may write only here");
    task.ok("write", json!({"path": "docs/new.txt", "content": "x"}));
}

// S34 Seen to fail without `refuses` in the options of a walk.
#[test]
fn a_search_leaves_out_what_the_task_may_not_look_at() {
    let place = with_ways();
    let mut task = place.task();
    let everything = Grant::root(TOOLS.iter().map(|tool| (*tool).to_owned()), 3);
    task.grant = everything.narrow(&Rights { deny: about("private"), ..Rights::default() });
    let found = task.ok("grep", json!({"pattern": "secret"}));
    assert_eq!(found, "[no match for `secret`]\n[left out 1 entry that this task may not look at]");
    for (tool, arguments) in [("glob", json!({"pattern": "**/*"})), ("directory_tree", json!({}))] {
        let found = task.ok(tool, arguments);
        assert!(found.contains("a.txt") && !found.contains("private") && !found.contains("d/b"), "{found}");
    }
    // A rule that a person said yes to for the whole call asks no more about what is in it.
    let rules =
        TOOLS.iter().map(|tool| GrantRule { pattern: ToolPattern::tool(tool), verdict: RuleVerdict::Ask });
    task.grant = everything.narrow(&Rights { rules: rules.collect(), ..Rights::default() });
    assert!(task.ok("grep", json!({"pattern": "secret"})).contains("private/key.txt"));
}

// S08 Seen to fail without `refuse_closed`.
#[test]
fn a_home_directory_keeps_its_keys_also_from_file_tools() {
    let files = [(".ssh/id", SECRET), (".config/gh/hosts.yml", SECRET), ("code/a.txt", "no s-word")];
    let place = Place::new(&files);
    place.link("../.ssh", "code/way");
    place.link("../.ssh/id", "code/id");
    let home = place.root.canonicalize().unwrap();
    let task = task_without(&place.root, &closed_at_home(&home));
    for path in [".ssh", ".ssh/id", ".config/gh/hosts.yml", "code/way", "code/way/id", "code/id", ".ssh/new"]
    {
        for (tool, text, is_error) in try_everything(&task, path) {
            assert!(is_error && !text.contains(SECRET), "{tool} {path}: {text}");
        }
    }
    assert!(!place.root.join(".ssh/new").exists());
    for glob in [".ssh/*", "**/.*/**", "*"] {
        let found = task.ok("grep", json!({"pattern": "secret", "glob": glob}));
        assert!(!found.contains(SECRET), "{found}");
        let found = task.ok("glob", json!({"pattern": glob}));
        assert!(!found.contains(".ssh/id") && !found.contains("hosts.yml"), "{found}");
    }
    task.ok("read", json!({"path": "code/a.txt"}));
    // Whoever works in one of these places means it.
    let task = task_without(&place.root.join(".ssh"), &closed_at_home(&home));
    task.ok("read", json!({"path": "id"}));
}

/// Ends the other thread also when an assertion fails, so that the test fails instead of waiting for ever.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A directory is swapped with a link to the outside as fast as possible while files are read and written through it.
// S02
#[test]
fn a_link_swapped_in_never_leads_outside() {
    // G19 S02: seen to fail with the path checked first and opened by name afterwards.
    const TRIES: u32 = 60_000;
    let place = Place::new(&[("d/secret.txt", "inside")]);
    let outside = place.outside.path().canonicalize().unwrap();
    place.link(&outside, "link");
    let (stop, swaps) = (AtomicBool::new(false), AtomicU32::new(0));
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (directory, link) = (place.root.join("d"), place.root.join("link"));
            while !stop.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, &directory, cwd, &link, flags).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _stop = StopOnDrop(&stop);
        let task = place.task();
        for number in 0..TRIES {
            let output = match number % 50 {
                0 => task.call("write", json!({"path": "d/new/file.txt", "content": number.to_string()})),
                1 => task.call("grep", json!({"path": "d", "pattern": "."})),
                _ => task.call("read", json!({"path": "d/secret.txt"})),
            };
            assert!(!output.text.contains(SECRET), "escaped: {}", output.text);
            if output.is_error { refused += 1 } else { inside += 1 }
        }
    });
    // Both sides of the race were really seen.
    assert!(inside > 0 && refused > 0 && swaps.into_inner() > 100, "inside {inside}, refused {refused}");
    assert!(!outside.join("new").exists());
    assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), SECRET);
}

/// On a system without `openat2` nothing is opened at all: checking a path first would be a race.
#[test]
fn without_openat2_everything_is_refused() {
    let place = Place::new(&[("a.txt", "text")]);
    let task = place.task();
    let outcome = std::thread::scope(|scope| {
        let filtered = scope.spawn(|| {
            deny_in_this_thread(&[libc::SYS_openat2]);
            let opened = posse_sandbox::workspace::Workspace::open(&place.root);
            // The thread that runs the tool is started from here and inherits the filter.
            task.refused("read", json!({"path": "a.txt"}), "lacks openat2");
            task.refused("write", json!({"path": "b.txt", "content": ""}), "lacks openat2");
            task.refused("grep", json!({"pattern": "text"}), "lacks openat2");
            opened.err()
        });
        filtered.join().unwrap()
    });
    let error = outcome.expect("the workspace was opened");
    assert!(error.message().contains("cannot open files safely"), "{error}");
    assert_eq!(place.names(), ["a.txt"]);
}

/// Makes these calls answer ENOSYS for this thread and the threads it starts.
pub fn deny_in_this_thread(calls: &[libc::c_long]) {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut program = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for call in calls {
        program.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, *call as u32));
        program.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32));
    }
    program.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: `filter` points to a program that outlives both calls; the kernel copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter, 0, 0), 0);
    }
}
