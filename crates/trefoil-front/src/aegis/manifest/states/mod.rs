//! The parts that are specific to each kind of state. One file for each kind.

pub mod agent;
pub mod container;
pub mod human;
pub mod parallel;
pub mod subworkflow;
pub mod system;
