//! Resolves a reference: gets its source from the scope, then follows the rest of the path.

use crate::policy::{Policy, Undefined};
use crate::scope::{Found, Missing, Reference, Scope, Segment};
use crate::value::{Hole, Masked, Value};

/// The result of a lookup.
#[derive(Debug)]
pub(crate) enum Got<'a> {
    /// A value borrowed from the scope, or from the frame of a loop.
    Borrowed(&'a Value),
    /// A value created for this lookup.
    Owned(Value),
    /// No value, and the reason.
    Missing(Missing),
}

impl Got<'_> {
    /// The value, if there is one.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Borrowed(value) => Some(value),
            Self::Owned(value) => Some(value),
            Self::Missing(_) => None,
        }
    }
}

/// The value of a reference, if it can be borrowed from the scope.
#[inline]
pub(crate) fn borrowed<'a>(scope: &'a dyn Scope, reference: &Reference) -> Option<&'a Value> {
    let Found::Borrowed(mut value) = scope.source(reference.binding.source) else { return None };
    for segment in reference.path.get(usize::from(reference.binding.skip)..)? {
        value = value.get(&segment.name)?;
    }
    Some(value)
}

/// The value of a reference.
pub(crate) fn look_up<'a>(scope: &'a dyn Scope, reference: &Reference, policy: &Policy) -> Got<'a> {
    let skip = usize::from(reference.binding.skip);
    match scope.source(reference.binding.source) {
        Found::Borrowed(value) => walk(value, reference, skip),
        found => follow(found, reference, skip, policy),
    }
}

fn follow<'a>(found: Found<'a>, reference: &Reference, skip: usize, policy: &Policy) -> Got<'a> {
    match found {
        Found::Borrowed(value) => walk(value, reference, skip),
        Found::Owned(value) => own(walk(&value, reference, skip)),
        Found::Layered { mut top, mut under } => {
            let mut at = skip;
            while let Some(segment) = reference.path.get(at) {
                if top.get(&segment.name).is_some() {
                    break;
                }
                let Some(beneath) = under.get(&segment.name) else { break };
                let out = beneath.get("out").cloned().unwrap_or_default();
                under = beneath.get("in").cloned().unwrap_or_default();
                top = out;
                at += 1;
            }
            own(walk(&top, reference, at))
        }
        Found::Either(first, second) => match follow(*first, reference, skip, policy) {
            Got::Missing(why) => match follow(*second, reference, skip, policy) {
                // If neither has a value, report the reason of the one that resolved more segments.
                Got::Missing(other) if reach(&why) > reach(&other) => Got::Missing(why),
                got => got,
            },
            got => got,
        },
        Found::Opaque(kind) => match reference.path.get(skip..) {
            Some([Segment { name, .. }]) => {
                let lenient = policy.undefined == Undefined::Empty;
                let hole = Hole { lenient, ..Hole::new(kind, name.clone()) };
                Got::Owned(Masked::lone(hole).into_value())
            }
            Some([_, ..]) => Got::Missing(Missing::Key(skip as u16 + 1)),
            _ => Got::Missing(Missing::NoField(kind.namespace().into())),
        },
        Found::Missing(why) => Got::Missing(why),
    }
}

fn walk<'a>(mut value: &'a Value, reference: &Reference, skip: usize) -> Got<'a> {
    for (at, segment) in reference.path.iter().enumerate().skip(skip) {
        match value.get(&segment.name) {
            Some(member) => value = member,
            None => return Got::Missing(Missing::Key(at as u16)),
        }
    }
    Got::Borrowed(value)
}

fn own(got: Got<'_>) -> Got<'static> {
    match got {
        Got::Borrowed(value) => Got::Owned(value.clone()),
        Got::Owned(value) => Got::Owned(value),
        Got::Missing(why) => Got::Missing(why),
    }
}

fn reach(why: &Missing) -> usize {
    match why {
        Missing::Key(at) => usize::from(*at),
        _ => 0,
    }
}

/// The reason, as SirenSpec words it.
pub(crate) fn reason(why: &Missing, reference: &Reference) -> String {
    match why {
        Missing::Key(at) => {
            let name = reference.path.get(usize::from(*at)).map_or("", |s| &*s.name);
            format!("Key '{name}' not found")
        }
        Missing::Unset(name) => format!("Environment variable '{name}' is not set"),
        Missing::OutsideLoop => "Not inside a factory loop context".to_owned(),
        Missing::NoField(root) => format!("Missing field name after '{root}.'"),
    }
}
