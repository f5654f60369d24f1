//! Terminal: streamed Markdown ([`markdown`]), diffs ([`diff`]), rows of the live tree ([`rows`]), the prompt ([`prompt`]), the
//! inline painter ([`painter`]), keys ([`keys`]), a line of typed text ([`input`]) and the dialog about an approval ([`dialog`]).
//! Size, time and output are arguments; nothing here reads the environment, a clock or a task.

#![forbid(unsafe_code)]

pub mod columns;
pub mod complete;
pub mod dialog;
pub mod diff;
pub mod help;
pub mod input;
pub mod keys;
pub mod markdown;
pub mod pager;
pub mod painter;
pub mod prompt;
pub mod rows;
pub mod style;
pub mod table;
