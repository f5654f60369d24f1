//! Interactive screens: the live run, chat and `top`. They read tasks through the ports of the runtime and paint with
//! `posse-terminal`. Nothing here knows a database, a provider or the environment.
//!
//! [`Console`] owns the terminal while a screen is inline: one thread paints, reads keys and restores the modes. A screen
//! commits finished lines, shows its live rows and receives [`ConsoleEvent`]s:
//!
//! ```no_run
//! # async fn screen() -> std::io::Result<()> {
//! use posse_console::{Console, ConsoleEvent, ConsoleIo, ConsoleOptions};
//! use posse_terminal::painter::CursorSpot;
//!
//! // `None`: no terminal, or a job in the background. Print lines as in a pipe.
//! let Some(io) = ConsoleIo::of_process()? else { return Ok(()) };
//! let (console, mut events) = Console::open(io, ConsoleOptions::default())?;
//! console.commit(vec!["a finished line".into()]);
//! console.show(vec!["> ".into()], CursorSpot { row: 0, column: 2 });
//! while let Some(event) = events.recv().await {
//!     match event {
//!         ConsoleEvent::Key(_) | ConsoleEvent::Paste(_) => break,
//!         ConsoleEvent::Resize(_) => { /* lay the rows out again and show them */ }
//!     }
//! }
//! console.suspend().await; // A full-screen view has the terminal now.
//! console.resume();
//! console.close(); // Also when dropped.
//! # Ok(()) }
//! ```

#![forbid(unsafe_code)]

mod answer;
pub mod ask;
mod cards;
pub mod chat;
mod console;
pub mod hidden;
pub mod lists;
pub mod partial;
pub mod plain;
pub mod run;
pub mod story;
pub mod top;
pub mod words;

pub use console::{Console, ConsoleEvent, ConsoleEvents, ConsoleIo, ConsoleOptions, NoticeForm};
