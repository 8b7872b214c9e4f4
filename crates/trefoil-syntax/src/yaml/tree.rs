//! The tree. Nodes are shared (`Arc`), so that an alias costs no copy.
//!
//! Contains only what is in the file. Defaults, types and meaning belong to its readers.

use std::sync::Arc;

use super::map::ScalarMap;
use super::style::Style;
use crate::span::Span;

/// A scalar's decoded text, its place, and the map from one to the other.
#[derive(Debug, Clone)]
pub struct Text {
    /// The decoded text.
    pub value: Arc<str>,
    /// The scalar in the file, including quotes or block indicator.
    pub span: Span,
    /// How it was written.
    pub style: Style,
    /// Maps decoded byte offsets to file byte offsets.
    pub map: ScalarMap,
}

impl Text {
    /// The bytes in the file that a byte range of the decoded text came from.
    pub fn source(&self, range: std::ops::Range<u32>) -> Span {
        self.map.span(range)
    }
    /// The file offset of a byte offset of the decoded text.
    pub fn source_offset(&self, at: u32) -> u32 {
        self.map.offset(at)
    }
    /// The bytes in the file that the whole decoded text came from: `span` without quotes and block header.
    pub fn content(&self) -> Span {
        self.map.span(0..self.value.len() as u32)
    }
}

/// The type of a scalar in the core schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
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
pub enum Kind {
    /// A scalar.
    Scalar(Scalar, Text),
    /// A sequence.
    Sequence(Vec<Node>),
    /// A mapping.
    Mapping(Mapping),
}

/// A node and its bytes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Node {
    /// The bytes of the value. For an alias this is the alias itself (`*name`); its inner nodes keep the spans of the
    /// anchor.
    pub span: Span,
    /// The kind.
    pub kind: Arc<Kind>,
}

/// One `key: value`.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key's text. Keys that are not scalars are reported and left out.
    pub key: Text,
    /// The type of the key in the core schema.
    pub key_scalar: Scalar,
    /// The value.
    pub value: Node,
}

/// A mapping in file order, with merge keys resolved.
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    /// The entries.
    pub entries: Vec<Entry>,
    /// The key whose value it is; `None` in a list, at the top, and with an anchor.
    pub owner: Option<Span>,
}

impl Mapping {
    /// The entry with this key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| &*e.key.value == key)
    }
}

impl Node {
    /// The mapping, if it is one.
    pub fn mapping(&self) -> Option<&Mapping> {
        match &*self.kind {
            Kind::Mapping(m) => Some(m),
            _ => None,
        }
    }
    /// The items, if it is a sequence.
    pub fn sequence(&self) -> Option<&[Node]> {
        match &*self.kind {
            Kind::Sequence(s) => Some(s),
            _ => None,
        }
    }
    /// The scalar, if it is one.
    pub fn scalar(&self) -> Option<(Scalar, &Text)> {
        match &*self.kind {
            Kind::Scalar(s, t) => Some((*s, t)),
            _ => None,
        }
    }
    /// The text, if it is a string scalar.
    pub fn string(&self) -> Option<&Text> {
        match &*self.kind {
            Kind::Scalar(Scalar::Str, t) => Some(t),
            _ => None,
        }
    }
    /// Whether it is a null scalar.
    pub fn is_null(&self) -> bool {
        matches!(&*self.kind, Kind::Scalar(Scalar::Null, _))
    }
    /// `null`, `a boolean`, `a number`, `text`, `a list`, `a mapping`: the wording in messages.
    pub fn describe(&self) -> &'static str {
        match &*self.kind {
            Kind::Scalar(Scalar::Null, _) => "null",
            Kind::Scalar(Scalar::Bool(_), _) => "a boolean",
            Kind::Scalar(Scalar::Str, _) => "text",
            Kind::Scalar(..) => "a number",
            Kind::Sequence(_) => "a list",
            Kind::Mapping(_) => "a mapping",
        }
    }
}
