//! JSON Schemas as types: the kinds of value that one allows, its members, and the types of literal values. Sound but
//! not complete: where a schema says nothing, nothing is claimed. `true` allows any value.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use trefoil_template::{Object, Value};

/// The kinds of JSON value, as schemas call them (`integer` counts as `number`).
pub const KINDS: [&str; 6] = ["string", "number", "boolean", "object", "array", "null"];

/// Keywords that can declare more than `type`, `properties` and `items` do.
const OPEN: [&str; 12] = [
    "$ref",
    "$dynamicRef",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "patternProperties",
];

/// Marks text that a model or a person wrote, which may contain anything.
const FREE: &str = "what somebody answered";

/// Marks merged objects of which one may have any members.
const LAID_OVER: &str = "objects over others";

/// Kinds of JSON value without duplicates. They are needed for every path, so they are stored inline.
#[derive(Clone, Copy, Default)]
pub struct Kinds {
    all: [&'static str; KINDS.len()],
    count: usize,
}

impl Kinds {
    /// A single kind.
    pub fn of(kind: &'static str) -> Self {
        Self { all: [kind, "", "", "", "", ""], count: 1 }
    }
}

impl Deref for Kinds {
    type Target = [&'static str];

    fn deref(&self) -> &Self::Target {
        self.all.get(..self.count).unwrap_or_default()
    }
}

impl FromIterator<&'static str> for Kinds {
    fn from_iter<I: IntoIterator<Item = &'static str>>(kinds: I) -> Self {
        let mut found = Self::default();
        for kind in kinds {
            if !found.contains(&kind)
                && let Some(place) = found.all.get_mut(found.count)
            {
                *place = kind;
                found.count += 1;
            }
        }
        found
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Kinds {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<const N: usize> PartialEq<[&str; N]> for Kinds {
    fn eq(&self, other: &[&str; N]) -> bool {
        **self == *other
    }
}

/// A member of a type.
#[derive(Debug, Clone, PartialEq)]
pub enum Member {
    /// It can exist, with this type.
    Is {
        /// The type.
        schema: Value,
        /// Whether the value may lack it.
        optional: bool,
    },
    /// Nothing is known.
    Maybe,
    /// It never exists.
    Never {
        /// The kind of the value: `text`, `a list`, `an object`.
        what: &'static str,
        /// The members that the value has.
        members: Vec<Arc<str>>,
    },
    /// An index beyond the maximum length of a list.
    Beyond {
        /// The maximum length.
        length: u64,
    },
}

/// Any value.
pub fn any() -> Value {
    Value::Bool(true)
}

/// A value of one kind.
pub fn of_kind(kind: &str) -> Value {
    let plain = || keywords([("type", Value::from(kind))]);
    KINDS.iter().position(|k| *k == kind).and_then(|i| OF_KINDS.get(i).cloned()).unwrap_or_else(plain)
}

/// The most common types, each created once.
static OF_KINDS: LazyLock<Vec<Value>> =
    LazyLock::new(|| KINDS.iter().map(|kind| keywords([("type", Value::from(*kind))])).collect());
/// The type of [`answer`], created once.
static ANSWER: LazyLock<Value> =
    LazyLock::new(|| keywords([("type", Value::from("string")), ("$comment", Value::from(FREE))]));

/// Text written by a model or a person.
pub fn answer() -> Value {
    ANSWER.clone()
}

/// Text that contains JSON matching a schema.
pub fn text_of(held: Value) -> Value {
    keywords([
        ("type", Value::from("string")),
        ("contentMediaType", Value::from("application/json")),
        ("contentSchema", held),
    ])
}

/// Whether text of this type may contain anything.
pub fn is_answer(schema: &Value) -> bool {
    match alternatives(schema) {
        Some(all) => all.iter().any(is_answer),
        None => schema.get("$comment").and_then(Value::as_str) == Some(FREE),
    }
}

/// A schema with these keywords.
pub fn keywords<const N: usize>(all: [(&str, Value); N]) -> Value {
    Value::Object(Arc::new(all.into_iter().map(|(k, v)| (shared(k), v)).collect::<Object>()))
}

/// The text of a common keyword, created once.
pub fn keyword(text: &str) -> Value {
    Value::Str(shared(text))
}

fn shared(text: &str) -> Arc<str> {
    static WORDS: LazyLock<[Arc<str>; 14]> = LazyLock::new(|| {
        [
            "type",
            "properties",
            "required",
            "additionalProperties",
            "const",
            "items",
            "anyOf",
            "string",
            "object",
            "array",
            "number",
            "integer",
            "boolean",
            "null",
        ]
        .map(Arc::from)
    });
    WORDS.iter().find(|word| &***word == text).cloned().unwrap_or_else(|| Arc::from(text))
}

/// An object with these members, all required unless marked optional; `closed`: no other members are allowed.
pub fn object(members: impl IntoIterator<Item = (Arc<str>, Value, bool)>, closed: bool) -> Value {
    let mut properties = Object::default();
    let mut required = Vec::new();
    for (name, schema, optional) in members {
        if !optional {
            required.push(Value::Str(name.clone()));
        }
        properties.insert(name, schema);
    }
    keywords([
        ("type", keyword("object")),
        ("properties", Value::Object(properties.into())),
        ("required", Value::List(required.into())),
        ("additionalProperties", Value::Bool(!closed)),
    ])
}

/// A number that is never below 0.
pub fn at_least_zero() -> Value {
    keywords([("type", Value::from("number")), ("minimum", Value::from(0))])
}

/// A number from 0 to 1.
pub fn share() -> Value {
    keywords([("type", Value::from("number")), ("minimum", Value::from(0)), ("maximum", Value::from(1))])
}

/// A whole number in a range.
pub fn whole_between(least: u64, most: u64) -> Value {
    let ends = [least, most].map(|n| Value::from(i64::try_from(n).unwrap_or(i64::MAX)));
    let [least, most] = ends;
    keywords([("type", keyword("integer")), ("minimum", least), ("maximum", most)])
}

/// A text of one character.
pub fn one_character() -> Value {
    keywords([("type", Value::from("string")), ("maxLength", Value::from(1))])
}

/// A list whose items are of this type.
pub fn list(items: Value) -> Value {
    keywords([("type", Value::from("array")), ("items", items)])
}

/// The type of a list that is at most as long as another one.
pub fn as_long_as(items: Value, other: &Value) -> Value {
    let most = other.get("maxItems").filter(|_| kinds(other).is_some_and(|k| k == ["array"]));
    match most {
        Some(most) => keywords([("type", Value::from("array")), ("items", items), ("maxItems", most.clone())]),
        None => list(items),
    }
}

/// The type of a list with at most `most` items.
pub fn list_of_at_most(items: Value, most: i64) -> Value {
    keywords([("type", Value::from("array")), ("items", items), ("maxItems", Value::from(most))])
}

/// The type of a list's items; for any other type, nothing is known.
pub fn item_of(of: &Value) -> Value {
    if kinds(of).is_none_or(|k| k != ["array"] && k != ["array", "null"]) {
        return any();
    }
    match (of.get("prefixItems").and_then(Value::as_list), of.get("items")) {
        (None, Some(item)) => item.clone(),
        (Some(first), None | Some(Value::Bool(false))) => union(first.to_vec()),
        _ => any(),
    }
}

/// The type of the values that a loop goes through: the items of a list, or the declared values of an object.
/// Undeclared members of an open object are not considered.
pub fn each_of(of: &Value) -> Value {
    if solid_kinds(of).is_none_or(|kinds| kinds != ["object"]) || alternatives(of).is_some() {
        return item_of(of);
    }
    let Some(object) = of.as_object().filter(|object| !is_open(object)) else {
        return any();
    };
    let declared =
        object.get("properties").and_then(Value::as_object).into_iter().flat_map(|all| all.values().cloned());
    let others = object.get("additionalProperties").filter(|others| others.as_object().is_some()).cloned();
    let all: Vec<Value> = declared.chain(others).collect();
    if all.is_empty() { any() } else { union(all) }
}

/// A list with exactly these items.
pub fn tuple(items: Vec<Value>) -> Value {
    let length = Value::from(items.len() as i64);
    keywords([
        ("type", Value::from("array")),
        ("prefixItems", Value::List(items.into())),
        ("minItems", length.clone()),
        ("maxItems", length),
    ])
}

/// The type of a literal value.
pub fn of_value(value: &Value) -> Value {
    match value {
        Value::Object(members) => object(members.iter().map(|(k, v)| (k.clone(), of_value(v), false)), true),
        Value::List(items) => tuple(items.iter().map(of_value).collect()),
        Value::Masked(_) => of_kind("string"),
        scalar => keywords([("type", keyword(kind(scalar))), ("const", scalar.clone())]),
    }
}

/// The kind of a value.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Str(_) | Value::Masked(_) => "string",
        Value::List(_) => "array",
        Value::Object(_) => "object",
    }
}

/// One of these types.
pub fn union(types: impl IntoIterator<Item = Value>) -> Value {
    let mut types = types.into_iter().peekable();
    // Fast path for a single type.
    let first = types.next_if(|one| *one != Value::Bool(true) && union_of(one).is_none());
    if let (Some(_), None) = (&first, types.peek()) {
        return first.unwrap_or_else(any);
    }
    let mut all: Vec<Value> = Vec::new();
    for schema in first.into_iter().chain(types) {
        if schema == Value::Bool(true) {
            return schema;
        }
        let mut add = |one: Value| {
            if !all.contains(&one) {
                all.push(one);
            }
        };
        match union_of(&schema) {
            Some(inner) => inner.iter().cloned().for_each(add),
            None => add(schema),
        }
    }
    match all.len() {
        0 => any(),
        1 => all.pop().unwrap_or_else(any),
        _ => keywords([("anyOf", Value::List(all.into()))]),
    }
}

/// The alternatives of a type that has no other keywords.
fn union_of(schema: &Value) -> Option<&[Value]> {
    let object = schema.as_object().filter(|o| o.len() == 1)?;
    object.get("anyOf")?.as_list()
}

/// The alternatives of a type, if its other keywords do not restrict the kind of value.
pub fn alternatives(schema: &Value) -> Option<&[Value]> {
    let object = schema.as_object()?;
    // One look at each keyword is cheaper than a search for each name: a type has few.
    let mut found = None;
    for (keyword, value) in object {
        match &**keyword {
            "type" | "const" | "enum" | "properties" | "items" | "prefixItems" | "allOf" | "not" | "if" | "$ref"
            | "$dynamicRef" => return None,
            "anyOf" | "oneOf" if found.is_some() => return None,
            "anyOf" | "oneOf" => found = Some(value),
            _ => {}
        }
    }
    found?.as_list().filter(|all| !all.is_empty())
}

/// The kinds of value that a type allows, including null; `None`: any.
pub fn kinds(schema: &Value) -> Option<Kinds> {
    let (mut named, mut listed) = (None, false);
    for (keyword, value) in schema.as_object()? {
        match &**keyword {
            "type" => named = Some(value),
            "const" | "enum" => listed = true,
            _ => {}
        }
    }
    if listed && let Some(values) = choices(schema) {
        return Some(KINDS.into_iter().filter(|k| values.iter().any(|v| kind(v) == *k)).collect());
    }
    let Some(named) = named else {
        let each = alternatives(schema)?.iter().map(kinds).collect::<Option<Vec<_>>>()?;
        return Some(KINDS.into_iter().filter(|k| each.iter().any(|e| e.contains(k))).collect());
    };
    match named {
        Value::List(names) => names.iter().map(kind_named).collect(),
        one => kind_named(one).map(Kinds::of),
    }
}

/// The kind that a schema's `type` names.
fn kind_named(name: &Value) -> Option<&'static str> {
    Some(match name.as_str()? {
        "string" => "string",
        "number" | "integer" => "number",
        "boolean" => "boolean",
        "object" => "object",
        "array" => "array",
        "null" => "null",
        _ => return None,
    })
}

