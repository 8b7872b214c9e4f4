//! Runs in a store: what is stored of them, and how it is read back.

mod answer;
mod called_failure;
mod called_runs;
mod called_usage;
mod cancel;
mod diff;
mod ended;
mod entries;
mod filled;
mod history;
mod library;
mod project;
mod replay;
mod stored;

pub use answer::{AnswerEffect, try_answer};
pub use called_failure::called_failure;
pub use called_runs::run_of_call;
pub(crate) use called_runs::{call_run_id, called_runs, last_call_run, start_entry};
pub use called_usage::with_called_usage;
pub use cancel::cancel;
pub use diff::{RunDiff, RunSide, StepDiff, StepSide, compare};
pub use ended::{ended, stop_reason, stopped};
pub use entries::all_runs;
pub(crate) use entries::{cited_results, each_entry};
pub use filled::{LastRun, PromptedRun, caller_in, last_of, last_with, spent_before, target_of};
pub use history::{can_continue, history, history_of};
pub(crate) use library::StoredAnswers;
pub use project::StoredProject;
pub use replay::verify;
pub(crate) use replay::{last_state, prepared, reading};
pub use stored::StoredRun;
