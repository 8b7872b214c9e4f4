//! What a server says of its tools, and whether it still says the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::Tool;
use serde_json::Value as Json;
use trefoil_machine::{Effects, ToolSpec};
use trefoil_runtime::ToolError;
use trefoil_template::Value;

use super::{McpServer, failed};
use crate::shape::Shape;

/// The longest name, and description, of a tool.
const NAME: usize = 128;
const DESCRIPTION: usize = 16 << 10;

/// A tool as its server describes it.
#[derive(Debug)]
pub struct Described {
    /// As hosts hand it on.
    pub spec: ToolSpec,
    /// The shape of its results, if it names one.
    pub result: Option<Shape>,
    /// All of it that a model goes by, as text.
    says: String,
}

impl Described {
    /// Checks what a server says of a tool.
    pub fn of(server: &McpServer, tool: &Tool) -> Result<Self, ToolError> {
        let name = tool.name.as_ref();
        let wrong =
            |what: &str| failed(format!("`{}` describes its tool `{}` incorrectly: {what}", server.name, cut(name)));
        if name.is_empty() || name.len() > NAME || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(wrong("its name is invalid"));
        }
        let description = tool.description.as_deref().unwrap_or_default();
        if description.len() > DESCRIPTION {
            return Err(wrong("its description is longer than 16 KB"));
        }
        let input = Json::Object(tool.input_schema.as_ref().clone());
        if input.get("type").is_some_and(|kind| kind != "object") {
            return Err(wrong("the schema of its arguments does not describe an object"));
        }
        Shape::new(&input).map_err(|why| wrong(&format!("the schema of its arguments is not a JSON Schema: {why}")))?;
        let output = tool.output_schema.as_ref().map(|schema| Json::Object(schema.as_ref().clone()));
        let result = output.as_ref().map(Shape::new).transpose();
        let result = result.map_err(|why| wrong(&format!("the schema of its results is not a JSON Schema: {why}")))?;
        let says = Json::from(vec![description.into(), input.clone(), output.unwrap_or_default()]).to_string();
        let reads = tool.annotations.as_ref().is_some_and(|hints| hints.read_only_hint == Some(true));
        let effects = match (server.idempotent.holds(name), reads) {
            (false, _) => Effects::Writes,
            (true, true) => Effects::ReadOnly,
            (true, false) => Effects::Idempotent,
        };
        let parameters = Value::from_json(input);
        let spec = ToolSpec { name: name.into(), description: description.into(), parameters, effects };
        Ok(Self { spec, result, says })
    }

    /// Whether it takes arguments of these names: nothing is sent that it says it does not take, or without what it needs. What their
    /// values must be, the server decides: many take `"5"` for a number, and some formats have no other way to write one.
    pub fn takes(&self, arguments: &serde_json::Map<String, Json>) -> Result<(), ToolError> {
        let schema = &self.spec.parameters;
        let known = schema.get("properties").and_then(Value::as_object);
        let names = || known.into_iter().flat_map(|known| known.keys()).map(|name| &**name);
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
            && schema.get("patternProperties").is_none();
        if let Some(unknown) = arguments.keys().find(|name| closed && !names().any(|known| known == name.as_str())) {
            let near = trefoil_syntax::suggest::nearest(unknown, names());
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(failed(format!("it has no parameter `{unknown}`{near}")));
        }
        let needed = schema.get("required").and_then(Value::as_list).unwrap_or_default();
        match needed.iter().filter_map(Value::as_str).find(|name| !arguments.contains_key(*name)) {
            Some(missing) => Err(failed(format!("it needs the parameter `{missing}`"))),
            None => Ok(()),
        }
    }
}

fn cut(name: &str) -> String {
    name.chars().take(40).flat_map(char::escape_debug).collect()
}

/// What servers said of their tools when the run first asked.
#[derive(Debug, Default)]
pub struct Seen(Mutex<HashMap<(String, Arc<str>), String>>);

impl Seen {
    /// An error if a tool is not what it was. A server that changes what a tool takes or says while a run continues may mean to
    /// mislead a model that has already decided to use it.
    pub fn compare(&self, server: &McpServer, tool: &Described) -> Result<(), ToolError> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = seen.entry((server.name.clone(), tool.spec.name.clone())).or_insert_with(|| tool.says.clone());
        if *before == tool.says {
            return Ok(());
        }
        let (name, server) = (&tool.spec.name, &server.name);
        Err(failed(format!("`{server}` has changed the description or schema of its tool `{name}` during this run")))
    }
}
