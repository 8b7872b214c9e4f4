//! What a SirenSpec file says, read from the spanned tree: structs that mirror the format, every problem reported.
//!
//! Does not resolve names: whether an agent, a node or a path exists is for lowering to say.

mod agent;
mod budget;
mod call;
mod edge;
mod factory;
mod guardrail;
mod human;
mod input;
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
