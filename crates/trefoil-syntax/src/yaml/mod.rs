//! YAML 1.2 (core schema) as a tree with the spans of every key, value and tag.
//!
//! A file has one document. Duplicate keys, and tags outside the core schema, are errors. Anchors, aliases and merge
//! keys are resolved under an expansion limit. Knows no keys by name and writes no YAML.
//!
//! In reading order: [`parse`] checks and reads the text, and reads it again after each mistake (`mend` masks the
//! unreadable parts); `build` makes the tree from parser events, `mapping` its mappings, `schema` its scalars, and
//! `map` maps decoded text to the file; `problem` words the parser's errors; `comments` finds the comments, which the
//! tree does not contain.

mod build;
mod comments;
mod fence;
mod limits;
mod locate;
mod map;
mod mapping;
mod mend;
mod parse;
mod problem;
mod respelt;
pub mod rules;
mod schema;
mod style;
mod tree;

pub use comments::{Comment, Comments, comments};
pub use limits::Limits;
pub use map::ScalarMap;
pub use parse::{Parsed, parse};
pub use respelt::Respellings;
pub use style::Style;
pub use tree::{Entry, Kind, Mapping, Node, Scalar, Text};
