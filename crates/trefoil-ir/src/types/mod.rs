//! Types: what is known about a value before a run. Sound but not complete: where a schema says nothing, nothing is
//! claimed.
//!
//! `declared` makes types of JSON Schemas, `member` looks up members and items, `fit` says whether a value of one type
//! may stand where another one is wanted, `kinds` has the kinds of value.

mod compatibility;
mod kinds;
mod member;
mod schema_types;

use std::borrow::Cow;
use std::sync::Arc;

use trefoil_template::{NameMap, Value};

use crate::solver::NumberRange;

pub use kinds::{ValueKind, ValueKinds};
pub use member::TypeMember;
pub use schema_types::DeclaredType;

/// The type of a value. Cloning copies no data.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ValueType {
    /// Any value.
    #[default]
    Any,
    /// Any value of these kinds.
    Kinds(ValueKinds),
    /// This value.
    Const(Value),
    /// A number in a range.
    Number(NumberRange),
    /// A text of one character.
    Character,
    /// Text that a model or a person wrote, which may contain anything.
    Answer,
    /// Text that contains JSON of a type.
    Json(Arc<ValueType>),
    /// A list.
    List(Arc<ListType>),
    /// An object.
    Object(Arc<ObjectType>),
    /// One of these.
    Union(Arc<[ValueType]>),
    /// What a schema declares that says more.
    Declared(Arc<DeclaredType>),
}

/// A list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListType {
    /// The types of the first items.
    pub first: Vec<ValueType>,
    /// The type of the other items, if it is known.
    pub rest: Option<ValueType>,
    /// Whether there are no other items.
    pub is_closed: bool,
    /// The number of items, at least.
    pub least: Option<u64>,
    /// The number of items, at most.
    pub most: Option<u64>,
}

/// An object.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectType {
    /// The declared members.
    pub members: NameMap<ValueType>,
    /// The members that it always has; `None`: that is not declared.
    pub required: Option<Vec<Arc<str>>>,
    /// The other members.
    pub others: OtherMembers,
}

/// The members of an object that its type does not list.
#[derive(Debug, Clone, PartialEq)]
pub enum OtherMembers {
    /// It has none.
    None,
    /// Nothing is said about them.
    Undeclared,
    /// They are allowed.
    Any,
    /// They have this type.
    Of(ValueType),
    /// Those of an unknown object over which the members are laid.
    Beneath,
}

// Equality is reflexive, so shared parts are equal without a comparison: types of nested workflows contain the same inner
// type many times.
impl Eq for ValueType {}
impl Eq for ListType {}
impl Eq for ObjectType {}
impl Eq for DeclaredType {}

impl ObjectType {
    /// Whether it always has a member.
    pub fn requires_member(&self, name: &str) -> bool {
        self.required.iter().flatten().any(|required| **required == *name)
    }
    /// Whether it has only the declared members.
    pub fn is_closed(&self) -> bool {
        self.others == OtherMembers::None
    }
}

impl ValueType {
    /// Text.
    pub const TEXT: Self = Self::Kinds(ValueKinds::from_kind(ValueKind::Text));
    /// A number.
    pub const NUMBER: Self = Self::Kinds(ValueKinds::from_kind(ValueKind::Number));
    /// A whole number.
    pub const INTEGER: Self = Self::Number(NumberRange { low: None, high: None, whole: true });
    /// `true` or `false`.
    pub const BOOLEAN: Self = Self::Kinds(ValueKinds::from_kind(ValueKind::Boolean));
    /// An object with any members.
    pub const OBJECT: Self = Self::Kinds(ValueKinds::from_kind(ValueKind::Object));
    /// A list of anything.
    pub const LIST: Self = Self::Kinds(ValueKinds::from_kind(ValueKind::List));
    /// `null`.
    pub const NULL: Self = Self::Kinds(ValueKinds::from_kind(ValueKind::Null));
    /// A number that is never below 0.
    pub const SIZE: Self = Self::Number(NumberRange { low: Some((0.0, true)), high: None, whole: false });
    /// A number from 0 to 1.
    pub const SHARE: Self = Self::Number(NumberRange { low: Some((0.0, true)), high: Some((1.0, true)), whole: false });

