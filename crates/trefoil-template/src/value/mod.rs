//! Run-time values: JSON with cheap clones, plus text whose secret parts are holes.
//!
//! `text` prints values, `json` converts from and to JSON, `foreign` reads JSON from outside, `wire` is JSON that keeps
//! holes, `hole` has the holes, `masked` text with them, `nodes` counts values, `number` the numbers, `python` prints as Python does.

pub mod foreign_json;
mod hole;
mod json;
mod masked_text;
mod nodes;
mod number;
mod python;
mod text;
pub mod wire;

use std::sync::Arc;

use indexmap::IndexMap;

use crate::limits;

pub(crate) use hole::{HIDDEN, TextTarget, is_json, write_json_string};
pub use hole::{Hole, HoleKind};
pub(crate) use masked_text::MaskedBuilder;
pub use masked_text::{Masked, MaskedPiece};
pub use nodes::{NodeCounter, has_too_many_nodes, json_nodes};
pub use number::ValueNumber;
pub(crate) use python::python_text;

/// Things by name, in the order in which they were inserted.
pub type NameMap<T> = IndexMap<Arc<str>, T, foldhash::fast::RandomState>;

/// An object. Keys keep their insertion order.
pub type ValueObject = NameMap<Value>;

/// Up to this many members, comparing keys one by one is faster than hashing.
const SCAN: usize = 12;

/// A value. Cloning never copies data.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// `null`; in agntz also a missing value.
    #[default]
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number.
    Number(ValueNumber),
    /// Text.
    Str(Arc<str>),
    /// A list.
    List(Arc<Vec<Value>>),
    /// An object.
    Object(Arc<ValueObject>),
    /// Text with holes. Serializes in its masked form (`***`), which cannot be read back; [`wire`] keeps the holes.
    Masked(Arc<Masked>),
}

