-- The second format: when clients saw a server for the first time after it was started.

-- One row a start of the server. A lease cannot be renewed while the server is down or recovers, so leases that ended then count
-- as valid until their owners had the time to reconnect.
CREATE TABLE server (
  started  timestamptz PRIMARY KEY,
  seen     timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO server (started) VALUES (pg_postmaster_start_time());