    /// A whole number in a range.
    pub fn whole_between(least: u64, most: u64) -> Self {
        Self::Number(NumberRange { whole: true, ..NumberRange::from_inclusive(Some(least as f64), Some(most as f64)) })
    }

    /// Text that contains JSON that matches a schema.
    pub fn json_text(schema: &Value) -> Self {
        Self::Json(Arc::new(Self::from_schema(schema)))
    }

    /// An object with these members, all required unless marked optional.
    pub fn object_of(members: impl IntoIterator<Item = (Arc<str>, Self, bool)>, others: OtherMembers) -> Self {
        let (mut declared, mut required) = (NameMap::default(), Vec::new());
        for (name, of, optional) in members {
            if !optional {
                required.push(name.clone());
            }
            declared.insert(name, of);
        }
        Self::Object(Arc::new(ObjectType { members: declared, required: Some(required), others }))
    }

    /// An object of the format, which has only these members; each may be missing.
    pub fn optional_fields(members: impl IntoIterator<Item = (Arc<str>, Self)>) -> Self {
        let members = members.into_iter().collect();
        Self::Object(Arc::new(ObjectType { members, required: None, others: OtherMembers::None }))
    }

    /// A list whose items are of this type.
    pub fn list_of(items: Self) -> Self {
        Self::list_of_at_most(items, None)
    }

    /// The type of a list with at most `most` items.
    pub fn list_of_at_most(items: Self, most: Option<u64>) -> Self {
        Self::List(Arc::new(ListType { rest: Some(items), most, ..ListType::default() }))
    }

    /// A list with exactly these items.
    pub fn tuple_of(items: impl IntoIterator<Item = Self>) -> Self {
        let first: Vec<Self> = items.into_iter().collect();
        let length = Some(first.len() as u64);
        Self::List(Arc::new(ListType { first, least: length, most: length, ..ListType::default() }))
    }

    /// The type of a literal value.
    pub fn of_value(value: &Value) -> Self {
        match value {
            Value::Object(all) => {
                Self::object_of(all.iter().map(|(k, v)| (k.clone(), Self::of_value(v), false)), OtherMembers::None)
            }
            Value::List(items) => Self::tuple_of(items.iter().map(Self::of_value)),
            Value::Masked(_) => Self::TEXT,
            scalar => Self::Const(scalar.clone()),
        }
    }

    /// One of these types.
    pub fn union_of(types: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Self> = Vec::new();
        for alternative in types {
            let inner = match &alternative {
                Self::Any => return Self::Any,
                Self::Union(inner) => &**inner,
                single => std::slice::from_ref(single),
            };
            for single in inner {
                if !all.contains(single) {
                    all.push(single.clone());
                }
            }
        }
        if all.len() > 1 { Self::Union(all.into()) } else { all.pop().unwrap_or_default() }
    }

    /// What a keyword says, if the schema is kept.
    pub fn schema_keyword(&self, name: &str) -> Option<&Value> {
        if let Self::Declared(declared) = self { declared.schema.get(name) } else { None }
    }

    /// The alternatives, if nothing else restricts the kind of value.
    pub fn type_alternatives(&self) -> Option<&[Self]> {
        match self {
            Self::Union(all) => Some(all),
            Self::Declared(declared) => declared.type_alternatives(),
            _ => None,
        }
    }

    /// Its forms: any of these, one of these, all of these.
    pub fn schema_forms(&self) -> [&[Self]; 3] {
        match self {
            Self::Union(all) => [all, &[], &[]],
            Self::Declared(declared) => declared.forms.each_ref().map(Vec::as_slice),
            _ => [&[]; 3],
        }
    }