/// The kinds without null.
pub fn solid_kinds(schema: &Value) -> Option<Kinds> {
    let all = kinds(schema)?;
    if all.contains(&"null") { Some(all.iter().copied().filter(|k| *k != "null").collect()) } else { Some(all) }
}

/// The only values that a type allows, if it lists them.
pub fn choices(schema: &Value) -> Option<Vec<Value>> {
    if let Some(all) = alternatives(schema) {
        let mut found: Vec<Value> = Vec::new();
        for one in all.iter().map(choices) {
            one?.into_iter().filter(|v| !found.contains(v)).collect::<Vec<_>>().into_iter().for_each(|v| found.push(v));
        }
        return Some(found);
    }
    let object = schema.as_object()?;
    match (object.get("const"), object.get("enum")) {
        (Some(one), _) => Some(vec![one.clone()]),
        (None, Some(all)) => all.as_list().filter(|all| !all.is_empty()).map(<[Value]>::to_vec),
        (None, None) => (kinds_named(object) == Some("null")).then(|| vec![Value::Null]),
    }
}

fn kinds_named(object: &Object) -> Option<&str> {
    object.get("type").and_then(Value::as_str)
}

/// Whether a value of this type can be null.
pub fn nullable(schema: &Value) -> bool {
    kinds(schema).is_none_or(|all| all.contains(&"null"))
}

