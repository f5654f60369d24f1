//! An agent with two specialists that are tools of its own. Runs without a key: the model plays a script.
//!
//!     cargo run -p posse --example subagents

use std::sync::Arc;

use posse::budget::{ModelTariff, TaskAccount};
use posse::core::agent::Agent;
use posse::core::budget::BudgetCaps;
use posse::core::event::Event;
use posse::core::grant::Grant;
use posse::core::id::{AgentName, TaskId};
use posse::core::journal::TaskStart;
use posse::core::outcome::OutcomeStatus;
use posse::driver::{DriverPorts, StopTokens, start};
use posse::inbox::TaskInbox;
use posse::models::scripted::ScriptedModel;
use posse::observe::{Observers, TraceEvent};
use posse::ports::{Model, OpenModel, Tool};
use posse::sandbox::workspace::Workspace;
use posse::store::SqliteStore;
use posse::toolbox::Toolbox;
use posse::tools::skill::SkillCatalog;
use posse::{SubAgent, Thinking};

const SCRIPT: &str = r#"
lead:
  - text: I will let a specialist look first.
    calls: [{research: {prompt: "Which file says what this project is? Return its name and its first line."}}]
  - calls: [{writer: {prompt: "Turn this into one sentence: {result:0}"}}]
  - text: "{result:0}"
research:
  - calls: [{ls: {path: "."}}]
  - calls: [{write: {path: notes.md, content: "x"}}]
  - text: It is README.md; it says that the project is called Posse. I was not allowed to write notes.
writer:
  - text: The project is Posse, as README.md says.
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let model = |role: &str| -> posse::Result<Arc<dyn Model>> {
        Ok(Arc::new(ScriptedModel::parse("scripted:example", SCRIPT, Some(role))?))
    };
    // Only looks: it needs no hook.
    let research = SubAgent::new(model("research")?)
        .name("research")
        .description(
            "Finds things out about this project and returns them with their sources. Changes nothing.",
        )
        .system("You find things out. Report what you saw, with file names.")
        .tools_allow(["ls", "read", "grep"])
        .max_turns(20)
        .thinking(Thinking::Budget(2_048));
    // Could change something: everything it does is shown.
    let writer = SubAgent::new(model("writer")?)
        .name("writer")
        .description("Writes short texts from what it is given.")
        .max_tokens(1_024)
        .trace_hook(|trace| {
            if let TraceEvent::Event(Event::Finished { turns, .. }) = trace {
                eprintln!("writer: done after {turns} turns");
            }
        });
    let workspace = Workspace::open(&std::env::current_dir()?)?;
    let (skills, _) = SkillCatalog::load(&workspace, &[], posse::definitions::matter);
    let mut tools: Vec<Arc<dyn Tool>> = posse::tools::files::toolset(workspace, skills);
    tools.push(Arc::new(research));
    tools.push(Arc::new(writer));
    let tools = Toolbox::new(tools)?;

    let lead =
        Agent::new(AgentName::parse("lead")?, "scripted:example", "You answer with the help of specialists.");
    // Agents of agents of agents, and no deeper.
    let grant = Grant::root(tools.names().map(str::to_owned).collect::<Vec<_>>(), 3);
    // A program would keep its tasks; this one is only to be looked at.
    let state = std::env::temp_dir().join(format!("posse-subagents-{}", std::process::id()));
    let ports = DriverPorts {
        model: OpenModel { model: model("lead")?, tariff: ModelTariff::default() },
        tools,
        store: Arc::new(SqliteStore::open(state.join("posse.db"))?),
        observers: Observers::default(),
        budget: Arc::new(TaskAccount::root(BudgetCaps::default())),
        stop: StopTokens::default(),
        inbox: TaskInbox::default(),
        verifier: None,
        holders: Default::default(),
        worktrees: None,
    };
    let task = TaskStart::new(lead, "What is this project?", grant);
    let outcome = start(&ports, TaskId::root("example"), None, "example".to_owned(), task).await?;
    drop(ports);
    std::fs::remove_dir_all(&state)?;
    eprintln!("{}", outcome.text);
    if outcome.status() == OutcomeStatus::Completed {
        Ok(())
    } else {
        Err("the task did not complete".into())
    }
}
