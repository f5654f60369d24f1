//! The other process. A test starts this test binary again and says in the environment what to do; what the child
//! prints is its side of the conversation.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

const ROLE: &str = "POSSE_STORE_CHILD_ROLE";
const PLACE: &str = "POSSE_STORE_CHILD_PLACE";
const NAME: &str = "POSSE_STORE_CHILD_NAME";

/// A running child and the lines it said.
pub struct Other {
    pub process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Other {
    pub fn start(role: &str, place: &Path, name: &str) -> Self {
        Self::start_under(Command::new(std::env::current_exe().unwrap()), role, place, name)
    }

    /// `command` ends in running this binary, with the arguments added here.
    pub fn start_under(mut command: Command, role: &str, place: &Path, name: &str) -> Self {
        command.args(["--exact", "child::this_process_plays_the_role_it_was_given", "--nocapture"]);
        command.env(ROLE, role).env(PLACE, place).env(NAME, name);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// The next thing the child said, without what the test harness prints; `None` when it ended.
    pub fn hear(&mut self) -> Option<String> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| line.strip_prefix("> ").map(str::to_owned))
    }

    pub fn hear_all(mut self) -> Vec<String> {
        let said = std::iter::from_fn(|| self.hear()).collect();
        assert!(self.process.wait().unwrap().success(), "the child failed after saying {said:?}");
        said
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // A test that fails leaves no process behind.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One write for each line, so that a killed child never leaves half a line.
pub fn say(line: impl std::fmt::Display) {
    std::io::stdout().write_all(format!("> {line}\n").as_bytes()).unwrap();
}

#[test]
fn this_process_plays_the_role_it_was_given() {
    // Without a role this is the ordinary test run.
    let Ok(role) = std::env::var(ROLE) else { return };
    let place = PathBuf::from(std::env::var_os(PLACE).unwrap());
    let name = std::env::var(NAME).unwrap();
    match role.as_str() {
        "append forever" => crate::crash::append_forever(&place, &name),
        "transit" => crate::processes::transit(&place, &name),
        "share" => crate::context::share(&place, &name),
        "answer" => crate::processes::answer(&place, &name),
        "fill" => crate::full_disk::fill(&place),
        "read" => crate::full_disk::read_unwritable(&place),
        other => panic!("no role `{other}`"),
    }
}
