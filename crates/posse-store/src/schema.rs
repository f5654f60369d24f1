//! The tables, as a list of steps from one version to the next. A step that was released never changes.

use std::path::Path;
use std::time::Duration;

use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::fault;
use crate::open::retry_busy;

/// Says in the file's header that it is ours: "Poss".
const APPLICATION_ID: i32 = 0x506f_7373;

/// `STEPS[n]` leads from version n to version n + 1.
const STEPS: &[&str] = &[
    TASKS, CONTEXT, COUNTED, OWNERS, AUDIENCE, LEASES, APPROVALS, COMMANDS, AGENTS, IN_ORDER, SPENDING,
    RETENTION, DELIVERY, MESSAGES, LISTING,
];

const TASKS: &str = "
    -- Never deleted from, so that `number` grows with the time of creation whatever the clock did.
    CREATE TABLE tasks (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        parent TEXT,
        agent TEXT NOT NULL,
        title TEXT NOT NULL,
        status TEXT NOT NULL,
        owner TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        next_seq INTEGER NOT NULL CHECK (next_seq <= 4294967296),
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        turns INTEGER NOT NULL
    ) STRICT;
    -- `position` is the task's number times 2^32 plus the record's place in the task, so a task's records lie together
    -- in order, and a row keeps a large payload in its own page, which an index of two columns would not.
    -- The columns from `model` to `reasoning` are set for replies: no second table has to be written each turn.
    CREATE TABLE journal (
        position INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        model TEXT,
        input INTEGER,
        output INTEGER,
        cache_read INTEGER,
        cache_write INTEGER,
        reasoning INTEGER,
        payload BLOB NOT NULL
    ) STRICT;
    CREATE VIEW usage AS
        SELECT position >> 32 AS task,
            row_number() OVER (PARTITION BY position >> 32 ORDER BY position) AS turn,
            model, input, output, cache_read, cache_write, reasoning, at_ms
        FROM journal WHERE model IS NOT NULL;
";

const CONTEXT: &str = "
    -- Never deleted from, so that a number is not used again and a deleted session is known to have been one.
    CREATE TABLE sessions (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        created_ms INTEGER NOT NULL,
        archived_ms INTEGER,
        deleted_ms INTEGER
    ) STRICT;
    INSERT INTO sessions (id, created_ms)
        SELECT substr(id, 1, instr(id || '.', '.') - 1) AS session, min(created_ms) FROM tasks
        GROUP BY session ORDER BY min(number);
    CREATE TABLE context (
        session INTEGER NOT NULL,
        key TEXT NOT NULL,
        version INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        written_by TEXT NOT NULL,
        written_ms INTEGER NOT NULL,
        previous_version INTEGER,
        expires_ms INTEGER,
        value TEXT NOT NULL,
        PRIMARY KEY (session, key)
    ) STRICT, WITHOUT ROWID;
    -- One line for each write and deletion; only the newest of a key keep their values. `request` finds a change that
    -- was made already when it is asked for again.
    CREATE TABLE context_history (
        number INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        key TEXT NOT NULL,
        version INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        written_by TEXT NOT NULL,
        written_ms INTEGER NOT NULL,
        previous_version INTEGER,
        expires_ms INTEGER,
        act TEXT NOT NULL,
        request TEXT,
        value TEXT
    ) STRICT;
    CREATE INDEX context_history_by_key ON context_history (session, key, number);
    CREATE UNIQUE INDEX context_history_by_request ON context_history (session, request) WHERE request IS NOT NULL;
    CREATE TABLE context_snapshots (
        number INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        label TEXT NOT NULL,
        taken_by TEXT NOT NULL,
        taken_ms INTEGER NOT NULL,
        request TEXT,
        UNIQUE (session, label)
    ) STRICT;
    CREATE TABLE context_snapshot_entries (
        session INTEGER NOT NULL,
        label TEXT NOT NULL,
        key TEXT NOT NULL,
        version INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        written_by TEXT NOT NULL,
        written_ms INTEGER NOT NULL,
        previous_version INTEGER,
        expires_ms INTEGER,
        value TEXT NOT NULL,
        PRIMARY KEY (session, label, key)
    ) STRICT, WITHOUT ROWID;
