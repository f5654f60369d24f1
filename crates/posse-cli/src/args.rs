//! The command line. Doc comments are help texts: product text, translated in `locales/*/help.ftl`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand};
use posse_core::agent::Effort;
use posse_core::mode::WorkMode;
use posse_git::ChangeScope;
use posse_http::wire::TokenScope;
use posse_mcp::hosts::HostName;
use posse_review::FindingSeverity;

use posse_setup::config::{ApprovalMode, OnExit};
pub use posse_setup::options::{RunOptions, TaskFlags};
use posse_setup::options::{dollars, effort, modes, seconds_up_to};

use crate::complete;

/// Delegate tasks to agents on any model: within a budget, visible while they run, durable across crashes.
#[derive(Parser)]
#[command(name = "posse", version = VERSION, propagate_version = true, disable_help_subcommand = true)]
pub struct CliArgs {
    #[command(flatten)]
    pub global: GlobalArgs,
    /// `None` starts a chat at a terminal.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

/// Version with the commit, where that is known; set by the build script.
pub const VERSION: &str = env!("POSSE_VERSION");

#[derive(ClapArgs, Clone)]
pub struct GlobalArgs {
    /// Read this configuration instead of the user's and the project's.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Store tasks in this directory [default: $POSSE_STATE, or posse in the user's state directory].
    #[arg(long, global = true, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Print machine-readable output: one JSON object per line.
    #[arg(long, global = true)]
    pub json: bool,
    /// Use this language: en, de, es, fr, ja or zh [default: $POSSE_LANG, or the locale of the system].
    #[arg(long, global = true, value_name = "LANG")]
    pub lang: Option<String>,
    /// Write events to this log file, one JSON object per line, without prompts and results [default: the configuration].
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Also log tasks, prompts, arguments and results in full.
    #[arg(long, global = true)]
    pub debug_payloads: bool,
}

#[derive(Subcommand)]
pub enum CliCommand {
    /// Run a task; the orchestrator delegates to subagents as needed.
    Run(RunArgs),
    /// Chat with an agent; every message continues the same conversation.
    Chat(ChatArgs),
    /// Review the changes of this git work tree, or of a branch, and print the findings.
    Review(ReviewArgs),
    /// Show a whole delegation with a scripted model: no key, no network.
    Demo,
    /// Set up a provider: ask for its key, test it, and store it for you alone.
    Setup(SetupArgs),
    /// List the models of the configured providers, with context windows and prices.
    Models(ModelsArgs),
    /// Read and change settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Create a posse.toml and an example agent in this directory.
    Init,
    /// Check configuration, keys, sandbox and store.
    Doctor(DoctorArgs),
    /// List, check, create and export agents.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Trust this project's agent files (by content hash).
    Trust(TrustArgs),
    /// List, inspect, resume, cancel and delete tasks.
    #[command(subcommand)]
    Tasks(TasksCommand),
    /// Show all tasks live on a full screen: steer, answer and cancel them, read transcripts and diffs.
    Top(TopArgs),
    /// Print the cost of tasks, subagents included.
    Cost(CostArgs),
    /// Delete old tasks and free their disk space; without a flag, apply `max_age` and `max_size` of `[store]`.
    Gc(GcArgs),
    /// List the write leases of running tasks.
    Leases(LeasesArgs),
    /// Resume interrupted and detached tasks.
    Worker(WorkerArgs),
    /// List the MCP servers that agents may use here, with their sandbox and changed tools.
    Servers(ServersArgs),
    /// Serve subagents to any MCP host, over standard input and output or HTTP.
    Mcp(McpArgs),
    /// Serve the HTTP API and the dashboard: see, steer and approve the tasks of every process.
    Serve(ServeArgs),
    /// Add, list and revoke the tokens of the HTTP API; print a login link.
    #[command(subcommand)]
    Tokens(TokensCommand),
    /// List and answer calls that wait for approval, in any process.
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// Read and change the shared context of a session.
    Context(ContextArgs),
    /// List sessions; archive or delete their shared context.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Print a script that completes commands, flags, agents, models, task ids and sessions in a shell.
    Completions {
        /// Shell to complete for.
        shell: clap_complete::Shell,
    },
    /// Show the help of a command, or write all of it as man pages.
    Help(HelpArgs),
    /// Print completions of a command line, for the scripts of `posse completions`.
    #[command(name = complete::COMMAND, hide = true)]
    Complete(CompleteArgs),
}

#[derive(ClapArgs, Default)]
pub struct SetupArgs {
    /// Provider, such as anthropic, openai, gemini, openrouter, ollama, or other for any other server [default: asks].
    pub provider: Option<String>,
    /// Model to test and to use [default: the usual one of the provider].
    #[arg(long, short, value_name = "NAME")]
    pub model: Option<String>,
    /// Address of the server, if it is not the vendor's.
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
}

#[derive(ClapArgs)]
pub struct ModelsArgs {
    /// List only the models of this provider.
    pub provider: Option<String>,
    /// List only models with this in their name.
    #[arg(long, value_name = "TEXT")]
    pub matching: Option<String>,
}

#[derive(ClapArgs)]
pub struct DoctorArgs {
    /// Also send one tiny request to each configured provider; it costs a few tokens.
    #[arg(long)]
    pub online: bool,
}

#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Print the value of a setting.
    Get {
        /// Setting, such as limits.max_turns.
        key: String,
    },
    /// Change a setting. Comments stay, and nothing is written that cannot be loaded.
    Set {
        /// Setting, such as limits.max_turns.
        key: String,
        /// Value, as TOML or as plain text.
        value: String,
        /// Change the file of this project instead of yours.
        #[arg(long)]
        project: bool,
    },
    /// Remove a setting.
    Unset {
        /// Setting, such as limits.max_turns.
        key: String,
        /// Change the file of this project instead of yours.
        #[arg(long)]
        project: bool,
    },
    /// Open the file in your editor, and take over what can be loaded.
    Edit {
        /// Change the file of this project instead of yours.
        #[arg(long)]
        project: bool,
    },
    /// Print where the files are.
    Path,
    /// Print all settings of the files.
    List,
}

