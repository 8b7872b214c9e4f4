//! Types that JSON Schemas declare.
//!
//! This is the only place where a schema becomes a type. What a schema says in the words of [`Type`] becomes one of its
//! simple forms. A schema that says more is kept, and what can be known of its values is read once.

use std::sync::Arc;

use trefoil_template::{Named, Object, Value};

use super::{Kind, Kinds, ListType, ObjectType, OtherMembers, Type};

/// A schema that says more than the simple types, and what is known of its values.
#[derive(Debug, PartialEq)]
pub struct DeclaredType {
    /// The schema.
    pub schema: Value,
    /// The kinds that `type` names; `None`: all.
    pub(super) named: Option<Kinds>,
    /// The only values.
    pub(super) listed: Vec<Value>,
    pub(super) object: Option<ObjectType>,
    pub(super) list: Option<ListType>,
    /// The type of the JSON in a text.
    pub(super) content: Option<Type>,
    /// Any of these, one of these, all of these.
    pub(super) forms: [Vec<Type>; 3],
}

/// What a keyword can say in addition to `type`, `properties` and `items`, or to alternatives.
enum Effect {
    /// Which kinds are allowed.
    Kind,
    /// Which members and items are allowed.
    Parts,
    /// Both.
    Any,
    None,
}

fn effect(keyword: &str) -> Effect {
    match keyword {
        "$ref" | "$dynamicRef" | "allOf" | "not" | "if" => Effect::Any,
        "type" | "const" | "enum" | "properties" | "items" | "prefixItems" => Effect::Kind,
        "anyOf" | "oneOf" | "dependentSchemas" | "contains" | "patternProperties" => Effect::Parts,
        "unevaluatedProperties" | "unevaluatedItems" => Effect::Parts,
        _ => Effect::None,
    }
}

impl DeclaredType {
    fn keywords(&self) -> impl Iterator<Item = &str> {
        self.schema.as_object().into_iter().flat_map(Object::keys).map(|keyword| &**keyword)
    }
    /// The alternatives, if nothing else restricts the kind of value.
    pub(super) fn alternatives(&self) -> Option<&[Type]> {
        let all = match &self.forms {
            [all, none, _] | [none, all, _] if none.is_empty() && !all.is_empty() => all,
            _ => return None,
        };
        let decides = |keyword| matches!(effect(keyword), Effect::Kind | Effect::Any);
        (!self.keywords().any(decides)).then_some(all)
    }
    /// Whether it may declare more than its kinds, members and items.
    pub(super) fn is_open(&self) -> bool {
        self.keywords().any(|keyword| matches!(effect(keyword), Effect::Parts | Effect::Any))
    }
    /// Whether it only lists the properties of an object, and describes it.
    pub(super) fn only_lists(&self) -> bool {
        let known = ["type", "properties", "required", "title", "description", "$schema", "$id"];
        self.keywords().all(|keyword| known.contains(&keyword))
    }
}

impl Type {
    /// The type of the values that match a JSON Schema.
    pub fn declared(schema: &Value) -> Self {
        let Some(keywords) = schema.as_object() else { return Self::Any };
        let only = |known: &[&str]| keywords.keys().all(|keyword| known.contains(&&**keyword));
        let named = keywords.get("type").and_then(kinds);
        let whole = keywords.get("type").and_then(Value::as_str) == Some("integer");
        match named {
            Some(_) if whole && only(&["type"]) => return Self::INTEGER,
            Some(kinds) if only(&["type"]) && !names_integer(schema) => return Self::Kinds(kinds),
            Some(kinds)
                if kinds.is(Kind::Object) && only(&["type", "properties", "required", "additionalProperties"]) =>
            {
                return object(keywords).map_or(Self::OBJECT, |object| Self::Object(Arc::new(object)));
            }
            Some(kinds) if kinds.is(Kind::List) && only(&["type", "items"]) => {
                return list(keywords).map_or(Self::LIST, |list| Self::List(Arc::new(list)));
            }
            _ => {}
        }
        let constant = keywords.get("const");
        if let Some(scalar) = constant.filter(|_| !whole && only(&["type", "const"]))
            && !matches!(scalar, Value::Object(_) | Value::List(_))
        {
            return Self::Const(scalar.clone());
        }
        let any_of = forms(keywords, "anyOf");
        if !any_of.is_empty() && only(&["anyOf"]) {
            return Self::Union(any_of.into());
        }
        let values = match (constant, keywords.get("enum")) {
            (Some(one), _) => std::slice::from_ref(one),
            (None, all) => all.and_then(Value::as_list).unwrap_or_default(),
        };
        Self::Declared(Arc::new(DeclaredType {
            schema: schema.clone(),
            named,
            listed: values.to_vec(),
            object: object(keywords),
            list: list(keywords),
            content: keywords.get("contentSchema").map(Self::declared),
            forms: [any_of, forms(keywords, "oneOf"), forms(keywords, "allOf")],
        }))
    }
}

/// The kinds that `type` names.
fn kinds(named: &Value) -> Option<Kinds> {
    let kind = |name: &Value| Kind::named(name.as_str()?);
    match named {
        Value::List(names) => names.iter().map(kind).collect(),
        one => kind(one).map(Kinds::of),
    }
}

/// Whether `integer` is one of several names.
fn names_integer(schema: &Value) -> bool {
    let names = schema.get("type").and_then(Value::as_list).unwrap_or_default();
    names.iter().any(|name| name.as_str() == Some("integer"))
}

fn forms(keywords: &Object, keyword: &str) -> Vec<Type> {
    keywords.get(keyword).and_then(Value::as_list).into_iter().flatten().map(Type::declared).collect()
}

fn object(keywords: &Object) -> Option<ObjectType> {
    if !["properties", "required", "additionalProperties"].iter().any(|keyword| keywords.contains_key(*keyword)) {
        return None;
    }
    let members = keywords.get("properties").and_then(Value::as_object).into_iter().flatten();
    let names = |all: &[Value]| all.iter().filter_map(|name| name.as_str().map(Arc::from)).collect();
    Some(ObjectType {
        members: members.map(|(name, schema)| (name.clone(), Type::declared(schema))).collect::<Named<Type>>(),
        required: keywords.get("required").map(|all| all.as_list().map_or_else(Vec::new, names)),
        others: match keywords.get("additionalProperties") {
            Some(Value::Bool(false)) => OtherMembers::None,
            Some(Value::Bool(true)) => OtherMembers::Any,
            Some(schema @ Value::Object(_)) => OtherMembers::Of(Type::declared(schema)),
            _ => OtherMembers::Undeclared,
        },
    })
}

fn list(keywords: &Object) -> Option<ListType> {
    if !["items", "prefixItems", "minItems", "maxItems"].iter().any(|keyword| keywords.contains_key(*keyword)) {
        return None;
    }
    let count = |keyword: &str| keywords.get(keyword)?.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64);
    let items = keywords.get("items");
    Some(ListType {
        first: forms(keywords, "prefixItems"),
        rest: items.filter(|items| **items != Value::Bool(false)).map(Type::declared),
        is_closed: items == Some(&Value::Bool(false)),
        least: count("minItems"),
        most: count("maxItems"),
    })
}
