//! Types that JSON Schemas declare.
//!
//! This is the only place where a schema becomes a type. What a schema says in the words of [`ValueType`] becomes one of its
//! simple forms. A schema that says more is kept, and what can be known of its values is read once.

use std::sync::Arc;

use trefoil_template::{NameMap, Value, ValueObject};

use super::{ListType, ObjectType, OtherMembers, ValueKind, ValueKinds, ValueType};

/// A schema that says more than the simple types, and what is known of its values.
#[derive(Debug, PartialEq)]
pub struct DeclaredType {
    /// The schema.
    pub schema: Value,
    /// The kinds that `type` names; `None`: all.
    pub(super) named: Option<ValueKinds>,
    /// The only values.
    pub(super) listed: Vec<Value>,
    pub(super) object: Option<ObjectType>,
    pub(super) list: Option<ListType>,
    /// The type of the JSON in a text.
    pub(super) content: Option<ValueType>,
    /// Any of these, one of these, all of these.
    pub(super) forms: [Vec<ValueType>; 3],
}

/// What a keyword can say in addition to `type`, `properties` and `items`, or to alternatives.
enum KeywordEffect {
    /// Which kinds are allowed.
    Kind,
    /// Which members and items are allowed.
    Parts,
    /// Both.
    Any,
    None,
}

fn effect(keyword: &str) -> KeywordEffect {
    match keyword {
        "$ref" | "$dynamicRef" | "allOf" | "not" | "if" => KeywordEffect::Any,
        "type" | "const" | "enum" | "properties" | "items" | "prefixItems" => KeywordEffect::Kind,
        "anyOf" | "oneOf" | "dependentSchemas" | "contains" | "patternProperties" => KeywordEffect::Parts,
        "unevaluatedProperties" | "unevaluatedItems" => KeywordEffect::Parts,
        _ => KeywordEffect::None,
    }
}

impl DeclaredType {
    fn keywords(&self) -> impl Iterator<Item = &str> {
        self.schema.as_object().into_iter().flat_map(ValueObject::keys).map(|keyword| &**keyword)
    }
    /// The alternatives, if nothing else restricts the kind of value.
    pub(super) fn type_alternatives(&self) -> Option<&[ValueType]> {
        let all = match &self.forms {
            [all, none, _] | [none, all, _] if none.is_empty() && !all.is_empty() => all,
            _ => return None,
        };
        let decides = |keyword| matches!(effect(keyword), KeywordEffect::Kind | KeywordEffect::Any);
        if self.keywords().any(decides) { None } else { Some(all) }
    }
    /// Whether it may declare more than its kinds, members and items.
    pub(super) fn is_open(&self) -> bool {
        self.keywords().any(|keyword| matches!(effect(keyword), KeywordEffect::Parts | KeywordEffect::Any))
    }
    /// Whether it only lists the properties of an object, and describes it.
    pub(super) fn only_lists(&self) -> bool {
        let known = ["type", "properties", "required", "title", "description", "$schema", "$id"];
        self.keywords().all(|keyword| known.contains(&keyword))
    }
}

