-- Format 1, as its first build made it. What builds after it have added is in `additions.sql`.

-- One row a run: what is known without its journal. Written in the transactions of its entries.
CREATE TABLE run (
  no              INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: entries are found by it
  id              TEXT    NOT NULL UNIQUE,
  flow            TEXT    NOT NULL DEFAULT '',
  program         TEXT    NOT NULL DEFAULT '',        -- fingerprint
  status          TEXT    NOT NULL,
  started         INTEGER NOT NULL,                   -- all times: milliseconds since 1970-01-01 UTC
  ended           INTEGER,
  error_code      TEXT,
  error           TEXT,
  items           INTEGER NOT NULL DEFAULT 0,         -- those of the fan-outs in which some failed, and the run went on
  failed_items    INTEGER NOT NULL DEFAULT 0,
  next            INTEGER NOT NULL DEFAULT 0,         -- number of the next entry
  calls           INTEGER NOT NULL DEFAULT 0,
  tokens_in       INTEGER NOT NULL DEFAULT 0,
  tokens_out      INTEGER NOT NULL DEFAULT 0,
  tokens_cached   INTEGER NOT NULL DEFAULT 0,
  unknown_calls   INTEGER NOT NULL DEFAULT 0,         -- calls whose tokens nobody knows
  cost_micro      INTEGER NOT NULL DEFAULT 0,         -- millionths of a dollar
  unpriced_calls  INTEGER NOT NULL DEFAULT 0,         -- calls whose price nobody knows
  parent          TEXT,
  owner           TEXT,
  epoch           INTEGER NOT NULL DEFAULT 0,
  lease_until     INTEGER,
  wake_at         INTEGER,
  taken_from      TEXT,                               -- the process that had it last, if the run was taken from it
  attended        INTEGER NOT NULL DEFAULT 0,         -- whether only a person continues it, and no worker
  in_flight       INTEGER NOT NULL DEFAULT 0,         -- model calls that were begun and have not ended
  free            INTEGER NOT NULL DEFAULT 0,         -- whether its models cost nothing
  content         INTEGER NOT NULL DEFAULT 0,         -- what is kept: 0 everything, 1 until it has ended, 2 nothing any more, 3 its result
  noted           INTEGER NOT NULL DEFAULT 0          -- whether `asked` has what it asked for; of a run that goes on it does not count
) STRICT;
CREATE INDEX run_started ON run (started DESC, no DESC);
CREATE INDEX run_status ON run (status, started DESC, no DESC);
CREATE INDEX run_flow ON run (flow, started DESC, no DESC);
CREATE INDEX run_flow_status ON run (flow, status, started DESC, no DESC);
CREATE INDEX run_parent ON run (parent, started DESC, no DESC) WHERE parent IS NOT NULL;
CREATE INDEX run_open ON run (no) WHERE ended IS NULL;
CREATE INDEX run_ended ON run (ended, no) WHERE ended IS NOT NULL;
-- What a process that looks for work reads: runs that are ready, those whose time comes, and those that have an owner.
CREATE INDEX run_ready ON run (flow, no) WHERE ended IS NULL AND owner IS NULL AND status <> 'waiting';
CREATE INDEX run_wakes ON run (wake_at, no) WHERE wake_at IS NOT NULL;
CREATE INDEX run_owner ON run (owner) WHERE owner IS NOT NULL;
CREATE INDEX run_unnoted ON run (no) WHERE noted = 0;
-- Results of runs without content that nobody has seen.
CREATE INDEX run_unseen ON run (ended) WHERE content = 3;

CREATE TABLE label (
  run    INTEGER NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  key    TEXT    NOT NULL,
  value  TEXT    NOT NULL,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX label_value ON label (key, value, run);

-- An ordinary table: rows of a WITHOUT ROWID table spill into pages of their own from a quarter of a page on.
CREATE TABLE entry (
  id     INTEGER PRIMARY KEY,  -- run.no << 32 | number of the entry
  body   TEXT NOT NULL,        -- JSON
  value  BLOB                  -- hash of its value, if that is large: null is in the JSON then
) STRICT;

-- Files of programs and large values, by content.
CREATE TABLE blob (
  hash    BLOB    NOT NULL PRIMARY KEY,  -- SHA-256
  size    INTEGER NOT NULL,
  packed  INTEGER NOT NULL,              -- 0: as it is, 1: zstd
  data    BLOB    NOT NULL
) STRICT;
CREATE TABLE uses (
  run   INTEGER NOT NULL,
  hash  BLOB    NOT NULL,
  PRIMARY KEY (run, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX uses_hash ON uses (hash);

-- The first message with a sender adds the column `sender TEXT` (JSON). It is not here, because stores of earlier builds do not have it.
CREATE TABLE inbox (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  run    INTEGER NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  kind   TEXT    NOT NULL,
  key    TEXT    NOT NULL,
  value  TEXT    NOT NULL,  -- JSON
  at     INTEGER NOT NULL,
  as_of  INTEGER            -- for one that answers a question: run.next as its writer saw it
) STRICT;
CREATE INDEX inbox_run ON inbox (run, id);

-- How many runs have each status: counting a million rows takes too long for a page that is looked at often.
CREATE TABLE tally (
  status  TEXT    NOT NULL PRIMARY KEY,
  n       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER tally_new AFTER INSERT ON run BEGIN
  INSERT INTO tally VALUES (NEW.status, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER tally_gone AFTER DELETE ON run BEGIN
  UPDATE tally SET n = n - 1 WHERE status = OLD.status;
END;
CREATE TRIGGER tally_changed AFTER UPDATE OF status ON run WHEN OLD.status <> NEW.status BEGIN
  UPDATE tally SET n = n - 1 WHERE status = OLD.status;
  INSERT INTO tally VALUES (NEW.status, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;

-- What has come of answers that have not ended: evidence, if their process is killed. Written without waiting for the disk.
CREATE TABLE draft (
  run   INTEGER NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  key   TEXT    NOT NULL,
  text  TEXT    NOT NULL,
  PRIMARY KEY (run, key)
) STRICT;

-- Which runs have asked models for what, by the first half of the content key. Filled in when somebody looks for answers: a step
-- of a run does not wait for it.
CREATE TABLE asked (
  content  BLOB    NOT NULL,
  run      INTEGER NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  PRIMARY KEY (content, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX asked_run ON asked (run);
