//! From manifests to flows. A workflow becomes a flow with a graph; its sub-workflows become flows before it, factory
//! instances flows of their own.
//!
//! `order` and `links` say which node ends before which, `names` and `scope` bind what templates read, one file a type of
//! node makes its step.

mod agent;
mod answers;
mod body;
mod call;
mod factory;
mod flow;
mod graph;
mod human;
mod inputs;
mod known;
mod lacking;
mod links;
mod meaning;
mod message;
mod names;
mod node;
mod order;
mod reads;
mod references;
mod scope;
mod session;
mod shape;
mod swrm;
mod texts;
mod there;
mod tool;
mod undefined;
mod when;

pub use references::{is_path, workflow_nodes};
pub use session::{Child, Session};
