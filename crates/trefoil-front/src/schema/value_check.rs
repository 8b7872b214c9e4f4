//! Whether a value matches a schema, as a one-line reason.

use jsonschema::{ValidationError, Validator};
use serde_json::Value as Json;
use trefoil_ir::schema::{SchemaChecker, SchemaMismatch};
use trefoil_template::Value;

/// Compiles a schema (draft 2020-12, nothing is fetched).
pub fn compile_schema(schema: &Json) -> Result<Validator, String> {
    trefoil_ir::schema::compile_schema(schema, Some(jsonschema::Draft::Draft202012)).map_err(|e| one_line(&e))
}

/// Why a value does not match; `None`: it does, or the schema does not compile (reported elsewhere).
pub fn misfit_reason(schema: &Value, value: &Json) -> Option<String> {
    plain_fit(&schema.to_json(), value)
}

/// The same for a schema that is already JSON.
pub fn plain_fit(schema: &Json, value: &Json) -> Option<String> {
    let checker = SchemaChecker::new(schema).ok()?;
    match checker.check_value(value) {
        Ok(()) => None,
        Err(SchemaMismatch::TooMuchWork) => Some("the schema makes this value too expensive to check".to_owned()),
        Err(SchemaMismatch::Broken(errors)) => errors.first().map(one_line),
    }
}

/// Why a regular expression is not valid in schemas.
pub fn pattern_fault(pattern: &str) -> &'static str {
    let schema = serde_json::json!({ "pattern": pattern });
    // The usual engine for schemas supports more, but such patterns can take unbounded time.
    let elsewhere = jsonschema::draft202012::options().offline().build(&schema).is_ok();
    if elsewhere {
        "uses look-around after its start, a backreference or too much repetition, which can run forever and is not supported"
    } else {
        "is not a valid regular expression"
    }
}

fn one_line(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let mut message = error.to_string().replace(['\n', '\r'], " ").replace('"', "`");
    // Without quotes it would look like the required number.
    let number = |text: &str| text.parse::<f64>().is_ok() || matches!(text, "true" | "false" | "null");
    if let Some(text) = error.instance().as_str()
        && number(text)
        && message.starts_with('`')
    {
        message.insert_str(0, "the text ");
    }
    if path.is_empty() { message } else { format!("{message} (at `{path}`)") }
}
