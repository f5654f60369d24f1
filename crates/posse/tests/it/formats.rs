//! The six things that people set in an agent's file, in every format: name, description, tools, model, effort and what it
//! may change. Each file is read, its agent is spawned, and what the model was sent and what was refused is looked at.

use std::sync::{Arc, Mutex};

use posse::budget::ModelTariff;
use posse::core::agent::{Agent, Effort as Thinking};
use posse::core::definition::{Definition, DefinitionScope, Format};
use posse::core::grant::Grant;
use posse::core::id::{AgentName, TaskId};
use posse::core::journal::Record;
use posse::core::message::ToolResult;
use posse::core::outcome::OutcomeStatus;
use posse::core::reply::{ModelFailure, Reply};
use posse::core::tool::{ToolEffect, ToolSpec};
use posse::definitions::{DefinitionFile, read};
use posse::models::scripted::ScriptedModel;
use posse::ports::{
    BoxFuture, DeltaSink, JournalStore, Model, ModelRequest, ModelResolver, OpenModel, Tool, ToolInput,
    ToolOutput,
};
use posse::session::{SessionBuilder, SessionPlace, SessionPolicy, SessionSources, SessionWatchers};
use posse::toolbox::Toolbox;
use posse::{Error, ErrorCode, Result};
use posse_testkit::memory::MemoryStore;

/// A file and what must come of it.
struct Case {
    format: Format,
    relative: &'static str,
    text: &'static str,
    /// The name, the model it runs on, and its effort.
    expected: (&'static str, &'static str, Option<Thinking>),
    /// What the model is offered, in the order of names.
    offered: &'static [&'static str],
    /// Calls, as the script writes them, that must be refused; the others of `TRIED` must run.
    refused: &'static [&'static str],
}

/// Calls that every agent tries.
const TRIED: &[&str] =
    &["{read: {path: a}}", "{write: {path: a}}", "{bash: {command: git log}}", "{bash: {command: rm a}}"];
const WRITE: &str = TRIED[1];
const GIT: &str = TRIED[2];
const RM: &str = TRIED[3];