";

const COUNTED: &str = "
    -- A task's row is not written at each append. `turns` and the tokens are the sums of the records before `counted`; the
    -- columns of the records from there on have the rest. The next record's place is after the last one.
    -- A row of the journal has all records of an append up to the next reply, one on each line of `payload`, and its `position` is
    -- that of the last of them.
    ALTER TABLE tasks RENAME COLUMN next_seq TO counted;
";

const OWNERS: &str = "
    -- Set while somebody wants the task to end; the end of the task clears it.
    ALTER TABLE tasks ADD COLUMN cancel_ms INTEGER;
    CREATE INDEX tasks_by_parent ON tasks (parent) WHERE parent IS NOT NULL;
    -- Both have few rows at any time, so looking into them again and again costs nothing.
    CREATE INDEX tasks_running ON tasks (number) WHERE status = 'running';
    CREATE INDEX tasks_to_cancel ON tasks (number) WHERE cancel_ms IS NOT NULL;
    CREATE TABLE owners (
        owner TEXT PRIMARY KEY,
        beat_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
";

const AUDIENCE: &str = "
    -- JSON of who may read and write a key; NULL: everyone.
    ALTER TABLE context ADD COLUMN audience TEXT;
    ALTER TABLE context_history ADD COLUMN audience TEXT;
    ALTER TABLE context_snapshot_entries ADD COLUMN audience TEXT;
";

const LEASES: &str = "
    -- What tasks may write, one row for each task that holds places; deleted when the task ends. A token is never used again.
    CREATE TABLE leases (
        token INTEGER PRIMARY KEY AUTOINCREMENT,
        task INTEGER NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        -- One on each line.
        paths TEXT NOT NULL,
        since_ms INTEGER NOT NULL
    ) STRICT;
";

const APPROVALS: &str = "
    -- Calls that wait for a person's yes, and the answers. Never deleted from, so that an id is not used again. What was asked and
    -- answered is in `payload`; the columns are for finding it.
    CREATE TABLE approvals (
        number INTEGER PRIMARY KEY,
        task TEXT NOT NULL,
        call TEXT NOT NULL,
        session TEXT NOT NULL,
        state TEXT NOT NULL,
        standing INTEGER NOT NULL,
        payload BLOB NOT NULL,
        UNIQUE (task, call)
    ) STRICT;
    CREATE INDEX approvals_open ON approvals (number) WHERE state = 'open';
    CREATE INDEX approvals_standing ON approvals (session) WHERE standing = 1;
";

const COMMANDS: &str = "
    -- Processes that tasks without a lease have started and that may write; few rows at any time. `after` is the newest lease
    -- there was. One of an earlier epoch of its task is over.
    CREATE TABLE commands (
        token INTEGER PRIMARY KEY AUTOINCREMENT,
        task INTEGER NOT NULL,
        at_epoch INTEGER NOT NULL,
        workspace TEXT NOT NULL,
        -- One on each line.
        paths TEXT NOT NULL,
        since_ms INTEGER NOT NULL,
        after INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX commands_by_task ON commands (task);
";

const AGENTS: &str = "
    -- Agents made at run time in sessions whose orchestrator has no journal. One that is made again gets a new number.
    CREATE TABLE session_agents (
        number INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        name TEXT NOT NULL,
        version INTEGER NOT NULL,
        made_by TEXT NOT NULL,
        arguments TEXT NOT NULL,
        UNIQUE (session, name)
    ) STRICT;
";

const IN_ORDER: &str = "
    -- Rows of the journal lie in the order in which they came: a commit of many tasks writes a few pages at the end, and not one for
    -- each of the tasks. The rows of a task are found by the index.
    DROP VIEW usage;
    ALTER TABLE journal RENAME TO journal_by_task;
    CREATE TABLE journal (
        arrival INTEGER PRIMARY KEY,
        position INTEGER NOT NULL,
        kind TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        model TEXT,
        input INTEGER,
        output INTEGER,
        cache_read INTEGER,
        cache_write INTEGER,
        reasoning INTEGER,
        payload BLOB NOT NULL
    ) STRICT;
    INSERT INTO journal SELECT NULL, * FROM journal_by_task ORDER BY position;
    DROP TABLE journal_by_task;
    CREATE UNIQUE INDEX journal_by_position ON journal (position);
    CREATE VIEW usage AS
        SELECT position >> 32 AS task,
            row_number() OVER (PARTITION BY position >> 32 ORDER BY position) AS turn,
            model, input, output, cache_read, cache_write, reasoning, at_ms
        FROM journal WHERE model IS NOT NULL;
";

const SPENDING: &str = "
    -- `cost` is the price of everything a row's records used, in millionths of a dollar; NULL: not known, or nothing used. It lies before
    -- `payload`, so that a sum reads no overflow page. Rows of earlier versions have no price. From now on the columns from `input` to
    -- `cost` include attempts without a reply; `model` is set for replies only.
    DROP VIEW usage;
    ALTER TABLE journal RENAME TO journal_unpriced;
    CREATE TABLE journal (
        arrival INTEGER PRIMARY KEY,
        position INTEGER NOT NULL,
        kind TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        model TEXT,
        input INTEGER,
        output INTEGER,
        cache_read INTEGER,
        cache_write INTEGER,
        reasoning INTEGER,
        cost INTEGER,
        payload BLOB NOT NULL
    ) STRICT;
    INSERT INTO journal SELECT arrival, position, kind, at_ms, model, input, output, cache_read, cache_write, reasoning,
        NULL, payload FROM journal_unpriced ORDER BY arrival;
    DROP TABLE journal_unpriced;
    CREATE UNIQUE INDEX journal_by_position ON journal (position);
    CREATE VIEW usage AS
        SELECT position >> 32 AS task,
            row_number() OVER (PARTITION BY position >> 32 ORDER BY position) AS turn,
            model, input, output, cache_read, cache_write, reasoning, cost, at_ms
        FROM journal WHERE model IS NOT NULL;
    -- Sums of the records before `counted`, like the tokens: prices that are known, and tokens without one.
    ALTER TABLE tasks ADD COLUMN cost_micros INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE tasks ADD COLUMN unpriced_tokens INTEGER NOT NULL DEFAULT 0;
    UPDATE tasks SET unpriced_tokens = min(input_tokens, 9223372036854775807 - output_tokens) + output_tokens;
    -- The directory that the session's tasks work in; a worktree counts as what it was copied from.
    ALTER TABLE sessions ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
    UPDATE sessions SET workspace = coalesce((
        SELECT coalesce(json_extract(line, '$.apart_from'), json_extract(line, '$.workspace')) FROM (
            SELECT substr(text, 1, instr(text || char(10), char(10)) - 1) AS line FROM (
                SELECT CAST(payload AS TEXT) AS text FROM journal, tasks
                WHERE tasks.id >= sessions.id AND tasks.id < sessions.id || '/'
                    AND (tasks.id = sessions.id OR tasks.id > sessions.id || '.')
                    AND position BETWEEN (number << 32) AND (number << 32) + 4294967295
                ORDER BY position LIMIT 1))
        WHERE json_valid(line)), '');
";

const RETENTION: &str = "
    -- From now on trees of tasks are deleted. A number may be given again when the newest task was deleted, together with everything that
    -- refers to it; it still grows among those that are there. What deleted tasks used, one row for each task, model and day; `at_ms` is
    -- the last use, `turns` counts replies, `unpriced` the tokens without a price.
    CREATE TABLE spent (
        task TEXT NOT NULL,
        agent TEXT NOT NULL,
        model TEXT,
        at_ms INTEGER NOT NULL,
        turns INTEGER NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cost INTEGER NOT NULL,
        unpriced INTEGER NOT NULL
    ) STRICT;
";

const DELIVERY: &str = "
    -- How far a task's result has reached a host that has no journal: NULL, 'reported', 'read' or 'collected:' and the key of the request.
    -- Everything that ended before counts as read, so that no host hears of it again.
    ALTER TABLE tasks ADD COLUMN delivery TEXT;
    UPDATE tasks SET delivery = 'read' WHERE status != 'running';
";

const MESSAGES: &str = "
    -- Steering messages to running tasks. `turn` is the turn whose request had the message, 0 if the task ended first, NULL while it is
    -- queued. `key` is the same for every attempt to send it.
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY,
        task INTEGER NOT NULL,
        key TEXT NOT NULL,
        text TEXT NOT NULL,
        sent_ms INTEGER NOT NULL,
        turn INTEGER,
        UNIQUE (task, key)
    ) STRICT;
    CREATE INDEX messages_queued ON messages (number) WHERE turn IS NULL;
    -- Questions of tasks to their parents. `place` counts those of a task, from 1; `options` is a list in JSON.
    CREATE TABLE questions (
        number INTEGER PRIMARY KEY,
        task INTEGER NOT NULL,
        key TEXT NOT NULL,
        place INTEGER NOT NULL,
        text TEXT NOT NULL,
        options TEXT NOT NULL,
        asked_ms INTEGER NOT NULL,
        is_open INTEGER NOT NULL,
        answer TEXT,
        answered_by TEXT,
        UNIQUE (task, key)
    ) STRICT;
";

const LISTING: &str = "
    -- The directory that the task's person works in, so that a list of one project reads no other.
    ALTER TABLE tasks ADD COLUMN origin TEXT NOT NULL DEFAULT '';
    UPDATE tasks SET origin = coalesce(
        (SELECT workspace FROM sessions WHERE sessions.id = substr(tasks.id, 1, instr(tasks.id || '.', '.') - 1)), '');
    CREATE INDEX tasks_by_origin ON tasks (origin, number);
    -- Input tokens of deleted tasks that the provider's cache served.
    ALTER TABLE spent ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
";

pub(crate) const VERSION: u32 = STEPS.len() as u32;

/// Reads the version; refuses foreign files and newer versions. Changes nothing.
pub(crate) fn version(connection: &Connection, path: &Path) -> Result<u32> {
    let failed = |e| fault::from_sqlite(path, e);
    // One statement sees one state: another process may be creating the tables now.
    let (version, application, tables): (u32, i32, u32) = connection
        .query_row(
            "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
             FROM pragma_user_version, pragma_application_id",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .map_err(failed)?;
    let fresh = version == 0 && application == 0 && tables == 0;
    if !fresh && application != APPLICATION_ID {
        return Err(Error::new(
            ErrorCode::StoreUnavailable,
            localized!("store-foreign", path = path.display()),
        )
        .hint(localized!("store-foreign-hint")));
    }
    if version > VERSION {
        return Err(Error::new(
            ErrorCode::StoreNewer,
            localized!("store-newer", path = path.display(), version, known = VERSION),
        )
        .hint(localized!("store-newer-hint")));
    }
    Ok(version)
}

/// Migrates the file to the current version, one transaction for each step.
pub(crate) fn migrate(connection: &Connection, path: &Path, busy_max: Duration) -> Result<()> {
    while version(connection, path)? < VERSION {
        if let Err(e) = step(connection, busy_max) {
            return Err(fault::from_sqlite(path, e));
        }
    }
    Ok(())
}

/// Performs one step. Only `BEGIN` is retried.
fn step(connection: &Connection, busy_max: Duration) -> rusqlite::Result<()> {
    let begin = || Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
    let transaction = retry_busy(busy_max, begin)?;
    // Another process may have done it while this one waited for the lock.
    let version: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if let Some(sql) = STEPS.get(version as usize) {
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", version + 1)?;
    }
    transaction.commit()
}
