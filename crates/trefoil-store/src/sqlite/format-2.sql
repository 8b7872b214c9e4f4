-- Model calls that were begun and have not ended: nobody knows what they cost if their process is gone.
ALTER TABLE run ADD COLUMN in_flight INTEGER NOT NULL DEFAULT 0;
-- Whether its models cost nothing.
ALTER TABLE run ADD COLUMN free INTEGER NOT NULL DEFAULT 0;
-- Which processes work on runs.
CREATE INDEX run_owner ON run (owner) WHERE owner IS NOT NULL;
