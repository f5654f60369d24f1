//! Shell commands of the person: run as they are, in the workspace, outside any sandbox, as in a shell beside the conversation.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use posse_core::text::head_and_tail;
use posse_messages::say;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

/// Output that is kept of each stream, in bytes; the rest is read and dropped.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// Largest part of the output that goes with a message, in bytes.
const SENT_BYTES_MAX: usize = 16 * 1024;

/// Time to read what is left in the pipes after the end.
const REST_WAIT: Duration = Duration::from_millis(200);

/// A shell command that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellOutput {
    /// Standard output, then standard error.
    pub(super) text: String,
    /// Exit code, signal, or why it could not be started.
    pub(super) ending: String,
}

/// A shell command under way, in a process group of its own. Dropping it kills the group.
pub(super) struct ShellCommand {
    child: Child,
    group: Option<Pid>,
}

impl ShellCommand {
    /// Starts a command without input.
    pub(super) fn start(shell: &OsStr, directory: &Path, command: &str) -> std::io::Result<Self> {
        let mut start = Command::new(shell);
        start.arg("-c").arg(command).current_dir(directory).process_group(0);
        start.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = start.spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self { child, group })
    }

    /// Waits for its end. Processes that it left in the background keep running, and are not waited for.
    pub(super) async fn wait(mut self) -> ShellOutput {
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let (mut kept_out, mut kept_err) = (Vec::new(), Vec::new());
        let status = {
            let both = async { tokio::join!(read(out, &mut kept_out), read(err, &mut kept_err)) };
            let mut reading = std::pin::pin!(both);
            tokio::select! {
                _ = &mut reading => self.child.wait().await,
                status = self.child.wait() => {
                    // A process in the background may hold the pipes open.
                    let _ = tokio::time::timeout(REST_WAIT, reading).await;
                    status
                }
            }
        };
        self.group = None;
        let text = [kept_out, kept_err].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        ShellOutput { text, ending: status.map_or_else(|e| e.to_string(), ending) }
    }
}

impl Drop for ShellCommand {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // It has ended by itself meanwhile.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl ShellOutput {
    /// Returns the number of lines.
    pub(super) fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// Tells whether the output is shortened for the message.
    pub(super) fn is_cut(&self) -> bool {
        self.text.len() > SENT_BYTES_MAX
    }

    /// Returns the output as it goes with the next message.
    pub(super) fn enclosure(&self, command: &str) -> String {
        let body = head_and_tail(self.text.trim_end(), SENT_BYTES_MAX);
        let note = "The person ran this command in the workspace.";
        format!("<command line={command:?} ending={:?}>\n{note}\n\n{body}\n</command>", self.ending)
    }
}

fn ending(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => say!("chat-shell-exit", code),
        None => status.to_string(),
    }
}

/// Reads a stream to its end and keeps its beginning.
async fn read(stream: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut stream) = stream else { return };
    let mut piece = [0; 8_192];
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        let room = KEPT_BYTES_MAX.saturating_sub(kept.len());
        kept.extend_from_slice(&piece[..count.min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ran(command: &str) -> ShellOutput {
        let directory = std::env::temp_dir();
        ShellCommand::start(OsStr::new("/bin/sh"), &directory, command).unwrap().wait().await
    }

    #[tokio::test]
    async fn output_and_exit_code_are_part_of_the_message() {
        let output = ran("echo out; echo err >&2; exit 3").await;
        assert_eq!((output.text.as_str(), output.ending.as_str()), ("out\nerr\n", "exit code 3"));
        let enclosed = output.enclosure("echo \"out\"");
        assert!(
            enclosed.starts_with("<command line=\"echo \\\"out\\\"\" ending=\"exit code 3\">\n"),
            "{enclosed}"
        );
        assert!(enclosed.ends_with("\n\nout\nerr\n</command>"), "{enclosed}");
    }

    #[tokio::test]
    async fn long_output_is_shortened_for_the_message() {
        let output = ran("seq 100000").await;
        assert!(output.is_cut() && output.lines() > 50_000, "{}", output.lines());
        let enclosed = output.enclosure("seq 100000");
        assert!(enclosed.len() < SENT_BYTES_MAX + 500, "{}", enclosed.len());
        assert!(enclosed.contains("\n1\n2\n") && enclosed.contains("100000\n"), "head and tail are there");
    }

    #[tokio::test]
    async fn a_process_in_the_background_is_not_waited_for() {
        let output = ran("sleep 600 & echo $!").await;
        let id: i32 = output.text.trim().parse().unwrap();
        // It goes on, until the test ends it.
        rustix::process::kill_process(Pid::from_raw(id).unwrap(), Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn a_command_that_is_given_up_is_killed_with_its_processes() {
        let directory = std::env::temp_dir();
        let command = ShellCommand::start(OsStr::new("/bin/sh"), &directory, "sleep 600; true").unwrap();
        let group = command.group.unwrap();
        drop(command);
        let is_gone = || rustix::process::test_kill_process_group(group).is_err();
        for _ in 0..1_000 {
            if is_gone() {
                return;
            }
            tokio::task::yield_now().await;
            std::thread::park_timeout(Duration::from_millis(5));
        }
        panic!("{group:?} is still there");
    }
}
