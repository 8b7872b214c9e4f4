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
mod named_items;
mod node;
mod policy;
mod request;
mod scalar;
mod swrm;
mod tool;
mod workflow;
mod write;

pub use agent::{SirenAgent, SirenModel};
pub use call::CallNode;
pub use edge::SirenEdge;
pub use factory::{FactoryItems, FactoryNode, FactoryWorker, MAX_SWARM_SIZE, SwarmSize};
pub use guardrail::{GuardList, SirenGuardrail};
pub use human::HumanNode;
pub use input::DeclaredInputField;
pub use node::{AgentNode, NodeKind, SirenNode};
pub use policy::NodeFailurePolicy;
pub use swrm::{SirenSwarm, SwarmMember, SwarmSynthesis};
pub use tool::{ToolNode, ToolSettings};
pub use workflow::{SirenManifest, read_manifest};
pub use write::{NodeWrite, StateTree};
