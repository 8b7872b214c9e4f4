//! What flows cost and how they fared over many runs: by run, by step, and by version of a flow and of its prompts.
//!
//! Records of runs have status, cost and times, and are read for every run. What a step cost is only in the journals, so those of the
//! newest runs are read, and not more than [`HistoryLimits`] allows. The answer says how many that were.

mod flow_versions;
mod prompt_versions;
mod run_reading;
mod step_spending;

pub use flow_versions::{FlowVersion, list_versions};
pub use prompt_versions::{PromptHistory, PromptVersion};
pub use run_reading::{HistoryLimits, RecentRuns, read_history};
pub use step_spending::{DearestCall, StepSpending};
