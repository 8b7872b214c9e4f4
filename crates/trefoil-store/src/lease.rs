//! Who runs what: a run is one process's at a time.

use crate::record::Content;

/// The right to write to a run's journal. It is worth nothing any more when somebody else has claimed the run since: the
/// epoch is compared in the transaction of each append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The run's id.
    pub run: String,
    /// The store's number for the run.
    pub no: i64,
    /// How often the run was claimed, including this time.
    pub epoch: u64,
    /// What is kept of the run.
    pub content: Content,
}

/// Who wants to run something, and for how long. All times are milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The process. A name that no other process has, ever.
    pub owner: String,
    /// Now.
    pub now: u64,
    /// How long the lease holds if it is not renewed.
    pub until: u64,
    /// An owner that is known to be gone: its lease counts as ended.
    pub gone: Option<String>,
    /// One that has failed may be taken over, too: whoever reopens it.
    pub failed: bool,
}