impl Value {
    /// The member of an object, or the item of a list if `key` is all digits. Own keys only.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Object(object) if object.len() <= SCAN => {
                object.iter().find(|(k, _)| k.as_ref() == key).map(|(_, v)| v)
            }
            Self::Object(object) => object.get(key),
            Self::List(items) if key.bytes().all(|b| b.is_ascii_digit()) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// Null, `false`, `0`, `""`, `[]`, `{}` are falsy. `None` for masked text without known parts, whose truth is
    /// unknown here.
    pub fn truth_value(&self) -> Option<bool> {
        Some(match self {
            Self::Null => false,
            Self::Bool(b) => *b,
            Self::Number(n) => n.as_f64() != 0.0,
            Self::Str(s) => !s.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Object(object) => !object.is_empty(),
            Self::Masked(masked) => return masked.has_text().then_some(true),
        })
    }

    /// Whether it is within [`limits::VALUE_DEPTH`] and [`limits::VALUE_NODES`]. With sharing, a few steps can create a
    /// value that would take forever to traverse.
    pub fn is_within_limits(&self) -> bool {
        let mut nodes = limits::VALUE_NODES;
        self.fits(limits::VALUE_DEPTH, &mut nodes)
    }

    /// Its size in bytes. Shared parts count each time they occur.
    pub fn total_weight(&self) -> u64 {
        self.weigh_parts(false)
    }

    /// The size in bytes of the parts that are not shared with other values. For a value just created, this is the size
    /// of its new parts.
    pub fn fresh_weight(&self) -> u64 {
        self.weigh_parts(true)
    }

    fn weigh_parts(&self, fresh: bool) -> u64 {
        const NODE: u64 = std::mem::size_of::<Value>() as u64;
        /// What each shared allocation needs besides its content. Without it, empty lists and short texts would count as
        /// half of what they take.
        const HELD: u64 = 16;
        fn shared<T: ?Sized>(held: &Arc<T>) -> bool {
            Arc::strong_count(held) > 1
        }
        NODE + match self {
            Self::Str(text) if !(fresh && shared(text)) => HELD + text.len() as u64,
            Self::List(items) if !(fresh && shared(items)) => {
                HELD + items.iter().map(|v| v.weigh_parts(fresh)).sum::<u64>()
            }
            Self::Object(object) if !(fresh && shared(object)) => {
                let members = object.iter().map(|(key, v)| NODE * 2 + HELD + key.len() as u64 + v.weigh_parts(fresh));
                HELD + std::mem::size_of::<ValueObject>() as u64 + members.sum::<u64>()
            }
            Self::Masked(masked) if !(fresh && shared(masked)) => {
                masked.pieces.iter().map(MaskedPiece::text_bytes).sum()
            }
            _ => 0,
        }
    }

    fn fits(&self, depth: usize, nodes: &mut usize) -> bool {
        let count = match self {
            Self::List(items) => items.len(),
            Self::Object(object) => object.len(),
            _ => return true,
        };
        let Some(left) = nodes.checked_sub(count) else { return false };
        *nodes = left;
        depth > 0
            && match self {
                Self::List(items) => items.iter().all(|v| v.fits(depth - 1, nodes)),
                Self::Object(object) => object.values().all(|v| v.fits(depth - 1, nodes)),
                _ => true,
            }
    }

    /// `null`, `a boolean`, `a number`, `text`, `a list`, `an object`.
    pub fn kind_description(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Str(_) | Self::Masked(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The text, if it is plain text.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Str(s) = self { Some(s) } else { None }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(b) = self { Some(*b) } else { None }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&ValueObject> {
        if let Self::Object(o) = self { Some(o) } else { None }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Self::List(l) = self { Some(l) } else { None }
    }

    /// The number as a float, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(n) = self { Some(n.as_f64()) } else { None }
    }

    /// The number, if it is one from 0 to 1: the only reading of scores and confidences. A text is none.
    pub fn as_share(&self) -> Option<f64> {
        self.as_f64().filter(|number| (0.0..=1.0).contains(number))
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it contains masked text, at any depth.
    pub fn is_masked(&self) -> bool {
        match self {
            Self::Masked(_) => true,
            Self::List(items) => items.iter().any(Value::is_masked),
            Self::Object(object) => object.values().any(Value::is_masked),
            _ => false,
        }
    }
}

impl PartialEq for Value {
    /// Same type and content; numbers compare numerically, objects regardless of the order of their keys. Shared parts
    /// are equal without a comparison, because types of nested workflows contain the same inner type many times.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::List(a), Self::List(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::Masked(a), Self::Masked(b)) => a == b,
            _ => false,
        }
    }
}

macro_rules! from {
    ($($type:ty, $name:ident => $value:expr;)*) => {$(
        impl From<$type> for Value {
            fn from($name: $type) -> Self {
                $value
            }
        }
    )*};
}

from! {
    (), _unit => Value::Null;
    bool, b => Value::Bool(b);
    i32, n => Value::Number(ValueNumber::from(i64::from(n)));
    u32, n => Value::Number(ValueNumber::from(i64::from(n)));
    i64, n => Value::Number(ValueNumber::from(n));
    u64, n => Value::Number(ValueNumber::from(n));
    usize, n => Value::Number(ValueNumber::from(n as u64));
    f64, n => Value::Number(ValueNumber::Float(n));
    ValueNumber, n => Value::Number(n);
    &str, s => Value::Str(s.into());
    String, s => Value::Str(s.into());
    Arc<str>, s => Value::Str(s);
    Vec<Value>, items => Value::List(Arc::new(items));
    ValueObject, object => Value::Object(Arc::new(object));
    Masked, masked => masked.into_value();
    serde_json::Value, json => Value::from_json(json);
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Value::from(items.into_iter().map(Into::into).collect::<Vec<Value>>())
    }
}

impl<K: Into<Arc<str>>, V: Into<Value>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        Value::from(members.into_iter().map(|(k, v)| (k.into(), v.into())).collect::<ValueObject>())
    }
}
