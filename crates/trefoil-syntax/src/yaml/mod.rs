//! YAML 1.2 (core schema) as a tree in which every key, value and tag knows its bytes.
//!
//! One document a file; duplicate keys and tags other than the core ones are errors; anchors, aliases and merge
//! keys are resolved under an expansion limit (decision C7).

mod map;
mod parse;
mod tree;

pub use map::ScalarMap;
pub use parse::{Limits, Parsed, parse};
pub use tree::{Entry, Kind, Mapping, Node, Scalar, Style, Text};
