//! `cargo xtask screens`: plays scripted tasks in tmux and keeps the screens as pictures for the documentation.

mod picture;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::command::{root, run};

/// Socket of a tmux server of our own.
const SOCKET: &str = "posse-screens";
/// Longest wait for a text to appear.
const APPEAR_MAX: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

/// A screen of the program.
struct Scene {
    name: &'static str,
    title: &'static str,
    columns: usize,
    rows: usize,
    /// Commands and keys, each typed when the text before it has appeared.
    steps: &'static [SceneStep],
}

enum SceneStep {
    /// Types a line and Enter.
    Line(&'static str),
    /// Types a text.
    Type(&'static str),
    /// Waits until the screen has this text.
    Wait(&'static str),
    /// Waits until the screen has lost this text.
    Gone(&'static str),
    /// Lets the models go on that wait for this file.
    Go(&'static str),
    /// Presses a key until the screen has this text: some keys count only a moment after a question is shown.
    PressUntil(&'static str, &'static str),
}

use SceneStep::{Go, Gone, Line, PressUntil, Type, Wait};

const TASK: &str = "clear; posse run 'Review the auth code and write tests for what is missing'";
const ASKED: &str = "clear; posse run --mode ask 'Review the auth code and write tests for what is missing'";

const SCENES: &[Scene] = &[
    Scene {
        name: "run",
        title: "posse run with three subagents",
        columns: 110,
        rows: 12,
        steps: &[Line(TASK), Wait("queued: after t_01"), Wait("$0.006")],
    },
    Scene {
        name: "end",
        title: "The end of a run: answer, subagents, changed files, what to type next",
        columns: 110,
        rows: 32,
        steps: &[Go("begin"), Go("session"), Line(TASK), Wait("posse tasks show")],
    },
    Scene {
        name: "approval",
        title: "An approval above the live tree, with path and diff",
        columns: 110,
        rows: 20,
        steps: &[Go("begin"), Line(ASKED), Wait("wants to edit src/auth.rs"), Wait("denied by itself")],
    },
    Scene {
        name: "top",
        title: "posse top: tasks by what they need, and the transcript of one",
        columns: 130,
        rows: 22,
        steps: &[
            Line("clear; posse run --model $SCRIPTS/review.yaml#chat 'Why is the login test flaky?'"),
            Wait("posse tasks show"),
            Go("begin"),
            Line(ASKED),
            Wait("wants to edit src/auth.rs"),
            PressUntil("Escape", "? keys"),
            PressUntil("q", "goes on"),
            Line("clear; posse top"),
            Wait("NEEDS INPUT 1"),
            Type("g"),
            Wait("waits for your approval"),
        ],
    },
    Scene {
        name: "chat",
        title: "posse chat: an answer, and a menu of files",
        columns: 100,
        rows: 30,
        steps: &[
            Line("clear; posse chat --model $SCRIPTS/review.yaml#chat"),
            Wait("? keys"),
            Line("why is the login test flaky?"),
            Wait("turn the comparison around?"),
            Gone("Esc stops"),
            Type("yes, and look at @src/ses"),
            Wait("src/session.rs"),
        ],
    },
    Scene {
        name: "show",
        title: "posse tasks show: what each turn did",
        columns: 110,
        rows: 40,
        steps: &[
            Go("begin"),
            Go("session"),
            Line(TASK),
            Wait("posse tasks show"),
            Line("clear; posse tasks show t_03"),
            Gone("Two gaps"),
            Wait("One test written"),
        ],
    },
];

/// Makes all pictures, or those that are named.
pub fn screens(names: &[&str]) -> Result<()> {
    let known: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
    for name in names {
        ensure!(known.contains(name), "there is no screen `{name}`; known: {}", known.join(", "));
    }
    run(&["build", "--locked", "-p", "posse-cli"])?;
    let pictures = root().join("docs/screens");
    fs::create_dir_all(&pictures)?;
    for scene in SCENES.iter().filter(|scene| names.is_empty() || names.contains(&scene.name)) {
        let stage = Stage::prepare(scene)?;
        let screen = stage.play(scene).with_context(|| format!("screen `{}`", scene.name))?;
        let path = pictures.join(format!("{}.svg", scene.name));
        fs::write(&path, picture::svg(scene.title, scene.columns, &screen))?;
        eprintln!("{}", path.display());
    }
    Ok(())
}

/// A project to work in, a home of its own, and a tmux session.
struct Stage {
    place: PathBuf,
}

impl Stage {
    fn prepare(scene: &Scene) -> Result<Self> {
        let place =
            std::env::temp_dir().join(format!("posse-screens-{}", std::process::id())).join(scene.name);
        let _ = fs::remove_dir_all(&place);
        let (home, state, scripts) = (place.join("home"), place.join("state"), place.join("scripts"));
        let project = home.join("app");
        let material = root().join("examples/screens");
        copy(&material.join("app"), &project)?;
        copy(&material.join("scripts"), &scripts)?;
        fill_in(&material.join("config.toml"), &home.join(".config/posse/config.toml"), &scripts)?;
        for agent in ["code-reviewer.md", "session-reviewer.md", "test-writer.md"] {
            fill_in(&material.join("agents").join(agent), &home.join(".posse/agents").join(agent), &scripts)?;
        }
        let stage = Self { place };
        stage.shell(&project, "git init -q -b main && git add . && git -c user.name=me -c user.email=me@localhost commit -qm first")?;
        let this = std::env::current_exe().context("this program does not know where it is")?;
        let program = this.parent().context("this program is not in a target directory")?;
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let size = [scene.columns.to_string(), scene.rows.to_string()];
        let variables = [
            format!("PATH={path}"),
            format!("HOME={}", home.display()),
            format!("POSSE_STATE={}", state.display()),
            format!("SCRIPTS=scripted:{}", scripts.display()),
            "PS1=$ ".to_owned(),
            "LANG=C.UTF-8".to_owned(),
            "TERM=screen-256color".to_owned(),
        ];
        tmux(&["kill-server"]).ok();
        let mut begin =
            vec!["-f", "/dev/null", "new-session", "-d", "-s", "screen", "-x", &size[0], "-y", &size[1]];
        let directory = project.display().to_string();
        begin.extend(["-c", &directory, "env", "-i"]);
        begin.extend(variables.iter().map(String::as_str));
        begin.extend(["bash", "--norc", "--noprofile"]);
        tmux(&begin)?;
        Ok(stage)
    }

    fn shell(&self, directory: &Path, script: &str) -> Result<()> {
        let status = Command::new("sh").args(["-c", script]).current_dir(directory).status()?;
        ensure!(status.success(), "`{script}` failed ({status})");
        Ok(())
    }

    fn play(&self, scene: &Scene) -> Result<String> {
        wait_for(|screen| screen.contains('$'), "$")?;
        for step in scene.steps {
            match step {
                Line(line) => {
                    tmux(&["send-keys", "-l", line])?;
                    tmux(&["send-keys", "Enter"])?;
                }
                Type(text) => drop(tmux(&["send-keys", "-l", text])?),
                Wait(text) => wait_for(|screen| screen.contains(text), text)?,
                Gone(text) => wait_for(|screen| !screen.contains(text), text)?,
                Go(file) => fs::write(self.place.join("scripts").join(file), "")?,
                PressUntil(key, text) => wait_for(
                    |screen| {
                        let is_there = screen.contains(text);
                        if !is_there {
                            // A failure shows at the end of the wait.
                            let _ = tmux(&["send-keys", key]);
                        }
                        is_there
                    },
                    text,
                )?,
            }
        }
        // Where the stage is says nothing to a reader.
        Ok(tmux(&["capture-pane", "-p", "-e"])?.replace(&self.place.display().to_string(), "~"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = tmux(&["kill-server"]);
        let _ = fs::remove_dir_all(&self.place);
    }
}

fn wait_for(is_right: impl Fn(&str) -> bool, text: &str) -> Result<()> {
    let began = Instant::now();
    loop {
        let screen = tmux(&["capture-pane", "-p"])?;
        if is_right(&screen) {
            return Ok(());
        }
        if began.elapsed() > APPEAR_MAX {
            bail!("waited in vain for `{text}` on\n{screen}");
        }
        std::thread::sleep(LOOK);
    }
}

fn tmux(arguments: &[&str]) -> Result<String> {
    let output = Command::new("tmux")
        .args(["-L", SOCKET])
        .args(arguments)
        .output()
        .context("tmux cannot be started")?;
    ensure!(output.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Copies a file; `SCRIPTS` in it becomes the directory of the scripts.
fn fill_in(from: &Path, to: &Path, scripts: &Path) -> Result<()> {
    let text = fs::read_to_string(from).with_context(|| format!("reading {}", from.display()))?;
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(to, text.replace("SCRIPTS", &scripts.display().to_string()))?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
