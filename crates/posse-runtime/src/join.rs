//! Waiting for many futures side by side. Only those that were woken are polled: a turn may have a thousand calls.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Waits for all, keeping their order.
pub(crate) async fn join_all<T>(mut futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    match futures.pop() {
        // As usual.
        Some(only) if futures.is_empty() => vec![only.await],
        Some(last) => {
            futures.push(last);
            join_many(futures).await
        }
        None => Vec::new(),
    }
}

async fn join_many<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut places: Vec<_> = futures.into_iter().map(|future| Place::Running(Box::pin(future))).collect();
    let board = Arc::new(Board::default());
    let wakers: Vec<Waker> =
        (0..places.len()).map(|index| Waker::from(Arc::new(Bell { board: board.clone(), index }))).collect();
    *lock(&board.rung) = (0..places.len()).collect();
    let mut running = places.len();
    poll_fn(|context| {
        // First, so that whoever rings from now on is heard.
        *lock(&board.waker) = Some(context.waker().clone());
        // Not under the lock: a future may ring while it is polled.
        let rung = std::mem::take(&mut *lock(&board.rung));
        for index in rung {
            running -= usize::from(places[index].poll(&wakers[index]));
        }
        if running == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let done = places.into_iter().filter_map(|place| match place {
        Place::Done(value) => Some(value),
        Place::Running(_) => None,
    });
    done.collect()
}

enum Place<F, T> {
    Running(Pin<Box<F>>),
    Done(T),
}

impl<F: Future<Output = T>, T> Place<F, T> {
    /// Whether it ended just now.
    fn poll(&mut self, waker: &Waker) -> bool {
        if let Place::Running(future) = self
            && let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(waker))
        {
            *self = Place::Done(value);
            return true;
        }
        false
    }
}

#[derive(Default)]
struct Board {
    /// Who wants to be polled.
    rung: Mutex<Vec<usize>>,
    waker: Mutex<Option<Waker>>,
}

struct Bell {
    board: Arc<Board>,
    index: usize,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        lock(&self.board.rung).push(self.index);
        let waker = lock(&self.board.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn futures_may_wake_each_other_and_themselves_while_they_are_polled() {
        let barrier = tokio::sync::Barrier::new(3);
        let meet = || async {
            tokio::task::yield_now().await;
            barrier.wait().await.is_leader()
        };
        let leaders = join_all(vec![meet(), meet(), meet()]).await;
        assert_eq!(leaders.into_iter().filter(|leads| *leads).count(), 1);
    }

    #[tokio::test]
    async fn all_are_waited_for_in_order_and_only_the_woken_are_polled() {
        const MANY: usize = 200;
        let polls = Cell::new(0);
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..MANY).map(|_| oneshot::channel()).unzip();
        let futures = receivers.into_iter().map(|mut receiver| {
            let polls = &polls;
            poll_fn(move |context| {
                polls.set(polls.get() + 1);
                Pin::new(&mut receiver).poll(context).map(Result::unwrap)
            })
        });
        let send = async {
            for (number, sender) in senders.into_iter().enumerate().rev() {
                sender.send(number).unwrap();
                tokio::task::yield_now().await;
            }
        };
        let (values, ()) = tokio::join!(join_all(futures.collect()), send);
        assert_eq!(values, (0..MANY).collect::<Vec<_>>());
        assert_eq!(polls.get(), 2 * MANY, "each once at first and once when it was ready");
        assert_eq!(join_all(vec![async { 7 }]).await, [7]);
        assert!(join_all(Vec::<std::future::Ready<()>>::new()).await.is_empty());
    }
}