    /// What it says about the members of an object.
    pub fn as_object(&self) -> Option<&ObjectType> {
        match self {
            Self::Object(object) => Some(object),
            Self::Declared(declared) => declared.object.as_ref(),
            _ => None,
        }
    }

    /// The declared members of an object.
    pub fn object_members(&self) -> impl Iterator<Item = (&Arc<str>, &Self)> {
        self.as_object().into_iter().flat_map(|object| &object.members)
    }

    /// Whether it is an object type that says nothing about members except for the listed ones.
    pub fn only_lists(&self) -> bool {
        match self {
            Self::Object(object) => object.others == OtherMembers::Undeclared,
            Self::Declared(declared) => declared.only_lists(),
            _ => false,
        }
    }

    /// What it says about the items of a list.
    pub fn as_list(&self) -> Option<&ListType> {
        match self {
            Self::List(list) => Some(list),
            Self::Declared(declared) => declared.list.as_ref(),
            _ => None,
        }
    }

    /// The type of the JSON in a text.
    pub fn json_content(&self) -> Option<&Self> {
        match self {
            Self::Json(inner) => Some(inner),
            Self::Declared(declared) => declared.content.as_ref(),
            _ => None,
        }
    }

    /// A limit of its values, by the keyword of schemas: `minimum`, `maxLength`.
    pub fn keyword_limit(&self, keyword: &str) -> Option<f64> {
        match (self, keyword) {
            (Self::Number(range), "minimum") => Some(range.low?.0),
            (Self::Number(range), "maximum") => Some(range.high?.0),
            (Self::Character, "maxLength") => Some(1.0),
            (Self::List(list), "minItems") => Some(list.least? as f64),
            (Self::List(list), "maxItems") => Some(list.most? as f64),
            _ => self.schema_keyword(keyword)?.as_f64(),
        }
    }

    /// Whether text of this type may contain anything.
    pub fn is_answer(&self) -> bool {
        match self.type_alternatives() {
            Some(all) => all.iter().any(Self::is_answer),
            None => matches!(self, Self::Answer),
        }
    }

    /// Whether it declares whole numbers.
    pub fn is_integer(&self) -> bool {
        match self {
            Self::Number(range) => range.whole,
            _ => self.schema_keyword("type").and_then(Value::as_str) == Some("integer"),
        }
    }

    /// The values that it lists itself.
    pub fn listed_values(&self) -> &[Value] {
        match self {
            Self::Const(value) => std::slice::from_ref(value),
            Self::Declared(declared) => &declared.listed,
            _ => &[],
        }
    }

    /// Its only value.
    pub fn constant_value(&self) -> Option<&Value> {
        if let Self::Const(value) = self { Some(value) } else { self.schema_keyword("const") }
    }

