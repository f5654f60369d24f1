//! Refuses write paths for a parent that may not write, before a model is called, and says what a person can do about it.

use posse_core::grant::Rights;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;

use super::children::ParentTask;

/// Refuses a request with write paths for a parent that may not write.
pub(super) fn check(parent: &ParentTask, asked: &Rights) -> Result<()> {
    let Some(advice) = &parent.writing_advice else { return Ok(()) };
    let names_places = asked.write_paths.as_ref().is_some_and(|paths| !paths.is_empty());
    match names_places && !parent.grant.can_write() {
        true => Err(Error::new(ErrorCode::AccessDenied, localized!("tasks-write-nothing")).hint(advice)),
        false => Ok(()),
    }
}
