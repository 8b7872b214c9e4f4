//! The formats as JSON Schemas, and the allowed keys and values at a place of a document.
//!
//! Plain data for editors and for `trefoil schema`. Reports nothing: the checker finds mistakes in documents.

mod matching;
mod traversal;

use std::sync::LazyLock;

use serde_json::Value;
use trefoil_front::{FRONT_ENDS, front_end};
use trefoil_syntax::yaml::YamlNode;
use trefoil_template::read_json;

/// One step of a path into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaSegment {
    /// Into a mapping.
    Key(String),
    /// Into a list, with the index of the item.
    Item(usize),
}

/// A key allowed in a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaKey {
    /// The key.
    pub name: String,
    /// Its description; empty if the format has none.
    pub description: String,
    /// The allowed values, if they are a fixed choice.
    pub values: Vec<AllowedValue>,
    /// The form of its value.
    pub takes: ValueForm,
    /// Whether it is required.
    pub required: bool,
    /// Whether it is deprecated or has no effect here.
    pub deprecated: bool,
}

/// One of several allowed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedValue {
    /// The value as written in YAML.
    pub text: String,
    /// Whether it is only an example, so that other values are allowed too.
    pub open: bool,
}

/// The form of a value, which determines what an editor inserts after the colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// A scalar, or any value.
    Scalar,
    /// A list.
    List,
    /// A mapping.
    Mapping,
}

/// The JSON Schema of a dialect as text.
pub fn schema_text(dialect: &str) -> Option<&'static str> {
    Some(front_end(dialect)?.manifest_schema())
}

/// The keys allowed in the mapping at a path, in the order of the format, including those already present. The document
/// determines keys that depend on others (`kind`, `type`). Empty if the keys are chosen by the user.
pub fn keys_at(dialect: &str, root: &YamlNode, path: &[SchemaSegment]) -> Vec<SchemaKey> {
    let Some(schema) = schema(dialect) else { return Vec::new() };
    traversal::keys(schema, root, path)
}

/// The values allowed at a path, if they are a fixed choice.
pub fn values_at(dialect: &str, root: &YamlNode, path: &[SchemaSegment]) -> Vec<AllowedValue> {
    let Some(schema) = schema(dialect) else { return Vec::new() };
    traversal::values(schema, root, path)
}

fn schema(dialect: &str) -> Option<&'static Value> {
    static PARSED: LazyLock<Vec<(&str, Value)>> = LazyLock::new(|| {
        let parsed = |text| read_json(text).unwrap_or_default();
        FRONT_ENDS.iter().map(|f| (f.name(), parsed(f.manifest_schema()))).collect()
    });
    let (_, schema) = PARSED.iter().find(|(name, _)| *name == dialect)?;
    Some(schema)
}
