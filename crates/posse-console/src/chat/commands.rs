//! Lines that are no messages: commands that begin with a slash, and shell commands.

use posse_messages::say;
use posse_terminal::prompt::MenuEntry;

/// A command of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatCommand {
    /// List the agents to delegate to.
    Agents,
    /// Begin another conversation.
    Clear,
    /// Continue from a summary.
    Compact,
    /// Show what fills the window.
    Context,
    /// Show the cost by agent and model.
    Cost,
    /// Show the file changes.
    Diff,
    /// Leave.
    Exit,
    /// Write the transcript to a file.
    Export,
    /// List the commands.
    Help,
    /// Change the mode.
    Mode,
    /// Change the model.
    Model,
    /// Take up an earlier conversation.
    Resume,
    /// List the tasks of the conversation.
    Tasks,
    /// Take back the file changes of the last message.
    Undo,
}

impl ChatCommand {
    const ALL: [Self; 14] = [
        Self::Agents,
        Self::Clear,
        Self::Compact,
        Self::Context,
        Self::Cost,
        Self::Diff,
        Self::Exit,
        Self::Export,
        Self::Help,
        Self::Mode,
        Self::Model,
        Self::Resume,
        Self::Tasks,
        Self::Undo,
    ];

    /// Returns the command with its slash.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agents => "/agents",
            Self::Clear => "/clear",
            Self::Compact => "/compact",
            Self::Context => "/context",
            Self::Cost => "/cost",
            Self::Diff => "/diff",
            Self::Exit => "/exit",
            Self::Export => "/export",
            Self::Help => "/help",
            Self::Mode => "/mode",
            Self::Model => "/model",
            Self::Resume => "/resume",
            Self::Tasks => "/tasks",
            Self::Undo => "/undo",
        }
    }

    fn explanation(self) -> String {
        match self {
            Self::Agents => say!("chat-does-agents"),
            Self::Clear => say!("chat-does-clear"),
            Self::Compact => say!("chat-does-compact"),
            Self::Context => say!("chat-does-context"),
            Self::Cost => say!("chat-does-cost"),
            Self::Diff => say!("chat-does-diff"),
            Self::Exit => say!("chat-does-exit"),
            Self::Export => say!("chat-does-export"),
            Self::Help => say!("chat-does-help"),
            Self::Mode => say!("chat-does-mode"),
            Self::Model => say!("chat-does-model"),
            Self::Resume => say!("chat-does-resume"),
            Self::Tasks => say!("chat-does-tasks"),
            Self::Undo => say!("chat-does-undo"),
        }
    }

    fn of(word: &str) -> Option<Self> {
        // Many programs know it by this name.
        let word = if word == "/quit" { "/exit" } else { word };
        Self::ALL.into_iter().find(|command| command.word() == word)
    }

    /// Lists the commands with their explanation.
    pub fn menu() -> Vec<MenuEntry> {
        Self::ALL.map(|command| MenuEntry::new(command.word(), command.explanation())).to_vec()
    }
}

/// A typed line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatInput<'a> {
    /// Text for the model.
    Message,
    /// A command and what follows it.
    Command(ChatCommand, &'a str),
    /// A shell command of the person, without the mark.
    Shell(&'a str),
    /// A word with a slash that is no command.
    Unknown(&'a str),
}

impl<'a> ChatInput<'a> {
    /// Parses a line. A command is a slash and one word of letters, so a path is a message.
    pub fn parse(line: &'a str) -> Self {
        if let Some(command) = line.strip_prefix('!').map(str::trim).filter(|command| !command.is_empty()) {
            return ChatInput::Shell(command);
        }
        let word = line.split_whitespace().next().unwrap_or_default();
        let is_command = line.starts_with('/')
            && word.len() > 1
            && word[1..].chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        match ChatCommand::of(word) {
            _ if !is_command => ChatInput::Message,
            Some(command) => ChatInput::Command(command, line[word.len()..].trim()),
            None => ChatInput::Unknown(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_slash_and_a_word() {
        for (line, said) in [
            ("/help", ChatInput::Command(ChatCommand::Help, "")),
            ("/quit ", ChatInput::Command(ChatCommand::Exit, "")),
            ("/exit now", ChatInput::Command(ChatCommand::Exit, "now")),
            ("/mode plan", ChatInput::Command(ChatCommand::Mode, "plan")),
            ("/model ollama:qwen3:8b ", ChatInput::Command(ChatCommand::Model, "ollama:qwen3:8b")),
            ("/modle gpt-5", ChatInput::Unknown("/modle")),
            ("/Quit", ChatInput::Unknown("/Quit")),
            ("/etc/hosts is odd", ChatInput::Message),
            (" /tmp is full", ChatInput::Message),
            ("/", ChatInput::Message),
            ("// why?", ChatInput::Message),
            ("what does /quit do?", ChatInput::Message),
            ("!cargo test", ChatInput::Shell("cargo test")),
            ("! ls", ChatInput::Shell("ls")),
            ("!", ChatInput::Message),
            (" !important", ChatInput::Message),
        ] {
            assert_eq!(ChatInput::parse(line), said, "{line}");
        }
    }

    #[test]
    fn every_command_is_in_the_menu_under_its_word() {
        for entry in ChatCommand::menu() {
            let ChatInput::Command(command, "") = ChatInput::parse(&entry.value) else {
                panic!("{}", entry.value)
            };
            assert_eq!(command.word(), entry.value);
        }
    }
}
