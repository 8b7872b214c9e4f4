//! The context of loops: frames at run time, and paths that start in them.

use std::ops::Range;
use std::sync::Arc;

use crate::lookup::LookupResult;
use crate::scope::{MissingCause, PathSegment};
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
pub enum LocalStart {
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

/// The value that the enclosing block of a [`LocalPath`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockSubject {
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
pub struct LocalPath {
    /// The segments after the start.
    pub path: Vec<PathSegment>,
    /// The span of the whole path.
    pub span: Range<u32>,
    /// Where it starts.
    pub start: LocalStart,
    /// The value that the block is about.
    pub origin: BlockSubject,
    /// Whether the block is an `each` (the path starts at an item) or a `with` (at the value itself).
    pub each: bool,
    /// Whether an enclosing `if` or a `default` helper handles an undefined value.
    pub guarded: bool,
    /// How many frames up.
    pub(crate) up: u16,
}

impl LocalPath {
    /// The value, if the path starts at the item itself. A fast path of [`Self::look_up`].
    #[inline]
    pub(crate) fn item_value<'f>(&self, mut frame: Option<&'f BlockFrame<'f>>) -> Option<&'f Value> {
        if self.start != LocalStart::This {
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
    pub(crate) fn look_up<'f>(&self, frame: Option<&'f BlockFrame<'f>>) -> LookupResult<'f> {
        if self.start == LocalStart::This {
            return self.item_value(frame).map_or(LookupResult::Missing(MissingCause::Key(0)), LookupResult::Borrowed);
        }
        let mut frame = frame;
        for _ in 0..self.up {
            frame = frame.and_then(|f| f.parent);
        }
        let Some(frame) = frame else { return LookupResult::Missing(MissingCause::Key(0)) };
        let start = match self.start {
            LocalStart::This => None,
            LocalStart::Index => frame.index.map(Value::from),
            LocalStart::Key => match frame.key {
                Some(key) => Some(Value::Str(key.clone())),
                None => frame.index.map(Value::from),
            },
            LocalStart::First => frame.index.map(|i| Value::from(i == 0)),
            LocalStart::Last => frame.index.map(|_| Value::from(frame.last)),
        };
        match start {
            Some(value) if self.path.is_empty() => LookupResult::Owned(value),
            _ => LookupResult::Missing(MissingCause::Key(0)),
        }
    }
}
