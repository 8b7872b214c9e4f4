//! Tools that workflows call.
//!
//! [`guard`] is the only HTTP client for addresses from a manifest, an input or an answer. It decides which addresses
//! may be called and limits the size of responses. [`HttpTools`] uses it for HTTP tools. [`CommandTools`] are programs
//! on this machine that the operator declares; `McpTools` are tools of MCP servers (feature `mcp`). [`process`] starts
//! and ends all child processes.
//!
//! Knows nothing about workflows, models or manifests.

mod command;
pub mod guard;
mod http;
#[cfg(feature = "mcp")]
mod mcp;
pub mod process;
mod python;
mod tool_schema;

pub use command::{
    CommandInput, CommandResult, CommandTemplate, CommandTool, CommandToolDeclaration, CommandTools, TIME, WordPart,
};
pub use http::{HttpTools, find_unfilled};
#[cfg(feature = "mcp")]
pub use mcp::{IdempotentTools, McpServer, McpTools, McpTransport};
pub use python::{PythonSettings, PythonTools};
