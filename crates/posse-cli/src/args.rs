//! The command line. Help texts are product text.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand};
use posse_core::agent::Effort;
use posse_messages::say;

use crate::commands::review::ReviewScope;
use crate::commands::review::findings::FindingSeverity;
use crate::config::{ApprovalMode, OnExit};

/// Delegate tasks to agents on any model: inside a budget, visible while they run, not lost when a process dies.
#[derive(Parser)]
#[command(name = "posse", version, propagate_version = true, disable_help_subcommand = true)]
pub struct CliArgs {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: CliCommand,
}

#[derive(ClapArgs, Clone)]
pub struct GlobalArgs {
    /// Read this configuration instead of the user's and the project's.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Keep tasks in this directory [default: $POSSE_STATE, or posse in the user's state directory].
    #[arg(long, global = true, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Machine-readable output: one JSON object per line.
    #[arg(long, global = true)]
    pub json: bool,
    /// Speak this language: en, de, es, fr, ja or zh [default: $POSSE_LANG, or the locale of the system].
    #[arg(long, global = true, value_name = "LANG")]
    pub lang: Option<String>,
    /// Write what happens to this log, one JSON object per line, without prompts and results [default: the configuration].
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Also log tasks, prompts, arguments and results in full.
    #[arg(long, global = true)]
    pub debug_payloads: bool,
}

#[derive(Subcommand)]
pub enum CliCommand {
    /// Do a task: the orchestrator works on it and delegates where that helps.
    Run(RunArgs),
    /// Talk with an agent; every message goes on with the same conversation.
    Chat(ChatArgs),
    /// Review the changes of this git work tree, or of a branch, and print what is wrong with them.
    Review(ReviewArgs),
    /// Watch a whole delegation with a scripted model: no key, no network.
    Demo,
    /// Write a posse.toml and an example of an agent into this directory.
    Init,
    /// Say what is configured, which keys are seen, which confinement is in force, and whether the store is sound.
    Doctor,
    /// The agents there are, of every tool that is used here.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Let the agents of this project run: what their files say now, not what they may say later.
    Trust(TrustArgs),
    /// Tasks of the past and the present.
    #[command(subcommand)]
    Tasks(TasksCommand),
    /// What tasks have cost, subagents included.
    Cost(CostArgs),
    /// Delete old tasks and give their space back; without a flag, apply `max_age` and `max_size` of `[store]`.
    Gc(GcArgs),
    /// Who may write where: the write leases of running tasks.
    Leases(LeasesArgs),
    /// Go on with tasks whose process is gone: interrupted ones, and those that were detached.
    Worker(WorkerArgs),
    /// MCP servers that agents may use here: how each is started and held, and what it changed.
    Servers(ServersArgs),
    /// Give any host that speaks the Model Context Protocol subagents: a server for standard input and output, or for HTTP.
    Mcp(McpArgs),
    /// Calls that wait for your yes, in whatever process: look at them and answer.
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// What the participants of a session share: look at it and change it.
    Context(ContextArgs),
    /// Sessions, and the end of their shared context.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Print a completion script for a shell.
    Completions {
        /// The shell to complete for.
        shell: clap_complete::Shell,
    },
}

