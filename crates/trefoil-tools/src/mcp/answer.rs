//! Converts the result of a tool call to a value.

use rmcp::model::{CallToolResult, ContentBlock};
use trefoil_runtime::ToolError;
use trefoil_template::Value;

use super::McpServer;
use crate::command::structured;
use crate::process::last_words;
use crate::shape::Shape;

/// The advice for a call that the server rejects.
pub const REJECTED: &str = "fix the arguments as the server says; if they are right, read the log of the server";

/// Structured content is used directly; a single text as text, or as JSON if it is an object or a list; several texts
/// are joined; anything else becomes a list of parts. A result that the server marks as an error is a failure.
pub async fn value(server: &McpServer, shape: Option<&Shape>, mut result: CallToolResult) -> Result<Value, ToolError> {
    if result.is_error == Some(true) {
        let said = last_words(&texts_of(&result).unwrap_or_default().join("\n"));
        let said = if said.is_empty() { "the server gives no reason".to_owned() } else { said };
        return Err(ToolError::advised(said, REJECTED));
    }
    let mut structured_content = result.structured_content.take();
    if let Some(shape) = shape {
        let content = structured_content
            .ok_or_else(|| unusable(format!("`{}` declares structured content but sent none", server.name)))?;
        let checked = shape.check_apart(content).await.map_err(|why| {
            unusable(format!("the result from `{}` does not match the tool's output schema: {why}", server.name))
        })?;
        structured_content = Some(checked);
    }
    let texts = texts_of(&result);
    let found = match (structured_content, texts) {
        (Some(content), _) => Value::from_json(content),
        (None, Some(texts)) => {
            let text = texts.join("\n");
            structured(&text).unwrap_or_else(|| text.into())
        }
        (None, None) => {
            let parts = serde_json::to_value(&result.content);
            Value::from_json(parts.map_err(|why| unusable(format!("the answer cannot be read: {why}")))?)
        }
    };
    if found.is_within_limits() { Ok(found) } else { Err(unusable("the answer is too large".to_owned())) }
}

/// The texts of a result; `None`: it has other parts.
fn texts_of(result: &CallToolResult) -> Option<Vec<&str>> {
    fn text(part: &ContentBlock) -> Option<&str> {
        match part {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        }
    }
    result.content.iter().map(text).collect()
}

/// The result of a call that probably succeeded.
fn unusable(what: impl Into<String>) -> ToolError {
    ToolError::Unusable(what.into())
}
