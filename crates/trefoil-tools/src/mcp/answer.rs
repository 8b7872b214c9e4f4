//! Converts the result of a tool call to a value.

use serde_json::Value as Json;
use trefoil_runtime::ToolError;
use trefoil_template::Value;

use super::McpServer;
use crate::command::parse_structured;
use crate::process::last_words;
use crate::tool_schema::ToolSchema;

/// The advice for a call that the server rejects.
pub const REJECTED: &str = "fix the arguments as the server says; if they are right, read the log of the server";

/// Structured content is used directly; a single text as text, or as JSON if it is an object or a list; several texts
/// are joined; anything else becomes a list of parts. A result that the server marks as an error is a failure.
pub async fn answer_value(
    server: &McpServer,
    tool: &str,
    shape: Option<&ToolSchema>,
    result: Json,
) -> Result<Value, ToolError> {
    let Json::Object(mut result) = result else {
        return Err(unusable(format!("the result of `{tool}` from `{}` is not an object", server.name)));
    };
    // Also a result that is yet to come.
    if matches!(result.get("resultType"), Some(Json::String(kind)) if kind != "complete") {
        return Err(ToolError::with_advice(
            format!("`{}` asks for something during the call, which is not supported", server.name),
            "pass everything that it needs as arguments, or call another tool",
        ));
    }
    let mut structured_content = result.remove("structuredContent");
    // One that says no more than that the call succeeded has no content.
    let content = match result.remove("content") {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::Array(parts)) => parts,
        Some(part) => vec![part],
    };
    if result.get("isError") == Some(&Json::Bool(true)) {
        let said = last_words(&texts_of(&content).unwrap_or_default().join("\n"));
        let said = if said.is_empty() { "the server gives no reason".to_owned() } else { said };
        return Err(ToolError::with_advice(said, REJECTED));
    }
    if let Some(shape) = shape {
        let Some(content) = structured_content else {
            return Err(unusable(format!("`{}` declares structured content but sent none", server.name)));
        };
        let checked = shape.check_apart(content).await.map_err(|why| {
            unusable(format!("the result from `{}` does not match the tool's output schema: {why}", server.name))
        })?;
        structured_content = Some(checked);
    }
    let texts = texts_of(&content).map(|texts| texts.join("\n"));
    let found = match (structured_content, texts) {
        (Some(content), _) => Value::from_json(content),
        (None, Some(text)) => parse_structured(&text).unwrap_or_else(|| text.into()),
        (None, None) => Value::from_json(Json::Array(content)),
    };
    if found.is_within_limits() { Ok(found) } else { Err(unusable("the answer is too large".to_owned())) }
}

/// The texts of a result; `None`: it has other parts. Some servers send a text where a part belongs.
fn texts_of(content: &[Json]) -> Option<Vec<&str>> {
    fn text(part: &Json) -> Option<&str> {
        match part {
            Json::String(text) => Some(text),
            part if part.get("type")? == "text" => part.get("text")?.as_str(),
            _ => None,
        }
    }
    content.iter().map(text).collect()
}

/// The result of a call that probably succeeded.
fn unusable(what: impl Into<String>) -> ToolError {
    ToolError::Unusable(what.into())
}
