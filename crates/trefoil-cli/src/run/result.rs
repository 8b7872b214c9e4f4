//! Formats the result of a run.

use trefoil_template::Value;

/// Formats a result: text as it is, anything else as JSON. On a terminal, an object with multi-line texts is shown as
/// blocks.
pub fn text(value: &Value, terminal: bool) -> String {
    match value {
        Value::Str(text) => text.trim_end_matches('\n').to_owned(),
        Value::Object(members) if terminal && members.values().any(several_lines) => {
            let mut out = String::new();
            for (name, value) in members.iter() {
                match value {
                    Value::Str(text) if several_lines(value) => {
                        out.push_str(&format!("{name}:\n"));
                        for line in text.trim_end().lines() {
                            out.push_str(&format!("  {line}\n"));
                        }
                    }
                    Value::Str(text) => out.push_str(&format!("{name}: {}\n", text.trim_end())),
                    other => out.push_str(&format!("{name}: {}\n", other.to_json())),
                }
            }
            out.trim_end_matches('\n').to_owned()
        }
        Value::List(_) | Value::Object(_) => format!("{:#}", value.to_json()),
        other => other.to_text().to_string(),
    }
}

fn several_lines(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim_end().contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value {
        Value::from_json(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn texts_of_several_lines_are_blocks_on_a_terminal_and_json_elsewhere() {
        let result = value(r#"{"approved": true, "article": "one\n\ntwo\n", "title": "T"}"#);
        assert_eq!(text(&result, true), "approved: true\narticle:\n  one\n  \n  two\ntitle: T");
        assert!(text(&result, false).starts_with("{\n  \"approved\": true"));
        assert_eq!(text(&value(r#"{"n": 3}"#), true), "{\n  \"n\": 3\n}");
        assert_eq!(text(&value("\"a\\nb\\n\""), true), "a\nb");
    }
}
