//! JSON Schemas in manifests: checked when the manifest is read, at the place of the mistake.

use trefoil_syntax::yaml::Node;
use trefoil_template::Value;

use crate::Reader;

/// A schema and where it is.
#[derive(Debug, Clone)]
pub struct JsonSchema {
    /// The schema.
    pub json: Value,
    /// Where.
    pub node: Node,
}

impl JsonSchema {
    /// Whether it describes objects, as far as its top level says.
    pub fn of_objects(&self) -> bool {
        match self.json.get("type") {
            Some(t) => t.as_str() == Some("object"),
            None => self.json.get("properties").is_some() || self.json.get("required").is_some(),
        }
    }
    /// Whether keys beside the declared ones are refused.
    pub fn closed(&self) -> bool {
        self.json.get("additionalProperties").and_then(Value::as_bool) == Some(false)
    }
    /// Whether a run's input has declared properties only: where the schema leaves others open, it does so in writing.
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
        self.of_objects() && self.properties().next().is_some() && !opened()
    }
    /// The declared properties.
    pub fn properties(&self) -> impl Iterator<Item = (&std::sync::Arc<str>, &Value)> {
        self.json.get("properties").and_then(Value::as_object).into_iter().flatten()
    }
    /// Whether a property is required.
    pub fn requires(&self, name: &str) -> bool {
        let required = self.json.get("required").and_then(Value::as_list).unwrap_or_default();
        required.iter().any(|r| r.as_str() == Some(name))
    }
    /// The place of a property's declaration.
    pub fn property_at(&self, name: &str) -> trefoil_syntax::Span {
        let entry = || self.node.mapping()?.get("properties")?.value.mapping()?.get(name).map(|e| e.key.span);
        entry().unwrap_or(self.node.span)
    }
}

/// Reads a schema; a broken one is reported at the keyword that is wrong.
pub fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Option<JsonSchema> {
    let json = crate::schema::read(reader, node, what)?;
    Some(JsonSchema { json, node: node.clone() })
}
