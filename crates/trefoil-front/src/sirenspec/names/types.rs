//! The types of the results of nodes: enough to distinguish possible paths from impossible ones.

use std::sync::Arc;

use trefoil_ir::types::{TypeMember, ValueKind, ValueType};
use trefoil_template::{Value, read_json};

use crate::types::type_of;

/// The type at the end of a chain of keys.
pub fn nested_type(path: &[Arc<str>], inner: ValueType) -> ValueType {
    let mut nested = inner;
    for key in path.iter().rev() {
        nested = ValueType::optional_fields([(key.clone(), nested)]);
    }
    nested
}

/// The type of a seeded value. Its objects are complete; its lists may contain anything.
pub fn seed_type(value: &Value) -> ValueType {
    match value {
        Value::Null => ValueType::NULL,
        Value::Object(members) => {
            ValueType::optional_fields(members.iter().map(|(key, member)| (key.clone(), seed_type(member))))
        }
        other => type_of(other),
    }
}

/// The type at a key: any type if it is unknown; `None`: the key never exists.
pub fn type_at_key(of: &ValueType, key: &str) -> Option<ValueType> {
    match of.find_member(key) {
        TypeMember::Is { of, .. } => Some(of),
        TypeMember::Maybe => Some(ValueType::Any),
        TypeMember::Never { .. } | TypeMember::Beyond { .. } => None,
    }
}

/// The index of the first segment that can never exist; `None`: the path may resolve.
pub fn missing_segment(of: &ValueType, path: &[Arc<str>]) -> Option<usize> {
    let mut here = of.clone();
    for (index, segment) in path.iter().enumerate() {
        match here.find_member(segment) {
            TypeMember::Is { of, .. } => here = of,
            TypeMember::Maybe => return None,
            TypeMember::Never { .. } | TypeMember::Beyond { .. } => return Some(index),
        }
    }
    None
}

/// The keys at the end of a path, if they are known.
pub fn keys_at(of: &ValueType, path: &[Arc<str>]) -> Vec<Arc<str>> {
    let mut end = of.clone();
    for key in path {
        end = match end.find_member(key) {
            TypeMember::Is { of, .. } if end.is_kind(ValueKind::Object) => of,
            _ => return Vec::new(),
        };
    }
    end.declared_members()
}

/// A type merged into another one at a path. If both are objects, their keys are joined. Otherwise the later one takes
/// precedence; if either may be there, the result is any type.
pub fn overlay_type(of: &ValueType, path: &[Arc<str>], inner: &ValueType) -> ValueType {
    let Some((first, rest)) = path.split_first() else {
        return match of {
            same if same == inner => inner.clone(),
            object if is_closed(object) && object.declared_members().is_empty() => inner.clone(),
            _ if is_scalar(of) && is_scalar(inner) => ValueType::union_of([of.clone(), inner.clone()]),
            _ => ValueType::Any,
        };
    };
    if !is_closed(of) {
        // Another value is also possible.
        return ValueType::Any;
    }
    let mut members: Vec<(Arc<str>, ValueType)> = Vec::new();
    for key in of.declared_members() {
        if let Some(member) = type_at_key(of, &key) {
            members.push((key, member));
        }
    }
    match members.iter_mut().find(|(key, _)| key == first) {
        Some((_, member)) => *member = overlay_type(member, rest, inner),
        None => members.push((first.clone(), nested_type(rest, inner.clone()))),
    }
    ValueType::optional_fields(members)
}

/// Whether a type is an object whose keys are all known.
pub fn is_closed(of: &ValueType) -> bool {
    of.is_kind(ValueKind::Object) && matches!(of.as_object(), Some(object) if object.is_closed())
}

/// Whether a value has no members.
fn is_scalar(of: &ValueType) -> bool {
    match of.value_kinds() {
        Some(kinds) => !kinds.contains(ValueKind::Object) && !kinds.contains(ValueKind::List),
        None => false,
    }
}

/// A literal JSON list.
pub fn written_list(text: &str) -> Option<Value> {
    let json: serde_json::Value = read_json(text.trim()).ok()?;
    if json.is_array() { Some(Value::from_json(json)) } else { None }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trefoil_ir::types::ValueType;

    use super::{missing_segment, nested_type, overlay_type, type_at_key};

    fn path(path: &str) -> Vec<Arc<str>> {
        path.split('.').map(Arc::from).collect()
    }

    #[test]
    fn what_is_beneath_text_is_never_there() {
        let of = nested_type(&path("a.b"), ValueType::TEXT);
        assert_eq!(missing_segment(&of, &path("a.b")), None);
        assert_eq!(missing_segment(&of, &path("a.b.c")), Some(2));
        assert_eq!(missing_segment(&of, &path("c")), Some(0));
        assert_eq!(missing_segment(&ValueType::Any, &path("a.b")), None);
    }

    #[test]
    fn two_that_write_the_same_place_may_take_turns() {
        let text_at = overlay_type(&ValueType::optional_fields([]), &path("a.b"), &ValueType::TEXT);
        assert_eq!(type_at_key(&text_at, "a"), Some(nested_type(&path("b"), ValueType::TEXT)));
        let both = overlay_type(&text_at, &path("a.b"), &ValueType::list_of(ValueType::TEXT));
        assert_eq!(missing_segment(&both, &path("a.b.c")), None, "one of them may have it");
        assert_eq!(missing_segment(&overlay_type(&text_at, &path("a.b"), &ValueType::NULL), &path("a.b.c")), Some(2));
    }
}