/// Whether keywords may declare more than `type`, `properties` and `items` say. A type has few keywords.
fn is_open(object: &Object) -> bool {
    object.keys().any(|k| OPEN.contains(&&**k))
}

/// What is known about a member of a value of this type. Null is ignored, because it has no members.
pub fn member(schema: &Value, name: &str) -> Member {
    if let Some(all) = alternatives(schema) {
        let solid: Vec<&Value> = all.iter().filter(|s| kinds(s).is_none_or(|k| k != ["null"])).collect();
        return either(solid.into_iter().map(|s| member(s, name)).collect());
    }
    let Some(object) = schema.as_object() else { return Member::Maybe };
    let Some(kinds) = solid_kinds(schema) else { return declared(object, name) };
    let digits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    match &*kinds {
        ["object"] => property(object, name),
        ["array"] if digits => item(object, name),
        ["array"] => Member::Never { what: "a list", members: Vec::new() },
        [] => Member::Maybe,
        many if many.contains(&"object") => declared(object, name),
        many if many.contains(&"array") && digits => Member::Maybe,
        ["string"] => Member::Never { what: "text", members: Vec::new() },
        ["number"] => Member::Never { what: "a number", members: Vec::new() },
        ["boolean"] => Member::Never { what: "true or false", members: Vec::new() },
        _ => Member::Never { what: "no object", members: Vec::new() },
    }
}

