//! Conversations at a terminal.
//!
//! [`ChatThread`] is the conversation: which task it is, and what the next message brings with it. [`ChatTalk`] serves the
//! person: it sends messages, steers, stops and runs the commands that begin with a slash. It paints with [`ChatScreen`] and
//! reaches everything that only the program knows through [`ChatHost`].

mod attach;
mod calls;
mod commands;
mod compact;
mod context;
mod export;
mod host;
mod known;
mod screen;
mod shell;
mod state;
mod talk;
mod thread;
mod view;

pub use self::commands::{ChatCommand, ChatInput};
pub use self::host::{ChatHost, FileExcerpt, KnownModel, OpenedSession};
pub use self::known::{ChatScope, KnownChat, chats, newest_chat};
pub use self::screen::{ChatDesk, ChatScreen, ChatStatus, ChatWish};
pub use self::state::ChatLooks;
pub use self::talk::{ChatOpening, ChatTalk};
pub use self::thread::{ChatMark, ChatThread, ChatWork};
