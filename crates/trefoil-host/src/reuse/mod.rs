//! Runs that use what earlier runs have paid for: they are resumed, edited, forked, or take answers of others.

mod called_step;
mod earlier_calls;
mod earlier_runs;
mod edited_flows;
mod edited_run;
mod hidden_values;
mod memo;
mod preview;
mod prompts;
mod request;
mod results;
mod resumption;
mod step_decisions;

pub(crate) use earlier_calls::{CalledBefore, EarlierCalls, NewCall};
pub(crate) use earlier_runs::EarlierRuns;
pub use edited_run::EditedRun;
pub use preview::{EditPreview, asked_again, preview_edit, preview_fork, preview_with_its_models};
pub use prompts::preview_prompts;
pub use request::ReuseRequest;
pub(crate) use results::no_results;
pub(crate) use step_decisions::LinesOfCalls;
pub use step_decisions::{NewResults, StepDecisions};
