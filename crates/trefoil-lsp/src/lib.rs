//! Editor features for manifests: first as plain data, then as a language server, on standard input and output or for a
//! host that brings its messages.
//!
//! ```text
//! buffers --(workspace)--> trefoil_project::load::check --> analysis --(one feature a file)--> plain data --(server)--> the protocol
//! ```
//!
//! A feature is a function over a [`FolderAnalysis`] with byte offsets as input and output. Only [`server`] uses the
//! protocol's types.

pub mod analysis;
pub mod workspace;

mod blocks;
mod cursor;
mod origins;
mod retained_findings;
mod types;
mod words;

pub mod code_action;
pub mod completion;
pub mod creation;
pub mod definition;
pub mod diagnostics;
pub mod highlight;
pub mod hover;
pub mod inlay_hints;
pub mod last_run;
pub mod lens;
pub mod links;
pub mod references;
pub mod rename;
pub mod semantic_tokens;
pub mod signature;
pub mod symbols;
pub mod workspace_symbols;

pub mod server;

pub use analysis::FolderAnalysis;
pub use workspace::EditorWorkspace;
