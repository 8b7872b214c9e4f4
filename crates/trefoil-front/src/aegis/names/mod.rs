//! The names available in AEGIS texts: in a workflow and in an agent's prompt.
//!
//! Only this module knows the grammar of names. [`WorkflowNames`] and [`PromptNames`] are data; a
//! [`Place`](crate::names::Place) in them provides the tree of names for a text. Nothing is reported here.

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

pub use crate::build::FlowSlots;
pub use agent::AgentNames;
pub use answer::Answer;
pub use declare::{declare_agent, declare_workflow};
pub use handler::HandlerPlace;
pub use known::{ALWAYS, Moment, Outcome, StateNames, WorkflowNames};
pub use paths::Before;
pub use prompt::{PromptNames, PromptPlace};
pub use spelling::path;
