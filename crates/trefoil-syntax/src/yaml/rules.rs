//! The rules of this module. Their pages are in the checker.

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
