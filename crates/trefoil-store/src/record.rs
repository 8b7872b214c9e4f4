//! The summary of a run, which is available without reading its journal.

use trefoil_machine::event::ItemTally;
pub use trefoil_runtime::RunStatus as Status;
use trefoil_runtime::Usage;

/// How long the result of a run whose content is not kept waits for somebody to see it, in milliseconds: a day.
pub const UNSEEN_MS: u64 = 24 * 60 * 60 * 1_000;

/// How long a run's prompts and answers are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Content {
    /// Everything, as long as the run is kept.
    #[default]
    All,
    /// The part needed to resume the run, until it is completed or cancelled.
    UntilEnd,
    /// Nothing: it was removed when the run ended.
    Removed,
    /// Only the result of a completed run, until somebody has seen it, and not longer than [`UNSEEN_MS`].
    Result,
}

impl Content {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::UntilEnd => "until_end",
            Self::Removed => "removed",
            Self::Result => "result",
        }
    }
    /// Whether prompts and answers are there, and the files of the program.
    pub fn keeps_prompts(self) -> bool {
        matches!(self, Self::All | Self::UntilEnd)
    }
    /// From the number that stores use for it.
    pub(crate) fn of_number(number: i64) -> Self {
        match number {
            0 => Self::All,
            1 => Self::UntilEnd,
            3 => Self::Result,
            _ => Self::Removed,
        }
    }
}

/// The usage and cost of a run so far, computed from its entries. The cost of model calls that were in progress when
/// the process ended is unknown; while a process works on the run, such calls are not counted yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunSpending {
    /// Model calls, counted as limits count them: a repeated try of an unanswered call does not count again.
    pub calls: u64,
    /// Tokens and cost. Tokens written to caches are only in the entries.
    pub usage: Usage,
}

impl RunSpending {
    /// Adds calls with an unknown cost, unless they are free.
    #[must_use]
    pub fn with_lost(mut self, calls: u64, free: bool) -> Self {
        self.usage.add_usage(Usage {
            unknown_calls: calls,
            unpriced_calls: if free { 0 } else { calls },
            ..Usage::default()
        });
        self
    }
}

impl Record {
    /// Its status, and what went wrong although it was completed: `completed, 9 of 200 items failed`.
    pub fn status_text(&self) -> String {
        let items = self
            .items
            .filter(|_| self.status == Status::Completed)
            .map(|items| format!(", {items}"))
            .unwrap_or_default();
        format!("{}{items}", self.status)
    }
}

/// The summary of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub run: String,
    /// The entry flow.
    pub flow: String,
    /// The fingerprint of its program.
    pub program: String,
    /// Its status.
    pub status: Status,
    /// When it started, or was added to the store: milliseconds since 1970-01-01 UTC.
    pub started: u64,
    /// When it ended.
    pub ended: Option<u64>,
    /// Code and text of its failure. Long texts are cut; the journal has the full text.
    pub error: Option<(String, String)>,
    /// The items of the fan-outs in which some failed, and the run went on, if it has ended. `None`: no item failed.
    pub items: Option<ItemTally>,
    /// Its usage and cost so far.
    pub spent: RunSpending,
    /// Model calls in progress, now or when its process ended.
    pub in_flight: u64,
    /// How many entries its journal has.
    pub entries: u64,
    /// The run that started it.
    pub parent: Option<String>,
    /// The run whose results it reuses: it is a fork of that one, or a run of an edited file.
    pub base: Option<String>,
    /// The process that works on it, and the expiry of its lease.
    pub owner: Option<(String, u64)>,
    /// How often it was claimed: the fencing token against former owners.
    pub epoch: u64,
    /// When it must be checked again, if nothing happens before.
    pub wake_at: Option<u64>,
    /// What is kept of its prompts and answers.
    pub content: Content,
    /// The process from which another one took it.
    pub taken_from: Option<String>,
    /// Its labels, by key.
    pub labels: Vec<(String, String)>,
}
