//! Keeping a store small and intact.

/// Which runs may be deleted. Runs that have not ended are always kept, and so are the runs whose results these reuse.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunRetention {
    /// Delete runs that were completed or cancelled before this time: milliseconds since 1970-01-01 UTC.
    pub ended_before: Option<u64>,
    /// Delete runs that failed before this time.
    pub failed_before: Option<u64>,
    /// While more bytes than this are in use, delete the run that ended first.
    pub max_bytes: Option<u64>,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneResult {
    /// Deleted runs.
    pub runs: u64,
    /// How many of them had failed and could have been resumed.
    pub failed: u64,
    /// Bytes by which the store shrank. Only set if everything was deleted at once.
    pub bytes: u64,
}

/// The size of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// Number of runs.
    pub runs: u64,
    /// Bytes on the disk, including the write-ahead log.
    pub disk: u64,
    /// Bytes of it that are in use.
    pub used: u64,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreHealth {
    /// Checked runs.
    pub runs: u64,
    /// Entries read.
    pub entries: u64,
    /// Files and large values read.
    pub blobs: u64,
    /// Problems, one line each; at most a hundred.
    pub problems: Vec<String>,
}
