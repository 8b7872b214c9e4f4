-- What is kept of prompts and answers. 0: everything. 1: what resuming the run needs, until it has ended. 2: nothing any more.
ALTER TABLE run ADD COLUMN content INTEGER NOT NULL DEFAULT 0;
