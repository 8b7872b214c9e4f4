-- What builds have added to format 1 since. A store of an earlier build gets what it lacks when it is opened for writing.
--
-- A further table, column or index is one statement at the end: `CREATE TABLE IF NOT EXISTS`, `ALTER TABLE .. ADD COLUMN` (run only if
-- the column is missing) or `CREATE INDEX IF NOT EXISTS`. Statements that are here stay as they are: a further column of a table that is
-- here is an `ALTER TABLE`, too. Earlier builds accept only what computes nothing: no CHECK, no WHERE, no expression, no trigger, and
-- only constants as defaults. The same goes into `../postgres/additions.sql`.

-- What servers keep by name, besides runs. `data` is JSON, `hash` its SHA-256. `expires` is in milliseconds since 1970-01-01 UTC.
CREATE TABLE IF NOT EXISTS document (
  collection  TEXT    NOT NULL,
  name        TEXT    NOT NULL,
  version     INTEGER NOT NULL,  -- another number after each write
  expires     INTEGER,
  hash        BLOB    NOT NULL,
  size        INTEGER NOT NULL,
  packed      INTEGER NOT NULL,  -- 0: as it is, 1: zstd
  data        BLOB    NOT NULL,
  PRIMARY KEY (collection, name)
) STRICT;
CREATE INDEX IF NOT EXISTS document_expires ON document (expires);

-- Limits over all processes: one row for each subject (`provider:openai`). Written without waiting for the disk.
CREATE TABLE IF NOT EXISTS shared_limit (
  subject   TEXT    NOT NULL PRIMARY KEY,
  state     TEXT    NOT NULL,  -- JSON: permits, places in the queue, what was begun in the last minute
  quiet_at  INTEGER NOT NULL   -- when nothing of it counts any more
) STRICT;
