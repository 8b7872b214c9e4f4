//! What becomes of the runs that a process drives, for whoever keeps a log.

use trefoil_runtime::RunOutcome;

/// Gets what becomes of the runs that a process drives.
pub trait RunEndWatch: Send + Sync {
    /// A run does not go on here any more. `is_lost`: what it did last is not in the store, because another process has the run, or the
    /// store is gone.
    fn take_outcome(&self, flow: &str, outcome: &RunOutcome, is_lost: bool);
    /// The same of a run that somebody else has driven, of which only the store knows more.
    fn take_end(&self, run: &str);
}
