//! Terminal output: streamed Markdown ([`markdown`]), rows of the live tree ([`rows`]) and the inline painter ([`painter`]).
//! Size, time and output are arguments; nothing here reads the environment, a clock or a task.

#![forbid(unsafe_code)]

pub mod markdown;
pub mod painter;
pub mod rows;
pub mod style;