/// The type of the JSON in a text, if that is an object or a list; any other type unchanged.
pub fn structured(of: &Value) -> Value {
    if let Some(all) = alternatives(of) {
        return union(all.iter().map(structured));
    }
    if kinds(of).is_some_and(|k| !k.contains(&"string")) {
        return of.clone();
    }
    // Words that are no JSON.
    let plain = |word: &Value| !word.as_str().is_some_and(|text| text.trim_start().starts_with(['{', '[', '`']));
    if choices(of).is_some_and(|words| !words.is_empty() && words.iter().all(plain)) {
        return of.clone();
    }
    match of.get("contentSchema").map(|held| (held, kinds(held))) {
        Some((held, Some(kinds))) if !kinds.is_empty() && kinds.iter().all(|k| ["object", "array"].contains(k)) => {
            held.clone()
        }
        _ => any(),
    }
}

/// The type of merged objects; later ones take precedence, and values that are not objects are skipped.
pub fn merged(layers: impl IntoIterator<Item = Value>) -> Value {
    let mut members: IndexMembers = Vec::new();
    let mut open = false;
    for layer in layers {
        let Some(solid) = solid_kinds(&layer) else {
            open = true;
            members.iter_mut().for_each(|(_, schema, _)| *schema = any());
            continue;
        };
        if !solid.is_empty() && !solid.contains(&"object") {
            continue;
        }
        let sure = solid == ["object"] && !nullable(&layer);
        let plain = layer.as_object().filter(|o| sure && !is_open(o));
        let beyond = plain.is_none_or(|o| o.get("additionalProperties") != Some(&Value::Bool(false)));
        let declared = plain.and_then(|o| o.get("properties")?.as_object());
        if beyond {
            open = true;
            members.iter_mut().for_each(|(_, schema, _)| *schema = any());
        }
        let required = plain.and_then(|o| o.get("required")?.as_list()).unwrap_or_default();
        for (name, schema) in declared.into_iter().flatten() {
            let optional = !required.iter().any(|r| r.as_str() == Some(name));
            match members.iter_mut().find(|(n, ..)| n == name) {
                Some((_, before, missing)) => {
                    *before = if optional { union([before.clone(), schema.clone()]) } else { schema.clone() };
                    *missing &= optional;
                }
                None => members.push((name.clone(), schema.clone(), optional)),
            }
        }
    }
    if open { laid_over(members) } else { object(members, true) }
}

/// An object with these members, laid over another one: nobody declares the others.
pub fn laid_over(members: impl IntoIterator<Item = (Arc<str>, Value, bool)>) -> Value {
    let whole = object(members, false);
    let mark = (Arc::from("$comment"), Value::from(LAID_OVER));
    let keywords = whole.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.clone()));
    Value::Object(Arc::new(keywords.chain([mark]).collect()))
}

type IndexMembers = Vec<(Arc<str>, Value, bool)>;

