//! Models for Posse: what wraps a model, and models that need no provider.

pub mod scripted;
