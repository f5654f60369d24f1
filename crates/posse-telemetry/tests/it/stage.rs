//! A session with a scripted model, and a marker in every confidential text.

use std::sync::Arc;

use posse_core::Result;
use posse_core::agent::Agent;
use posse_core::definition::{Definition, DefinitionOrigin, DefinitionScope, Format};
use posse_core::grant::{Grant, Rights};
use posse_core::id::AgentName;
use posse_core::limits::Limits;
use posse_core::outcome::Outcome;
use posse_models::scripted::ScriptedModel;
use posse_runtime::budget::ModelTariff;
use posse_runtime::observe::Observers;
use posse_runtime::ports::{ModelResolver, Observer, OpenModel};
use posse_runtime::session::{SessionBuilder, SessionPlace, SessionPolicy, SessionSources, SessionWatchers};
use posse_runtime::toolbox::Toolbox;
use posse_testkit::memory::MemoryStore;

/// A whole delegation. Every confidential text in it contains `SECRET`.
pub const DELEGATION: &str = r#"
boss:
  - text: SECRET plan
    calls: [{shared_context: {action: write, key: plan, value: SECRET value}}]
  - calls: [{subagent: {action: spawn, agent: helper, task: SECRET child task}}]
  - calls: [{subagent: {action: status, task_id: t_01}}]
    repeat_until: '"completed"'
    delay_ms: 1000
  - calls: [{subagent: {action: collect, task_id: t_01}}, {subagent: {action: collect, task_id: t_09}}]
  - calls: [{shared_context: {action: delete, key: plan}}, {"SECRET tool": {}}]
  - text: SECRET answer
helper:
  - calls: [{shared_context: {action: write, key: found, value: SECRET gold}}]
    delay_ms: 1500
  - text: SECRET result
"#;

struct Script(&'static str);

impl ModelResolver for Script {
    fn open(&self, agent: &Agent) -> Result<OpenModel> {
        let model = ScriptedModel::parse("scripted:test", self.0, Some(agent.name.as_str()))?;
        Ok(OpenModel { model: Arc::new(model), tariff: ModelTariff::default() })
    }
}

/// Runs a script with `boss` as the orchestrator, which may delegate to `helper`.
pub async fn play(
    script: &'static str,
    limits: Limits,
    watchers: Vec<Arc<dyn Observer>>,
) -> (Arc<Outcome>, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new());
    let origin = DefinitionOrigin {
        path: String::new(),
        format: Format::Native,
        scope: DefinitionScope::User,
        hash: String::new(),
    };
    let name = |name: &str| AgentName::parse(name).unwrap();
    let prompt = "SECRET prompt of the helper".to_owned();
    let mut helper = Definition::new(name("helper"), origin, "helps".to_owned(), prompt);
    helper.rights = Rights::only(["shared_context"]);
    let session = SessionBuilder {
        id: "s1".to_owned(),
        sources: SessionSources {
            owner: "test".to_owned(),
            lives: |_| false,
            store: store.clone(),
            models: Arc::new(Script(script)),
            agents: Arc::new(vec![Arc::new(helper)]),
        },
        policy: SessionPolicy::new(Grant::root(["subagent", "shared_context"].map(str::to_owned), 1)),
        place: SessionPlace::new("/somewhere", Toolbox::default()),
        watchers: SessionWatchers { observers: Observers::new(watchers), ..SessionWatchers::default() },
    }
    .build()
    .unwrap();
    let boss = Agent { limits, ..Agent::new(name("boss"), "scripted:test", "SECRET prompt") };
    let outcome = session.run(boss, "SECRET task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    (outcome, store)
}
