-- What has come of answers that have not ended: evidence, if their process is killed. Written without waiting for the disk.
CREATE TABLE draft (
  run   INTEGER NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  key   TEXT    NOT NULL,
  text  TEXT    NOT NULL,
  PRIMARY KEY (run, key)
) STRICT;
