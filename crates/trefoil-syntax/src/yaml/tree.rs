//! The tree. Nodes are shared (`Arc`), so that an alias costs no copy.
//!
//! Contains only what is in the file. Defaults, types and meaning belong to its readers.

use std::sync::Arc;

use super::scalar_map::ScalarMap;
use super::style::YamlStyle;
use crate::span::Span;

/// A scalar's decoded text, its place, and the map from one to the other.
#[derive(Debug, Clone)]
pub struct YamlText {
    /// The decoded text.
    pub value: Arc<str>,
    /// The scalar in the file, including quotes or block indicator.
    pub span: Span,
    /// How it was written.
    pub style: YamlStyle,
    /// Maps decoded byte offsets to file byte offsets.
    pub map: ScalarMap,
}

impl YamlText {
    /// The bytes in the file that a byte range of the decoded text came from.
    pub fn source_span(&self, range: std::ops::Range<u32>) -> Span {
        self.map.file_span(range)
    }
    /// The file offset of a byte offset of the decoded text.
    pub fn source_offset(&self, at: u32) -> u32 {
        self.map.file_offset(at)
    }
    /// The bytes in the file that the whole decoded text came from: `span` without quotes and block header.
    pub fn content_span(&self) -> Span {
        self.map.file_span(0..self.value.len() as u32)
    }
}

/// The type of a scalar in the core schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum YamlScalar {
    /// `null`, `~`, or an empty value.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// An integer that fits in 64 bits.
    Int(i64),
    /// An unsigned integer beyond `i64`.
    UInt(u64),
    /// Any other number.
    Float(f64),
    /// A string, whose value is the text.
    Str,
}

/// The kind of a node.
#[derive(Debug, Clone)]
pub enum YamlNodeKind {
    /// A scalar.
    Scalar(YamlScalar, YamlText),
    /// A sequence.
    Sequence(Vec<YamlNode>),
    /// A mapping.
    Mapping(YamlMapping),
}

/// A node and its bytes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct YamlNode {
    /// The bytes of the value. For an alias this is the alias itself (`*name`); its inner nodes keep the spans of the
    /// anchor.
    pub span: Span,
    /// The kind.
    pub kind: Arc<YamlNodeKind>,
}

/// One `key: value`.
#[derive(Debug, Clone)]
pub struct YamlEntry {
    /// The key's text. Keys that are not scalars are reported and left out.
    pub key: YamlText,
    /// The type of the key in the core schema.
    pub key_scalar: YamlScalar,
    /// The value.
    pub value: YamlNode,
}

/// A mapping in file order, with merge keys resolved.
#[derive(Debug, Clone, Default)]
pub struct YamlMapping {
    /// The entries.
    pub entries: Vec<YamlEntry>,
    /// The key whose value it is; `None` in a list, at the top, and with an anchor.
    pub owner: Option<Span>,
}

impl YamlMapping {
    /// The entry with this key.
    pub fn get(&self, key: &str) -> Option<&YamlEntry> {
        self.entries.iter().find(|e| &*e.key.value == key)
    }
}

impl YamlNode {
    /// The mapping, if it is one.
    pub fn as_mapping(&self) -> Option<&YamlMapping> {
        match &*self.kind {
            YamlNodeKind::Mapping(m) => Some(m),
            _ => None,
        }
    }
    /// The items, if it is a sequence.
    pub fn as_sequence(&self) -> Option<&[YamlNode]> {
        match &*self.kind {
            YamlNodeKind::Sequence(s) => Some(s),
            _ => None,
        }
    }
    /// The scalar, if it is one.
    pub fn as_scalar(&self) -> Option<(YamlScalar, &YamlText)> {
        match &*self.kind {
            YamlNodeKind::Scalar(s, t) => Some((*s, t)),
            _ => None,
        }
    }
    /// The text, if it is a string scalar.
    pub fn as_string(&self) -> Option<&YamlText> {
        match &*self.kind {
            YamlNodeKind::Scalar(YamlScalar::Str, t) => Some(t),
            _ => None,
        }
    }
    /// Whether it is a null scalar.
    pub fn is_null(&self) -> bool {
        matches!(&*self.kind, YamlNodeKind::Scalar(YamlScalar::Null, _))
    }
    /// `null`, `a boolean`, `a number`, `text`, `a list`, `a mapping`: the wording in messages.
    pub fn kind_description(&self) -> &'static str {
        match &*self.kind {
            YamlNodeKind::Scalar(YamlScalar::Null, _) => "null",
            YamlNodeKind::Scalar(YamlScalar::Bool(_), _) => "a boolean",
            YamlNodeKind::Scalar(YamlScalar::Str, _) => "text",
            YamlNodeKind::Scalar(..) => "a number",
            YamlNodeKind::Sequence(_) => "a list",
            YamlNodeKind::Mapping(_) => "a mapping",
        }
    }
}
