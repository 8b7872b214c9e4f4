//! The rules of this module, with a one-line description of each.

/// Text that is not YAML.
pub const SYNTAX: &str = "yaml-syntax";
/// A tab where YAML requires spaces.
pub const TAB: &str = "yaml-tab";
/// `{{ x }}` without quotes.
pub const UNQUOTED_BRACES: &str = "yaml-unquoted-braces";
/// A value in typographic quotes.
pub const TYPOGRAPHIC_QUOTES: &str = "yaml-typographic-quotes";
/// `Ticket #{{id}}`: a comment that was meant as text.
pub const CUT_BY_COMMENT: &str = "yaml-cut-by-comment";
/// `Do it."`: a closing quote without an opening one.
pub const STRAY_QUOTE: &str = "yaml-stray-quote";
/// An empty file.
pub const EMPTY: &str = "yaml-empty";
/// Bytes that are not UTF-8.
pub const ENCODING: &str = "yaml-encoding";
/// A character that is not allowed in YAML.
pub const CHARACTER: &str = "yaml-character";
/// One key twice in one mapping.
pub const DUPLICATE_KEY: &str = "yaml-duplicate-key";
/// A key that is not a scalar, or missing.
pub const KEY: &str = "yaml-key";
/// A tag that is not in the core schema, or does not match its value.
pub const TAG: &str = "yaml-tag";
/// An alias without an anchor, or one that contains itself.
pub const ALIAS: &str = "yaml-alias";
/// `<<` with a value that cannot be merged.
pub const MERGE: &str = "yaml-merge";
/// A second `---`.
pub const MULTIPLE_DOCUMENTS: &str = "yaml-multiple-documents";
/// A `%` line at the top that has no effect.
pub const DIRECTIVE: &str = "yaml-directive";
/// Too large, too deep, too many nodes.
pub const LIMIT: &str = "yaml-limit";

/// Every rule of this module with its description.
pub const RULES: &[(&str, &str)] = &[
    (SYNTAX, "the text is not valid YAML"),
    (TAB, "a tab where YAML needs spaces"),
    (UNQUOTED_BRACES, "a value that starts with `{{` needs quotes; YAML would read it as a mapping"),
    (TYPOGRAPHIC_QUOTES, "a value in typographic quotes, which YAML reads as text"),
    (CUT_BY_COMMENT, "a value ends before ` #`, and the rest is read as a comment"),
    (STRAY_QUOTE, "a value ends with a quote that was never opened"),
    (EMPTY, "the file is empty"),
    (ENCODING, "the file is not UTF-8 text"),
    (CHARACTER, "a control character in the file"),
    (DUPLICATE_KEY, "a mapping has the same key twice"),
    (KEY, "a key is missing, or is a list or a mapping"),
    (TAG, "a tag is unknown, or its value has a different type"),
    (ALIAS, "an alias refers to no anchor above it, or contains itself"),
    (MERGE, "a merge key `<<` has a value that is not a mapping"),
    (MULTIPLE_DOCUMENTS, "the file contains more than one document"),
    (DIRECTIVE, "a directive at the top of the file has no effect"),
    (LIMIT, "the file is larger, deeper or longer than the limits allow"),
];
