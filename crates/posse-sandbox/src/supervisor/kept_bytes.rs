//! Keeps the beginning and the end of a stream of any length in constant memory, and counts all of it.

use std::collections::VecDeque;

pub(super) struct KeptBytes {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_max: usize,
    tail_max: usize,
    total: u64,
}

impl KeptBytes {
    /// Creates a buffer that keeps the head and the tail of a stream.
    pub fn new(head_max: usize, tail_max: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), head_max, tail_max, total: 0 }
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_max - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.tail_max)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_max);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Returns the number of bytes seen.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns head and tail.
    pub fn into_parts(self) -> (Vec<u8>, Vec<u8>) {
        (self.head, self.tail.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn head_and_tail_are_exact_however_the_bytes_arrive(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..20),
            head_max in 0usize..40, tail_max in 0usize..40,
        ) {
            let mut keep = KeptBytes::new(head_max, tail_max);
            for chunk in &chunks {
                keep.push(chunk);
            }
            let all = chunks.concat();
            prop_assert_eq!(keep.total(), all.len() as u64);
            let (head, tail) = keep.into_parts();
            let (first, rest) = all.split_at(all.len().min(head_max));
            prop_assert_eq!(head, first);
            prop_assert_eq!(tail, &rest[rest.len().saturating_sub(tail_max)..]);
        }
    }
}
