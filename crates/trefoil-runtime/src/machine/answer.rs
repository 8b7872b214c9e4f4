//! What a model's answer is read as.

use trefoil_ir::AnswerFormat;
use trefoil_template::Value;

use super::prepared::Prepared;
use crate::error::RunError;
use crate::text::{shorten, strip_fence};

/// Reads an answer. The failure is `STRUCTURED_OUTPUT_INVALID`.
pub fn read(format: &AnswerFormat, answer: &Value, prepared: &Prepared) -> Result<Value, RunError> {
    let Some(text) = answer.as_str() else { return Ok(answer.clone()) };
    match format {
        AnswerFormat::Text => Ok(answer.clone()),
        AnswerFormat::JsonOrText => Ok(structure(text).unwrap_or_else(|| answer.clone())),
        AnswerFormat::Json(schema) => {
            let inner = strip_fence(text);
            let invalid = |why: String| RunError::new("STRUCTURED_OUTPUT_INVALID", why);
            let value = Value::parse(inner)
                .map_err(|e| invalid(format!("the answer is not JSON: {e}; it begins `{}`", shorten(inner, 60))))?;
            prepared.check(*schema, &value).map_err(|why| invalid(format!("the answer does not fit: {why}")))?;
            Ok(value)
        }
    }
}

/// The JSON object or list that a text is, a code fence around it taken off.
pub fn structure(text: &str) -> Option<Value> {
    let inner = strip_fence(text);
    if !inner.starts_with(['{', '[']) {
        return None;
    }
    Value::parse(inner).ok()
}
