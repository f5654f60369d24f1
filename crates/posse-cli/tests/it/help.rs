//! Help, usage errors with what was probably meant, man pages and completion in real shells.

use std::process::Command;

use crate::support::{Place, Ran};

const LANGUAGES: [&str; 6] = ["en", "de", "es", "fr", "ja", "zh"];

fn refused(place: &Place, args: &[&str]) -> String {
    let ran = place.run(args.iter().copied());
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    ran.stderr
}

#[test]
fn a_task_without_a_command_is_offered_as_a_run_in_every_language() {
    let place = Place::new();
    assert_eq!(
        refused(&place, &["why is it flaky"]),
        "error[INVALID_REQUEST]: `why is it flaky` is not a command\n  \
         hint: to run it as a task: posse run \"why is it flaky\"\n"
    );
    for language in LANGUAGES {
        let said = refused(&place, &["--lang", language, "fix", "the", "login", "test"]);
        let meant = format!("posse --lang {language} run \"fix the login test\"");
        assert!(said.contains("[INVALID_REQUEST]") && said.contains(&meant), "{said}");
    }
    let json = place.run(["why is it flaky", "--json"]);
    let error = json.json().pop().unwrap();
    assert_eq!(error["code"], "INVALID_REQUEST", "{json:?}");
    assert!(error["hint"].as_str().unwrap().contains("posse run \"why is it flaky\" --json"), "{json:?}");
}

#[test]
fn what_is_nearly_right_is_named_in_every_language() {
    let place = Place::new();
    let model = place.script("- text: Done.");
    place.write(
        "home/.config/posse/agents/reviewer.md",
        "---\nname: reviewer\ndescription: d\n---\nYou review.\n",
    );
    let ran = place.run(["run", "--json", "--model", &model, "Do it"]);
    let task = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    let mut swapped: Vec<char> = task.chars().collect();
    let at = swapped.windows(2).position(|pair| pair[0] != pair[1]).unwrap();
    swapped.swap(at, at + 1);
    let swapped: String = swapped.into_iter().collect();
    assert_eq!(place.run(["context", "--session", &task, "write", "findings", "x"]).code, 0);
    let config = place.write("odd.toml", "[limits]\nmax_trns = 5\n");
    let config = config.to_str().unwrap();
    for language in LANGUAGES {
        for (args, meant) in [
            (&["agents", "check", "reviwer"][..], "`reviewer`"),
            (&["agents", "export", "reviewer", "--to", "clade"], "`claude`"),
            (&["config", "get", "limits.max_trns"], "`limits.max_turns`"),
            (&["--config", config, "models"], "`max_turns`"),
            (&["context", "--session", &task, "read", "findngs"], "`findings`"),
            (&["mcp", "--tools", "subagnt"], "`subagent`"),
            (&["mcp", "install", "--host", "claude-cod"], "`claude-code`"),
            (&["tasks", "list", "--status", "compelted"], "`completed`"),
            (&["rnu", "Do it"], "posse --lang LANGUAGE run \"Do it\""),
            (&["tasks", "lsit"], "posse --lang LANGUAGE tasks list"),
            (&["help", "tsaks"], "posse tasks --help"),
            (&["run", "--timout", "20s", "Do it"], "`--timeout`"),
            (&["run", "--modle", "x", "Do it"], "`--model`"),
            (&["run", "--approvals", "aks", "Do it"], "`ask`"),
            (&["run", "--model", &model, "--allow", "bahs", "Do it"], "`bash`"),
            (&["run", "--model", &model, "--agent", "reviwer", "Do it"], "`reviewer`"),
            (&["run", "--model", "sonet", "Do it"], "`sonnet`"),
            (&["run", "--model", "antropic:x", "Do it"], "`anthropic`"),
            (&["tasks", "show", &swapped], &format!("`{task}`")),
            (&["context", "--session", &swapped, "list"], &format!("`{task}`")),
        ] {
            let args: Vec<&str> = ["--lang", language].iter().chain(args).copied().collect();
            let ran = place.run(args.iter().copied());
            let meant = meant.replace("LANGUAGE", language);
            assert!(ran.code != 0 && ran.stderr.contains(&meant), "{args:?}: {ran:?}");
        }
    }
}

#[test]
fn mistakes_in_flags_are_named_as_what_they_are() {
    let place = Place::new();
    for (args, said) in [
        (&["review", "--base", "a", "--base", "b"][..], "`--base <REF>` is given twice"),
        (&["run", "--max-cost", "-1", "Do it"], "an amount in US dollars is above zero"),
        (&["help", "foo"], "`posse --help` shows what there is"),
    ] {
        let told = refused(&place, args);
        assert!(told.contains(said) && !told.contains("posse run foo"), "{args:?}: {told}");
    }
}

