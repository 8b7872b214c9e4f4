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
