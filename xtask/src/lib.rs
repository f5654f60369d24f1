//! What the chores share with their own tests.

pub mod requirements;
