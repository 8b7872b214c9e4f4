//! The types of the results of nodes: enough to distinguish possible paths from impossible ones.

use std::sync::Arc;

use trefoil_ir::types::{Kind, Member, ObjectType, Type};
use trefoil_template::{Value, read_json};

use crate::types::type_of;

/// The type at the end of a chain of keys.
pub fn under(path: &[Arc<str>], inner: Type) -> Type {
    path.iter().rev().fold(inner, |inner, key| Type::fields([(key.clone(), inner)]))
}

/// The type of a seeded value. Its objects are complete; its lists may contain anything.
pub fn of(value: &Value) -> Type {
    match value {
        Value::Null => Type::NULL,
        Value::Object(members) => Type::fields(members.iter().map(|(key, member)| (key.clone(), of(member)))),
        other => type_of(other),
    }
}

/// The type at a key: any type if it is unknown; `None`: the key never exists.
pub fn at(of: &Type, key: &str) -> Option<Type> {
    match of.member(key) {
        Member::Is { of, .. } => Some(of),
        Member::Maybe => Some(Type::Any),
        Member::Never { .. } | Member::Beyond { .. } => None,
    }
}

/// The index of the first segment that can never exist; `None`: the path may resolve.
pub fn missing(of: &Type, path: &[Arc<str>]) -> Option<usize> {
    let mut here = of.clone();
    for (index, segment) in path.iter().enumerate() {
        match here.member(segment) {
            Member::Is { of, .. } => here = of,
            Member::Maybe => return None,
            Member::Never { .. } | Member::Beyond { .. } => return Some(index),
        }
    }
    None
}

/// The keys at the end of a path, if they are known.
pub fn keys(of: &Type, path: &[Arc<str>]) -> Vec<Arc<str>> {
    let end = path.iter().try_fold(of.clone(), |from, key| match from.member(key) {
        Member::Is { of, .. } if from.is(Kind::Object) => Some(of),
        _ => None,
    });
    end.map(|end| end.declares()).unwrap_or_default()
}

/// A type merged into another one at a path. If both are objects, their keys are joined. Otherwise the later one takes
/// precedence; if either may be there, the result is any type.
pub fn lay(of: &Type, path: &[Arc<str>], inner: &Type) -> Type {
    let Some((first, rest)) = path.split_first() else {
        return match of {
            same if same == inner => inner.clone(),
            object if is_closed(object) && object.declares().is_empty() => inner.clone(),
            _ if is_scalar(of) && is_scalar(inner) => Type::union([of.clone(), inner.clone()]),
            _ => Type::Any,
        };
    };
    if !is_closed(of) {
        // Another value is also possible.
        return Type::Any;
    }
    let mut members: Vec<(Arc<str>, Type)> =
        of.declares().into_iter().filter_map(|key| Some((key.clone(), at(of, &key)?))).collect();
    match members.iter_mut().find(|(key, _)| key == first) {
        Some((_, member)) => *member = lay(member, rest, inner),
        None => members.push((first.clone(), under(rest, inner.clone()))),
    }
    Type::fields(members)
}

/// Whether a type is an object whose keys are all known.
pub fn is_closed(of: &Type) -> bool {
    of.is(Kind::Object) && of.as_object().is_some_and(ObjectType::is_closed)
}

/// Whether a value has no members.
fn is_scalar(of: &Type) -> bool {
    of.kinds().is_some_and(|all| !all.has(Kind::Object) && !all.has(Kind::List))
}

/// A literal JSON list.
pub fn written_list(text: &str) -> Option<Value> {
    let json: serde_json::Value = read_json(text.trim()).ok()?;
    json.is_array().then(|| Value::from_json(json))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trefoil_ir::types::Type;

    use super::{at, lay, missing, under};

    fn path(path: &str) -> Vec<Arc<str>> {
        path.split('.').map(Arc::from).collect()
    }

    #[test]
    fn what_is_beneath_text_is_never_there() {
        let of = under(&path("a.b"), Type::TEXT);
        assert_eq!(missing(&of, &path("a.b")), None);
        assert_eq!(missing(&of, &path("a.b.c")), Some(2));
        assert_eq!(missing(&of, &path("c")), Some(0));
        assert_eq!(missing(&Type::Any, &path("a.b")), None);
    }

    #[test]
    fn two_that_write_the_same_place_may_take_turns() {
        let text_at = lay(&Type::fields([]), &path("a.b"), &Type::TEXT);
        assert_eq!(at(&text_at, "a"), Some(under(&path("b"), Type::TEXT)));
        let both = lay(&text_at, &path("a.b"), &Type::list_of(Type::TEXT));
        assert_eq!(missing(&both, &path("a.b.c")), None, "one of them may have it");
        assert_eq!(missing(&lay(&text_at, &path("a.b"), &Type::NULL), &path("a.b.c")), Some(2));
    }
}
