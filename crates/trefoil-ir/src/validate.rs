//! Structural invariants of a program: ids in range, no dangling slots. A front end's mistake, never a user's.
