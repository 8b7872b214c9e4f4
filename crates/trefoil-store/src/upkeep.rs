//! Keeping a store small and sound.

/// What may go. Runs that have not ended always stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// Runs that were completed or cancelled before this time go: milliseconds since 1970-01-01 UTC.
    pub ended_before: Option<u64>,
    /// Runs that failed before this time go.
    pub failed_before: Option<u64>,
    /// While more bytes than this are in use, the run that ended first goes.
    pub max_bytes: Option<u64>,
}

/// What went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Runs.
    pub runs: u64,
    /// Those of them that had failed: they could have been resumed.
    pub failed: u64,
    /// Bytes by which the store is smaller, if all of it was done at once.
    pub bytes: u64,
}

/// How large a store is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Runs.
    pub runs: u64,
    /// Bytes on the disk, those of the write-ahead log included.
    pub disk: u64,
    /// Bytes of it that hold something.
    pub used: u64,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Runs that were looked at.
    pub runs: u64,
    /// Entries that were read.
    pub entries: u64,
    /// Files and large values that were read.
    pub blobs: u64,
    /// What is wrong, a line each. The first hundred.
    pub problems: Vec<String>,
}