const CASES: &[Case] = &[
    Case {
        format: Format::Native,
        relative: "auditor.md",
        text: "---\nname: auditor\ndescription: Looks for holes\ntools: Read, Bash(git *), Write\nmodel: openai:gpt-5\neffort: high\naccess: read-only\n---\nYou look.",
        expected: ("auditor", "openai:gpt-5", Some(Thinking::High)),
        offered: &["read"],
        refused: &[WRITE, GIT, RM],
    },
    Case {
        format: Format::Acai,
        relative: "auditor.md",
        text: "---\nname: auditor\ndescription: Looks for holes\ntools: Read, Bash\nmodel: openai:gpt-4o # the cheap one\n---\nYou look.",
        expected: ("auditor", "openai:gpt-4o", None),
        offered: &["bash", "read"],
        refused: &[WRITE],
    },
    Case {
        format: Format::Claude,
        relative: "any/file.md",
        text: "---\nname: auditor\ndescription: Looks for holes\ntools: Read, Bash(git *), Write\ndisallowedTools: Write\nmodel: sonnet\neffort: xhigh\n---\nYou look.",
        expected: ("auditor", "sonnet", Some(Thinking::Max)),
        offered: &["bash", "read"],
        refused: &[WRITE, RM],
    },
    Case {
        format: Format::Claude,
        relative: "planner.md",
        text: "---\nname: planner\ndescription: Looks for holes\nmodel: inherit\npermissionMode: plan\n---\nYou look.",
        expected: ("planner", "test:parent", None),
        offered: &["grep", "read"],
        refused: &[WRITE, GIT, RM],
    },
    Case {
        format: Format::Opencode,
        relative: "auditor.md",
        text: "---\ndescription: Looks for holes\nmode: subagent\nmodel: openai/gpt-5\nreasoningEffort: low\npermission:\n  edit: deny\n  bash:\n    \"*\": deny\n    \"git *\": allow\n---\nYou look.",
        expected: ("auditor", "openai:gpt-5", Some(Thinking::Low)),
        offered: &["bash", "grep", "read"],
        refused: &[WRITE, RM],
    },
    Case {
        format: Format::Gemini,
        relative: "auditor.md",
        text: "---\nkind: local\nname: auditor\ndescription: Looks for holes\ntools: [read_file, run_shell_command]\nmodel: gemini-2.5-pro\n---\nYou look.",
        expected: ("auditor", "gemini-2.5-pro", None),
        offered: &["bash", "read"],
        refused: &[WRITE],
    },
    Case {
        format: Format::Copilot,
        relative: "auditor.agent.md",
        text: "---\ndescription: Looks for holes\ntools: ['read', 'search']\nmodel: [\"Claude Sonnet 4.5 (copilot)\", gpt-5]\n---\nYou look.",
        expected: ("auditor", "claude-sonnet-4-5", None),
        offered: &["grep", "read"],
        refused: &[WRITE, GIT, RM],
    },
    Case {
        format: Format::Codex,
        relative: "auditor.toml",
        text: "name = \"auditor\"\ndescription = \"Looks for holes\"\ndeveloper_instructions = \"You look.\"\nmodel = \"gpt-5.1-codex\"\nmodel_reasoning_effort = \"medium\"\nsandbox_mode = \"read-only\"\n",
        expected: ("auditor", "openai-responses:gpt-5.1-codex", Some(Thinking::Medium)),
        offered: &["grep", "read"],
        refused: &[WRITE, GIT, RM],
    },
    Case {
        format: Format::Qwen,
        relative: "auditor.md",
        text: "---\nname: auditor\ndescription: Looks for holes\ntools: [read_file, write_file]\ndisallowedTools: [write_file]\nmodel: inherit\n---\nYou look.",
        expected: ("auditor", "test:parent", None),
        offered: &["read"],
        refused: &[WRITE, GIT, RM],
    },
    Case {
        format: Format::Cursor,
        relative: "auditor.md",
        text: "---\nname: auditor\ndescription: Looks for holes\nmodel: inherit\nreadonly: true\n---\nYou look.",
        expected: ("auditor", "test:parent", None),
        offered: &["grep", "read"],
        refused: &[WRITE, GIT, RM],
    },
    Case {
        format: Format::OpenHands,
        relative: "auditor.md",
        text: "---\nname: auditor\ndescription: Looks for holes\nmodel: claude-sonnet-4-5\ntools: [read, bash]\n---\nYou look.",
        expected: ("auditor", "claude-sonnet-4-5", None),
        offered: &["bash", "read"],
        refused: &[WRITE],
    },
    Case {
        format: Format::Pi,
        relative: "auditor.md",
        text: "---\nname: auditor\ndescription: Looks for holes\ntools: read, grep\nmodel: anthropic/claude-haiku-4-5\nfallbackModels: openai/gpt-5\nthinking: high\n---\nYou look.",
        expected: ("auditor", "anthropic:claude-haiku-4-5", Some(Thinking::High)),
        offered: &["grep", "read"],
        refused: &[WRITE, GIT, RM],
    },
    Case {
        format: Format::Factory,
        relative: "auditor.md",
        text: "---\nname: auditor\ndescription: Looks for holes\nmodel: inherit\ntools: [Read, Grep]\n---\nYou look.",
        expected: ("auditor", "test:parent", None),
        offered: &["grep", "read"],
        refused: &[WRITE, GIT, RM],
    },
    Case {
        format: Format::Goose,
        relative: "auditor.md",
        text: "---\nname: auditor\ndescription: Looks for holes\nmodel: gpt-5\n---\nYou look.",
        expected: ("auditor", "gpt-5", None),
        offered: &["bash", "grep", "read", "write"],
        refused: &[],
    },
];

#[tokio::test(start_paused = true)]
async fn what_people_set_is_honoured_in_every_format() {
    for case in CASES {
        let file = DefinitionFile {
            path: case.relative,
            relative: case.relative,
            format: Some(case.format),
            scope: DefinitionScope::User,
            bytes: case.text.as_bytes(),
        };
        let read = read(file).remove(0);
        let definition = read.definition.unwrap_or_else(|| panic!("{:?}: {:?}", case.format, read.remarks));
        assert_eq!(definition.description, "Looks for holes", "{:?}", case.format);
        let (name, model, effort) = case.expected;
        let (sent, results) = spawn(definition, name).await;
        let which = format!("{:?} {name}", case.format);
        assert_eq!((sent.model.as_str(), sent.effort), (model, effort), "{which}");
        assert!(format!("{}\n{}", sent.system, sent.task).contains("the job"), "{which}: {}", sent.system);
        assert!(sent.system.contains("You look."), "{which}: {}", sent.system);
        assert_eq!(sent.tools, case.offered, "{which}");
        for (call, result) in TRIED.iter().zip(&results) {
            assert_eq!(result.is_error, case.refused.contains(call), "{which} {call}: {}", result.text);
        }
    }
    let covered = |format: &&Format| CASES.iter().any(|case| case.format == **format);
    assert_eq!(Format::ALL.iter().find(|format| !covered(format)), None);
}

