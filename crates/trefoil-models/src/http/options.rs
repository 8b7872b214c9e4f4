//! Merges provider options of a manifest into a request body.
//!
//! Camel-case names become snake case, which most protocols use (`reasoningEffort`, `reasoning_effort`), or the
//! reverse. This applies at any depth except below `metadata` and `labels`, whose names are the user's. Objects are
//! merged; other values replace.

use serde_json::{Map, Value as Json};
use trefoil_runtime::{ModelError, ModelErrorKind};
use trefoil_template::Value;

/// Options that cannot be changed, because the answer could not be read any more, or the journal would be wrong.
const FIXED: &[&str] = &[
    "model",
    "models",
    "messages",
    "system",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "n",
    "contents",
    "system_instruction",
    "candidate_count",
];

/// Merges options into a body.
pub(super) fn merge_options(body: &mut Json, options: Option<&Value>) -> Result<(), ModelError> {
    if let (Some(options), Json::Object(body)) = (read(options, snake_name)?, body) {
        lay(body, options);
    }
    Ok(())
}

/// Merges options into a body that keeps most of them in the object with this name. Options listed as `beside` stay at
/// the top level.
pub(super) fn merge_below(
    body: &mut Json,
    options: Option<&Value>,
    (below, beside): (&str, &[&str]),
    name: impl Fn(&str) -> String + Copy,
) -> Result<(), ModelError> {
    if let (Some(options), Json::Object(body)) = (read(options, name)?, body) {
        let (beside, inside) = options.into_iter().partition(|(name, _)| name == below || beside.contains(&&**name));
        let inside: Map<String, Json> = inside;
        let all = if inside.is_empty() {
            Map::new()
        } else {
            [(below.to_owned(), Json::Object(inside))].into_iter().collect()
        };
        lay(body, all);
        lay(body, beside);
    }
    Ok(())
}

/// Reads the options and converts their names.
fn read(
    options: Option<&Value>,
    name: impl Fn(&str) -> String + Copy,
) -> Result<Option<Map<String, Json>>, ModelError> {
    let Some(options) = options.filter(|o| !o.is_null()) else { return Ok(None) };
    let setup = |message: String| ModelError::new(ModelErrorKind::Setup, message);
    let Json::Object(options) = rename_members(options.to_json(), name) else {
        return Err(setup("provider options must be an object".to_owned()));
    };
    match options.keys().find(|k| FIXED.contains(&&*snake_name(k))) {
        Some(name) => Err(setup(format!("provider options cannot set `{name}`"))),
        None => Ok(Some(options)),
    }
}

fn lay(under: &mut Map<String, Json>, over: Map<String, Json>) {
    for (name, value) in over {
        match (under.get_mut(&name), value) {
            (Some(Json::Object(under)), Json::Object(over)) => lay(under, over),
            (_, value) => {
                under.insert(name, value);
            }
        }
    }
}

fn rename_members(json: Json, rename: impl Fn(&str) -> String + Copy) -> Json {
    match json {
        Json::Object(members) => members
            .into_iter()
            .map(|(name, value)| {
                let own = matches!(&*name, "metadata" | "labels");
                (rename(&name), if own { value } else { rename_members(value, rename) })
            })
            .collect(),
        Json::Array(items) => items.into_iter().map(|item| rename_members(item, rename)).collect(),
        other => other,
    }
}

pub(super) fn snake_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    let mut after_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && after_lower {
            out.push('_');
            out.push(c.to_ascii_lowercase());
        } else {
            out.push(c);
        }
        after_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    out
}

/// The reverse of snake case: `thinking_budget` becomes `thinkingBudget`.
pub(super) fn camel_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut up = false;
    for c in name.chars() {
        match c {
            '_' if !out.is_empty() => up = true,
            c if std::mem::take(&mut up) => out.push(c.to_ascii_uppercase()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(body: Json, options: Json) -> Result<Json, ModelError> {
        let mut body = body;
        merge_options(&mut body, Some(&Value::from_json(options))).map(|()| body)
    }

    #[test]
    fn objects_merge_and_names_become_snake_case() {
        let body = json!({"thinking": {"type": "auto"}, "temperature": 1});
        let options = json!({"thinking": {"budgetTokens": 9}, "reasoningEffort": "low", "metadata": {"userId": "u"}, "top_p": 0.5});
        assert_eq!(
            merged(body, options).unwrap(),
            json!({"thinking": {"type": "auto", "budget_tokens": 9}, "temperature": 1, "reasoning_effort": "low",
                   "metadata": {"userId": "u"}, "top_p": 0.5})
        );
    }

    #[test]
    fn the_frame_of_a_request_cannot_be_changed() {
        for name in ["stream", "model", "messages"] {
            let error = merged(json!({}), json!({name: 1})).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Setup);
            assert!(error.message.contains(&format!("`{name}`")), "{}", error.message);
        }
        assert!(merged(json!({}), json!([1])).is_err());
    }
}
