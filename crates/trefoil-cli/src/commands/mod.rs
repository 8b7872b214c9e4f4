//! The commands, one file each. A new one is also a variant and an arm in [`command_line`](crate::command_line).

pub mod check;
pub mod completions;
pub mod doctor;
pub mod explain;
pub mod graph;
pub mod init;
pub mod ir;
pub mod lsp;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod models;
pub mod plan;
pub mod render;
pub mod replay;
pub mod resume;
pub mod rules;
pub mod run;
pub mod runs;
pub mod schema;
pub mod secrets;
pub mod store;
pub mod trace;
pub mod trust;
pub mod worker;
