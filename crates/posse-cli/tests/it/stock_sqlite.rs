//! The store is a plain SQLite file: another program with a SQLite of its own may use it at the same time.

use std::process::Command;

use crate::support::{Place, Ran, Running};

/// Reads the tasks and writes into a table of its own, fifty times, then checks the whole file.
const READER: &str = r#"
import sqlite3, sys
store = sqlite3.connect(sys.argv[1], timeout=30)
store.execute("create table if not exists notes_of_another (note text)")
for number in range(50):
    rows = store.execute("select count(*) from tasks").fetchone()[0]
    with store:
        store.execute("insert into notes_of_another values (?)", (f"{number}: {rows} tasks",))
assert rows > 0, "the task is visible while it runs"
print(store.execute("pragma journal_mode").fetchone()[0], store.execute("pragma integrity_check").fetchone()[0])
"#;

#[test]
fn a_stock_sqlite_reads_and_writes_the_store_while_posse_runs_tasks_in_it() {
    if Command::new("python3").args(["-c", "import sqlite3"]).output().is_err() {
        eprintln!("left out: there is no python3");
        return;
    }
    let place = Place::new();
    let step =
        |number: u32| format!("  - {{calls: [{{write: {{path: a{number}, content: x}}}}], delay_ms: 20}}\n");
    let script = place.script(&format!("main:\n{}  - text: done\n", (0..30).map(step).collect::<String>()));
    let mut running =
        Running::start(place.posse(["run", "--json", "--model", &format!("{script}#main"), "Write"]));
    running.until(|event| event["type"] == "turn");
    let mut reader = Command::new("python3");
    reader.args(["-c", READER]).arg(place.state().join("posse.db"));
    let read = Ran::of(reader);
    assert_eq!((read.code, read.stdout.trim()), (0, "wal ok"), "{read:?}");
    let ran = running.end();
    assert_eq!((ran.code, ran.envelope()["turns"].as_u64()), (0, Some(31)), "{ran:?}");
    assert_eq!(place.tasks()[0]["status"], "completed");
}
