//! Numbers of the tasks of a session: `t_01`, `t_02`, ….

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Allocates the lowest free number to each task.
#[derive(Default)]
pub(super) struct TaskNumbers(Mutex<NumberPool>);

#[derive(Default)]
struct NumberPool {
    last: u32,
    /// Released numbers up to `last`.
    free: BTreeSet<u32>,
}

impl TaskNumbers {
    /// Takes the next free number.
    pub fn allocate(&self) -> u32 {
        let mut pool = self.lock();
        pool.free.pop_first().unwrap_or_else(|| {
            pool.last += 1;
            pool.last
        })
    }

    /// Releases the number of a task that was not created.
    pub fn release(&self, number: u32) {
        self.lock().free.insert(number);
    }

    /// Skips all numbers up to this one.
    pub fn skip_to(&self, number: u32) {
        let mut pool = self.lock();
        pool.last = pool.last.max(number);
        pool.free = pool.free.split_off(&number.saturating_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, NumberPool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_came_to_nothing_is_given_again_and_one_of_another_process_never() {
        let numbers = TaskNumbers::default();
        assert_eq!([numbers.allocate(), numbers.allocate(), numbers.allocate()], [1, 2, 3]);
        numbers.release(3);
        numbers.release(2);
        assert_eq!([numbers.allocate(), numbers.allocate(), numbers.allocate()], [2, 3, 4]);
        numbers.release(4);
        numbers.skip_to(6);
        assert_eq!(numbers.allocate(), 7);
    }
}
