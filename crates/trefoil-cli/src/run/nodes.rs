//! What a terminal has of a step or item beside the picture of the run: its names, its text, and what was printed of it.

use std::collections::VecDeque;
use std::ops::Deref;

pub use trefoil_view::run_view::StepState;
use trefoil_view::run_view::StepView;

/// Maximum number of lines of a picture that stays on the screen.
pub const LAST: usize = 400;

/// For a fan-out with more items, only the items that did not succeed are shown, and the number of the others.
pub const MANY: usize = 20;
/// Maximum number of failed items of such a fan-out that are shown, and of those in progress.
pub const SOME: usize = 10;

/// The row of a step or item.
#[derive(Debug, Default)]
pub struct ProgressRow {
    /// Its name in the tree, relative to its parent.
    pub label: String,
    /// Its full name, for separate lines.
    pub title: String,
    /// The text next to it: streamed text, a reason, or the start of its result.
    pub text: String,
    /// Why it waits for its next try.
    pub retry: String,
    /// Whether the text is provisional and may never reach the workflow.
    pub provisional: bool,
    /// Whether the text says that its call waits for a rate limit.
    pub delayed: bool,
    /// The start of its last answer.
    pub answer: String,
    /// Number of characters that had arrived of a truncated answer.
    pub arrived: usize,
    /// How its command failed, if it did: the exit code, and the start of its error output.
    pub exited: Option<String>,
    /// Whether it succeeded with a command that failed, or with an answer without a word.
    pub is_partly: bool,
    /// Whether it had ended before the run was resumed, and nothing happened to it since.
    pub is_past: bool,
    /// Whether it is permanently on the screen, above the redrawn area.
    pub is_permanent: bool,
    /// Those of its children that were removed.
    pub folded: FoldedNodes,
}

/// What has ended below a node.
#[derive(Debug, Default)]
pub struct FoldedNodes {
    /// Those that have ended and may be folded, in that order.
    pub ended: VecDeque<usize>,
    /// How many children were folded.
    pub children: usize,
    /// How many of them are not permanently on the screen.
    pub not_permanent: usize,
    /// How many rows they would need, with those below them.
    pub rows: usize,
}

/// A step or item with its row.
#[derive(Clone, Copy)]
pub struct ProgressNode<'p> {
    pub step: &'p StepView,
    pub row: &'p ProgressRow,
}

impl Deref for ProgressNode<'_> {
    type Target = StepView;
    fn deref(&self) -> &StepView {
        self.step
    }
}

impl<'p> ProgressNode<'p> {
    /// Its state in the tree.
    pub fn display_state(&self) -> StepState {
        if self.row.is_partly && self.state == StepState::Done { StepState::Partly } else { self.state }
    }
    /// The text next to it.
    pub fn state_text(&self) -> &'p str {
        match self.state {
            StepState::Retrying => &self.row.retry,
            StepState::Cancelled => "cancelled",
            StepState::Stopped => "stopped",
            StepState::Interrupted => "interrupted",
            _ => &self.row.text,
        }
    }
    /// The number of tries that have started.
    pub fn started_tries(&self) -> u32 {
        self.tries - u32::from(self.ended_ms.and(self.retry_ms).is_some())
    }
}
