//! Exit codes. They are an interface.

/// It went well.
pub const OK: u8 = 0;
/// The run failed; `check` found errors; a result could not be written.
pub const FAILED: u8 = 1;
/// It was not started: usage, load errors, invalid input, a refused step, missing keys, a path that cannot be read.
pub const NOT_STARTED: u8 = 2;
/// The run waits for somebody (`EX_TEMPFAIL` of `sysexits.h`).
pub const WAITING: u8 = 75;
/// Somebody stopped it.
pub const CANCELLED: u8 = 130;
