//! Trefoil: load, check and run agent workflows written in YAML.

pub mod describe;
pub mod graph;
pub mod load;
pub mod plan;
