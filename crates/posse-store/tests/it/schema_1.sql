-- A store as the first version of the program left it: two sessions with one child each.
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
INSERT INTO tasks (id, parent, agent, title, status, owner, epoch, next_seq, created_ms, updated_ms, input_tokens, output_tokens, turns)
VALUES
    ('first', NULL, 'orchestrator', 'do it', 'completed', '1:1', 1, 0, 100, 200, 0, 0, 0),
    ('first.t_01', 'first', 'helper', 'help', 'completed', '1:1', 1, 0, 110, 200, 0, 0, 0),
    ('second', NULL, 'orchestrator', 'do more', 'completed', '2:2', 1, 0, 300, 400, 0, 0, 0),
    ('second.t_01', 'second', 'helper', 'help', 'completed', '2:2', 1, 0, 310, 400, 0, 0, 0);
PRAGMA application_id = 1349481331;
PRAGMA user_version = 1;
