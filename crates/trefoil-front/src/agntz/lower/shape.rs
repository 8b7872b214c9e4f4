//! What is known at load about a value: enough to say that a path can never lead anywhere, or a comparison never hold.
//! Null is always possible and never counted.

use std::rc::Rc;
use std::sync::Arc;

use trefoil_template::{Object, Value};

use crate::learn;

/// What is known about a value.
#[derive(Debug, Clone)]
pub enum Shape {
    /// Nothing.
    Any,
    /// A model's raw answer.
    Answer,
    /// Text made by a template.
    Text,
    /// What a JSON Schema says.
    Schema(Value),
    /// An object with exactly these members.
    Members(Rc<Vec<(Arc<str>, Shape)>>),
}

/// What is known about a member of a value.
pub enum Member {
    /// It is there (or null), and this is known about it.
    Is(Shape),
    /// Nothing is known.
    Maybe,
    /// It is never there: what the value is, and the members that it has.
    Never {
        /// `text`, `a number`, `an object`.
        what: &'static str,
        /// Members by name.
        members: Vec<Arc<str>>,
        /// Nobody declared the value's shape; it is only how things are.
        undeclared: bool,
    },
}

/// The JSON kinds, for comparisons.
pub const KINDS: [&str; 5] = ["string", "number", "boolean", "object", "array"];

/// Keywords beside which a schema's `type` and `properties` do not tell all.
const OPEN: &[&str] = &["$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if", "const"];

impl Shape {
    /// As a JSON Schema.
    pub fn schema(&self) -> Value {
        match self {
            Shape::Any => Value::Bool(true),
            Shape::Answer | Shape::Text => learn::text_type(),
            Shape::Schema(schema) => schema.clone(),
            Shape::Members(members) => learn::object_of(members.iter().map(|(n, s)| (n.clone(), s.schema()))),
        }
    }

    /// What is known about a member.
    pub fn member(&self, name: &str) -> Member {
        match self {
            Shape::Any => Member::Maybe,
            Shape::Answer => Member::Never { what: "text", members: Vec::new(), undeclared: true },
            Shape::Text => Member::Never { what: "text", members: Vec::new(), undeclared: false },
            Shape::Members(members) => match members.iter().find(|(n, _)| &**n == name) {
                Some((_, shape)) => Member::Is(shape.clone()),
                None => Member::Never {
                    what: "an object",
                    members: members.iter().map(|(n, _)| n.clone()).collect(),
                    undeclared: false,
                },
            },
            Shape::Schema(schema) => schema.as_object().map_or(Member::Maybe, |o| schema_member(o, name)),
        }
    }

    /// The JSON kinds that the value can have, by type name; none: any.
    pub fn kinds(&self) -> Option<Vec<&'static str>> {
        match self {
            Shape::Any => None,
            Shape::Answer | Shape::Text => Some(vec!["string"]),
            Shape::Members(_) => Some(vec!["object"]),
            Shape::Schema(schema) => schema.as_object().and_then(schema_kinds),
        }
    }

    /// The only texts that the value can be, where a schema lists them.
    pub fn choices(&self) -> Option<Vec<Arc<str>>> {
        let Shape::Schema(schema) = self else { return None };
        let choices = schema.as_object()?.get("enum")?.as_list()?;
        Some(choices.iter().filter_map(Value::as_str).map(Arc::from).collect())
    }
}

fn is_open(schema: &Object) -> bool {
    OPEN.iter().any(|k| schema.contains_key(*k))
}

fn schema_kinds(schema: &Object) -> Option<Vec<&'static str>> {
    if is_open(schema) {
        return None;
    }
    let named = match schema.get("type")? {
        Value::List(names) => names.to_vec(),
        one => vec![one.clone()],
    };
    let kind = |name: &Value| match name.as_str()? {
        "integer" => Some("number"),
        other => KINDS.into_iter().find(|k| *k == other),
    };
    Some(named.iter().filter_map(kind).collect())
}

fn schema_member(schema: &Object, name: &str) -> Member {
    let Some(kinds) = schema_kinds(schema) else { return Member::Maybe };
    let never = |what, members| Member::Never { what, members, undeclared: false };
    if kinds.contains(&"object") {
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(inner) = properties.and_then(|p| p.get(name)) {
            return Member::Is(Shape::Schema(inner.clone()));
        }
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        return if closed && !schema.contains_key("patternProperties") {
            never("an object", properties.map(|p| p.keys().cloned().collect()).unwrap_or_default())
        } else {
            Member::Maybe
        };
    }
    if kinds.contains(&"array") {
        if name.chars().all(|c| c.is_ascii_digit()) {
            return match schema.get("items").filter(|_| !schema.contains_key("prefixItems")) {
                Some(items) => Member::Is(Shape::Schema(items.clone())),
                None => Member::Maybe,
            };
        }
        return never("a list", Vec::new());
    }
    match kinds.as_slice() {
        [] => Member::Maybe,
        ["number"] => never("a number", Vec::new()),
        ["boolean"] => never("true or false", Vec::new()),
        ["string"] => never("text", Vec::new()),
        _ => never("no object", Vec::new()),
    }
}

/// How a message names a JSON kind.
pub fn spoken(kind: &str) -> &'static str {
    match kind {
        "string" => "text",
        "number" | "integer" => "a number",
        "boolean" => "true or false",
        "object" => "an object",
        "array" => "a list",
        _ => "null",
    }
}
