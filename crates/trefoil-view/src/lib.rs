//! What people see of a program and of a run: descriptions of steps, the plan, the graph, the picture of a run, its trace with the page,
//! and differences.
//!
//! Each is computed from values that are passed in: a program with its files, or the events of a run. Nothing is read,
//! run or decided here.

pub mod change_reasons;
mod descriptions;
pub mod diff;
pub mod graph;
pub mod plan;
pub mod run_view;
pub mod trace;

pub use descriptions::{feature_name, model_name, short_text};
