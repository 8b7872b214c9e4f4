//! Whether a value fits a schema, in one line.

use jsonschema::{ValidationError, Validator};
use serde_json::Value as Json;
use trefoil_template::Value;

/// Compiles a schema (draft 2020-12, nothing is fetched).
pub fn compile(schema: &Json) -> Result<Validator, String> {
    jsonschema::draft202012::options().offline().build(schema).map_err(|e| one_line(&e))
}

/// Why a value does not fit; none: it does, or the schema does not compile (reported elsewhere).
pub fn fits(schema: &Value, value: &Json) -> Option<String> {
    plain_fit(&schema.to_json(), value)
}

/// The same for a schema that is JSON already.
pub fn plain_fit(schema: &Json, value: &Json) -> Option<String> {
    let validator = compile(schema).ok()?;
    validator.validate(value).err().map(|e| one_line(&e))
}

/// Whether a regular expression is one that schemas accept.
pub fn is_pattern(pattern: &str) -> bool {
    compile(&serde_json::json!({ "pattern": pattern })).is_ok()
}

fn one_line(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let mut message = error.to_string().replace(['\n', '\r'], " ").replace('"', "`");
    // Without its quotes it would look like the number that it should be.
    let number = |text: &str| text.parse::<f64>().is_ok() || matches!(text, "true" | "false" | "null");
    if error.instance().as_str().is_some_and(|text| number(text) && message.starts_with('`')) {
        message.insert_str(0, "the text ");
    }
    if path.is_empty() { message } else { format!("{message} (at `{path}`)") }
}