    /// The only values that it allows, if it lists them.
    pub fn allowed_values(&self) -> Option<Cow<'_, [Value]>> {
        if let Some(all) = self.type_alternatives() {
            let mut found: Vec<Value> = Vec::new();
            for alternative in all {
                let values = alternative.allowed_values()?;
                let new: Vec<Value> = values.iter().filter(|value| !found.contains(value)).cloned().collect();
                found.extend(new);
            }
            return Some(found.into());
        }
        match self.listed_values() {
            [] if self.value_kinds()?.is_only(ValueKind::Null) => Some(vec![Value::Null].into()),
            [] => None,
            values => Some(values.into()),
        }
    }

    /// The kinds of value that it allows, including null; `None`: any.
    pub fn value_kinds(&self) -> Option<ValueKinds> {
        Some(match self {
            Self::Any => return None,
            Self::Kinds(kinds) => *kinds,
            Self::Const(value) => ValueKinds::from_kind(ValueKind::from_value(value)),
            Self::Number(_) => ValueKinds::from_kind(ValueKind::Number),
            Self::Character | Self::Answer | Self::Json(_) => ValueKinds::from_kind(ValueKind::Text),
            Self::List(_) => ValueKinds::from_kind(ValueKind::List),
            Self::Object(_) => ValueKinds::from_kind(ValueKind::Object),
            Self::Declared(declared) if !declared.listed.is_empty() => {
                declared.listed.iter().map(ValueKind::from_value).collect()
            }
            Self::Declared(declared) if declared.named.is_some() => return declared.named,
            Self::Declared(_) | Self::Union(_) => {
                let mut kinds = ValueKinds::default();
                for alternative in self.type_alternatives()? {
                    kinds = kinds.union_with(alternative.value_kinds()?);
                }
                kinds
            }
        })
    }

    /// The kinds without null. `None`: any kind, or none.
    pub fn solid_kinds(&self) -> Option<ValueKinds> {
        let kinds = self.value_kinds()?.without_null();
        if kinds.is_empty() { None } else { Some(kinds) }
    }

    /// Whether its values are of this kind, or null.
    pub fn is_kind(&self, kind: ValueKind) -> bool {
        matches!(self.solid_kinds(), Some(kinds) if kinds.is_only(kind))
    }

    /// Whether a value can be null.
    pub fn is_nullable(&self) -> bool {
        match self.value_kinds() {
            Some(kinds) => kinds.contains(ValueKind::Null),
            None => true,
        }
    }

    /// Whether it may say more about its values than their kinds, members and items.
    fn is_open(&self) -> bool {
        match self {
            Self::Union(_) => true,
            Self::Declared(declared) => declared.is_open(),
            _ => false,
        }
    }

    /// The type of the JSON in a text, if that is an object or a list; any other type unchanged.
    #[must_use]
    pub fn structured_type(&self) -> Self {
        if let Some(all) = self.type_alternatives() {
            return Self::union_of(all.iter().map(Self::structured_type));
        }
        if matches!(self.value_kinds(), Some(kinds) if !kinds.contains(ValueKind::Text)) {
            return self.clone();
        }
        // Words that are no JSON.
        let is_plain = |word: &Value| match word.as_str() {
            Some(text) => !text.trim_start().starts_with(['{', '[', '`']),
            None => true,
        };
        if let Some(words) = self.allowed_values()
            && !words.is_empty()
            && words.iter().all(is_plain)
        {
            return self.clone();
        }
        if let Some(content) = self.json_content()
            && let Some(kinds) = content.value_kinds()
            && !kinds.is_empty()
            && kinds.is_within([ValueKind::Object, ValueKind::List])
        {
            return content.clone();
        }
        Self::default()
    }

    /// The type of merged objects; later ones take precedence, and values that are not objects are skipped.
    pub fn merge_objects(layers: impl IntoIterator<Item = Self>) -> Self {
        let mut members: NameMap<(Self, bool)> = NameMap::default();
        let mut open = false;
        for layer in layers {
            if matches!(layer.solid_kinds(), Some(kinds) if !kinds.contains(ValueKind::Object)) {
                continue;
            }
            let sure = layer.is_kind(ValueKind::Object) && !layer.is_nullable() && !layer.is_open();
            let object = if sure { layer.as_object() } else { None };
            if !object.is_some_and(ObjectType::is_closed) {
                open = true;
                for (of, _) in members.values_mut() {
                    *of = Self::Any;
                }
            }
            let Some(object) = object else { continue };
            for (name, of) in &object.members {
                let optional = !object.requires_member(name);
                match members.get_mut(name) {
                    Some((before, missing)) => {
                        *before = if optional { Self::union_of([before.clone(), of.clone()]) } else { of.clone() };
                        *missing &= optional;
                    }
                    None => drop(members.insert(name.clone(), (of.clone(), optional))),
                }
            }
        }
        let others = if open { OtherMembers::Beneath } else { OtherMembers::None };
        Self::object_of(members.into_iter().map(|(name, (of, optional))| (name, of, optional)), others)
    }
}
