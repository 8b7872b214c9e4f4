-- Which runs have asked models for what, by the first half of the content key. Filled in when somebody looks for answers: a step
-- of a run does not wait for it.
CREATE TABLE asked (
  content  BLOB    NOT NULL,
  run      INTEGER NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  PRIMARY KEY (content, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX asked_run ON asked (run);
-- Whether `asked` has what the run asked for. Of a run that goes on it does not count.
ALTER TABLE run ADD COLUMN noted INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_unnoted ON run (no) WHERE noted = 0;
