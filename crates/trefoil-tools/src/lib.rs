//! Tools: what a workflow calls in the world.
//!
//! [`guard`] is the one HTTP client of everything whose address a manifest, an input or an answer names. It decides which
//! addresses may be called, and how much may come back. [`HttpTools`] calls HTTP tools with it. [`CommandTools`] are programs
//! on this machine that the operator declares; `McpTools` are those of MCP servers (feature `mcp`); [`process`] is how they and all other child processes are started and ended.
//!
//! Knows nothing about workflows, models and manifests.

mod command;
pub mod guard;
mod http;
#[cfg(feature = "mcp")]
mod mcp;
pub mod process;
mod python;
mod shape;

pub use command::{CommandInput, CommandResult, CommandTool, CommandTools, Declared, TIME};
pub use http::HttpTools;
#[cfg(feature = "mcp")]
pub use mcp::{Idempotent, McpPlace, McpServer, McpTools};
pub use python::{Python, PythonTools};
