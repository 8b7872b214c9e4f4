//! Runs in a store, which can be resumed in any process.

mod answer;
mod called;
mod cancel;
mod diff;
mod earlier;
mod edit;
mod ended;
mod filled;
mod hidden;
mod history;
mod library;
mod lines;
mod preview;
mod project;
mod resume;
mod stopped;
mod verify;
mod why;

pub use answer::{Trial, try_answer};
pub use cancel::cancel;
pub use diff::{RunDiff, RunSide, StepDiff, StepSide, compare};
pub(crate) use earlier::EarlierRuns;
pub use edit::{Edit, Edited};
pub use ended::ended;
pub use filled::{LastRun, Prompted, caller_in, last_of, last_with, spent_before, target_of};
pub(crate) use history::program_of;
pub use history::{can_continue, history, history_of};
pub(crate) use library::StoredAnswers;
pub(crate) use lines::LinesOfCalls;
pub use lines::{Lines, Made};
pub use preview::{Preview, asked_again, preview, preview_fork, preview_with_its_models};
pub use project::StoredProject;
pub use resume::Stored;
pub use stopped::{stop_reason, stopped};
pub use verify::verify;
pub use why::{
    Fate, Hunk, Line, Part, Place, Reason, SourceReason, TextOf, TextReason, TextSource, ValueOf, ValueReason, WordDiff,
};
