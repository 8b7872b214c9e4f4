//! Reads members of JSON objects by the kind of their values.

use serde_json::Value as Json;

/// The text in this member.
pub(super) fn text_member<'j>(json: &'j Json, name: &str) -> Option<&'j str> {
    json.get(name)?.as_str()
}

/// The number in this member.
pub(super) fn number_member(json: &Json, name: &str) -> Option<u64> {
    json.get(name)?.as_u64()
}

/// The items of the list in this member; none if it has no list.
pub(super) fn list_member<'j>(json: &'j Json, name: &str) -> &'j [Json] {
    match json.get(name) {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

/// Whether a value is a text, a list or an object with something in it.
pub(super) fn has_contents(value: &Json) -> bool {
    match value {
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(members) => !members.is_empty(),
        _ => false,
    }
}
