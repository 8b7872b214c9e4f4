//! The types of the results of nodes, as JSON Schemas: enough to distinguish possible paths from impossible ones.

use std::sync::Arc;

use trefoil_ir::types::{self, Member};
use trefoil_template::{Value, read_json};

use crate::types::{object_of, text_type, type_of};

/// An object with exactly these members.
pub fn object(members: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
    object_of(members)
}

/// Text.
pub fn text() -> Value {
    text_type()
}

/// The type at the end of a chain of keys.
pub fn under(path: &[Arc<str>], inner: Value) -> Value {
    path.iter().rev().fold(inner, |inner, key| object([(key.clone(), inner)]))
}

/// The type of a seeded value. Its objects are complete; its lists may contain anything.
pub fn of(value: &Value) -> Value {
    match value {
        Value::Null => types::of_kind("null"),
        Value::Object(members) => object(members.iter().map(|(key, member)| (key.clone(), of(member)))),
        other => type_of(other),
    }
}

/// The type at a key: any type if it is unknown; `None`: the key never exists.
pub fn at(of: &Value, key: &str) -> Option<Value> {
    match types::member(of, key) {
        Member::Is { schema, .. } => Some(schema),
        Member::Maybe => Some(types::any()),
        Member::Never { .. } | Member::Beyond { .. } => None,
    }
}

/// The index of the first segment that can never exist; `None`: the path may resolve.
pub fn missing(of: &Value, path: &[Arc<str>]) -> Option<usize> {
    let mut here = of;
    for (index, segment) in path.iter().enumerate() {
        // Most results of nodes are objects that list their properties.
        match here.get("properties").and_then(|p| p.get(segment)) {
            Some(inner) => here = inner,
            None => return lacks(here.clone(), path.get(index..)?).map(|more| index + more),
        }
    }
    None
}

fn lacks(mut here: Value, path: &[Arc<str>]) -> Option<usize> {
    for (index, segment) in path.iter().enumerate() {
        match types::member(&here, segment) {
            Member::Is { schema, .. } => here = schema,
            Member::Maybe => return None,
            Member::Never { .. } | Member::Beyond { .. } => return Some(index),
        }
    }
    None
}

/// The keys at the end of a path, if they are known.
pub fn keys(of: &Value, path: &[Arc<str>]) -> Vec<Arc<str>> {
    let end = path.iter().try_fold(of.clone(), |of, key| match types::member(&of, key) {
        Member::Is { schema, .. } if types::solid_kinds(&of).is_some_and(|k| k == ["object"]) => Some(schema),
        _ => None,
    });
    end.map(|end| types::declares(&end)).unwrap_or_default()
}

/// A type merged into another one at a path. If both are objects, their keys are joined. Otherwise the later one takes
/// precedence; if either may be there, the result is any type.
pub fn lay(of: &Value, path: &[Arc<str>], inner: &Value) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return match of {
            same if same == inner => inner.clone(),
            object if is_closed(object) && types::declares(object).is_empty() => inner.clone(),
            _ if is_scalar(of) && is_scalar(inner) => types::union([of.clone(), inner.clone()]),
            _ => types::any(),
        };
    };
    if !is_closed(of) {
        // Another value is also possible.
        return types::any();
    }
    let mut members: Vec<(Arc<str>, Value)> =
        types::declares(of).into_iter().filter_map(|key| Some((key.clone(), at(of, &key)?))).collect();
    match members.iter_mut().find(|(key, _)| key == first) {
        Some((_, member)) => *member = lay(member, rest, inner),
        None => members.push((first.clone(), under(rest, inner.clone()))),
    }
    object(members)
}

/// Whether a type is an object whose keys are all known.
pub fn is_closed(of: &Value) -> bool {
    types::solid_kinds(of).is_some_and(|k| k == ["object"])
        && of.get("additionalProperties") == Some(&Value::Bool(false))
}

/// Whether a value has no members.
fn is_scalar(of: &Value) -> bool {
    types::kinds(of).is_some_and(|all| all.iter().all(|k| !matches!(*k, "object" | "array")))
}

/// A literal JSON list.
pub fn written_list(text: &str) -> Option<Value> {
    let json: serde_json::Value = read_json(text.trim()).ok()?;
    json.is_array().then(|| Value::from_json(json))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trefoil_ir::types;

    use super::{at, lay, missing, object, text, under};

    fn path(path: &str) -> Vec<Arc<str>> {
        path.split('.').map(Arc::from).collect()
    }

    #[test]
    fn what_is_beneath_text_is_never_there() {
        let of = under(&path("a.b"), text());
        assert_eq!(missing(&of, &path("a.b")), None);
        assert_eq!(missing(&of, &path("a.b.c")), Some(2));
        assert_eq!(missing(&of, &path("c")), Some(0));
        assert_eq!(missing(&types::any(), &path("a.b")), None);
    }

    #[test]
    fn two_that_write_the_same_place_may_take_turns() {
        let text_at = lay(&object([]), &path("a.b"), &text());
        assert_eq!(at(&text_at, "a"), Some(under(&path("b"), text())));
        let both = lay(&text_at, &path("a.b"), &types::list(text()));
        assert_eq!(missing(&both, &path("a.b.c")), None, "one of them may have it");
        assert_eq!(missing(&lay(&text_at, &path("a.b"), &types::of_kind("null")), &path("a.b.c")), Some(2));
    }
}