/// The type of a member if any alternative declares it, although the value may be of another one. For hints, not for
/// claims.
pub fn likely(schema: &Value, name: &str) -> Option<Value> {
    if let Some(all) = alternatives(schema) {
        let found: Vec<Value> = all.iter().filter_map(|one| likely(one, name)).collect();
        return (!found.is_empty()).then(|| union(found));
    }
    let found = schema.get("properties")?.as_object()?.get(name)?;
    (*found != any()).then(|| found.clone())
}

/// The declared properties of a type, from all alternatives that can be objects.
pub fn declares(schema: &Value) -> Vec<Arc<str>> {
    if let Some(all) = alternatives(schema) {
        let mut names = Vec::new();
        for one in all {
            // A type that is never an object has no properties.
            if kinds(one).is_some_and(|k| !k.contains(&"object")) {
                continue;
            }
            let of_one = declares(one);
            if of_one.is_empty() {
                return Vec::new();
            }
            of_one.into_iter().for_each(|n| {
                if !names.contains(&n) {
                    names.push(n)
                }
            });
        }
        return names;
    }
    if schema.get("$comment").and_then(Value::as_str) == Some(LAID_OVER) {
        return Vec::new();
    }
    let Some(object) = schema.as_object().filter(|_| solid_kinds(schema).is_some_and(|k| k == ["object"])) else {
        return Vec::new();
    };
    let open = is_open(object) || object.get("additionalProperties").is_some_and(|a| a.as_object().is_some());
    let properties = object.get("properties").and_then(Value::as_object).filter(|_| !open);
    properties.into_iter().flat_map(|p| p.keys().cloned()).collect()
}

/// A property of a value that may be an object.
fn declared(object: &Object, name: &str) -> Member {
    match object.get("properties").and_then(|p| p.as_object()?.get(name)) {
        Some(schema) => Member::Is { schema: schema.clone(), optional: true },
        None => Member::Maybe,
    }
}

fn property(object: &Object, name: &str) -> Member {
    let properties = object.get("properties").and_then(Value::as_object);
    if let Some(schema) = properties.and_then(|p| p.get(name)) {
        let required = object.get("required").and_then(Value::as_list).unwrap_or_default();
        let optional = !required.iter().any(|r| r.as_str() == Some(name));
        return Member::Is { schema: schema.clone(), optional };
    }
    let others = object.get("additionalProperties");
    if let Some(schema) = others.filter(|o| o.as_object().is_some() && !is_open(object)) {
        return Member::Is { schema: schema.clone(), optional: true };
    }
    let closed = others == Some(&Value::Bool(false));
    if !closed || is_open(object) {
        return Member::Maybe;
    }
    Member::Never { what: "an object", members: properties.map(|p| p.keys().cloned().collect()).unwrap_or_default() }
}

fn item(object: &Object, name: &str) -> Member {
    let Ok(index) = name.parse::<u64>() else { return Member::Maybe };
    let number = |key: &str| object.get(key).and_then(Value::as_f64).filter(|n| *n >= 0.0).map(|n| n as u64);
    let first = object.get("prefixItems").and_then(Value::as_list).unwrap_or_default();
    let most = match object.get("items") {
        Some(Value::Bool(false)) => Some(first.len() as u64),
        _ => None,
    };
    if let Some(length) = number("maxItems").into_iter().chain(most).min()
        && index >= length
    {
        return Member::Beyond { length };
    }
    let optional = number("minItems").is_none_or(|least| index >= least);
    match first.get(index as usize).or_else(|| object.get("items")) {
        Some(schema) => Member::Is { schema: schema.clone(), optional },
        None => Member::Maybe,
    }
}

/// What is true of all of these.
fn either(all: Vec<Member>) -> Member {
    if all.is_empty() || all.contains(&Member::Maybe) {
        return Member::Maybe;
    }
    let mut is = Vec::new();
    let mut partly = false;
    let mut last = Member::Maybe;
    for one in all {
        match (one, &mut last) {
            (Member::Is { schema, optional }, _) => {
                partly |= optional;
                is.push(schema);
            }
            // For two objects, list the members of both.
            (Member::Never { what: "an object", members: more }, Member::Never { what: "an object", members }) => {
                more.into_iter().for_each(|m| {
                    if !members.contains(&m) {
                        members.push(m)
                    }
                });
            }
            (Member::Never { what, .. }, Member::Never { what: "an object", .. }) if what != "an object" => {}
            (never, _) => last = never,
        }
    }
    match is.is_empty() {
        true => last,
        false => Member::Is { schema: union(is), optional: partly || last != Member::Maybe },
    }
}

