//! Checks values against the schemas of tools.

use std::sync::Arc;

use serde_json::Value as Json;
use trefoil_ir::schema::{SchemaChecker, SchemaMismatch};

/// A compiled schema.
#[derive(Debug, Clone)]
pub struct ToolSchema(Arc<SchemaChecker>);

impl ToolSchema {
    /// Compiles a JSON Schema, or returns why it is invalid.
    pub fn new(schema: &Json) -> Result<Self, String> {
        let checker = SchemaChecker::new(schema).map_err(|why| why.to_string())?;
        Ok(Self(Arc::new(checker)))
    }

    /// The same for a schema that comes from a server, on another thread: even within the limits, its patterns may take a
    /// second, in which this thread, often the only one, would see no time limit.
    #[cfg(feature = "mcp")]
    pub async fn of_server(schema: Json) -> Result<Self, String> {
        let compile = move || SchemaChecker::of_others(&schema).map_err(|why| why.to_string());
        Ok(Self(Arc::new(apart(compile).await?)))
    }

    /// Checks a value from a server on another thread, and returns it.
    #[cfg(feature = "mcp")]
    pub async fn check_apart(&self, value: Json) -> Result<Json, String> {
        let shape = self.clone();
        apart(move || shape.check_value(&value).map(|()| value)).await
    }

    /// What is wrong with a value: its first error.
    pub fn check_value(&self, value: &Json) -> Result<(), String> {
        self.check_with_quotes(value, true)
    }

    /// The same, without quoting any part of the value.
    pub fn check_unquoted(&self, value: &Json) -> Result<(), String> {
        self.check_with_quotes(value, false)
    }

    fn check_with_quotes(&self, value: &Json, quotes: bool) -> Result<(), String> {
        let errors = match self.0.check_value(value) {
            Ok(()) => return Ok(()),
            Err(SchemaMismatch::TooMuchWork) => return Err("checking it against the schema takes too long".to_owned()),
            Err(SchemaMismatch::Broken(errors)) => errors,
        };
        let Some(first) = errors.iter().min_by_key(|error| error.instance_path().to_string()) else { return Ok(()) };
        let path = first.instance_path().to_string();
        let said = if quotes { first.to_string() } else { first.masked().to_string() };
        Err(if path.is_empty() { said } else { format!("{said} (at `{path}`)") })
    }
}

/// Does work on another thread.
#[cfg(feature = "mcp")]
async fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err("the check was interrupted".to_owned()))
}