#[test]
fn a_time_is_a_span_or_seconds() {
    let place = Place::new();
    let model = place.script("- text: Done.");
    for timeout in ["20s", "20", "1h30m"] {
        let ran = place.run(["run", "--timeout", timeout, "--model", &model, "Do it"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{ran:?}");
    }
    for (timeout, why) in [
        ("0", "it must be from 1 second to 24 h"),
        ("25h", "it must be from 1 second to 24 h"),
        ("20 apples", "a time is a number of seconds"),
    ] {
        let said = refused(&place, &["run", "--timeout", timeout, "Do it"]);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn help_of_every_command_has_groups_and_examples_in_every_language() {
    let place = Place::new();
    for (language, rights, examples) in [
        ("en", "Rights:", "Examples:"),
        ("de", "Rechte:", "Beispiele:"),
        ("es", "Permisos:", "Ejemplos:"),
        ("fr", "Droits:", "Exemples:"),
        ("ja", "権限:", "例:"),
        ("zh", "权限:", "示例:"),
    ] {
        let run = place.run(["--lang", language, "help", "run"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.stdout.contains(rights) && run.stdout.contains(examples), "{run:?}");
        assert_eq!(run.stdout, place.run(["--lang", language, "run", "--help"]).stdout);
        let nested = place.run(["help", "tasks", "list", "--lang", language]);
        assert!(nested.stdout.contains("posse tasks list --status"), "{nested:?}");
    }
    let completions = place.run(["completions", "--help"]).stdout;
    for shell in ["posse completions bash", "posse completions zsh", "posse completions fish"] {
        assert!(completions.contains(shell), "{completions}");
    }
}

#[test]
fn the_version_names_the_commit_of_this_repository() {
    let place = Place::new();
    let shown = place.run(["--version"]).stdout;
    assert!(shown.starts_with(&format!("posse {}", env!("CARGO_PKG_VERSION"))), "{shown}");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let git = Command::new("git").args(["-C", root, "rev-parse", "HEAD"]).output();
    let commit = git.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    // A source package has no repository, and then no commit to name.
    if std::path::Path::new(root).join(".git").exists()
        && let Some(commit) = commit
    {
        let commit = String::from_utf8(commit).unwrap();
        assert!(shown.contains(&format!("({})", &commit[..9])), "{shown} {commit}");
    }
}

#[test]
fn man_pages_are_written_for_every_command() {
    let place = Place::new();
    let ran = place.run(["help", "--man", "pages"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let read = |name: &str| std::fs::read_to_string(place.workspace().join("pages").join(name)).unwrap();
    assert!(read("posse.1").contains(".TH posse 1"));
    assert!(read("posse-tasks-list.1").contains("List tasks, newest first"));
    assert!(read("posse-run.1").contains("Why is the login test flaky?"));
    let pages = std::fs::read_dir(place.workspace().join("pages")).unwrap();
    let hidden = pages.filter(|page| page.as_ref().unwrap().file_name().to_string_lossy().contains("__"));
    assert_eq!(hidden.count(), 0);
}

/// A place with an agent, an alias and a task, and the id of that task.
fn with_names() -> (Place, String) {
    let place = Place::new();
    place.write("home/.config/posse/config.toml", "[aliases]\nquick = \"ollama:qwen3\"\n");
    place.write(
        "home/.config/posse/agents/reviewer.md",
        "---\nname: reviewer\ndescription: d\n---\nYou review.\n",
    );
    let model = place.script("- text: Done.");
    let ran = place.run(["run", "--json", "--model", &model, "Do it"]);
    let task = ran.envelope()["task_id"].as_str().unwrap().to_owned();
    (place, task)
}

fn completed(place: &Place, shell: &str, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let index = (words.len() - 1).to_string();
    let args = ["__complete", shell, &index, "--"].into_iter().chain(words);
    let mut command = place.posse(args);
    command.env("ANTHROPIC_API_KEY", "a-key");
    let ran = Ran::of(command);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn commands_flags_agents_models_tasks_and_sessions_are_completed() {
    let (place, task) = with_names();
    let has = |line: &str, wanted: &str| {
        let found = completed(&place, "bash", line);
        assert!(found.iter().any(|found| found == wanted), "{line}: {found:?}");
    };
    has("posse ru", "run");
    has("posse tasks sh", "show");
    has("posse run --time", "--timeout");
    has("posse run --agent rev", "reviewer");
    has("posse agents show ", "reviewer");
    has("posse run --model qu", "quick");
    has("posse run --model anthropic:claude-sonnet-4", "claude-sonnet-4-5");
    has("posse run --model anthropic : claude-sonnet-4", "claude-sonnet-4-5");
    has(&format!("posse tasks show {}", &task[..3]), &task);
    has("posse context --session ", &task);
    has("posse run --approvals a", "ask");
    let hidden = completed(&place, "bash", "posse __");
    assert_eq!(hidden, [""; 0]);
    let described = completed(&place, "fish", &format!("posse tasks show {}", &task[..3]));
    assert_eq!(described, [format!("{task}\tDo it")]);
}

#[test]
fn completion_creates_no_store() {
    let place = Place::new();
    let found = completed(&place, "bash", "posse tasks show ");
    assert!(found.iter().all(|found| found.starts_with("--")), "{found:?}");
    assert!(!place.state().exists());
}

/// Runs a script in a shell that knows `posse`; `None` if the shell is not installed.
fn in_shell(place: &Place, shell: &str, script: &str) -> Option<String> {
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_posse")).parent().unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(shell);
    let quiet: &[&str] = match shell {
        "bash" => &["--noprofile", "--norc", "-c"],
        "zsh" => &["-f", "-c"],
        _ => &["--no-config", "-c"],
    };
    command.args(quiet).arg(script).current_dir(place.workspace()).env_clear();
    command.env("PATH", path).env("HOME", place.home()).env("POSSE_STATE", place.state());
    command.env("TERM", "xterm");
    let output = command.output().ok()?;
    assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn bash_completes_with_the_script() {
    let (place, task) = with_names();
    let script = format!(
        "source <(posse completions bash)\n\
         COMP_WORDS=(posse tasks show {}); COMP_CWORD=3; _posse; echo \"${{COMPREPLY[@]}}\"\n\
         COMP_WORDS=(posse run --agent rev); COMP_CWORD=3; _posse; echo \"${{COMPREPLY[@]}}\"\n\
         complete -p posse",
        &task[..3]
    );
    let Some(shown) = in_shell(&place, "bash", &script) else { return };
    assert_eq!(shown.lines().take(2).collect::<Vec<_>>(), [task.as_str(), "reviewer"], "{shown}");
    assert!(shown.contains("-F _posse posse"), "{shown}");
}

#[test]
fn fish_completes_with_the_script() {
    let (place, task) = with_names();
    let script = format!(
        "posse completions fish | source\ncomplete --do-complete 'posse tasks show {}'\n\
         complete --do-complete 'posse run --agent rev'",
        &task[..3]
    );
    let Some(shown) = in_shell(&place, "fish", &script) else { return };
    assert_eq!(shown, format!("{task}\tDo it\nreviewer\td\n"));
}

#[test]
fn zsh_completes_with_the_script() {
    let (place, task) = with_names();
    // Completion needs a line editor; the function is called with what zsh would set, and what it adds is printed.
    let script = format!(
        "compdef() {{ echo \"$@\" }}\n_files() {{ }}\n_describe() {{ print -l ${{(P)2}} }}\n\
         source <(posse completions zsh)\n\
         words=(posse tasks show {}); CURRENT=4; _posse\n\
         words=(posse run --model qu); CURRENT=4; _posse",
        &task[..3]
    );
    let Some(shown) = in_shell(&place, "zsh", &script) else { return };
    assert_eq!(shown, format!("_posse posse\n{task}:Do it\nquick:\n"));
}

#[test]
fn the_first_page_groups_commands_by_what_they_are_for() {
    let place = Place::new();
    let page = place.run(["--help"]).stdout;
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    let order = ["Work:\n  run ", "\n  demo ", "Look:\n  tasks ", "\n  cost ", "Configure:\n  setup "];
    let order =
        order.into_iter().chain(["Serve and maintain:\n", "\n  mcp ", "Global options:\n", "Examples:\n"]);
    let places: Vec<usize> = order.map(at).collect();
    assert!(places.is_sorted(), "{page}");
    let commands = page.split("Work:").nth(1).unwrap().split("Global options:").next().unwrap();
    let widest = commands.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{widest}: {page}");
    for language in LANGUAGES {
        let page = place.run(["--lang", language, "--help"]).stdout;
        let commands = page.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        assert!(commands.count() > 25, "{page}");
    }
    // The page of a command is as before.
    assert!(place.run(["tasks", "--help"]).stdout.contains("Commands:\n  list "));
}
