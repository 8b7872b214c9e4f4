//! YAML 1.2 (core schema) as a tree in which every key, value and tag knows its bytes.
//!
//! One document a file; duplicate keys and tags other than the core ones are errors; anchors, aliases and merge
//! keys are resolved under an expansion limit (decision C7). Knows no key by name and writes no YAML.
//!
//! In reading order: [`parse`] lets text in and reads it, again after each mistake (`mend` masks what could not be
//! read); `build` makes the tree from parser events, `mapping` its mappings, `schema` its scalars, `map` the way back
//! from decoded text to the file; `problem` says in our words what the parser did not like; `comments` finds what the tree leaves out.

mod build;
mod comments;
mod fence;
mod locate;
mod map;
mod mapping;
mod mend;
mod parse;
mod problem;
pub mod rules;
mod schema;
mod tree;

pub use comments::{Comment, Comments, comments};
pub use map::ScalarMap;
pub use parse::{Limits, Parsed, parse};
pub use rules::RULES;
pub use tree::{Entry, Kind, Mapping, Node, Scalar, Style, Text};
