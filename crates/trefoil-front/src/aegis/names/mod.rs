//! The names available in AEGIS texts: in a workflow and in an agent's prompt.
//!
//! Only this module knows the grammar of names. [`WorkflowNames`] and [`PromptNames`] are data; a
//! [`NameScope`](crate::names::NameScope) in them provides the tree of names for a text. Nothing is reported here.

mod agent;
mod answer;
mod blackboard;
mod composed_objects;
mod declarations;
mod handler;
mod outcome;
mod prompt;
mod result;
mod root;
mod spelling;
mod state_order;
mod workflow;
mod workflow_names;
mod workflow_scope;

pub use crate::program_builder::FlowSlots;
pub use agent::AegisAgentNames;
pub use answer::UnitResult;
pub use declarations::{declare_agent, declare_workflow};
pub use handler::OutputHandlerScope;
pub use prompt::{PromptNames, PromptScope};
pub use spelling::name_path;
pub use state_order::StatePrecedence;
pub use workflow_names::{ALWAYS, AegisStateNames, RenderMoment, RoundSlots, StateResultForm, WorkflowNames};
