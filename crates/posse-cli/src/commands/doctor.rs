//! `posse doctor`: checks of this installation, each with a remedy.

use std::process::{Command, ExitCode, Stdio};

use posse_core::Result;
use posse_messages::say;
use posse_setup::doctor::{CheckMark, DoctorFinding, examine};

use crate::args::{DoctorArgs, GlobalArgs, VERSION};
use crate::columns::PaddedCell;
use crate::setup::Setup;
use crate::terminal::{self, TerminalFacts};

/// Longest wait of tmux for the rest of an escape sequence that nobody notices.
const ESCAPE_MS_MAX: u64 = 50;

pub async fn run(global: &GlobalArgs, args: &DoctorArgs) -> Result<ExitCode> {
    let mut findings = vec![DoctorFinding::new("version", CheckMark::Info, VERSION), screen()];
    match Setup::load(global) {
        Ok(setup) => findings.extend(examine(&setup, args.online, terminal::is_attended()).await),
        Err(e) => findings.push(DoctorFinding::error("configuration", &e)),
    }
    for finding in &findings {
        match global.json {
            true => terminal::out(&finding.json().to_string()),
            false => {
                let topic = PaddedCell(finding.topic_word());
                terminal::out_foreign(&format!("{} {topic:<14} {}", finding.mark.symbol(), finding.text));
            }
        }
    }
    let trouble = findings.iter().any(|finding| finding.mark == CheckMark::Trouble);
    Ok(if trouble { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Reports the terminal: its name, size, colors and characters, and how long tmux holds Esc back.
fn screen() -> DoctorFinding {
    let Some(TerminalFacts { name, columns, rows, has_room, is_colored, is_utf8 }) = terminal::facts() else {
        return DoctorFinding::new("terminal", CheckMark::Info, say!("doctor-no-terminal"));
    };
    let colors = if is_colored { say!("doctor-colors") } else { say!("doctor-no-colors") };
    let letters = if is_utf8 { "UTF-8".to_owned() } else { say!("doctor-ascii") };
    let mut parts = vec![name, format!("{columns}×{rows}"), colors, letters];
    let mut mark = CheckMark::Fine;
    if !has_room {
        mark = CheckMark::Limited;
        parts.push(say!("doctor-no-room"));
    }
    if terminal::is_in_tmux() {
        match tmux_escape_ms() {
            Some(0..=ESCAPE_MS_MAX) => {}
            Some(millis) => {
                mark = CheckMark::Limited;
                parts.push(say!("doctor-tmux-escape", millis));
            }
            None => parts.push(say!("doctor-tmux-unasked")),
        }
    }
    DoctorFinding::new("terminal", mark, parts.join(" · "))
}

/// Asks tmux how long it waits after Esc; `None` if it does not say.
fn tmux_escape_ms() -> Option<u64> {
    let mut command = Command::new("tmux");
    command.args(["show-options", "-sv", "escape-time"]).stdin(Stdio::null()).stderr(Stdio::null());
    String::from_utf8(command.output().ok()?.stdout).ok()?.trim().parse().ok()
}
