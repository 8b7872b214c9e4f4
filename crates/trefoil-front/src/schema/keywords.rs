//! The keywords of JSON Schema (draft 2020-12) and the types of their values.

/// The value of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordValueKind {
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
pub const KEYWORDS: &[(&str, KeywordValueKind)] = &[
    ("type", KeywordValueKind::Types),
    ("properties", KeywordValueKind::Named),
    ("required", KeywordValueKind::Names),
    ("additionalProperties", KeywordValueKind::Schema),
    ("items", KeywordValueKind::Schema),
    ("enum", KeywordValueKind::Values),
    ("const", KeywordValueKind::Any),
    ("default", KeywordValueKind::Any),
    ("description", KeywordValueKind::Text),
    ("title", KeywordValueKind::Text),
    ("format", KeywordValueKind::Text),
    ("minimum", KeywordValueKind::Number),
    ("maximum", KeywordValueKind::Number),
    ("exclusiveMinimum", KeywordValueKind::Number),
    ("exclusiveMaximum", KeywordValueKind::Number),
    ("multipleOf", KeywordValueKind::Positive),
    ("minLength", KeywordValueKind::Count),
    ("maxLength", KeywordValueKind::Count),
    ("minItems", KeywordValueKind::Count),
    ("maxItems", KeywordValueKind::Count),
    ("minProperties", KeywordValueKind::Count),
    ("maxProperties", KeywordValueKind::Count),
    ("minContains", KeywordValueKind::Count),
    ("maxContains", KeywordValueKind::Count),
    ("uniqueItems", KeywordValueKind::Boolean),
    ("pattern", KeywordValueKind::Pattern),
    ("allOf", KeywordValueKind::Schemas),
    ("anyOf", KeywordValueKind::Schemas),
    ("oneOf", KeywordValueKind::Schemas),
    ("prefixItems", KeywordValueKind::Schemas),
    ("not", KeywordValueKind::Schema),
    ("if", KeywordValueKind::Schema),
    ("then", KeywordValueKind::Schema),
    ("else", KeywordValueKind::Schema),
    ("contains", KeywordValueKind::Schema),
    ("propertyNames", KeywordValueKind::Schema),
    ("unevaluatedItems", KeywordValueKind::Schema),
    ("unevaluatedProperties", KeywordValueKind::Schema),
    ("patternProperties", KeywordValueKind::Named),
    ("dependentSchemas", KeywordValueKind::Named),
    ("dependentRequired", KeywordValueKind::NamesByName),
    ("$defs", KeywordValueKind::Named),
    ("definitions", KeywordValueKind::Named),
    ("$ref", KeywordValueKind::Reference),
    ("$dynamicRef", KeywordValueKind::Reference),
    ("$schema", KeywordValueKind::Text),
    ("$id", KeywordValueKind::Text),
    ("$anchor", KeywordValueKind::Text),
    ("$dynamicAnchor", KeywordValueKind::Text),
    ("$comment", KeywordValueKind::Text),
    ("$vocabulary", KeywordValueKind::Any),
    ("examples", KeywordValueKind::Values),
    ("deprecated", KeywordValueKind::Boolean),
    ("readOnly", KeywordValueKind::Boolean),
    ("writeOnly", KeywordValueKind::Boolean),
    ("contentEncoding", KeywordValueKind::Text),
    ("contentMediaType", KeywordValueKind::Text),
    ("contentSchema", KeywordValueKind::Schema),
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
pub fn keyword_value_kind(name: &str) -> Option<KeywordValueKind> {
    KEYWORDS.iter().find(|(k, _)| *k == name).map(|(_, h)| *h)
}
