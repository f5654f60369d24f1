//! Numbers of the tasks of a session: `t_01`, `t_02`, ….

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Gives each task the lowest number that no task has.
#[derive(Default)]
pub(super) struct TaskNumbers(Mutex<NumberPool>);

#[derive(Default)]
struct NumberPool {
    last: u32,
    /// Up to `last`, taken and given back.
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

    /// Returns a number whose task did not come to be.
    pub fn release(&self, number: u32) {
        self.lock().free.insert(number);
    }

    /// Gives none up to this one any more.
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
