//! Work in `auto` mode as a person has it, without a flag or a setting: projects build and test themselves in the default
//! sandbox, and nothing beyond the workspace is reached.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Place, Ran};

/// What commands of a scripted agent said, one text for each. They run one after the other.
fn commands(place: &Place, home: &Path, commands: &[&str]) -> Vec<String> {
    let step = |command: &&str| {
        let call =
            serde_json::json!([{ "calls": [{ "bash": { "command": command, "timeout_ms": 300_000 } }] }]);
        format!("- {}\n", serde_json::to_string(&call[0]).unwrap())
    };
    let steps: String = commands.iter().map(step).collect();
    let model = place.script(&format!("{steps}- text: Done.\n"));
    let mut run = place.posse_as_is(["run", "--json", "--mode", "auto", "--model", &model, "Go"]);
    run.env("HOME", home).env("XDG_CONFIG_HOME", place.home().join(".config"));
    run.env("XDG_CACHE_HOME", place.root().join("caches"));
    for name in ["CARGO_HOME", "RUSTUP_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            run.env(name, value);
        }
    }
    let ran = Ran::of(run);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let result = |turn: usize| place.run(["tasks", "show", &id, "--result", &format!("{turn}.0")]).stdout;
    (1..=commands.len()).map(result).collect()
}

/// The home whose toolchains and caches this machine has.
fn real_home() -> PathBuf {
    std::env::var_os("HOME").map(PathBuf::from).expect("tests run with a home")
}

/// Only namespaces let a command make what is missing at the top of the workspace.
fn has_namespaces() -> bool {
    let works = Command::new("bwrap").args(["--unshare-user", "--ro-bind", "/", "/", "true"]).status();
    let works = works.is_ok_and(|status| status.success());
    if !works {
        eprintln!("`bwrap` does not work here, so builds in the default sandbox were not tested");
    }
    works
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|done| done.status.success())
}

#[test]
fn a_cargo_project_with_a_path_dependency_and_a_cached_crate_builds_and_tests_itself() {
    if !has_namespaces() {
        return;
    }
    let place = Place::new();
    place.write("workspace/.git/config", "");
    place.write(
        "workspace/Cargo.toml",
        "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n\
         [dependencies]\nnear = { path = \"near\" }\nitoa = \"1\"\n",
    );
    place.write(
        "workspace/near/Cargo.toml",
        "[package]\nname = \"near\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    place.write("workspace/near/src/lib.rs", "pub fn two() -> u8 { 2 }\n");
    place.write(
        "workspace/src/main.rs",
        "fn main() { println!(\"{}\", itoa::Buffer::new().format(near::two())); }\n\
         #[test]\nfn it_counts() { assert_eq!(near::two(), 2); }\n",
    );
    let said =
        commands(&place, &real_home(), &["cargo build", "cargo test", "./target/debug/app", "mkdir build"]);
    assert!(said[0].contains("Finished") && said[1].contains("1 passed"), "{said:#?}");
    assert_eq!(said[2].trim(), "2", "{said:#?}");
    assert!(place.workspace().join("build").is_dir() && place.workspace().join("Cargo.lock").is_file());
}

#[test]
fn an_npm_project_with_a_vendored_package_installs_and_tests_itself() {
    let place = Place::new();
    let npm = |arguments: &[&str]| {
        let mut npm = Command::new("npm");
        npm.args(arguments).current_dir(place.workspace()).env("HOME", place.home());
        succeeds(npm.env("npm_config_offline", "true").env_remove("npm_config_cache"))
    };
    if !has_namespaces() || !npm(&["--version"]) {
        eprintln!("`npm` or `bwrap` is missing, so a project of npm was not tested");
        return;
    }
    place.write("workspace/dep/package.json", r#"{ "name": "dep", "version": "1.0.0", "main": "index.js" }"#);
    place.write("workspace/dep/index.js", "module.exports = () => 42;\n");
    assert!(npm(&["pack", "./dep"]));
    let package = r#"{ "name": "app", "version": "1.0.0", "scripts": { "test": "node test.js" },
        "dependencies": { "dep": "file:dep-1.0.0.tgz" } }"#;
    place.write("workspace/package.json", package);
    let test = "if (require('dep')() !== 42) process.exit(1);\nconsole.log('it counts');\n";
    place.write("workspace/test.js", test);
    assert!(npm(&["install", "--package-lock-only"]));
    let said = commands(&place, &real_home(), &["npm ci", "npm test"]);
    assert!(said[1].contains("it counts"), "{said:#?}");
    assert!(place.workspace().join("node_modules/dep/index.js").is_file());
}

/// Wheels that `cargo xtask test` downloads.
fn wheels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/wheels")
}

#[test]
fn a_project_of_pytest_tests_itself_with_the_environment_that_is_in_it() {
    let place = Place::new();
    let venv = place.workspace().join(".venv");
    let made = has_namespaces()
        && succeeds(Command::new("python3").args(["-m", "venv"]).arg(&venv))
        && succeeds(
            Command::new(venv.join("bin/python"))
                .args(["-m", "pip", "install", "--no-index", "pytest", "--find-links"])
                .arg(wheels()),
        );
    if !made {
        eprintln!("python, pytest or `bwrap` is missing, so a project of pytest was not tested");
        return;
    }
    place.write("workspace/app.py", "def two():\n    return 2\n");
    place.write(
        "workspace/test_app.py",
        "from app import two\n\n\ndef test_two(tmp_path):\n    assert two() == 2\n",
    );
    let said = commands(&place, &real_home(), &[".venv/bin/python -m pytest -q", "ls -a"]);
    assert!(said[0].contains("1 passed"), "{said:#?}");
    assert!(said[1].contains(".pytest_cache"), "{said:#?}");
}

