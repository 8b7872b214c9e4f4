//! A project on disk or in memory: its files, the manifests in them as programs with findings, the settings of its
//! operator, and the sources of secrets. Everything that a run needs is read here, and nothing is run.
//!
//! ```text
//! door (the only way to files) <- project_file, target <- settings, trust, secrets <- load <- bundle <- Flow
//! ```

pub mod as_tool;
pub mod bundle;
pub mod codes;
pub mod data;
pub mod door;
pub mod error;
pub mod failure;
pub mod fix;
pub mod flow;
pub mod folders;
pub mod input;
pub mod load;
mod patterns;
pub mod private;
pub mod project_file;
pub mod render;
pub mod schema;
pub mod secrets;
pub mod settings;
pub mod shell;
pub mod target;
pub mod target_settings;
pub mod written;

pub use error::{BoxError, Error, FoundErrors, Result, RunFailure};
pub use flow::{Flow, FlowOptions};
