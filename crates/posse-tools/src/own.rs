//! The user's own tools: an executable with a manifest beside it.
