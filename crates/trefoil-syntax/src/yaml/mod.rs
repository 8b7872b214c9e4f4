//! YAML 1.2 (core schema) as a tree with the spans of every key, value and tag.
//!
//! A file has one document. Duplicate keys, and tags outside the core schema, are errors. Anchors, aliases and merge
//! keys are resolved under an expansion limit. Knows no keys by name and writes no YAML.
//!
//! In reading order: [`parse`] checks and reads the text, and reads it again after each mistake (`mend` masks the
//! unreadable parts); `build` makes the tree from parser events, `mapping` its mappings, `schema` its scalars, and
//! `map` maps decoded text to the file; `problem` words the parser's errors; `comments` finds the comments, which the
//! tree does not contain.

mod builder;
mod comments;
mod fence;
mod limits;
mod locate;
mod mapping;
mod parser;
mod problem;
mod recovery;
mod respelling;
pub mod rules;
mod scalar_map;
mod schema;
mod style;
mod tree;

pub use comments::{FileComments, YamlComment, find_comments};
pub use limits::YamlLimits;
pub use parser::{YamlDocument, parse};
pub use respelling::WordRespellings;
pub use scalar_map::ScalarMap;
pub use style::YamlStyle;
pub use tree::{YamlEntry, YamlMapping, YamlNode, YamlNodeKind, YamlScalar, YamlText};
