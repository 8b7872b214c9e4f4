//! JSON Schemas in manifests. They are checked when the manifest is read, so that mistakes have a place.

use trefoil_ir::types::ValueType;
use trefoil_syntax::yaml::{YamlEntry, YamlNode};
use trefoil_template::Value;

use crate::ManifestReader;

/// A schema and its place.
#[derive(Debug, Clone)]
pub struct JsonSchema {
    /// The schema.
    pub json: Value,
    /// The type of its values.
    pub of: ValueType,
    /// The node in the file.
    pub node: YamlNode,
}

impl JsonSchema {
    /// A schema that is written as this node.
    pub fn new(json: Value, node: YamlNode) -> Self {
        Self { of: ValueType::from_schema(&json), json, node }
    }
    /// Whether it describes objects, judging by its top level.
    pub fn of_objects(&self) -> bool {
        match self.json.get("type") {
            Some(t) => t.as_str() == Some("object"),
            None => self.json.get("properties").is_some() || self.json.get("required").is_some(),
        }
    }
    /// Whether undeclared keys are rejected.
    pub fn is_closed(&self) -> bool {
        matches!(self.of.as_object(), Some(object) if object.is_closed())
    }
    /// Whether an input may have declared properties only: true unless the schema explicitly allows others.
    pub fn lists_all(&self) -> bool {
        const OPENING: [&str; 14] = [
            "additionalProperties",
            "patternProperties",
            "unevaluatedProperties",
            "propertyNames",
            "dependentSchemas",
            "dependentRequired",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "if",
            "$ref",
            "$dynamicRef",
            "dependencies",
        ];
        let opened = || OPENING.iter().any(|keyword| self.json.get(keyword).is_some());
        self.of_objects() && self.declared_properties().next().is_some() && !opened()
    }
    /// The declared properties.
    pub fn declared_properties(&self) -> impl Iterator<Item = (&std::sync::Arc<str>, &Value)> {
        self.json.get("properties").and_then(Value::as_object).into_iter().flatten()
    }
    /// Whether a property is required.
    pub fn requires_property(&self, name: &str) -> bool {
        matches!(self.of.as_object(), Some(object) if object.requires_member(name))
    }
    /// The place of a property's declaration.
    pub fn property_at(&self, name: &str) -> trefoil_syntax::Span {
        match self.declaration_of(name) {
            Some(entry) => entry.key.span,
            None => self.node.span,
        }
    }
    fn declaration_of(&self, property: &str) -> Option<&YamlEntry> {
        self.node.as_mapping()?.get("properties")?.value.as_mapping()?.get(property)
    }
}

/// Reads a schema; an invalid one is reported at the wrong keyword.
pub fn read_json_schema(reader: &ManifestReader<'_>, node: &YamlNode, what: &str) -> Option<JsonSchema> {
    let json = crate::schema::read_schema(reader, node, what)?;
    Some(JsonSchema::new(json, node.clone()))
}
