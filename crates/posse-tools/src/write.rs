//! Writes a whole file.

use posse_core::tool::{ToolEffect, ToolSpec};
use posse_runtime::ports::ToolOutput;
use posse_sandbox::workspace::{WHOLE_BYTES_MAX, show};
use serde::Deserialize;

use crate::answer::count;
use crate::files::{Answer, FileJob, describe};
use crate::replace::{FileTarget, ParentPolicy};
use crate::seen::ContentStamp;

const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "path": { "type": "string", "description": "File to write, relative to the workspace. Missing directories are created." },
    "content": { "type": "string", "description": "The whole new content of the file." }
  },
  "required": ["path", "content"],
  "additionalProperties": false
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteArguments {
    path: String,
    content: String,
}

pub(crate) fn spec() -> ToolSpec {
    describe(
        "write",
        ToolEffect::Idempotent,
        "Create a file, or replace the whole content of one that you have read before. To change a part of a file \
         use `edit`. The file is replaced in one step: if the call fails, the old content is still there.",
        SCHEMA,
    )
}

pub(crate) fn run(job: &FileJob, arguments: WriteArguments) -> Answer {
    let path = job.context.workspace.path(&arguments.path)?;
    let content = arguments.content.as_bytes();
    if content.len() as u64 > WHOLE_BYTES_MAX {
        return Err(format!(
            "the content has {}; at most {} can be written in one call",
            count(content.len() as u64, "byte"),
            count(WHOLE_BYTES_MAX, "byte")
        ));
    }
    let target = FileTarget::find(job, &path, ParentPolicy::Create)?;
    let before = target.now()?;
    let stamp = ContentStamp::of_content(content);
    let size = format!(
        "{}, {}",
        count(content.len() as u64, "byte"),
        count(arguments.content.lines().count() as u64, "line")
    );
    let (done, changed) = match &before {
        // The same call again, after a crash lost its result: the list of changes stays the same.
        Some(existing) if existing.stamp == stamp => {
            (format!("`{}` has exactly this content ({size})", show(&path)), job.announced(&path))
        }
        Some(existing) => {
            job.context.seen.check(&job.task, &path, &existing.stamp)?;
            let changed = target.replace(before.as_ref(), content)?;
            let old = count(u64::try_from(existing.stat.st_size).unwrap_or(0), "byte");
            (format!("replaced `{}` ({size}; before: {old})", show(&path)), Some(changed))
        }
        None => {
            let changed = target.replace(None, content)?;
            (format!("created `{}` ({size})", show(&path)), Some(changed))
        }
    };
    job.context.seen.note(&job.task, &path, stamp, job.turn);
    Ok(ToolOutput { changed: changed.into_iter().collect(), ..ToolOutput::text(done) })
}

impl WriteArguments {
    /// The whole content that a call leaves.
    pub fn into_content(self) -> Vec<u8> {
        self.content.into_bytes()
    }
}
