//! The keywords of JSON Schema (draft 2020-12) and the types of their values.

/// The value of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// A type name or a list of them.
    Types,
    /// A schema, or `true`/`false`.
    Schema,
    /// A list of schemas.
    Schemas,
    /// Schemas by name.
    Named,
    /// A number.
    Number,
    /// A number above 0.
    Positive,
    /// An integer of at least 0.
    Count,
    /// `true` or `false`.
    Boolean,
    /// Text.
    Text,
    /// A regular expression.
    Pattern,
    /// A list of names.
    Names,
    /// Lists of names by name.
    NamesByName,
    /// A list of values.
    Values,
    /// A reference.
    Reference,
    /// Any value.
    Any,
}

/// Every keyword.
pub const KEYWORDS: &[(&str, Holds)] = &[
    ("type", Holds::Types),
    ("properties", Holds::Named),
    ("required", Holds::Names),
    ("additionalProperties", Holds::Schema),
    ("items", Holds::Schema),
    ("enum", Holds::Values),
    ("const", Holds::Any),
    ("default", Holds::Any),
    ("description", Holds::Text),
    ("title", Holds::Text),
    ("format", Holds::Text),
    ("minimum", Holds::Number),
    ("maximum", Holds::Number),
    ("exclusiveMinimum", Holds::Number),
    ("exclusiveMaximum", Holds::Number),
    ("multipleOf", Holds::Positive),
    ("minLength", Holds::Count),
    ("maxLength", Holds::Count),
    ("minItems", Holds::Count),
    ("maxItems", Holds::Count),
    ("minProperties", Holds::Count),
    ("maxProperties", Holds::Count),
    ("minContains", Holds::Count),
    ("maxContains", Holds::Count),
    ("uniqueItems", Holds::Boolean),
    ("pattern", Holds::Pattern),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("oneOf", Holds::Schemas),
    ("prefixItems", Holds::Schemas),
    ("not", Holds::Schema),
    ("if", Holds::Schema),
    ("then", Holds::Schema),
    ("else", Holds::Schema),
    ("contains", Holds::Schema),
    ("propertyNames", Holds::Schema),
    ("unevaluatedItems", Holds::Schema),
    ("unevaluatedProperties", Holds::Schema),
    ("patternProperties", Holds::Named),
    ("dependentSchemas", Holds::Named),
    ("dependentRequired", Holds::NamesByName),
    ("$defs", Holds::Named),
    ("definitions", Holds::Named),
    ("$ref", Holds::Reference),
    ("$dynamicRef", Holds::Reference),
    ("$schema", Holds::Text),
    ("$id", Holds::Text),
    ("$anchor", Holds::Text),
    ("$dynamicAnchor", Holds::Text),
    ("$comment", Holds::Text),
    ("$vocabulary", Holds::Any),
    ("examples", Holds::Values),
    ("deprecated", Holds::Boolean),
    ("readOnly", Holds::Boolean),
    ("writeOnly", Holds::Boolean),
    ("contentEncoding", Holds::Text),
    ("contentMediaType", Holds::Text),
    ("contentSchema", Holds::Schema),
];

/// The names of the keywords.
pub static KEYWORD_NAMES: std::sync::LazyLock<Vec<&'static str>> =
    std::sync::LazyLock::new(|| KEYWORDS.iter().map(|(name, _)| *name).collect());

/// Keywords of a root whose result a filled-in null could change.
pub const COMBINING: &[&str] = &[
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentRequired",
    "dependentSchemas",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "$ref",
    "const",
    "enum",
];

/// Keywords that are unlikely as names of properties.
pub const STRUCTURAL: &[&str] = &[
    "type",
    "properties",
    "items",
    "required",
    "additionalProperties",
    "enum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "pattern",
    "anyOf",
    "oneOf",
    "allOf",
    "uniqueItems",
];

/// Keywords that the checks at the keys do not fully cover, so a schema with one of them is also compiled.
pub const DELICATE: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$schema",
    "$vocabulary",
    "pattern",
    "patternProperties",
    "dependentRequired",
    "multipleOf",
    "required",
    "enum",
];

/// The type of a keyword's value.
pub fn holds(name: &str) -> Option<Holds> {
    KEYWORDS.iter().find(|(k, _)| *k == name).map(|(_, h)| *h)
}
