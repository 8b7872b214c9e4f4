//! Compares two values.

use serde_json::Value as Json;

/// A value that differs, by its path: `a.b[0]`; empty for the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueChange {
    /// Its path.
    pub path: String,
    /// The old value, if there was one.
    pub before: Option<Json>,
    /// The new value, if there is one.
    pub now: Option<Json>,
}

/// The innermost values that differ. Lists are compared by item if they are equally long. `read`: an object or a list that is compared
/// in place of a value.
pub fn changed_values(
    before: Option<&Json>,
    now: Option<&Json>,
    read: &dyn Fn(&Json) -> Option<Json>,
) -> Vec<ValueChange> {
    let mut all = Vec::new();
    compare(String::new(), before, now, read, &mut all);
    all
}

fn compare(
    path: String,
    before: Option<&Json>,
    now: Option<&Json>,
    read: &dyn Fn(&Json) -> Option<Json>,
    all: &mut Vec<ValueChange>,
) {
    if before == now {
        return;
    }
    match (readable(before, read), readable(now, read)) {
        (Some(Json::Object(then)), Some(Json::Object(members))) => {
            let mut names: Vec<&String> = then.keys().collect();
            for name in members.keys() {
                if !then.contains_key(name) {
                    names.push(name);
                }
            }
            for name in names {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare(path, then.get(name), members.get(name), read, all);
            }
        }
        (Some(Json::Array(then)), Some(Json::Array(items))) if then.len() == items.len() => {
            for (n, (before, now)) in then.iter().zip(&items).enumerate() {
                compare(format!("{path}[{n}]"), Some(before), Some(now), read, all);
            }
        }
        _ => all.push(ValueChange { path, before: before.cloned(), now: now.cloned() }),
    }
}

/// The object or list that is compared in place of a value, or the value.
fn readable(value: Option<&Json>, read: &dyn Fn(&Json) -> Option<Json>) -> Option<Json> {
    let value = value?;
    Some(read(value).unwrap_or_else(|| value.clone()))
}
