//! Runs that use what earlier runs have paid for: they are resumed, edited, forked, or take answers of others.

mod called_step;
mod earlier_calls;
mod earlier_runs;
mod edit;
mod edited_flows;
mod hidden_values;
mod lines;
mod memo;
mod preview;
mod request;
mod results;
mod resume;

pub(crate) use earlier_calls::{CalledBefore, EarlierCalls, NewCall};
pub(crate) use earlier_runs::EarlierRuns;
pub use edit::EditedRun;
pub(crate) use lines::LinesOfCalls;
pub use lines::{NewResults, StepDecisions};
pub use preview::{EditPreview, asked_again, preview, preview_fork, preview_with_its_models};
pub use request::ReuseRequest;
pub(crate) use results::no_results;
