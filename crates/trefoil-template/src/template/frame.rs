//! The context of loops: frames at run time, and paths that start in them.

use std::ops::Range;
use std::sync::Arc;

use crate::lookup::Got;
use crate::scope::{Missing, Segment};
use crate::value::Value;

/// One iteration of an `each`, or a `with`.
#[derive(Debug)]
pub(crate) struct BlockFrame<'f> {
    pub parent: Option<&'f BlockFrame<'f>>,
    pub this: &'f Value,
    /// From 0; `None` in a `with`.
    pub index: Option<usize>,
    /// The member's name, if an object is iterated.
    pub key: Option<&'f Arc<str>>,
    pub last: bool,
}

/// Where a path in a loop starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The item, or the value of a `with`.
    This,
    /// `@index`: a number from 0.
    Index,
    /// `@key`: a member's name; an item's number.
    Key,
    /// `@first`: a boolean.
    First,
    /// `@last`: a boolean.
    Last,
}

/// The value that the enclosing block of a [`Local`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The value of the reference with this index.
    Reference(u32),
    /// The value of another local path.
    Local(u32),
    /// The result of a helper.
    Computed,
}

/// A path that is looked up in an enclosing `each` or `with`. Lowering does not bind it, but the checker can determine
/// its type.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// The segments after the start.
    pub path: Vec<Segment>,
    /// The span of the whole path.
    pub span: Range<u32>,
    /// Where it starts.
    pub start: Start,
    /// The value that the block is about.
    pub origin: Origin,
    /// Whether the block is an `each` (the path starts at an item) or a `with` (at the value itself).
    pub each: bool,
    /// Whether an enclosing `if` or a `default` helper handles an undefined value.
    pub guarded: bool,
    /// How many frames up.
    pub(crate) up: u16,
}

impl Local {
    /// The value, if the path starts at the item itself. A fast path of [`Self::look_up`].
    #[inline]
    pub(crate) fn this<'f>(&self, mut frame: Option<&'f BlockFrame<'f>>) -> Option<&'f Value> {
        if self.start != Start::This {
            return None;
        }
        for _ in 0..self.up {
            frame = frame?.parent;
        }
        let mut value = frame?.this;
        for segment in &self.path {
            value = value.get(&segment.name)?;
        }
        Some(value)
    }

    /// The value in the frames of this iteration.
    pub(crate) fn look_up<'f>(&self, frame: Option<&'f BlockFrame<'f>>) -> Got<'f> {
        if self.start == Start::This {
            return self.this(frame).map_or(Got::Missing(Missing::Key(0)), Got::Borrowed);
        }
        let mut frame = frame;
        for _ in 0..self.up {
            frame = frame.and_then(|f| f.parent);
        }
        let Some(frame) = frame else { return Got::Missing(Missing::Key(0)) };
        let start = match self.start {
            Start::This => None,
            Start::Index => frame.index.map(Value::from),
            Start::Key => match frame.key {
                Some(key) => Some(Value::Str(key.clone())),
                None => frame.index.map(Value::from),
            },
            Start::First => frame.index.map(|i| Value::from(i == 0)),
            Start::Last => frame.index.map(|_| Value::from(frame.last)),
        };
        match start {
            Some(value) if self.path.is_empty() => Got::Owned(value),
            _ => Got::Missing(Missing::Key(0)),
        }
    }
}
