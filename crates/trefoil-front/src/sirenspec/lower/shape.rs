//! What is known at load about the values that nodes leave behind: enough to tell a path that can be there from one that
//! never is.

use std::sync::Arc;

use trefoil_template::{Segment, Value};

use crate::learn;

/// The shape of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Text: nothing is inside.
    Leaf,
    /// Text, a number, a boolean: nothing is inside.
    Scalar,
    /// A list.
    List(Box<Shape>),
    /// An object with these keys and no others.
    Keys(Vec<(Arc<str>, Shape)>),
    /// Anything.
    Any,
}

impl Shape {
    /// A list of texts.
    pub fn texts() -> Self {
        Self::List(Box::new(Self::Leaf))
    }

    /// The shape at the end of a chain of keys.
    pub fn under(path: &[Arc<str>], inner: Shape) -> Self {
        path.iter().rev().fold(inner, |shape, key| Self::Keys(vec![(key.clone(), shape)]))
    }

    /// The shape of a value that is known. Its objects are taken as complete.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Object(members) => {
                Self::Keys(members.iter().map(|(key, member)| (key.clone(), Self::of(member))).collect())
            }
            Value::List(_) => Self::List(Box::new(Self::Any)),
            Value::Str(_) => Self::Leaf,
            _ => Self::Scalar,
        }
    }

    /// The shape that a default gives to an input field: of its type, with any content.
    pub fn of_default(value: &Value) -> Self {
        match value {
            Value::Object(_) | Value::Null => Self::Any,
            Value::List(_) => Self::List(Box::new(Self::Any)),
            Value::Str(_) => Self::Leaf,
            _ => Self::Scalar,
        }
    }

    /// The index of the first segment that can never be there; none: the path may resolve.
    pub fn missing(&self, path: &[Segment]) -> Option<usize> {
        let mut shape = self;
        for (at, segment) in path.iter().enumerate() {
            shape = match shape {
                Self::Any => return None,
                Self::Leaf | Self::Scalar => return Some(at),
                Self::List(item) if segment.name.bytes().all(|b| b.is_ascii_digit()) => item,
                Self::List(_) => return Some(at),
                Self::Keys(keys) => match keys.iter().find(|(key, _)| *key == segment.name) {
                    Some((_, inner)) => inner,
                    None => return Some(at),
                },
            };
        }
        None
    }

    /// What is under a key, where that is known.
    pub fn at(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Any => Some(self),
            Self::Keys(keys) => keys.iter().find(|(k, _)| **k == *key).map(|(_, inner)| inner),
            Self::Leaf | Self::Scalar | Self::List(_) => None,
        }
    }

    /// The keys at the end of a path, where they are known.
    pub fn keys(&self, path: &[Segment]) -> Vec<&str> {
        let mut shape = self;
        for segment in path {
            match shape {
                Self::Keys(keys) => match keys.iter().find(|(key, _)| *key == segment.name) {
                    Some((_, inner)) => shape = inner,
                    None => return Vec::new(),
                },
                _ => return Vec::new(),
            }
        }
        match shape {
            Self::Keys(keys) => keys.iter().map(|(key, _)| &**key).collect(),
            _ => Vec::new(),
        }
    }

    /// As a JSON Schema.
    pub fn schema(&self) -> Value {
        match self {
            Self::Leaf => learn::text_type(),
            Self::Scalar | Self::Any => Value::Bool(true),
            Self::List(item) => learn::list_of(item.schema()),
            Self::Keys(keys) => learn::object_of(keys.iter().map(|(key, shape)| (key.clone(), shape.schema()))),
        }
    }

    /// Lays another shape at a path; where both are objects their keys join, otherwise the later one wins or, when the
    /// two may take turns, anything goes.
    pub fn lay(&mut self, path: &[Arc<str>], inner: Shape) {
        let Some((first, rest)) = path.split_first() else {
            if *self != inner {
                *self = match (&*self, inner) {
                    (Self::Keys(keys), inner) if keys.is_empty() => inner,
                    (Self::Leaf | Self::Scalar, Self::Leaf | Self::Scalar) => Self::Scalar,
                    _ => Self::Any,
                };
            }
            return;
        };
        if !matches!(self, Self::Keys(_)) {
            // Something else may stand there as well.
            *self = Self::Any;
        }
        if let Self::Keys(keys) = self {
            match keys.iter_mut().find(|(key, _)| key == first) {
                Some((_, shape)) => shape.lay(rest, inner),
                None => keys.push((first.clone(), Self::under(rest, inner))),
            }
        }
    }
}