#[derive(Subcommand)]
pub enum AgentsCommand {
    /// Every agent with the model, tools and limits it would have here.
    List {
        /// As a run with this flag would have them (comma-separated).
        #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
        allow: Vec<String>,
    },
    /// One agent: where it comes from, what it may do, and its prompt.
    Show {
        /// The agent's name.
        name: String,
    },
    /// What became of every key of every file, and what is wrong with it. Fails if an agent cannot be used.
    Check {
        /// Only these agents or files [default: all].
        which: Vec<String>,
        /// As a run with this flag would have them (comma-separated).
        #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
        allow: Vec<String>,
    },
    /// Write a commented definition to fill in.
    New {
        /// The agent's name: a-z, 0-9, `_` and `-`.
        name: String,
        /// For all of your projects instead of this one.
        #[arg(long)]
        user: bool,
    },
    /// Print the JSON Schema of a definition, for editors.
    Schema,
    /// Write an agent in another tool's format, and say what that format cannot express.
    Export {
        /// The agent's name.
        name: String,
        /// The format: posse, acai, claude, opencode, gemini, copilot, codex, qwen, cursor, openhands, pi, factory or goose.
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
pub struct TrustArgs {
    /// Only these agents [default: all of the project].
    #[arg(conflicts_with_all = ["revoke", "list"])]
    pub names: Vec<String>,
    /// Take it back.
    #[arg(long, conflicts_with = "list")]
    pub revoke: bool,
    /// Show the projects that are trusted.
    #[arg(long)]
    pub list: bool,
}

#[derive(Subcommand)]
pub enum TasksCommand {
    /// The newest tasks first.
    List(ListArgs),
    /// One task: what happened, turn by turn, and its answer.
    Show {
        /// The task's id, or the beginning of it.
        task: String,
        /// Print one result in full, such as 3.0.
        #[arg(long, value_name = "TURN.INDEX")]
        result: Option<String>,
    },
    /// Write the whole conversation of a task, one JSON object per line.
    Export {
        /// The task's id, or the beginning of it.
        task: String,
        /// Write to this file instead of standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// With the tasks that it delegated.
        #[arg(long)]
        tree: bool,
    },
    /// Go on with a task that was interrupted or stopped early.
    Resume {
        /// The task's id, or the beginning of it.
        task: String,
        #[command(flatten)]
        more: ExtraLimits,
    },
    /// Follow a task that another process drives, until it has ended; ends as the task does.
    Watch {
        /// The task's id, or the beginning of it.
        task: String,
    },
    /// Print what a task and those below it changed, as a patch.
    Diff {
        /// The task's id, or the beginning of it.
        task: String,
    },
    /// Merge what a task changed in its own worktree into your files. With a conflict nothing is changed.
    Apply {
        /// The task's id, or the beginning of it.
        task: String,
        /// Also change files that configure programs or hold secrets.
        #[arg(long)]
        protected: bool,
    },
    /// Remove what a task changed in its own worktree.
    Discard {
        /// The task's id, or the beginning of it.
        task: String,
    },
    /// End a task and what it delegated, whoever drives it.
    Cancel {
        /// The task's id, or the beginning of it.
        task: String,
    },
    /// Delete tasks that have ended, each with everything it delegated.
    Delete {
        /// Their ids, or the beginnings of them.
        #[arg(required = true)]
        tasks: Vec<String>,
        /// Also interrupted ones, and those with changes not applied or a result not collected.
        #[arg(long)]
        force: bool,
    },
}

#[derive(ClapArgs)]
pub struct GcArgs {
    /// Delete tasks that ended longer ago than this, such as 30d or 8w [default: the configuration].
    #[arg(long, value_name = "SPAN", value_parser = crate::spans::parse)]
    pub older_than: Option<Duration>,
    /// Only say what would be deleted.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(ClapArgs)]
pub struct CostArgs {
    /// Only what was spent in this span until now, such as 12h, 7d or 4w [default: everything in the store].
    #[arg(long, value_name = "SPAN", value_parser = crate::spans::parse)]
    pub since: Option<Duration>,
    /// What to sum by.
    #[arg(long, value_name = "WHAT", default_value = "model")]
    pub by: CostGroup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CostGroup {
    Agent,
    Model,
    Day,
    Project,
}

impl CostGroup {
    pub fn wire(self) -> &'static str {
        match self {
            CostGroup::Agent => "agent",
            CostGroup::Model => "model",
            CostGroup::Day => "day",
            CostGroup::Project => "project",
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
    /// Take the lease of a task whose process is gone.
    Release {
        /// The task's id, or the beginning of it.
        task: String,
        /// Also from a task that is at work; its writes are refused then.
        #[arg(long)]
        force: bool,
    },
}

#[derive(ClapArgs)]
pub struct ListArgs {
    /// How many to show.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Only those of this session: its id, or the beginning of it.
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only those that are so.
    #[arg(long, value_parser = ["running", "interrupted", "completed", "partial", "failed", "cancelled"])]
    pub status: Option<String>,
}

#[derive(ClapArgs)]
pub struct WorkerArgs {
    /// Work on the tasks of this machine's store.
    #[arg(long, required = true)]
    pub local: bool,
    /// End when nothing is left to go on with.
    #[arg(long)]
    pub until_idle: bool,
    /// How many tasks to go on with at once, each with its children.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub jobs: u32,
    /// Resume only this task, with what it delegated.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Let the agents of this project run, whatever their files say: for machines that have no `posse trust`.
    #[arg(long)]
    pub trust: bool,
    /// What happens with calls that you have to be asked about [default: the configuration; or ask at a terminal, deny elsewhere].
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
    /// One server, with all that it says about its tools.
    Show {
        /// The server's name.
        name: String,
        /// Start it now and ask for its tools.
        #[arg(long)]
        start: bool,
    },
    /// Say yes to what a server changed about its tools.
    Accept {
        /// The server's name.
        name: String,
    },
    /// Sign in to a server that wants to know who asks.
    Login {
        /// The server's name.
        name: String,
        /// Print the address and open no browser.
        #[arg(long)]
        no_browser: bool,
        /// Read the address that the browser was sent back to from standard input.
        #[arg(long)]
        paste: bool,
    },
    /// Forget what a server was told about who asks.
    Logout {
        /// The server's name.
        name: String,
    },
}

#[derive(Subcommand, Clone)]
pub enum McpCommand {
    /// Print how a host is told to use Posse, or write that into its configuration.
    Install {
        /// The host: claude-code, codex, opencode, gemini, qwen, copilot, vscode, cursor, zed, goose or cline.
        #[arg(long, value_name = "HOST")]
        host: HostName,
        /// Write it, and keep what is there.
        #[arg(long)]
        write: bool,
        /// With --write: store no key for the servers that the host starts.
        #[arg(long, requires = "write")]
        no_key: bool,
    },
    /// Start the server as a host would, with almost no environment, and say whether it can be used.
    Doctor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum HostName {
    ClaudeCode,
    Codex,
    Opencode,
    Gemini,
    Qwen,
    Copilot,
    Vscode,
    Cursor,
    Zed,
    Goose,
    Cline,
}

#[derive(ClapArgs, Clone)]
#[command(args_conflicts_with_subcommands = true)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
    /// The tools to offer: subagent, subagent_wait, subagent_result, subagent_list, shared_context, run_subagent or all (comma-separated) [default: the configuration, or all but run_subagent].
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub tools: Vec<String>,
    /// What becomes of tasks that are at work when the host goes away [default: the configuration, or hand-over].
    #[arg(long, value_name = "WHAT")]
    pub on_exit: Option<OnExit>,
    /// A room of its own in this directory, apart from that of other hosts.
    #[arg(long, value_name = "NAME")]
    pub room: Option<String>,
    /// Serve streamable HTTP at this address instead, such as 127.0.0.1:8808.
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<std::net::SocketAddr>,
    /// Where tasks may write: globs below this directory, ** for all of it (comma-separated) [default: the configuration, or nowhere].
    #[arg(long, value_name = "PATHS", value_delimiter = ',', conflicts_with = "read_only")]
    pub write: Vec<String>,
    #[command(flatten)]
    pub common: TaskFlags,
}

#[derive(Subcommand)]
pub enum ApprovalsCommand {
    /// What waits for an answer.
    List {
        /// Also what was answered, the newest so many.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        newest: Option<u32>,
    },
    /// One call, whole: exactly what would be executed.
    Show {
        /// Its id, such as a7.
        id: String,
    },
    /// Say yes.
    Approve {
        #[command(flatten)]
        answer: AnswerArgs,
    },
    /// Say no. The task goes on without the call.
    Deny {
        #[command(flatten)]
        answer: AnswerArgs,
    },
    /// Follow what is asked; at a terminal, answer it.
    Watch,
}

#[derive(ClapArgs)]
pub struct AnswerArgs {
    /// Its id, such as a7.
    pub id: String,
    /// How far the answer reaches: this call, or what the same rules ask about in its task, in its task and those below it, or
    /// in the session.
    #[arg(long, default_value = "once", value_parser = ["once", "task", "subtree", "session"])]
    pub scope: String,
    /// Forget the answer after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub expires: Option<u64>,
    /// Why. The model reads it.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Only if the call has this hash, or one that begins so, as `show` prints it.
    #[arg(long, value_name = "SHA256")]
    pub hash: Option<String>,
}

#[derive(ClapArgs)]
pub struct ContextArgs {
    /// The session's id, or the beginning of it [default: the newest session of this project].
    #[arg(long, global = true, value_name = "ID")]
    pub session: Option<String>,
    #[command(subcommand)]
    pub command: ContextCommand,
}

#[derive(Subcommand)]
pub enum ContextCommand {
    /// The keys, who wrote them, and how much room is used.
    List,
    /// Print the values of these keys, or of all.
    Read {
        /// The keys.
        keys: Vec<String>,
    },
    /// Write a value, as `operator`. Agents of the session see it at once.
    Write {
        /// The key: a-z, 0-9 and _.
        key: String,
        /// The text to keep. `-` reads it from standard input.
        value: String,
        /// Only if the key has this version now; 0 if it must not exist.
        #[arg(long, value_name = "VERSION")]
        expect: Option<u64>,
        /// Forget the value after this many seconds.
        #[arg(long, value_name = "SECONDS")]
        ttl: Option<u64>,
        /// Who may read it besides you and the orchestrator, such as `subagent:researcher:*` (comma-separated).
        #[arg(long, value_name = "WHO", value_delimiter = ',')]
        readable_by: Option<Vec<String>>,
        /// Who may write it besides you and the orchestrator (comma-separated).
        #[arg(long, value_name = "WHO", value_delimiter = ',')]
        writable_by: Option<Vec<String>>,
    },
    /// Wait until one of these keys is written or deleted; fails if that does not happen in time.
    Wait {
        /// The keys.
        #[arg(required = true)]
        keys: Vec<String>,
        /// For how long [default: 60].
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=300))]
        timeout: Option<u64>,
    },
    /// Delete a key. Its history stays.
    Delete {
        /// The key.
        key: String,
    },
    /// What a key was before, newest first.
    History {
        /// The key.
        key: String,
        /// How many versions to show, at most 20.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
        versions: Option<u32>,
    },
    /// Keep a copy of everything under a label, or list the copies there are.
    Snapshot {
        /// The copy's label: a-z, 0-9 and _.
        label: Option<String>,
        /// Print what is in this copy.
        #[arg(long, requires = "label")]
        show: bool,
        /// Make everything as it was in this copy.
        #[arg(long, requires = "label", conflicts_with = "show")]
        restore: bool,
    },
}

#[derive(Subcommand)]
pub enum SessionsCommand {
    /// The newest sessions first.
    List {
        /// How many to show.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Make a session's shared context read-only.
    Archive {
        /// The session's id, or the beginning of it.
        session: String,
    },
    /// Delete a session's shared context, its history and its snapshots. Tasks and journals stay.
    Delete {
        /// The session's id, or the beginning of it.
        session: String,
    },
}

/// What a task that goes on may use, with what it used before counted in.
#[derive(ClapArgs, Clone)]
pub struct ExtraLimits {
    /// Allow this many turns in all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_turns: Option<u32>,
    /// Allow this many seconds in all.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub timeout: Option<u64>,
    /// Spend at most this many US dollars in all.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,
}

#[derive(ClapArgs, Clone)]
pub struct RunArgs {
    /// What to do, in one or more words. `-` reads it from standard input; after the words, `-` waits for material there.
    #[arg(required = true)]
    pub task: Vec<String>,
    /// Count the task as done only if this command succeeds in the workspace afterwards; needs `--allow bash`. It can be
    /// given several times, and may be run more than once.
    #[arg(long, value_name = "COMMAND")]
    pub verify: Vec<String>,
    /// Where to work: in this directory, or in a git worktree of its own, made of the files as they are now.
    #[arg(long, value_name = "HOW", value_parser = ["none", "worktree"])]
    pub isolation: Option<String>,
    /// Hand the task to a background worker, print its id and return.
    #[arg(long, short, conflicts_with_all = ["record", "replay"])]
    pub detach: bool,
    #[command(flatten)]
    pub how: RunOptions,
}

#[derive(ClapArgs, Clone)]
pub struct ChatArgs {
    /// Go on with an earlier conversation.
    #[arg(long, value_name = "TASK")]
    pub resume: Option<String>,
    #[command(flatten)]
    pub how: RunOptions,
}

#[derive(ClapArgs, Clone)]
pub struct ReviewArgs {
    /// Only these files and directories [default: the whole repository].
    pub paths: Vec<PathBuf>,
    /// Everything since the work branched off this branch, tag or commit [default: what is not committed].
    #[arg(long, value_name = "REF")]
    pub base: Option<String>,
    /// Only what is staged for the next commit.
    #[arg(long, conflicts_with = "base")]
    pub staged: bool,
    /// One commit, compared with its first parent.
    #[arg(long, value_name = "SHA", conflicts_with_all = ["base", "staged"])]
    pub commit: Option<String>,
    /// Print SARIF 2.1.0, for tools that show findings beside the code.
    #[arg(long, conflicts_with = "json")]
    pub sarif: bool,
    /// Write the report to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// End with code 4 if there is a finding as grave as this, or graver.
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<FindingSeverity>,
    /// Let `--fail-on` count findings whose file or line does not exist, too.
    #[arg(long, requires = "fail_on")]
    pub fail_on_unplaced: bool,
    /// The model, as provider:model [default: $POSSE_MODEL, the configuration, or the provider whose key is set].
    #[arg(long, short, value_name = "PROVIDER:MODEL")]
    pub model: Option<String>,
    /// Let the agents of this project run, whatever their files say: for machines that have no `posse trust`.
    #[arg(long)]
    pub trust: bool,
    /// Stop after this many turns.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_turns: Option<u32>,
    /// Stop after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
    /// Spend at most this many US dollars, for models whose price is known.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// How hard the model should think: low, medium, high or max [default: the configuration, or as the provider likes].
    #[arg(long, value_name = "LEVEL", value_parser = effort)]
    pub effort: Option<Effort>,
}

impl ReviewArgs {
    pub fn scope(&self) -> ReviewScope {
        match (&self.commit, &self.base, self.staged) {
            (Some(commit), _, _) => ReviewScope::Commit(commit.clone()),
            (None, Some(base), _) => ReviewScope::Since(base.clone()),
            (None, None, true) => ReviewScope::Staged,
            (None, None, false) => ReviewScope::Uncommitted,
        }
    }

    /// Nothing is allowed that changes something.
    pub fn how(&self) -> RunOptions {
        let (model, trust, max_cost) = (self.model.clone(), self.trust, self.max_cost);
        let common = TaskFlags { model, trust, max_cost, read_only: true, ..TaskFlags::default() };
        let (max_turns, timeout, effort) = (self.max_turns, self.timeout, self.effort);
        RunOptions { common, max_turns, timeout, effort, ..RunOptions::default() }
    }
}

/// What can be said about tasks at every door.
#[derive(ClapArgs, Clone, Default)]
pub struct TaskFlags {
    /// The model, as provider:model [default: $POSSE_MODEL, the configuration, or the provider whose key is set].
    #[arg(long, short, value_name = "PROVIDER:MODEL")]
    pub model: Option<String>,
    /// Let the agents of this project run, whatever their files say: for machines that have no `posse trust`.
    #[arg(long)]
    pub trust: bool,
    /// Also allow these tools, such as bash (comma-separated).
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// Only tools that change nothing.
    #[arg(long, conflicts_with = "allow")]
    pub read_only: bool,
    /// What happens with calls that you have to be asked about [default: the configuration; or ask at a terminal, deny elsewhere].
    #[arg(long, value_name = "MODE")]
    pub approvals: Option<ApprovalMode>,
    /// Spend at most this many US dollars, for models whose price is known.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,
}

#[derive(ClapArgs, Clone, Default)]
pub struct RunOptions {
    #[command(flatten)]
    pub common: TaskFlags,
    /// Let this agent do the task itself instead of the orchestrator.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Stop after this many turns, with a report of what was done.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_turns: Option<u32>,
    /// Stop after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
    /// How hard the model should think: low, medium, high or max [default: the configuration, or as the provider likes].
    #[arg(long, value_name = "LEVEL", value_parser = effort)]
    pub effort: Option<Effort>,
    /// Ask for whole replies instead of streams.
    #[arg(long)]
    pub no_stream: bool,
    /// Write every exchange with the model to this file.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Answer from a recording instead of a model.
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
}

impl From<TaskFlags> for RunOptions {
    fn from(common: TaskFlags) -> Self {
        Self { common, ..Self::default() }
    }
}

fn effort(raw: &str) -> Result<Effort, String> {
    let all = [Effort::Low, Effort::Medium, Effort::High, Effort::Max];
    let found = all.into_iter().find(|effort| effort.wire() == raw);
    found.ok_or_else(|| say!("effort-invalid"))
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(usd) if usd.is_finite() && usd > 0.0 => Ok(usd),
        Ok(_) | Err(_) => Err(say!("dollars-invalid")),
    }
}
