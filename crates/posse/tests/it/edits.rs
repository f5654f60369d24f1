//! What the journal keeps of files that a task changes.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use posse::budget::{ModelTariff, TaskAccount};
use posse::core::agent::Agent;
use posse::core::budget::BudgetCaps;
use posse::core::edits::{ChangeKind, FileChange, FileImage, ImageContent, LineCounts};
use posse::core::grant::Grant;
use posse::core::id::{AgentName, TaskId};
use posse::core::journal::{Record, TaskStart};
use posse::core::outcome::Outcome;
use posse::driver::{DriverPorts, ResumeMode, StopTokens, resume, start};
use posse::inbox::TaskInbox;
use posse::models::scripted::ScriptedModel;
use posse::observe::Observers;
use posse::ports::{JournalStore, OpenModel};
use posse::sandbox::workspace::Workspace;
use posse::toolbox::Toolbox;
use posse::tools::files::toolset;
use posse::tools::skill::SkillCatalog;
use posse_testkit::memory::MemoryStore;

/// A task with the file tools in a directory.
struct Stage<'a> {
    directory: &'a Path,
    script: &'static str,
    store: Arc<MemoryStore>,
}

impl Stage<'_> {
    fn ports(&self) -> DriverPorts {
        let workspace = Workspace::open(self.directory).unwrap();
        let model = ScriptedModel::parse("scripted:test", self.script, None).unwrap();
        DriverPorts {
            model: OpenModel { model: Arc::new(model), tariff: ModelTariff::default() },
            tools: Toolbox::new(toolset(workspace, SkillCatalog::default())).unwrap(),
            store: self.store.clone(),
            observers: Observers::default(),
            budget: Arc::new(TaskAccount::root(BudgetCaps::default())),
            stop: StopTokens::default(),
            inbox: TaskInbox::default(),
            verifier: None,
            holders: Default::default(),
            worktrees: None,
        }
    }

    fn task(&self, ports: &DriverPorts) -> TaskStart {
        let agent = Agent::new(AgentName::parse("editor").unwrap(), "scripted:test", "You edit.");
        let names: Vec<String> = ports.tools.names().map(str::to_owned).collect();
        let workspace = self.directory.display().to_string();
        TaskStart { workspace, ..TaskStart::new(agent, "the task", Grant::root(names, 0)) }
    }

    async fn run(&self) -> Arc<Outcome> {
        let ports = self.ports();
        let task = self.task(&ports);
        start(&ports, TaskId::root("s1"), None, "first".to_owned(), task).await.unwrap()
    }

    async fn go_on(&self) -> Arc<Outcome> {
        let ports = self.ports();
        let grant = self.task(&ports).grant;
        let onward = ResumeMode::Finish { turns_max: None, wall_ms_max: None };
        resume(&ports, TaskId::root("s1"), "second", onward, &grant).await.unwrap()
    }

    async fn images(&self) -> Vec<FileImage> {
        let records = self.store.records(&TaskId::root("s1")).await.unwrap_or_default();
        let images = records.into_iter().filter_map(|record| match record {
            Record::Saved { image } => Some(image),
            _ => None,
        });
        images.collect()
    }

    async fn changes(&self) -> Vec<FileChange> {
        let records = self.store.records(&TaskId::root("s1")).await.unwrap();
        let results = records.into_iter().filter_map(|record| match record {
            Record::Done { result, .. } => Some(result.changed),
            _ => None,
        });
        results.flatten().collect()
    }
}

const EDIT: &str = "[{calls: [{read: {path: a.txt}}]}, \
                     {calls: [{edit: {path: a.txt, old_string: one, new_string: two}}]}, {text: done}]";

#[tokio::test]
async fn a_file_is_replaced_after_the_journal_has_what_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.txt");
    std::fs::write(&file, "one\n").unwrap();
    let stage = Stage { directory: directory.path(), script: EDIT, store: Arc::new(MemoryStore::new()) };
    // Whoever replaces a file waits for the lock of its directory.
    let lock = File::open(directory.path()).unwrap();
    lock.lock().unwrap();
    let look = async {
        while stage.images().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let then = std::fs::read_to_string(&file).unwrap();
        drop(lock);
        then
    };
    let (outcome, then) = tokio::join!(stage.run(), look);
    assert_eq!((then.as_str(), outcome.text.as_str()), ("one\n", "done"));
    let images = stage.images().await;
    assert_eq!(images[0].before, ImageContent::Text("one\n".to_owned()));
    assert_eq!(images[0].after_sha256, posse::tools::diff::sha256(b"two\n"));
}

const WRITE: &str = r#"[{calls: [{write: {path: n.txt, content: "1\n2\n"}}]}, {text: done}]"#;

#[tokio::test]
async fn a_write_that_is_made_again_after_a_crash_keeps_its_image_and_its_counts() {
    let directory = tempfile::tempdir().unwrap();
    let first = Stage { directory: directory.path(), script: WRITE, store: Arc::new(MemoryStore::new()) };
    first.run().await;
    let writes = first.store.writes();
    let (kind, lines) = (ChangeKind::Created, Some(LineCounts { added: 2, removed: 0 }));
    let expected = [FileChange { kind, lines, ..FileChange::named("n.txt") }];
    let mut crashed_between = 0;
    for died_after in 1..=writes {
        let store = Arc::new(first.store.as_of(died_after));
        let stage = Stage { store, ..first };
        let had_image = !stage.images().await.is_empty();
        let had_result = !stage.changes().await.is_empty();
        // The file is there once its image is; whether the rename came before the crash makes no difference then.
        for is_there in [false, true] {
            if is_there != had_image && (had_result || is_there) {
                continue;
            }
            crashed_between += u32::from(had_image && !had_result);
            let store = Arc::new(first.store.as_of(died_after));
            let stage = Stage { store, ..first };
            let file = directory.path().join("n.txt");
            match is_there {
                true => std::fs::write(&file, "1\n2\n").unwrap(),
                false => drop(std::fs::remove_file(&file)),
            }
            let outcome = stage.go_on().await;
            let changed = (outcome.changed_files.clone(), stage.changes().await, stage.images().await.len());
            let context = format!("write {died_after}, there: {is_there}");
            assert_eq!(changed, (vec!["n.txt".to_owned()], expected.to_vec(), 1), "{context}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\n2\n", "{context}");
        }
    }
    assert_eq!(crashed_between, 2, "before the rename, and after it");
}
