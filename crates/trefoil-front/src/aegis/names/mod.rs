//! What texts of AEGIS can name: those of a workflow (decisions E6, E7, C9) and those of an agent's prompt.
//!
//! The grammar of names is here and nowhere else. [`WorkflowNames`] and [`PromptNames`] are data; a [`Place`](crate::names::Place) in them gives
//! the tree of names of a text. Nothing here reports.

mod agent;
mod answer;
mod board;
mod declare;
mod handler;
mod known;
mod outcome;
mod paths;
mod place;
mod prompt;
mod result;
mod root;
mod spelling;
mod whole;
mod workflow;

pub use agent::AgentNames;
pub use answer::Answer;
pub use declare::{declare_agent, declare_workflow};
pub use handler::{HANDLER, HandlerPlace};
pub use known::{ALWAYS, FlowSlots, Moment, Outcome, StateNames, WorkflowNames};
pub use paths::Before;
pub use prompt::{PromptNames, PromptPlace};
pub use spelling::path;
