//! Runs in a store: what is stored of them, and how it is read back.

mod answer;
mod called_failure;
mod called_runs;
mod called_usage;
mod cancellation;
mod diff;
mod diff_json;
mod entries;
mod history;
mod library;
mod project;
mod prompt_values;
mod replay;
mod run_outcome;
mod start_diff;
mod stored_run;

pub use answer::{AnswerEffect, try_answer};
pub use called_failure::called_failure;
pub use called_runs::{call_run_id, run_of_call};
pub(crate) use called_runs::{called_runs, last_call_run, start_entry};
pub use called_usage::with_called_usage;
pub use cancellation::cancel_idle_run;
pub use diff::{RunDiff, RunSide, StepDiff, StepSide, compare_runs};
pub use diff_json::{DIFF_SCHEMA, diff_json, reason_json};
pub use entries::all_runs;
pub(crate) use entries::{cited_results, each_entry};
pub use history::{can_continue, history_of, send_history};
pub(crate) use library::StoredAnswers;
pub use project::StoredProject;
pub use prompt_values::{LastRun, PromptedRun, caller_in, last_of, last_with, spent_before, target_of};
pub use replay::verify_run;
pub(crate) use replay::{last_state, prepared_program, reading_ports};
pub use run_outcome::{read_outcome, stop_reason, suspension_reason};
pub use start_diff::{FileDiff, FileDifference, StartDiff};
pub(crate) use stored_run::FlowCache;
pub use stored_run::StoredRun;
