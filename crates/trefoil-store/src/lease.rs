//! Leases: only one process works on a run at a time.

use crate::record::Content;

/// The right to write to a run's journal. It is void once another process has claimed the run, because the transaction
/// of each append compares the epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The run's id.
    pub run: String,
    /// The store's number of the run.
    pub no: i64,
    /// How often the run was claimed, including this time.
    pub epoch: u64,
    /// How much content the run keeps.
    pub content: Content,
}

/// A request for a lease. All times are milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The process, by a name that no other process ever has.
    pub owner: String,
    /// The current time.
    pub now: u64,
    /// The expiry of the lease if it is not renewed.
    pub until: u64,
    /// An owner that is known to have ended; its lease counts as expired.
    pub gone: Option<String>,
    /// Whether a failed run may be claimed, too, to reopen it.
    pub failed: bool,
}

/// Which of the claimable runs a process wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimShare {
    /// Not these.
    pub except: Vec<String>,
    /// At most this many.
    pub most: usize,
    /// At most this many of one flow, including those that it has.
    pub per_flow: Option<usize>,
}
