//! Lists of runs: filters, and pages that stay correct while runs are added and removed.

use crate::error::{StoreError, StoreResult};
use crate::record::{Record, Status};

/// Selects runs. An unset field matches every run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Has one of these statuses.
    pub status: Vec<Status>,
    /// The entry flow.
    pub flow: Option<String>,
    /// Started at this time or later: milliseconds since 1970-01-01 UTC.
    pub since: Option<u64>,
    /// Started before this time.
    pub until: Option<u64>,
    /// Has this text in its id, its flow, its error or a label's value. ASCII letters match in either case.
    pub text: Option<String>,
    /// Has all of these labels: keys and values.
    pub labels: Vec<(String, String)>,
    /// Was started by this run.
    pub parent: Option<String>,
    /// Reuses the results of this run. Slow in a large store.
    pub base: Option<String>,
}

/// Selects the runs of a [sum](crate::Store::spending_since). An unset field matches every run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpendingFilter {
    /// The entry flow.
    pub flow: Option<String>,
    /// Has this label: key and value.
    pub label: Option<(String, String)>,
}

/// If fewer runs than this have a label, its runs are sorted.
pub(crate) const RARE: usize = 5_000;
/// Otherwise, so many of the newest runs are looked at for the labels.
pub(crate) const RECENT: usize = 2_000;
/// If that is not enough for a page: if fewer runs than this have a label, its runs are sorted, too.
pub(crate) const SORTED: usize = 20_000;

/// Runs by status. Each kind has a place in an index in which the newest ones are found at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusRange {
    /// Of any status.
    Any,
    /// Recorded with this status.
    Recorded(Status),
    /// Recorded as running, and a process works on them.
    Running,
    /// Recorded as running, but their processes have ended, so that they are interrupted.
    Left,
}

impl RunFilter {
    /// The status of its runs.
    pub(crate) fn status_ranges(&self) -> Vec<StatusRange> {
        if self.status.is_empty() {
            return vec![StatusRange::Any];
        }
        let mut ranges = Vec::new();
        for status in Status::ALL {
            let is_wanted = self.status.contains(&status);
            let wants_left = self.status.contains(&Status::Interrupted);
            match status {
                Status::Running if is_wanted && wants_left => ranges.push(StatusRange::Recorded(status)),
                Status::Running if is_wanted => ranges.push(StatusRange::Running),
                Status::Running if wants_left => ranges.push(StatusRange::Left),
                _ if is_wanted => ranges.push(StatusRange::Recorded(status)),
                _ => {}
            }
        }
        ranges
    }
}

/// Runs, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<Record>,
    /// Where the next page begins; `None` if this is the last one.
    pub next: Option<RunCursor>,
}

/// A position in a list: after a certain run. New runs do not move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunCursor {
    /// When the last run of the page started.
    pub started: u64,
    /// The store's number for that run.
    pub no: i64,
}

impl RunCursor {
    /// From its text form.
    pub fn parse(text: &str) -> StoreResult<Self> {
        let parts = text.split_once('.').and_then(|(started, no)| Some((started.parse().ok()?, no.parse().ok()?)));
        let (started, no) = parts.ok_or_else(|| StoreError::Cursor { cursor: text.to_owned() })?;
        Ok(Self { started, no })
    }
}

impl std::fmt::Display for RunCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.started, self.no)
    }
}
