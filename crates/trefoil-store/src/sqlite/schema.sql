-- The first format. What a later version changes is a file of its own; this one stays as it is.

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
  wake_at         INTEGER
) STRICT;
CREATE INDEX run_started ON run (started DESC, no DESC);
CREATE INDEX run_status ON run (status, started DESC, no DESC);
CREATE INDEX run_flow ON run (flow, started DESC, no DESC);
CREATE INDEX run_flow_status ON run (flow, status, started DESC, no DESC);
CREATE INDEX run_parent ON run (parent, started DESC, no DESC) WHERE parent IS NOT NULL;
CREATE INDEX run_open ON run (no) WHERE ended IS NULL;
CREATE INDEX run_ended ON run (ended, no) WHERE ended IS NOT NULL;

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

CREATE TABLE inbox (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  run    INTEGER NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  kind   TEXT    NOT NULL,
  key    TEXT    NOT NULL,
  value  TEXT    NOT NULL,  -- JSON
  at     INTEGER NOT NULL
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
