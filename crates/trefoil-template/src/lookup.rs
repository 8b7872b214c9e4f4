//! Resolves a reference: gets its source from the scope, then follows the rest of the path.

use crate::policy::{Policy, UndefinedHandling};
use crate::scope::{MissingCause, PathSegment, Reference, SourceValue, ValueScope};
use crate::value::{Hole, Masked, Value};

/// The result of a lookup.
#[derive(Debug)]
pub(crate) enum LookupResult<'a> {
    /// A value borrowed from the scope, or from the frame of a loop.
    Borrowed(&'a Value),
    /// A value created for this lookup.
    Owned(Value),
    /// No value, and the reason.
    Missing(MissingCause),
}

impl LookupResult<'_> {
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
pub(crate) fn borrow_value<'a>(scope: &'a dyn ValueScope, reference: &Reference) -> Option<&'a Value> {
    let SourceValue::Borrowed(mut value) = scope.source_value(reference.binding.source) else { return None };
    for segment in reference.path.get(usize::from(reference.binding.skip)..)? {
        value = value.get(&segment.name)?;
    }
    Some(value)
}

/// The value of a reference.
pub(crate) fn look_up<'a>(scope: &'a dyn ValueScope, reference: &Reference, policy: &Policy) -> LookupResult<'a> {
    let skip = usize::from(reference.binding.skip);
    match scope.source_value(reference.binding.source) {
        SourceValue::Borrowed(value) => walk(value, reference, skip),
        found => follow(found, reference, skip, policy),
    }
}

fn follow<'a>(found: SourceValue<'a>, reference: &Reference, skip: usize, policy: &Policy) -> LookupResult<'a> {
    match found {
        SourceValue::Borrowed(value) => walk(value, reference, skip),
        SourceValue::Owned(value) => own(walk(&value, reference, skip)),
        SourceValue::Layered { mut top, mut under } => {
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
        SourceValue::Either(first, second) => match follow(*first, reference, skip, policy) {
            LookupResult::Missing(why) => match follow(*second, reference, skip, policy) {
                // If neither has a value, report the reason of the one that resolved more segments.
                LookupResult::Missing(other) if reach(&why) > reach(&other) => LookupResult::Missing(why),
                got => got,
            },
            got => got,
        },
        SourceValue::Opaque(kind) => match reference.path.get(skip..) {
            Some([PathSegment { name, .. }]) => {
                let lenient = policy.undefined == UndefinedHandling::Empty;
                let hole = Hole { lenient, ..Hole::new(kind, name.clone()) };
                LookupResult::Owned(Masked::from_hole(hole).into_value())
            }
            Some([_, ..]) => LookupResult::Missing(MissingCause::Key(skip as u16 + 1)),
            _ => LookupResult::Missing(MissingCause::NoField(kind.template_namespace().into())),
        },
        SourceValue::Missing(why) => LookupResult::Missing(why),
    }
}

fn walk<'a>(mut value: &'a Value, reference: &Reference, skip: usize) -> LookupResult<'a> {
    for (at, segment) in reference.path.iter().enumerate().skip(skip) {
        match value.get(&segment.name) {
            Some(member) => value = member,
            None => return LookupResult::Missing(MissingCause::Key(at as u16)),
        }
    }
    LookupResult::Borrowed(value)
}

fn own(got: LookupResult<'_>) -> LookupResult<'static> {
    match got {
        LookupResult::Borrowed(value) => LookupResult::Owned(value.clone()),
        LookupResult::Owned(value) => LookupResult::Owned(value),
        LookupResult::Missing(why) => LookupResult::Missing(why),
    }
}

fn reach(why: &MissingCause) -> usize {
    match why {
        MissingCause::Key(at) => usize::from(*at),
        _ => 0,
    }
}

/// The reason, as SirenSpec words it.
pub(crate) fn reason_text(why: &MissingCause, reference: &Reference) -> String {
    match why {
        MissingCause::Key(at) => {
            let name = reference.path.get(usize::from(*at)).map_or("", |s| &*s.name);
            format!("Key '{name}' not found")
        }
        MissingCause::Unset(name) => format!("Environment variable '{name}' is not set"),
        MissingCause::OutsideLoop => "Not inside a factory loop context".to_owned(),
        MissingCause::NoField(root) => format!("Missing field name after '{root}.'"),
    }
}
