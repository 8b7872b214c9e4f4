//! Reads a SirenSpec file from the spanned tree to structs that mirror the format, and reports every problem.
//!
//! Does not resolve names of agents, nodes or paths.

mod agent;
mod budget;
mod call;
mod edge;
mod factory;
mod guardrail;
mod human;
mod input;
mod named;
mod node;
mod policy;
mod request;
mod scalar;
mod swrm;
mod tool;
mod workflow;
mod write;

pub use agent::{Agent, Model};
pub use call::CallNode;
pub use edge::Edge;
pub use factory::{FactoryNode, MAX_SWARM_SIZE, Over, Size, Worker};
pub use guardrail::{GuardList, Guardrail};
pub use human::HumanNode;
pub use input::InputField;
pub use node::{AgentNode, Node, NodeKind};
pub use policy::OnFailure;
pub use swrm::{Member, Swrm, Synthesis};
pub use tool::{ToolNode, ToolSettings};
pub use workflow::{Manifest, read};
pub use write::{Root, Write};
