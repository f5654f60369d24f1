//! A panic in a tool, a model or a hook ends that call only.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::ports::BoxFuture;

/// Polls a future and turns a panic into an error that names it.
pub(crate) struct PanicGuard<'a, T>(pub BoxFuture<'a, T>);

impl<T> Future for PanicGuard<'_, T> {
    type Output = Result<T, String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = &mut self.0;
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(describe(&*panic))),
        }
    }
}

pub(crate) fn describe(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    posse_core::text::prefix(text.unwrap_or("no message"), 300).to_owned()
}
