//! A project on disk or in memory: its files, the manifests in them as programs with findings, the settings of its
//! operator, and the sources of secrets. Everything that a run needs is read here, and nothing is run.
//!
//! ```text
//! file access (the only way to files) <- project_file, target <- settings, trust, secrets <- load <- bundle <- Flow
//! ```

pub mod bundle;
pub mod codes;
pub mod data;
pub mod error;
pub mod failure;
pub mod file_access;
pub mod fix;
pub mod flow;
pub mod folder_files;
pub mod folders;
pub mod input;
pub mod load;
pub mod output_file;
mod patterns;
pub mod private_files;
pub mod project_file;
pub mod render;
pub mod schema;
pub mod secrets;
pub mod settings;
pub mod shell;
pub mod target;
pub mod target_settings;
pub mod tool_interface;

pub use error::{BoxError, Error, FoundErrors, Result, RunFailure};
pub use flow::{Flow, FlowOptions};
