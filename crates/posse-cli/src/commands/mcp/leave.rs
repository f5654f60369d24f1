//! Shutdown of the server. Hosts end it by closing its input, with SIGINT or with SIGTERM, often long before its
//! tasks are done.

use posse_core::Result;
use posse_messages::say;
use posse_runtime::session::HostSession;
use tokio::signal::unix::SignalKind;

use crate::args::GlobalArgs;
use crate::commands::worker;
use crate::config::OnExit;
use crate::signals::{self, EndSignals};
use crate::terminal;

pub async fn told_to_stop() -> Result<()> {
    let mut interrupt = signals::receiver(SignalKind::interrupt())?;
    let mut end = EndSignals::listen()?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = end.recv() => {}
    }
    Ok(())
}

/// Applies `on_exit` to running tasks.
pub async fn leave(global: &GlobalArgs, hosted: &HostSession, on_exit: OnExit) -> Result<()> {
    if hosted.at_work().is_empty() {
        return Ok(());
    }
    match on_exit {
        OnExit::HandOver => {
            let left = hosted.let_go().await?;
            if left.is_empty() {
                return Ok(());
            }
            worker::start(global, &[])?;
            terminal::note(&say!("mcp-handed-over", count = left.len()));
        }
        OnExit::Cancel => hosted.cancel_all().await,
        OnExit::Leave => drop(hosted.let_go().await?),
    }
    Ok(())
}