/// What the first request of the agent said.
#[derive(Clone, Default)]
struct Sent {
    model: String,
    effort: Option<Thinking>,
    system: String,
    task: String,
    tools: Vec<String>,
}

/// Spawns the agent in a session and returns what its model was sent and what came of its calls.
async fn spawn(definition: Definition, name: &str) -> (Sent, Vec<ToolResult>) {
    let sent = Arc::new(Mutex::new(None));
    let store = Arc::new(MemoryStore::new());
    let names = ["bash", "grep", "read", "write"];
    let session = SessionBuilder {
        id: "s1".to_owned(),
        sources: SessionSources {
            owner: "test".to_owned(),
            lives: |_| false,
            store: store.clone(),
            models: Arc::new(Spies { agent: name.to_owned(), sent: sent.clone() }),
            agents: Arc::new(vec![Arc::new(definition)]),
        },
        policy: SessionPolicy::new(Grant::root(
            names.iter().map(|name| (*name).to_owned()).chain(["subagent".to_owned()]),
            1,
        )),
        place: SessionPlace::new(".", Toolbox::new(names.map(tool)).unwrap()),
        watchers: SessionWatchers::default(),
    }
    .build()
    .unwrap();
    let boss = Agent::new(AgentName::parse("boss").unwrap(), "test:parent", "You delegate.");
    let outcome = session.run(boss, "the task".to_owned(), Vec::new(), Vec::new()).await.unwrap();
    assert_eq!(outcome.status(), OutcomeStatus::Completed);
    let records = store.records(&TaskId::child("s1", 1)).await.unwrap_or_default();
    let results = records.into_iter().filter_map(|record| match record {
        Record::Done { result, .. } => Some(result),
        _ => None,
    });
    let sent = sent.lock().unwrap().clone();
    (sent.unwrap_or_else(|| panic!("`{name}` was not spawned")), results.collect())
}

fn tool(name: &str) -> Arc<dyn Tool> {
    let effect = if ["read", "grep"].contains(&name) { ToolEffect::Pure } else { ToolEffect::Unsafe };
    let (name, input_schema) = (name.to_owned(), r#"{"type":"object"}"#.to_owned());
    Arc::new(Quiet(ToolSpec { name, description: String::new(), input_schema, effect }))
}

struct Quiet(ToolSpec);

impl Tool for Quiet {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: ToolInput<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async { ToolOutput::text("ran") })
    }
}

/// Plays the orchestrator and the agent, and keeps what the agent was sent first.
struct Spies {
    agent: String,
    sent: Arc<Mutex<Option<Sent>>>,
}

impl ModelResolver for Spies {
    fn open(&self, agent: &Agent) -> Result<OpenModel> {
        let name = &self.agent;
        let script = match agent.name.as_str() {
            "boss" => format!(
                "[{{calls: [{{subagent: {{action: spawn, agent: {name}, task: the job}}}}]}}, \
                 {{calls: [{{subagent: {{action: status, task_id: t_01, wait_ms: 1000}}}}], repeat_until: '\"completed\"'}}, {{text: done}}]"
            ),
            _ => format!("[{{calls: [{}]}}, {{text: done}}]", TRIED.join(", ")),
        };
        let model: Arc<dyn Model> = Arc::new(ScriptedModel::parse("scripted:test", &script, None)?);
        let model = match agent.name.as_str() {
            "boss" => model,
            _ => Arc::new(Spy { model, reference: agent.model.clone(), sent: self.sent.clone() }),
        };
        Ok(OpenModel { model, tariff: ModelTariff::default() })
    }

    fn resolve(&self, reference: &str) -> Result<String> {
        match reference {
            "fast" => Err(Error::new(ErrorCode::ModelUnknown, "there is no such model")),
            known => Ok(known.to_owned()),
        }
    }
}

struct Spy {
    model: Arc<dyn Model>,
    reference: String,
    sent: Arc<Mutex<Option<Sent>>>,
}

impl Model for Spy {
    fn name(&self) -> &str {
        &self.reference
    }

    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        deltas: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        let mut tools: Vec<String> = request.tools.iter().map(|tool| tool.name.clone()).collect();
        tools.sort_unstable();
        self.sent.lock().unwrap().get_or_insert_with(|| Sent {
            model: self.reference.clone(),
            effort: request.settings.effort,
            system: request.system.to_owned(),
            task: format!("{:?}", request.messages),
            tools,
        });
        self.model.call(request, deltas)
    }
}
