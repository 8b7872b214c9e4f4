//! What the kinds of state have of their own. One file a kind.

pub mod agent;
pub mod container;
pub mod human;
pub mod parallel;
pub mod subworkflow;
pub mod system;
