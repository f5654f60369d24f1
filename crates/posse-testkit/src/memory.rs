//! The store in memory, with its log of writes.

pub use posse_runtime::memory::MemoryStore;
