//! The tree. Nodes are shared (`Arc`), so that an alias costs nothing.
//!
//! Holds no more than the file says: defaults, types and meaning are for its readers.

use std::sync::Arc;

use super::map::ScalarMap;
use crate::span::Span;

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// No quotes.
    Plain,
    /// `'...'`
    Single,
    /// `"..."`
    Double,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

/// A scalar's decoded text, its place, and the way back from one to the other.
#[derive(Debug, Clone)]
pub struct Text {
    /// The decoded text.
    pub value: Arc<str>,
    /// The scalar in the file, quotes or block indicator included.
    pub span: Span,
    /// How it was written.
    pub style: Style,
    /// Decoded byte offset to file byte offset.
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

/// What the core schema makes of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// `null`, `~`, or nothing at all.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// An unsigned integer beyond `i64`.
    UInt(u64),
    /// Any other number.
    Float(f64),
    /// A string: the text.
    Str,
}

/// What a node is.
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
    /// The bytes of the value; of an alias, the alias itself (`*name`), while inner nodes keep those of the anchor.
    pub span: Span,
    /// What it is.
    pub kind: Arc<Kind>,
}

/// One `key: value`.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key's text; keys that are not scalars are reported and left out.
    pub key: Text,
    /// What the core schema makes of the key.
    pub key_scalar: Scalar,
    /// The value.
    pub value: Node,
}

/// A mapping in the order of the file, merge keys resolved.
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    /// The entries.
    pub entries: Vec<Entry>,
}

impl Mapping {
    /// The entry of this key.
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
    /// `null`, `a boolean`, `a number`, `text`, `a list`, `a mapping`: as a message names it.
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