#[derive(ClapArgs)]
pub struct HelpArgs {
    /// Command, such as `tasks list` [default: posse itself].
    #[arg(conflicts_with = "man")]
    pub topic: Vec<String>,
    /// Write a man page of every command into this directory.
    #[arg(long, value_name = "DIR")]
    pub man: Option<PathBuf>,
}

#[derive(ClapArgs)]
pub struct CompleteArgs {
    /// Shell that asks.
    pub shell: clap_complete::Shell,
    /// Index of the word to complete.
    pub index: usize,
    /// Words of the command line.
    #[arg(last = true)]
    pub words: Vec<OsString>,
}

#[derive(Subcommand)]
pub enum AgentsCommand {
    /// List agents with the model, tools and limits they would have here.
    List {
        /// Show agents as a run with this flag would have them (comma-separated).
        #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
        allow: Vec<String>,
    },
    /// Show one agent: origin, rights and prompt.
    Show {
        /// Agent name.
        name: String,
    },
    /// Check every key of every agent file. Fails if an agent cannot be used.
    Check {
        /// Check only these agents or files [default: all].
        #[arg(value_name = "AGENT_OR_FILE")]
        which: Vec<String>,
        /// Check agents as a run with this flag would have them (comma-separated).
        #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
        allow: Vec<String>,
    },
    /// Write a commented definition to fill in.
    New {
        /// Agent name: a-z, 0-9, `_` and `-`.
        name: String,
        /// Create it for all of your projects instead of this one.
        #[arg(long)]
        user: bool,
    },
    /// Print the JSON Schema of a definition, for editors.
    Schema,
    /// Convert an agent to another tool's format, and report what that format cannot express.
    Export {
        /// Agent name.
        name: String,
        /// Format: posse, acai, claude, opencode, gemini, copilot, codex, qwen, cursor, openhands, pi, factory or goose.
        #[arg(long, value_name = "FORMAT")]
        to: String,
        /// Write to this file instead of standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Write it even if the agent would have more rights there.
        #[arg(long)]
        force: bool,
    },
}

