//! Agents as a run in this directory would have them, and what is wrong with their files.

pub mod check;
pub mod view;

use posse_core::Result;
use posse_core::definition::RemarkSeverity;
use posse_messages::say;

use crate::options::RunOptions;
use crate::setup::Setup;

/// Says what is wrong with the file of an agent: the first mistake, in one line, and where the others are.
pub fn mistakes(setup: &Setup, how: &RunOptions, name: &str) -> Result<Option<String>> {
    let snapshot = setup.snapshot();
    let Some(entry) = snapshot.entry(name) else { return Ok(None) };
    let reports = view::inspector(setup, &how.common.allow)?.check(entry);
    // Files that this one shadows have no effect here.
    let remarks = reports.first().map(|report| report.remarks.as_slice()).unwrap_or_default();
    let Some(first) = remarks.iter().min_by_key(|remark| remark.severity != RemarkSeverity::Error) else {
        return Ok(None);
    };
    let line = first.line.map(|line| format!(":{line}")).unwrap_or_default();
    let place = view::place(setup, &entry.chosen.read.origin.path);
    let more = match remarks.len() - 1 {
        0 => say!("agent-file-look", name),
        n => say!("agent-file-look-more", name, n),
    };
    Ok(Some(format!("{place}{line}: {} · {more}", first.text)))
}
