//! Trefoil: load, check and run agent workflows written in YAML.

pub mod load;
