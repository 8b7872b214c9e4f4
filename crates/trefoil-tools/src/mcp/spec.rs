//! A server's description of its tools, and detection of changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::Tool;
use serde_json::Value as Json;
use tokio::sync::OnceCell;
use trefoil_ir::schema::{SchemaFault, check_form};
use trefoil_machine::key::ContentKey;
use trefoil_machine::parameters::{accepts_null, required_parameters, unknown_parameter};
use trefoil_machine::{Effects, ToolSpec};
use trefoil_runtime::ToolError;
use trefoil_runtime::ports::Meter;
use trefoil_template::Value;

use super::{McpServer, lies};
use crate::shape::Shape;

/// Maximum lengths of a tool's name and description.
const NAME: usize = 128;
const DESCRIPTION: usize = 16 << 10;

/// The advice for arguments that a tool does not take.
const ARGUMENTS: &str = "fix the arguments of the call, or `params` of the tool's entry in the manifest";

/// A tool as described by its server.
#[derive(Debug)]
pub struct Described {
    /// The specification that tool hosts pass on.
    pub spec: ToolSpec,
    /// The schema of its results, if it has one.
    output: Option<Json>,
    /// The same, compiled at the first call; or why the schemas cannot be used.
    compiled: OnceCell<Result<Option<Shape>, ToolError>>,
    /// The name of its server.
    server: String,
    /// A digest of everything that the server says about the tool.
    says: String,
}

impl Described {
    /// Checks a server's description of a tool. Patterns in its schemas are compiled when it is called: a server may have
    /// thousands of tools.
    pub fn of(server: &McpServer, tool: &Tool) -> Result<Self, ToolError> {
        let name = tool.name.as_ref();
        let wrong = |what: &str| incorrect(&server.name, name, what);
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
        check_form(&input).map_err(|why| wrong(&malformed(ARGUMENTS_SCHEMA, &why)))?;
        let output = tool.output_schema.as_ref().map(|schema| Json::Object(schema.as_ref().clone()));
        let checked = output.as_ref().map_or(Ok(()), check_form);
        checked.map_err(|why| wrong(&malformed(RESULT_SCHEMA, &why)))?;
        let says = Json::from(vec![description.into(), input.clone(), output.clone().unwrap_or_default()]).to_string();
        let says = ContentKey::of_text(&says).to_string();
        let reads = tool.annotations.as_ref().is_some_and(|hints| hints.read_only_hint == Some(true));
        let effects = match (server.idempotent.holds(name), reads) {
            (false, _) => Effects::Writes,
            (true, true) => Effects::ReadOnly,
            (true, false) => Effects::Idempotent,
        };
        let parameters = Value::from_json(input);
        let spec = ToolSpec { name: name.into(), description: description.into(), parameters, effects };
        Ok(Self { spec, output, compiled: OnceCell::new(), server: server.name.clone(), says })
    }

    /// Compiles its schemas before its first call, within the limits. Returns that of its results, if it has one.
    pub async fn result(&self) -> Result<Option<&Shape>, ToolError> {
        let compiled = self.compiled.get_or_init(|| async {
            let wrong = |what: &str, why: &str| incorrect(&self.server, &self.spec.name, &unusable(what, why));
            let input = Shape::of_server(self.spec.parameters.to_json()).await;
            input.map_err(|why| wrong(ARGUMENTS_SCHEMA, &why))?;
            let Some(output) = self.output.clone() else { return Ok(None) };
            Shape::of_server(output).await.map(Some).map_err(|why| wrong(RESULT_SCHEMA, &why))
        });
        compiled.await.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    /// Checks the names of arguments: unknown and missing ones are not sent to the server. The server itself checks the
    /// values: many accept `"5"` as a number, and some formats cannot express it otherwise. An argument without a value is
    /// not sent, unless the parameter may be null.
    pub fn takes(
        &self,
        mut arguments: serde_json::Map<String, Json>,
    ) -> Result<serde_json::Map<String, Json>, ToolError> {
        let schema = &self.spec.parameters;
        if let Some(why) = arguments.keys().find_map(|name| unknown_parameter(schema, name)) {
            return Err(ToolError::advised(why, ARGUMENTS));
        }
        let required = required_parameters(schema);
        arguments.retain(|name, value| !value.is_null() || accepts_null(schema, name));
        match required.into_iter().find(|name| !arguments.contains_key(*name)) {
            Some(missing) => Err(ToolError::advised(format!("it needs the parameter `{missing}`"), ARGUMENTS)),
            None => Ok(arguments),
        }
    }
}

const ARGUMENTS_SCHEMA: &str = "the schema of its arguments";
const RESULT_SCHEMA: &str = "the schema of its results";

fn unusable(schema: &str, why: &str) -> String {
    format!("{schema} cannot be used: {why}")
}

fn malformed(schema: &str, why: &SchemaFault) -> String {
    match why {
        SchemaFault::Invalid(why) => format!("{schema} is not a JSON Schema: {why}"),
        other => unusable(schema, &other.to_string()),
    }
}

fn incorrect(server: &str, tool: &str, what: &str) -> ToolError {
    lies(format!("`{server}` describes its tool `{}` incorrectly: {what}", cut(tool)))
}

fn cut(name: &str) -> String {
    name.chars().take(40).flat_map(char::escape_debug).collect()
}

/// The descriptions of tools when the run first requested them, as digests.
#[derive(Debug, Default)]
pub struct Seen(Mutex<HashMap<(String, Arc<str>), String>>);

impl Seen {
    /// Fails if a tool has changed: since the first request here, or according to the run, since one of an earlier process. A
    /// server that changes a description during a run may be trying to mislead a model that has already decided to use the
    /// tool.
    pub fn compare(&self, server: &McpServer, tool: &Described, meter: &Meter) -> Result<(), ToolError> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = seen.entry((server.name.clone(), tool.spec.name.clone())).or_insert_with(|| tool.says.clone());
        if *before == tool.says && meter.sees(&server.name, &tool.spec.name, &tool.says) {
            return Ok(());
        }
        let (name, server) = (&tool.spec.name, &server.name);
        let why = format!("`{server}` has changed the description or schema of its tool `{name}` during this run");
        Err(ToolError::Advised { why, help: "review the change of the server; if it is right, start a new run" })
    }
}
