//! Exit codes. They are a stable interface.

/// Success.
pub const OK: u8 = 0;
/// The run failed; `check` found errors; a result could not be written.
pub const FAILED: u8 = 1;
/// The run did not start: usage errors, load errors, invalid input, a refused step, missing keys, an unreadable path.
pub const NOT_STARTED: u8 = 2;
/// The run is waiting, for example for a person (`EX_TEMPFAIL` of `sysexits.h`).
pub const WAITING: u8 = 75;
/// The run was stopped.
pub const CANCELLED: u8 = 130;