#[derive(ClapArgs, Clone)]
pub struct TopArgs {
    /// Show only this task and its subagents: its id or an id prefix.
    #[arg(conflicts_with = "all")]
    pub task: Option<String>,
    /// Show the tasks of all projects.
    #[arg(long)]
    pub all: bool,
}

#[derive(ClapArgs, Clone)]
pub struct TrustArgs {
    /// Trust only these agents [default: all of the project].
    #[arg(conflicts_with_all = ["revoke", "list"])]
    pub names: Vec<String>,
    /// Revoke trust.
    #[arg(long, conflicts_with = "list")]
    pub revoke: bool,
    /// List trusted projects.
    #[arg(long)]
    pub list: bool,
}

#[derive(Subcommand)]
pub enum TasksCommand {
    /// List tasks, newest first.
    List(ListArgs),
    /// Show what a task did, turn by turn, with its answer.
    Show(ShowArgs),
    /// Export the whole conversation of a task as lines of JSON, or as one HTML page.
    Export {
        /// Task id or id prefix.
        task: String,
        /// Write to this file instead of standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Include the tasks that it delegated.
        #[arg(long)]
        tree: bool,
        /// Write one HTML file that shows the task as the dashboard does, with secrets redacted.
        #[arg(long)]
        html: bool,
    },
    /// Resume a task that was interrupted or stopped early.
    Resume {
        /// Task id or id prefix.
        task: String,
        #[command(flatten)]
        more: ExtraLimits,
    },
    /// Watch a task of any process: full-screen at a terminal, else as lines until it ends, with its exit code.
    Watch {
        /// Task id or id prefix [default: the running tasks of this project].
        task: Option<String>,
    },
    /// Print the changes of a task and its subagents as a patch.
    Diff {
        /// Task id or id prefix.
        task: String,
    },
    /// Take back the file changes of a task and its subagents, except files that changed since.
    Undo {
        /// Task id or id prefix.
        task: String,
        /// Take back only this turn.
        #[arg(long, value_name = "N", conflicts_with = "last")]
        turn: Option<u32>,
        /// Take back only the changes since your last message.
        #[arg(long)]
        last: bool,
        /// Print what would be taken back, and change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Merge the changes in a task's worktree into your files. A conflict changes nothing.
    Apply {
        /// Task id or id prefix.
        task: String,
        /// Also change files that configure programs or hold secrets.
        #[arg(long)]
        protected: bool,
    },
    /// Discard the changes in a task's worktree.
    Discard {
        /// Task id or id prefix.
        task: String,
    },
    /// Cancel a task and its subagents, in any process.
    Cancel {
        /// Task id or id prefix.
        task: String,
    },
    /// Send a message to a running task, in any process; it reads the message before its next turn.
    Send {
        /// Task id or id prefix.
        task: String,
        /// Message for the task.
        message: String,
    },
    /// Answer the question that a task asks, in any process.
    Answer {
        /// Task id or id prefix.
        task: String,
        /// Answer to the question [default: show the question].
        answer: Option<String>,
    },
    /// Approve the call that a task or one of its subagents waits for; the same as `posse approvals approve`.
    Approve {
        #[command(flatten)]
        answer: AnswerArgs,
    },
    /// Delete ended tasks with everything they delegated.
    Delete {
        /// Task ids or id prefixes.
        #[arg(required = true)]
        tasks: Vec<String>,
        /// Also delete interrupted tasks, and those with unapplied changes or an uncollected result.
        #[arg(long)]
        force: bool,
    },
}

#[derive(ClapArgs)]
pub struct ShowArgs {
    /// Task id or id prefix.
    pub task: String,
    /// Print one turn as a whole: words, calls and results.
    #[arg(long, value_name = "N", conflicts_with_all = ["result", "text"])]
    pub turn: Option<u32>,
    /// Print the whole answer.
    #[arg(long, conflicts_with = "result")]
    pub text: bool,
    /// Print one result in full, such as 3.0.
    #[arg(long, value_name = "TURN.INDEX")]
    pub result: Option<String>,
}

#[derive(ClapArgs)]
pub struct GcArgs {
    /// Delete tasks that ended longer ago than this, such as 30d or 8w [default: the configuration].
    #[arg(long, value_name = "SPAN", value_parser = posse_core::spans::parse)]
    pub older_than: Option<Duration>,
    /// Print what would be deleted, and delete nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(ClapArgs)]
pub struct CostArgs {
    /// Count only the spending of this last span, such as 12h, 7d or 4w [default: everything in the store].
    #[arg(long, value_name = "SPAN", value_parser = posse_core::spans::parse)]
    pub since: Option<Duration>,
    /// Group the sums by this.
    #[arg(long, value_name = "KEY", default_value = "model")]
    pub by: CostGroup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CostGroup {
    Agent,
    Model,
    Day,
    Project,
    Task,
}

impl CostGroup {
    pub fn wire(self) -> &'static str {
        match self {
            CostGroup::Agent => "agent",
            CostGroup::Model => "model",
            CostGroup::Day => "day",
            CostGroup::Project => "project",
            CostGroup::Task => "task",
        }
    }
}

#[derive(ClapArgs)]
pub struct LeasesArgs {
    #[command(subcommand)]
    pub command: Option<LeasesCommand>,
}

#[derive(Subcommand)]
pub enum LeasesCommand {
    /// Release the lease of a task whose process is gone.
    Release {
        /// Task id or id prefix.
        task: String,
        /// Also release the lease of a running task; its writes are then refused.
        #[arg(long)]
        force: bool,
    },
}

#[derive(ClapArgs)]
pub struct ListArgs {
    /// Maximum number to show.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Show the tasks of all projects.
    #[arg(long)]
    pub all: bool,
    /// Show subagents as rows of their own.
    #[arg(long)]
    pub children: bool,
    /// Show only tasks that began in this last span, such as 12h, 7d or 4w.
    #[arg(long, value_name = "SPAN", value_parser = posse_core::spans::parse)]
    pub since: Option<Duration>,
    /// Show only tasks of this session: its id or an id prefix.
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Show only tasks with this status.
    #[arg(long, value_parser = ["queued", "running", "interrupted", "completed", "partial", "failed", "cancelled"])]
    pub status: Option<String>,
    /// Order: newest, cost (of the tree), took (longest first) or updated (last changed first).
    #[arg(long, value_name = "KEY", default_value = "newest")]
    pub sort: ListOrder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ListOrder {
    Newest,
    Cost,
    Took,
    Updated,
}

#[derive(ClapArgs)]
pub struct WorkerArgs {
    /// Work on the tasks of this machine's store.
    #[arg(long, required = true)]
    pub local: bool,
    /// Exit when no task is left to resume.
    #[arg(long)]
    pub until_idle: bool,
    /// Maximum number of tasks to drive at once, each with its children.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub jobs: u32,
    /// Resume only this task and its subagents.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Trust this project's agent files, whatever they contain; for machines without `posse trust`.
    #[arg(long)]
    pub trust: bool,
    /// Handling of calls that need approval [default: the configuration; or ask at a terminal, deny elsewhere].
    #[arg(long, value_name = "MODE")]
    pub approvals: Option<ApprovalMode>,
}

#[derive(ClapArgs)]
pub struct ServersArgs {
    #[command(subcommand)]
    pub command: Option<ServersCommand>,
}

#[derive(Subcommand)]
pub enum ServersCommand {
    /// Show one server and the full descriptions of its tools.
    Show {
        /// Server name.
        name: String,
        /// Start it now and list its tools.
        #[arg(long)]
        start: bool,
    },
    /// Accept the changes that a server made to its tools.
    Accept {
        /// Server name.
        name: String,
    },
    /// Sign in to a server that requires authorization.
    Login {
        /// Server name.
        name: String,
        /// Print the address instead of opening a browser.
        #[arg(long)]
        no_browser: bool,
        /// Read the redirect address from standard input.
        #[arg(long)]
        paste: bool,
    },
    /// Delete the stored credentials of a server.
    Logout {
        /// Server name.
        name: String,
    },
}

#[derive(Subcommand, Clone)]
pub enum McpCommand {
    /// Print the configuration that makes a host use Posse, or write it.
    Install {
        /// Host: claude-code, codex, opencode, gemini, qwen, copilot, vscode, cursor, zed, goose or cline.
        #[arg(long, value_name = "HOST", value_parser = host_names())]
        host: HostName,
        /// Write it into the host's configuration, and keep what is there.
        #[arg(long)]
        write: bool,
        /// With --write: store no key for the servers that the host starts, and do not ask.
        #[arg(long, requires = "write", conflicts_with = "store_key")]
        no_key: bool,
        /// With --write: store the key of the environment for the servers that the host starts, without asking.
        #[arg(long, requires = "write")]
        store_key: bool,
    },
    /// Start the server as a host would, with almost no environment, and report whether it works.
    Doctor,
}

fn severities() -> impl TypedValueParser<Value = FindingSeverity> {
    let mut words = FindingSeverity::ALL.map(FindingSeverity::word);
    words.reverse();
    PossibleValuesParser::new(words)
        .map(|word| FindingSeverity::read(&word).expect("the parser knows these words"))
}

fn scopes() -> impl TypedValueParser<Value = TokenScope> {
    PossibleValuesParser::new(TokenScope::ALL.map(TokenScope::wire))
        .map(|word| TokenScope::parse(&word).expect("the parser knows these words"))
}

fn host_names() -> impl TypedValueParser<Value = HostName> {
    let names = HostName::all().map(HostName::as_str);
    PossibleValuesParser::new(names).map(|name| HostName::parse(&name).expect("the parser knows these names"))
}

#[derive(ClapArgs, Clone)]
#[command(args_conflicts_with_subcommands = true)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
    /// Tools to offer: subagent, subagent_wait, subagent_result, subagent_list, shared_context, run_subagent or all
    /// (comma-separated) [default: the configuration, or all but run_subagent].
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub tools: Vec<String>,
    /// Handling of running tasks when the host disconnects [default: the configuration, or hand-over].
    #[arg(long, value_name = "ACTION")]
    pub on_exit: Option<OnExit>,
    /// Name of a separate session in this directory, apart from other hosts.
    #[arg(long, value_name = "NAME")]
    pub room: Option<String>,
    /// Serve streamable HTTP at this address instead, such as 127.0.0.1:8808.
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<std::net::SocketAddr>,
    /// Paths that tasks may write: globs below this directory, ** for all of it (comma-separated) [default: the configuration, or none].
    #[arg(long, value_name = "PATHS", value_delimiter = ',', conflicts_with = "read_only")]
    pub write: Vec<String>,
    #[command(flatten)]
    pub common: TaskFlags,
}

#[derive(ClapArgs, Clone)]
pub struct ServeArgs {
    /// Listen at this address; one beyond this machine needs `--tls-cert` or `--behind-proxy`.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7717")]
    pub listen: std::net::SocketAddr,
    /// Address in the browser, such as https://posse.example [default: the one that is listened at]. Repeatable.
    #[arg(long, value_name = "URL")]
    pub public_url: Vec<String>,
    /// Certificate chain for TLS, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key for TLS, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Trust that a proxy in front speaks TLS; needs `--public-url`.
    #[arg(long, requires = "public_url", conflicts_with = "tls_cert")]
    pub behind_proxy: bool,
    /// Print no login link.
    #[arg(long)]
    pub no_link: bool,
    /// Handling of running tasks when the server ends [default: the configuration, or hand-over].
    #[arg(long, value_name = "ACTION")]
    pub on_exit: Option<OnExit>,
    /// Paths that tasks may write: globs below this directory, ** for all of it (comma-separated) [default: the configuration, or none].
    #[arg(long, value_name = "PATHS", value_delimiter = ',', conflicts_with = "read_only")]
    pub write: Vec<String>,
    #[command(flatten)]
    pub common: TaskFlags,
}

#[derive(Subcommand)]
pub enum TokensCommand {
    /// Add a token and print it, once.
    Add {
        /// Name of the token. Answers to approvals are recorded under it.
        name: String,
        /// Right of the token: read, approve, steer or write [default: read]. Repeatable.
        #[arg(long, value_name = "SCOPE", value_parser = scopes())]
        scope: Vec<TokenScope>,
        /// Let the token expire after this time, such as 90d [default: never].
        #[arg(long, value_name = "SPAN", value_parser = seconds_up_to::<315_360_000>)]
        expires: Option<u64>,
    },
    /// List the tokens with their scopes. Their secrets are not stored.
    List,
    /// Revoke a token; its open streams end.
    Revoke {
        /// Name of the token.
        name: String,
    },
    /// Print a single-use link that logs a browser in.
    Login {
        /// Address of the server in the browser.
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:7717")]
        url: String,
        /// Right of the browser: read, approve, steer or write [default: all]. Repeatable.
        #[arg(long, value_name = "SCOPE", value_parser = scopes())]
        scope: Vec<TokenScope>,
    },
}

#[derive(Subcommand)]
pub enum ApprovalsCommand {
    /// List calls that wait for an answer.
    List {
        /// Also list the newest answered calls, this many.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        newest: Option<u32>,
    },
    /// Show one call exactly as it would be executed.
    Show {
        /// Approval id, such as a7, or the id of a task that waits for one.
        id: String,
    },
    /// Approve a call.
    Approve {
        #[command(flatten)]
        answer: AnswerArgs,
    },
    /// Deny a call. The task continues without it.
    Deny {
        #[command(flatten)]
        answer: AnswerArgs,
    },
    /// Follow approval requests; at a terminal, answer them.
    Watch,
}

#[derive(ClapArgs)]
pub struct AnswerArgs {
    /// Approval id, such as a7, or the id of a task that waits for one.
    pub id: String,
    /// Scope of the answer: this call, or every call that the same rules ask about in its task, in its task and subagents,
    /// or in the session.
    #[arg(long, default_value = "once", value_parser = ["once", "task", "subtree", "session"])]
    pub scope: String,
    /// Expire the answer after this time: seconds, or a span such as 20m or 2h.
    #[arg(long, value_name = "SPAN", value_parser = seconds_up_to::<31_536_000>)]
    pub expires: Option<u64>,
    /// Reason for the answer. The model reads it.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Answer only if the call has this hash or hash prefix, as printed by `show`.
    #[arg(long, value_name = "SHA256")]
    pub hash: Option<String>,
}

#[derive(ClapArgs)]
pub struct ContextArgs {
    /// Session id or id prefix [default: the newest session of this project].
    #[arg(long, global = true, value_name = "ID")]
    pub session: Option<String>,
    #[command(subcommand)]
    pub command: ContextCommand,
}

#[derive(Subcommand)]
pub enum ContextCommand {
    /// List keys, their writers and the space used.
    List,
    /// Print the values of these keys, or of all.
    Read {
        /// Keys.
        keys: Vec<String>,
    },
    /// Write a value as `operator`. Agents of the session see it at once.
    Write {
        /// Key: a-z, 0-9 and _.
        key: String,
        /// Text to store. `-` reads it from standard input.
        value: String,
        /// Write only if the key has this version now; 0 if it must not exist.
        #[arg(long, value_name = "VERSION")]
        expect: Option<u64>,
        /// Expire the value after this time: seconds, or a span such as 20m or 2h.
        #[arg(long, value_name = "SPAN", value_parser = seconds_up_to::<{ u64::MAX }>)]
        ttl: Option<u64>,
        /// Participants that may read it besides you and the orchestrator, such as `subagent:researcher:*` (comma-separated).
        #[arg(long, value_name = "PARTICIPANTS", value_delimiter = ',')]
        readable_by: Option<Vec<String>>,
        /// Participants that may write it besides you and the orchestrator (comma-separated).
        #[arg(long, value_name = "PARTICIPANTS", value_delimiter = ',')]
        writable_by: Option<Vec<String>>,
    },
    /// Wait until one of these keys is written or deleted; fails on timeout.
    Wait {
        /// Keys.
        #[arg(required = true)]
        keys: Vec<String>,
        /// Longest wait: seconds, or a span such as 90s or 5m [default: 60].
        #[arg(long, value_name = "SPAN", value_parser = seconds_up_to::<300>)]
        timeout: Option<u64>,
    },
    /// Delete a key. Its history stays.
    Delete {
        /// Key.
        key: String,
    },
    /// List earlier versions of a key, newest first.
    History {
        /// Key.
        key: String,
        /// Number of versions to show, at most 20.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
        versions: Option<u32>,
    },
    /// Save a snapshot of all keys under a label, or list the snapshots.
    Snapshot {
        /// Snapshot label: a-z, 0-9 and _.
        label: Option<String>,
        /// Print this snapshot.
        #[arg(long, requires = "label")]
        show: bool,
        /// Restore all keys from this snapshot.
        #[arg(long, requires = "label", conflicts_with = "show")]
        restore: bool,
    },
}

#[derive(Subcommand)]
pub enum SessionsCommand {
    /// List sessions, newest first.
    List {
        /// Maximum number to show.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
        /// Show the sessions of all projects.
        #[arg(long)]
        all: bool,
    },
    /// Make a session's shared context read-only.
    Archive {
        /// Session id or id prefix.
        session: String,
    },
    /// Delete a session's shared context, its history and its snapshots. Tasks and journals stay.
    Delete {
        /// Session id or id prefix.
        session: String,
    },
}

/// New limits for a resumed task. Earlier use counts.
#[derive(ClapArgs, Clone)]
pub struct ExtraLimits {
    /// Allow this many turns in total.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_turns: Option<u32>,
    /// Allow this time in total: seconds, or a span such as 90s, 20m or 2h.
    #[arg(long, value_name = "SPAN", value_parser = seconds_up_to::<604_800>)]
    pub timeout: Option<u64>,
    /// Spend at most this many US dollars in total.
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub max_cost: Option<f64>,
    /// Continue in this mode: plan, ask or auto [default: the mode that the task has].
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub mode: Option<WorkMode>,
    /// Handling of calls that need approval [default: the configuration; or ask at a terminal, deny elsewhere].
    #[arg(long, value_name = "MODE")]
    pub approvals: Option<ApprovalMode>,
}

#[derive(ClapArgs, Clone)]
pub struct RunArgs {
    /// Task prompt, in one or more words. `-` reads it from standard input; after the words, `-` waits for material there.
    #[arg(required = true)]
    pub task: Vec<String>,
    /// Count the task as completed only if this command then succeeds in the workspace; needs a mode with commands.
    /// Repeatable; the command may run more than once.
    #[arg(long, value_name = "COMMAND")]
    pub verify: Vec<String>,
    /// Isolation: `none` works in this directory, `worktree` in a git worktree made from the current files.
    #[arg(long, value_name = "MODE", value_parser = ["none", "worktree"])]
    pub isolation: Option<String>,
    /// Hand the task to a background worker, print its id and exit.
    #[arg(long, short, conflicts_with_all = ["record", "replay"])]
    pub detach: bool,
    #[command(flatten)]
    pub how: RunOptions,
}

#[derive(ClapArgs, Clone, Default)]
pub struct ChatArgs {
    /// Continue the last conversation of this project.
    #[arg(long = "continue", short = 'c', conflicts_with = "resume")]
    pub continues: bool,
    /// Continue an earlier conversation; without a task, choose one from a list.
    #[arg(long, value_name = "TASK", num_args = 0..=1)]
    pub resume: Option<Option<String>>,
    #[command(flatten)]
    pub how: RunOptions,
}

#[derive(ClapArgs, Clone)]
pub struct ReviewArgs {
    /// Review only these files and directories [default: the whole repository].
    pub paths: Vec<PathBuf>,
    /// Review everything since the work branched off this branch, tag or commit [default: uncommitted changes].
    #[arg(long, value_name = "REF")]
    pub base: Option<String>,
    /// Review only staged changes.
    #[arg(long, conflicts_with = "base")]
    pub staged: bool,
    /// Review one commit against its first parent.
    #[arg(long, value_name = "SHA", conflicts_with_all = ["base", "staged"])]
    pub commit: Option<String>,
    /// Print SARIF 2.1.0, for tools that show findings beside the code.
    #[arg(long, conflicts_with = "json")]
    pub sarif: bool,
    /// Write the report to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with code 4 if a finding is at least this severe.
    #[arg(long, value_name = "SEVERITY", value_parser = severities())]
    pub fail_on: Option<FindingSeverity>,
    /// Let `--fail-on` also count findings whose file or line does not exist.
    #[arg(long, requires = "fail_on")]
    pub fail_on_unplaced: bool,
    /// Model, as provider:model [default: $POSSE_MODEL, the configuration, or the provider whose key is set].
    #[arg(long, short, value_name = "PROVIDER:MODEL")]
    pub model: Option<String>,
    /// Trust this project's agent files, whatever they contain; for machines without `posse trust`.
    #[arg(long)]
    pub trust: bool,
    /// Stop after this many turns.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_turns: Option<u32>,
    /// Stop after this time: seconds, or a span such as 90s, 20m or 2h.
    #[arg(long, value_name = "SPAN", value_parser = seconds_up_to::<86_400>)]
    pub timeout: Option<u64>,
    /// Spend at most this many US dollars, for models whose price is known.
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub max_cost: Option<f64>,
    /// Reasoning effort: low, medium, high or max [default: the configuration, or the provider's default].
    #[arg(long, value_name = "LEVEL", value_parser = effort)]
    pub effort: Option<Effort>,
}

impl ReviewArgs {
    pub fn scope(&self) -> ChangeScope {
        match (&self.commit, &self.base, self.staged) {
            (Some(commit), _, _) => ChangeScope::Commit(commit.clone()),
            (None, Some(base), _) => ChangeScope::Since(base.clone()),
            (None, None, true) => ChangeScope::Staged,
            (None, None, false) => ChangeScope::Uncommitted,
        }
    }

    /// Builds the options of the run: read-only.
    pub fn how(&self) -> RunOptions {
        let (model, trust, max_cost) = (self.model.clone(), self.trust, self.max_cost);
        let common = TaskFlags { model, trust, max_cost, read_only: true, ..TaskFlags::default() };
        let (max_turns, timeout, effort) = (self.max_turns, self.timeout, self.effort);
        RunOptions { common, max_turns, timeout, effort, ..RunOptions::default() }
    }
}
