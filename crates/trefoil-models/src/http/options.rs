//! Provider options of a manifest, laid over a request body.
//!
//! Names in camel case become the snake case that both protocols use (`reasoningEffort`, `reasoning_effort`), at any
//! depth except below `metadata`, whose names are the user's own. Objects merge, anything else replaces.

use serde_json::{Map, Value as Json};
use trefoil_runtime::{ModelError, ModelErrorKind};
use trefoil_template::Value;

/// What an option may not change: the answer could no longer be read, or the journal would say something else.
const FIXED: &[&str] =
    &["model", "models", "messages", "system", "stream", "stream_options", "tools", "tool_choice", "n"];

/// Lays options over a body.
pub(super) fn merge(body: &mut Json, options: Option<&Value>) -> Result<(), ModelError> {
    let Some(options) = options.filter(|o| !o.is_null()) else { return Ok(()) };
    let setup = |message: String| ModelError::new(ModelErrorKind::Setup, message);
    let Json::Object(options) = snake(options.to_json()) else {
        return Err(setup("provider options must be an object".to_owned()));
    };
    if let Some(name) = options.keys().find(|k| FIXED.contains(&k.as_str())) {
        return Err(setup(format!("provider options cannot set `{name}`")));
    }
    if let Json::Object(body) = body {
        lay(body, options);
    }
    Ok(())
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

fn snake(json: Json) -> Json {
    match json {
        Json::Object(members) => members
            .into_iter()
            .map(|(name, value)| {
                let value = if name == "metadata" { value } else { snake(value) };
                (snake_name(&name), value)
            })
            .collect(),
        Json::Array(items) => items.into_iter().map(snake).collect(),
        other => other,
    }
}

fn snake_name(name: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(body: Json, options: Json) -> Result<Json, ModelError> {
        let mut body = body;
        merge(&mut body, Some(&Value::from_json(options))).map(|()| body)
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
