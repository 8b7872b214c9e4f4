//! The formats as JSON Schemas, and what they say about one place of a document: the keys and values that is allowed there.
//!
//! Plain data for editors and for `trefoil schema`. Judges nothing: what is wrong in a document is the checker's to say,
//! and it says it with places.

mod matching;
mod walk;

use std::sync::LazyLock;

use serde_json::Value;
use trefoil_front::{FRONT_ENDS, front_end};
use trefoil_syntax::yaml::Node;

/// One step of a path into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Into a mapping.
    Key(String),
    /// Into a list; which item.
    Item(usize),
}

/// A key that is allowed in a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaKey {
    /// As it is written.
    pub name: String,
    /// What it means; empty where the format says nothing.
    pub description: String,
    /// What is allowed there, where that is a choice of words.
    pub values: Vec<Choice>,
    /// What its value is.
    pub takes: Takes,
    /// Whether the mapping is wrong without it.
    pub required: bool,
    /// Old, or without effect here.
    pub deprecated: bool,
}

/// A value out of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// As it is written in YAML.
    pub text: String,
    /// Only an example: others is allowed there too.
    pub open: bool,
}

/// The shape of a value, for what an editor puts after the colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A scalar, or anything.
    Scalar,
    /// A list.
    List,
    /// A mapping.
    Mapping,
}

/// The JSON Schema of a dialect as text.
pub fn text(dialect: &str) -> Option<&'static str> {
    front_end(dialect).map(|f| f.schema())
}

/// The keys that are allowed in the mapping at a path, in the order of the format; those that are there already included.
/// What depends on other keys (`kind`, `type`) is decided by the document. Empty where the keys are the user's own.
pub fn keys_at(dialect: &str, root: &Node, path: &[Segment]) -> Vec<SchemaKey> {
    schema(dialect).map(|schema| walk::keys(schema, root, path)).unwrap_or_default()
}

/// The values that are allowed at a path, where that is a choice of words.
pub fn values_at(dialect: &str, root: &Node, path: &[Segment]) -> Vec<Choice> {
    schema(dialect).map(|schema| walk::values(schema, root, path)).unwrap_or_default()
}

fn schema(dialect: &str) -> Option<&'static Value> {
    static PARSED: LazyLock<Vec<(&str, Value)>> = LazyLock::new(|| {
        let parsed = |text| serde_json::from_str(text).unwrap_or_default();
        FRONT_ENDS.iter().map(|f| (f.name(), parsed(f.schema()))).collect()
    });
    PARSED.iter().find(|(name, _)| *name == dialect).map(|(_, schema)| schema)
}
