//! What the chores share with their own tests.

#![forbid(unsafe_code)]

pub mod requirements;