impl ValueType {
    /// The type of the values that match a JSON Schema.
    pub fn from_schema(schema: &Value) -> Self {
        let Some(keywords) = schema.as_object() else { return Self::Any };
        let only = |known: &[&str]| keywords.keys().all(|keyword| known.contains(&&**keyword));
        let named = keywords.get("type").and_then(kinds);
        let whole = keywords.get("type").and_then(Value::as_str) == Some("integer");
        match named {
            Some(_) if whole && only(&["type"]) => return Self::INTEGER,
            Some(kinds) if only(&["type"]) && !names_integer(schema) => return Self::Kinds(kinds),
            Some(kinds)
                if kinds.is_only(ValueKind::Object)
                    && only(&["type", "properties", "required", "additionalProperties"]) =>
            {
                return match object(keywords) {
                    Some(object) => Self::Object(Arc::new(object)),
                    None => Self::OBJECT,
                };
            }
            Some(kinds) if kinds.is_only(ValueKind::List) && only(&["type", "items"]) => {
                return match list(keywords) {
                    Some(list) => Self::List(Arc::new(list)),
                    None => Self::LIST,
                };
            }
            _ => {}
        }
        let constant = keywords.get("const");
        if let Some(scalar) = constant
            && !whole
            && only(&["type", "const"])
            && !matches!(scalar, Value::Object(_) | Value::List(_))
        {
            return Self::Const(scalar.clone());
        }
        let any_of = forms(keywords, "anyOf");
        if !any_of.is_empty() && only(&["anyOf"]) {
            return Self::Union(any_of.into());
        }
        let values = match (constant, keywords.get("enum")) {
            (Some(only), _) => std::slice::from_ref(only),
            (None, all) => all.and_then(Value::as_list).unwrap_or_default(),
        };
        Self::Declared(Arc::new(DeclaredType {
            schema: schema.clone(),
            named,
            listed: values.to_vec(),
            object: object(keywords),
            list: list(keywords),
            content: keywords.get("contentSchema").map(Self::from_schema),
            forms: [any_of, forms(keywords, "oneOf"), forms(keywords, "allOf")],
        }))
    }
}

/// The kinds that `type` names.
fn kinds(named: &Value) -> Option<ValueKinds> {
    let kind = |name: &Value| ValueKind::from_name(name.as_str()?);
    match named {
        Value::List(names) => names.iter().map(kind).collect(),
        name => Some(ValueKinds::from_kind(kind(name)?)),
    }
}

/// Whether `integer` is one of several names.
fn names_integer(schema: &Value) -> bool {
    let names = schema.get("type").and_then(Value::as_list).unwrap_or_default();
    names.iter().any(|name| name.as_str() == Some("integer"))
}

fn forms(keywords: &ValueObject, keyword: &str) -> Vec<ValueType> {
    let schemas = keywords.get(keyword).and_then(Value::as_list).unwrap_or_default();
    schemas.iter().map(ValueType::from_schema).collect()
}

fn object(keywords: &ValueObject) -> Option<ObjectType> {
    if !["properties", "required", "additionalProperties"].iter().any(|keyword| keywords.contains_key(*keyword)) {
        return None;
    }
    let mut members = NameMap::default();
    if let Some(Value::Object(properties)) = keywords.get("properties") {
        for (name, schema) in properties.iter() {
            members.insert(name.clone(), ValueType::from_schema(schema));
        }
    }
    Some(ObjectType {
        members,
        required: keywords.get("required").map(texts),
        others: match keywords.get("additionalProperties") {
            Some(Value::Bool(false)) => OtherMembers::None,
            Some(Value::Bool(true)) => OtherMembers::Any,
            Some(schema @ Value::Object(_)) => OtherMembers::Of(ValueType::from_schema(schema)),
            _ => OtherMembers::Undeclared,
        },
    })
}

/// The texts in a list.
fn texts(list: &Value) -> Vec<Arc<str>> {
    let mut texts = Vec::new();
    for item in list.as_list().unwrap_or_default() {
        if let Some(text) = item.as_str() {
            texts.push(Arc::from(text));
        }
    }
    texts
}

fn list(keywords: &ValueObject) -> Option<ListType> {
    if !["items", "prefixItems", "minItems", "maxItems"].iter().any(|keyword| keywords.contains_key(*keyword)) {
        return None;
    }
    let count = |keyword: &str| match keywords.get(keyword)?.as_f64() {
        Some(n) if n >= 0.0 => Some(n as u64),
        _ => None,
    };
    let items = keywords.get("items");
    let is_closed = items == Some(&Value::Bool(false));
    Some(ListType {
        first: forms(keywords, "prefixItems"),
        rest: if is_closed { None } else { items.map(ValueType::from_schema) },
        is_closed,
        least: count("minItems"),
        most: count("maxItems"),
    })
}
