//! How a run stands, in the words that every store, list, trace and page uses.

use std::fmt;
use std::str::FromStr;

use trefoil_machine::RunError;

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunStatus {
    /// No process has worked on it yet.
    Pending,
    /// A process works on it.
    Running,
    /// Its process has ended, or was stopped, and no other works on it yet.
    Interrupted,
    /// It waits for a person, a signal or a time, and needs no process until then.
    Waiting,
    /// It has an output.
    Completed,
    /// It has failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl RunStatus {
    /// All statuses.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Running,
        Self::Interrupted,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
    /// That of a run that ended like this, in a process that was not killed.
    pub fn of_end(error: Option<&RunError>) -> Self {
        match error.map(|error| error.code.as_str()) {
            None => Self::Completed,
            Some("CANCELLED") => Self::Cancelled,
            Some("INTERRUPTED") => Self::Interrupted,
            Some(_) => Self::Failed,
        }
    }
    /// Whether it is final.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses a status by name; `error` is an alias of `failed`, as in other systems.
impl FromStr for RunStatus {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let name = if name == "error" { Self::Failed.name() } else { name };
        let found = Self::ALL.into_iter().find(|status| status.name() == name);
        found.ok_or_else(|| {
            let names: Vec<String> = Self::ALL.iter().map(|status| format!("`{status}`")).collect();
            format!("unknown status `{name}`; available: {}", names.join(", "))
        })
    }
}