/// Each line is an attack; the script says for each whether it went through.
const ATTACKS: &[(&str, &str)] = &[
    ("write outside", "echo x > ROOT/outside/new"),
    ("write at home", "echo x > HOME/new"),
    ("write to the caches of others", "echo x > HOME/.cargo/config.toml"),
    ("link to outside", "ln -s ROOT/outside out && echo x > out/new"),
    ("hook", "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit"),
    ("configuration of git", "echo '[core]' >> .git/config"),
    ("rename the repository", "mv .git elsewhere"),
    ("replace the repository", "rm -rf .git"),
    ("link the repository", "ln -sfn ROOT/outside .git/objects"),
    ("hard link", "ln .git/config config && echo evil >> config"),
    ("hook of a repository further down", "echo evil > nested/.git/hooks/x"),
    ("rename what holds a repository", "mv nested other"),
    ("unmount", "umount .git"),
    ("mount over", "mount -t tmpfs none .git"),
    ("bind", "mount --bind sub .git"),
    ("namespaces of its own", "unshare -rm true"),
    ("read a key of ssh", "cat HOME/.ssh/id_ed25519"),
    ("read a key of Posse", "cat HOME/.config/posse/keys/anthropic"),
    ("read the configuration of Posse", "ls HOME/.config/posse"),
    ("read the state of Posse", "ls ROOT/state"),
    ("read a token of npm", "cat HOME/.npmrc"),
    ("read the keys of the parent", "tr '\\0' '\\n' < /proc/$PPID/environ | grep CANARY"),
    ("a variable", "printenv | grep CANARY"),
    ("connect to the loopback", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT'"),
];

// S04 S08 S09 S11 Seen to fail with `tier = "off"` and `bash` allowed by name.
#[test]
fn what_builds_in_the_default_sandbox_reaches_nothing_beyond_the_workspace() {
    let place = Place::new();
    for (path, text) in [
        ("home/.ssh/id_ed25519", "CANARY"),
        ("home/.config/posse/keys/anthropic", "CANARY"),
        ("home/.npmrc", "token=CANARY"),
        ("home/.cargo/registry/x", ""),
        ("outside/here", "kept"),
        ("workspace/.git/config", "[core]\n"),
        ("workspace/.git/HEAD", "ref: refs/heads/main\n"),
        ("workspace/nested/.git/hooks/here", "kept"),
        ("workspace/sub/here", "kept"),
    ] {
        place.write(path, text);
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let (root, home) = (place.root().canonicalize().unwrap(), place.home().canonicalize().unwrap());
    let script: String = ATTACKS
        .iter()
        .map(|(name, attack)| format!("( {attack} ) >/dev/null 2>&1 && echo '{name}: went through'\n"))
        .collect();
    let script = script
        .replace("ROOT", root.to_str().unwrap())
        .replace("HOME", home.to_str().unwrap())
        .replace("PORT", &port);
    place.write("workspace/sub/attack.sh", &format!("{script}echo over\n"));
    let said = commands(&place, &home, &["sh sub/attack.sh", "echo x > sub/made && cat sub/made"]);
    assert_eq!((said[0].trim(), said[1].trim()), ("over", "x"));
    // From outside it looks the same.
    let read = |path: &str| fs::read_to_string(place.root().join(path)).ok();
    let names = |path: &str| fs::read_dir(place.root().join(path)).unwrap().count();
    assert_eq!((names("outside"), read("workspace/.git/config").as_deref()), (1, Some("[core]\n")));
    assert_eq!((names("workspace/.git"), names("workspace/nested/.git/hooks")), (2, 1));
    assert!(read("home/new").is_none() && read("home/.cargo/config.toml").is_none());
    assert!(listener.accept().is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock));
    assert!(!said[0].contains("CANARY"));
}

// S04 Seen to fail without `settle`: a program would obey these files unasked.
#[test]
fn a_protected_file_that_a_command_makes_is_set_aside_wherever_it_is() {
    if !has_namespaces() {
        return;
    }
    let place = Place::new();
    place.write("workspace/sub/here", "");
    let make = "mkdir -p fresh/.git/hooks sub/.vscode .github/workflows && echo evil > fresh/.git/hooks/pre-commit && \
                echo evil > .envrc && echo evil > sub/.envrc && echo {} > sub/.vscode/tasks.json && \
                echo evil > .github/workflows/x.yml && echo fine > sub/fine.txt";
    let said = commands(&place, &place.home(), &[make]);
    let there = |path: &str| place.workspace().join(path).exists();
    for path in ["fresh/.git", ".envrc", "sub/.envrc", "sub/.vscode", ".github/workflows"] {
        assert!(!there(path) && there(&format!("{path}.set-aside")), "{path}: {said:?}");
        assert!(said[0].contains(&format!("{path}.set-aside")), "{path} is told: {said:?}");
    }
    assert!(there("sub/fine.txt"));
}

#[test]
fn a_command_that_cannot_commit_says_who_does() {
    let place = Place::new();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(place.workspace()).env("HOME", place.home());
        succeeds(git.env("GIT_CONFIG_NOSYSTEM", "1"))
    };
    assert!(git(&["init", "-q"]));
    place.write("workspace/sub/new.txt", "x");
    let said = commands(&place, &place.home(), &["git status --short", "git add -A && git commit -m x"]);
    assert!(said[0].contains("sub/"), "looking works: {said:?}");
    assert!(
        said[1].contains("`.git` is closed to commands") && said[1].contains("the person commits"),
        "{said:?}"
    );
}
