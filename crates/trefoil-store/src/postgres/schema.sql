-- Format 1, as its first build made it. What builds after it have added is in `additions.sql`.
-- The schema `trefoil` is made before it, and searched for names.

CREATE TABLE store (
  format  integer NOT NULL
);

-- One row a run: what is known without its journal. Written in the transactions of its entries.
CREATE TABLE run (
  no              bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id              text    NOT NULL UNIQUE,
  flow            text    NOT NULL DEFAULT '',
  program         text    NOT NULL DEFAULT '',        -- fingerprint
  status          text    NOT NULL,
  started         bigint  NOT NULL,                   -- all times: milliseconds since 1970-01-01 UTC
  ended           bigint,
  error_code      text,
  error           text,
  items           bigint  NOT NULL DEFAULT 0,         -- those of the fan-outs in which some failed, and the run went on
  failed_items    bigint  NOT NULL DEFAULT 0,
  next            bigint  NOT NULL DEFAULT 0,         -- number of the next entry
  bytes           bigint  NOT NULL DEFAULT 0,         -- of its entries, without large values
  calls           bigint  NOT NULL DEFAULT 0,
  tokens_in       bigint  NOT NULL DEFAULT 0,
  tokens_out      bigint  NOT NULL DEFAULT 0,
  tokens_cached   bigint  NOT NULL DEFAULT 0,
  unknown_calls   bigint  NOT NULL DEFAULT 0,         -- calls whose tokens nobody knows
  cost_micro      bigint  NOT NULL DEFAULT 0,         -- millionths of a dollar
  unpriced_calls  bigint  NOT NULL DEFAULT 0,         -- calls whose price nobody knows
  in_flight       bigint  NOT NULL DEFAULT 0,         -- calls that were begun and have not ended
  free            boolean NOT NULL DEFAULT false,     -- whether its models cost nothing
  content         bigint  NOT NULL DEFAULT 0,         -- what is kept: 0 everything, 1 until it has ended, 2 nothing any more, 3 its result
  parent          text,
  owner           text,
  epoch           bigint  NOT NULL DEFAULT 0,
  lease_until     bigint,
  wake_at         bigint,
  taken_from      text,                               -- the process that had it last, if the run was taken from it
  attended        boolean NOT NULL DEFAULT false,     -- whether only a person continues it, and no worker
  noted           boolean NOT NULL DEFAULT false      -- whether `asked` has what it asked for; of a run that goes on it does not count
) WITH (fillfactor = 80);  -- room for the next version of a row beside it: no step of a run touches an index
CREATE INDEX run_started ON run (started DESC, no DESC);
CREATE INDEX run_status ON run (status, started DESC, no DESC);
CREATE INDEX run_flow ON run (flow, started DESC, no DESC);
CREATE INDEX run_flow_status ON run (flow, status, started DESC, no DESC);
CREATE INDEX run_parent ON run (parent, started DESC, no DESC) WHERE parent IS NOT NULL;
CREATE INDEX run_owner ON run (owner) WHERE owner IS NOT NULL;
CREATE INDEX run_open ON run (no) WHERE ended IS NULL;
CREATE INDEX run_ended ON run (ended, no) WHERE ended IS NOT NULL;
CREATE INDEX run_unnoted ON run (no) WHERE NOT noted;
-- What a process that looks for work reads, in addition to those that have an owner: runs that are ready, and those whose time comes.
CREATE INDEX run_ready ON run (flow, no) WHERE ended IS NULL AND owner IS NULL AND status <> 'waiting';
CREATE INDEX run_wakes ON run (wake_at, no) WHERE wake_at IS NOT NULL;
-- Results of runs without content that nobody has seen.
CREATE INDEX run_unseen ON run (ended) WHERE content = 3;

-- Which runs have asked models for what, by the first half of the content key. Filled in when somebody looks for answers.
CREATE TABLE asked (
  content  bytea  NOT NULL,
  run      bigint NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  PRIMARY KEY (content, run)
);
CREATE INDEX asked_run ON asked (run);

CREATE TABLE label (
  run    bigint NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  key    text   NOT NULL,
  value  text   NOT NULL,
  PRIMARY KEY (run, key)
);
CREATE INDEX label_value ON label (key, value, run);

-- Without a foreign key: whoever writes entries has locked the row of their run.
CREATE TABLE entry (
  run    bigint NOT NULL,
  seq    bigint NOT NULL,
  body   text   NOT NULL,  -- JSON
  value  bytea,            -- hash of its value, if that is large: null is in the JSON then
  PRIMARY KEY (run, seq)
);

-- Files of programs and large values, by content.
CREATE TABLE blob (
  hash    bytea   NOT NULL PRIMARY KEY,  -- SHA-256
  size    bigint  NOT NULL,
  packed  boolean NOT NULL,              -- false: as it is, true: zstd
  stored  bigint  NOT NULL,              -- bytes of data
  data    bytea   NOT NULL
);
ALTER TABLE blob ALTER COLUMN data SET STORAGE EXTERNAL;
-- The foreign key decides between whoever removes content and whoever begins to use it at the same time.
CREATE TABLE uses (
  run   bigint NOT NULL,
  hash  bytea  NOT NULL REFERENCES blob (hash),
  PRIMARY KEY (run, hash)
);
CREATE INDEX uses_hash ON uses (hash);

-- Keys and texts may have any character, also those that Postgres does not let into text.
CREATE TABLE inbox (
  id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run    bigint NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  kind   text   NOT NULL,
  key    bytea  NOT NULL,
  value  text   NOT NULL,  -- JSON
  at     bigint NOT NULL,
  as_of  bigint            -- for one that answers a question: run.next as its writer saw it
);
CREATE INDEX inbox_run ON inbox (run, id);

-- What has come of answers that have not ended: evidence, if their process is killed.
CREATE TABLE draft (
  run   bigint NOT NULL REFERENCES run (no) ON DELETE CASCADE,
  key   bytea  NOT NULL,
  text  bytea  NOT NULL,
  PRIMARY KEY (run, key)
);

-- One row a start of the server: when a client saw it for the first time. A lease cannot be renewed while the server is down or
-- recovers, so leases that ended then count as valid until their owners had the time to reconnect.
CREATE TABLE server (
  started  timestamptz PRIMARY KEY,
  seen     timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO server (started) VALUES (pg_postmaster_start_time());
