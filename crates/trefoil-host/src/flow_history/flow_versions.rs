//! The versions of a flow that runs had, from their records.

use trefoil_runtime::{RunStatus, Usage};
use trefoil_store::Record;

/// A version of a flow: runs with the same program.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowVersion {
    /// The fingerprint of the program.
    pub program: String,
    /// When its first and its last run started: milliseconds since 1970-01-01 UTC.
    pub first: u64,
    /// See [`Self::first`].
    pub last: u64,
    /// The last run.
    pub last_run: String,
    /// How many runs it has.
    pub runs: usize,
    /// How many of them have ended: completed, failed or cancelled.
    pub ended: usize,
    /// How many of them failed.
    pub failed: usize,
    /// What they used.
    pub usage: Usage,
    /// How long those that have ended took together, in milliseconds.
    pub duration_ms: u64,
}

/// The versions of runs, newest first, if the newest run is the first.
pub fn list_versions(records: &[Record]) -> Vec<FlowVersion> {
    let mut all: Vec<FlowVersion> = Vec::new();
    for record in records {
        let position = match all.iter().position(|known| known.program == record.program) {
            Some(position) => position,
            None => {
                all.push(FlowVersion {
                    program: record.program.clone(),
                    first: record.started,
                    last: record.started,
                    last_run: record.run.clone(),
                    runs: 0,
                    ended: 0,
                    failed: 0,
                    usage: Usage::default(),
                    duration_ms: 0,
                });
                all.len() - 1
            }
        };
        let Some(version) = all.get_mut(position) else { continue };
        version.first = version.first.min(record.started);
        version.runs += 1;
        version.failed += usize::from(record.status == RunStatus::Failed);
        version.usage.add_usage(record.spent.usage);
        if let Some(ended) = record.ended {
            version.ended += 1;
            version.duration_ms = version.duration_ms.saturating_add(ended.saturating_sub(record.started));
        }
    }
    all
}