/// The name of a kind in messages.
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

/// The names of kinds in messages: `text or a number`.
pub fn spoken_kinds(kinds: &[&str]) -> String {
    kinds.iter().map(|k| spoken(k)).collect::<Vec<_>>().join(" or ")
}

/// A short description of a type, for hovers.
pub fn describe(schema: &Value) -> String {
    if let Some(values) = choices(schema).filter(|v| v.len() <= 8) {
        return values.iter().map(Value::canonical).collect::<Vec<_>>().join(" | ");
    }
    match kinds(schema) {
        Some(kinds) if !kinds.is_empty() => spoken_kinds(&kinds),
        _ => "anything".to_owned(),
    }
}

/// Whether a schema allows only integers.
pub fn is_integer(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("integer")
}

/// Why a schema rejects a value; `None` if it accepts it, or for reasons that are not examined here.
pub fn refuses(schema: &Value, value: &Value) -> Option<String> {
    if let Some(kinds) = kinds(schema).filter(|k| !k.is_empty() && !k.contains(&kind(value))) {
        return Some(format!("it must be {}, not {}", spoken_kinds(&kinds), spoken(kind(value))));
    }
    if let Some(choices) = choices(schema).filter(|all| !all.contains(value)) {
        let all = choices.iter().map(|c| format!("`{}`", c.to_text())).collect::<Vec<_>>().join(", ");
        return Some(format!("it must be one of {all}"));
    }
    let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
    let whole = is_integer(schema);
    match value {
        Value::Number(n) => {
            let n = n.as_f64();
            if whole && n.fract() != 0.0 {
                return Some("it must be a whole number".to_owned());
            }
            if let Some(low) = limit("minimum").filter(|low| n < *low) {
                return Some(format!("it must be at least {low}"));
            }
            limit("maximum").filter(|high| n > *high).map(|high| format!("it must be at most {high}"))
        }
        Value::Str(text) => {
            let length = text.chars().count() as f64;
            if let Some(low) = limit("minLength").filter(|low| length < *low) {
                return Some(format!("it must have at least {low} characters"));
            }
            limit("maxLength")
                .filter(|high| length > *high)
                .map(|high| format!("it must have at most {high} characters"))
        }
        Value::List(items) => {
            let length = items.len() as f64;
            if limit("minItems").is_some_and(|low| length < low) || limit("maxItems").is_some_and(|high| length > high)
            {
                return Some("it has the wrong number of items".to_owned());
            }
            let inner = schema.get("items").filter(|_| schema.get("prefixItems").is_none())?;
            items.iter().find_map(|item| refuses(inner, item)).map(|why| format!("its items do not match: {why}"))
        }
        Value::Object(members) => {
            let inner = schema.get("properties").and_then(Value::as_object)?;
            members.iter().find_map(|(k, v)| Some(format!("of `{k}`: {}", refuses(inner.get(k)?, v)?)))
        }
        Value::Null | Value::Bool(_) | Value::Masked(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Kinds, Member, kinds, list, member, object, of_kind, of_value, tuple, union};
    use trefoil_template::Value;

    #[test]
    fn a_union_has_a_member_where_any_has_it() {
        let with = object([("a".into(), of_kind("number"), false)], true);
        let both = union([with, of_kind("string")]);
        assert_eq!(kinds(&both), Some(["string", "object"].into_iter().collect()));
        assert_eq!(member(&both, "a"), Member::Is { schema: of_kind("number"), optional: true });
        assert!(matches!(member(&both, "b"), Member::Never { .. }), "neither has it");
    }

    #[test]
    fn a_fixed_list_ends() {
        let two = tuple(vec![of_kind("string"), of_kind("number")]);
        assert_eq!(member(&two, "1"), Member::Is { schema: of_kind("number"), optional: false });
        assert_eq!(member(&two, "2"), Member::Beyond { length: 2 });
        assert!(matches!(member(&list(of_kind("string")), "7"), Member::Is { optional: true, .. }));
    }

    #[test]
    fn what_is_not_declared_is_not_denied_in_an_open_object() {
        let open = object([("a".into(), of_kind("number"), false)], false);
        assert_eq!(member(&open, "b"), Member::Maybe);
        assert_eq!(kinds(&of_value(&Value::from("x"))), Some(Kinds::of("string")));
    }
}
