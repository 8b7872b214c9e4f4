-- What builds have added to format 1 since. A store of an earlier build gets what it lacks when it is opened for writing, if the user
-- may add it.
--
-- A further table, column or index is one statement at the end: `CREATE TABLE IF NOT EXISTS`, `ALTER TABLE .. ADD COLUMN IF NOT EXISTS`
-- or `CREATE INDEX IF NOT EXISTS`. Statements that are here stay as they are: a further column of a table that is here is an
-- `ALTER TABLE`, too. The same goes into `../sqlite/additions.sql`.

-- What servers keep by name, besides runs. `data` is JSON, `hash` its SHA-256. `expires` is in milliseconds since 1970-01-01 UTC.
CREATE TABLE IF NOT EXISTS document (
  collection  text    NOT NULL,
  name        bytea   NOT NULL,  -- any text
  version     bigint  NOT NULL,  -- another number after each write
  expires     bigint,
  hash        bytea   NOT NULL,
  size        bigint  NOT NULL,
  packed      boolean NOT NULL,  -- false: as it is, true: zstd
  data        bytea   NOT NULL,
  PRIMARY KEY (collection, name)
);
CREATE INDEX IF NOT EXISTS document_expires ON document (expires) WHERE expires IS NOT NULL;

-- Limits over all processes: one row for each subject (`provider:openai`). Written without waiting for the disk, and without a change
-- of an index: what indexes have of rows that are gone slows them down until the next vacuum.
CREATE TABLE IF NOT EXISTS shared_limit (
  subject   text   NOT NULL PRIMARY KEY,
  state     text   NOT NULL,  -- JSON: permits, places in the queue, what was begun in the last minute
  quiet_at  bigint NOT NULL   -- when nothing of it counts any more
) WITH (fillfactor = 20);

-- Who sent a message: JSON.
ALTER TABLE inbox ADD COLUMN IF NOT EXISTS sender text;
