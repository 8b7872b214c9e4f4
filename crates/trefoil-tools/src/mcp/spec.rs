//! A server's description of its tools, and detection of changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value as Json;
use tokio::sync::OnceCell;
use trefoil_ir::schema::readable_form;
use trefoil_machine::key::ContentKey;
use trefoil_machine::parameters::{accepts_null, required_parameters, unknown_parameter};
use trefoil_machine::{Effects, ToolSpec};
use trefoil_runtime::ToolError;
use trefoil_runtime::ports::Meter;
use trefoil_template::Value;

use super::{McpServer, lies};
use crate::tool_schema::ToolSchema;
use trefoil_runtime::locks::lock;

/// Maximum lengths of a tool's name and description.
const NAME: usize = 128;
const DESCRIPTION: usize = 16 << 10;

/// Types of a schema that is not for arguments. Other words are no types.
const OTHER_KINDS: [&str; 6] = ["array", "boolean", "integer", "null", "number", "string"];

/// The advice for arguments that a tool does not take.
const ARGUMENTS: &str = "fix the arguments of the call, or `params` of the tool's entry in the manifest";

/// A tool as described by its server.
#[derive(Debug)]
pub struct McpToolDescription {
    /// The specification that tool hosts pass on.
    pub spec: ToolSpec,
    /// What is wrong with its description, although it can be used.
    pub remarks: Vec<String>,
    /// The schema of its results, if it has one.
    output: Option<Json>,
    /// The same, compiled at the first call; or why it cannot be used.
    compiled: OnceCell<Result<Option<ToolSchema>, ToolError>>,
    /// The name of its server.
    server: String,
    /// A digest of everything that the server says about the tool.
    says: String,
}

impl McpToolDescription {
    /// Checks a server's description of a tool. Patterns in its schemas are compiled when it is called: a server may have
    /// thousands of tools. What is optional and wrong is dropped.
    pub fn from_json(server: &McpServer, name: &str, tool: &Json) -> Result<Self, ToolError> {
        let wrong = |what: &str| incorrect(&server.name, name, what);
        match tool.get("name") {
            Some(Json::String(name)) if is_name(name) => {}
            Some(Json::String(_)) => return Err(wrong("its name is invalid")),
            _ => return Err(wrong("it has no name")),
        }
        let mut odd = Vec::new();
        let description = match tool.get("description") {
            Some(Json::String(text)) if text.len() > DESCRIPTION => {
                return Err(wrong("its description is longer than 16 KB"));
            }
            Some(Json::String(text)) => text.as_str(),
            None | Some(Json::Null) => "",
            Some(_) => {
                odd.push("its description is not a text, so it has none".to_owned());
                ""
            }
        };
        let Some(input @ Json::Object(_)) = tool.get("inputSchema") else {
            return Err(wrong("the schema of its arguments is not an object"));
        };
        let is_object = match input.get("type") {
            Some(Json::String(kind)) => !OTHER_KINDS.contains(&kind.as_str()),
            Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
            _ => true,
        };
        if !is_object {
            return Err(wrong("the schema of its arguments does not describe an object"));
        }
        let form = readable_form(input).map_err(|why| wrong(&unusable(ARGUMENTS_SCHEMA, &why.to_string())))?;
        for slip in &form.slips {
            odd.push(format!("{slip} in {ARGUMENTS_SCHEMA}, which allows anything there"));
        }
        let output = match tool.get("outputSchema") {
            None | Some(Json::Null) => None,
            schema => schema,
        };
        if let Some(schema) = output {
            let form = readable_form(schema).map_err(|why| wrong(&unusable(RESULT_SCHEMA, &why.to_string())))?;
            for slip in &form.slips {
                odd.push(format!("{slip} in {RESULT_SCHEMA}, which allows anything there"));
            }
        }
        let says = Json::from(vec![description.into(), input.clone(), output.cloned().unwrap_or_default()]).to_string();
        let says = ContentKey::of_text(&says).to_string();
        let reads = tool.pointer("/annotations/readOnlyHint") == Some(&Json::Bool(true));
        let effects = match (server.idempotent.holds(name), reads) {
            (false, _) => Effects::Writes,
            (true, true) => Effects::ReadOnly,
            (true, false) => Effects::Idempotent,
        };
        let remark = |odd: String| {
            format!("the MCP server `{}` describes its tool `{}` incorrectly: {odd}", server.name, cut(name))
        };
        // The model gets the schema as it is.
        let parameters = Value::from_json(input.clone());
        Ok(Self {
            spec: ToolSpec { name: name.into(), description: description.into(), parameters, effects },
            remarks: odd.into_iter().map(remark).collect(),
            output: match output {
                Some(schema @ Json::Object(_)) => Some(schema.clone()),
                _ => None,
            },
            compiled: OnceCell::new(),
            server: server.name.clone(),
            says,
        })
    }

    /// Whether another description says the same.
    pub fn says_same(&self, other: &Self) -> bool {
        self.says == other.says
    }

    /// Compiles the schema of its results before its first call, within the limits. That of its arguments is for whoever calls it.
    pub async fn compile_result_schema(&self) -> Result<Option<&ToolSchema>, ToolError> {
        let compiled = self.compiled.get_or_init(|| async {
            let Some(output) = self.output.clone() else { return Ok(None) };
            match ToolSchema::of_server(output).await {
                Ok(schema) => Ok(Some(schema)),
                Err(why) => Err(incorrect(&self.server, &self.spec.name, &unusable(RESULT_SCHEMA, &why))),
            }
        });
        match compiled.await {
            Ok(schema) => Ok(schema.as_ref()),
            Err(why) => Err(why.clone()),
        }
    }

    /// Checks the names of arguments: unknown and missing ones are not sent to the server. The server itself checks the
    /// values: many accept `"5"` as a number, and some formats cannot express it otherwise. An argument without a value is
    /// not sent, unless the parameter may be null.
    pub fn check_arguments(
        &self,
        mut arguments: serde_json::Map<String, Json>,
    ) -> Result<serde_json::Map<String, Json>, ToolError> {
        let schema = &self.spec.parameters;
        if let Some(why) = arguments.keys().find_map(|name| unknown_parameter(schema, name)) {
            return Err(ToolError::with_advice(why, ARGUMENTS));
        }
        let required = required_parameters(schema);
        arguments.retain(|name, value| !value.is_null() || accepts_null(schema, name));
        match required.into_iter().find(|name| !arguments.contains_key(*name)) {
            Some(missing) => Err(ToolError::with_advice(format!("it needs the parameter `{missing}`"), ARGUMENTS)),
            None => Ok(arguments),
        }
    }
}

const ARGUMENTS_SCHEMA: &str = "the schema of its arguments";
const RESULT_SCHEMA: &str = "the schema of its results";

fn unusable(schema: &str, why: &str) -> String {
    format!("{schema} cannot be used: {why}")
}

fn incorrect(server: &str, tool: &str, what: &str) -> ToolError {
    lies(format!("`{server}` describes its tool `{}` incorrectly: {what}", cut(tool)))
}

fn is_name(name: &str) -> bool {
    (1..=NAME).contains(&name.len()) && !name.chars().any(|c| c.is_control() || c.is_whitespace())
}

fn cut(name: &str) -> String {
    name.chars().take(40).flat_map(char::escape_debug).collect()
}

/// The descriptions of tools when the run first requested them, as digests.
#[derive(Debug, Default)]
pub struct DescriptionDigests(Mutex<HashMap<(String, Arc<str>), String>>);

impl DescriptionDigests {
    /// Fails if a tool has changed: since the first request here, or according to the run, since one of an earlier process. A
    /// server that changes a description during a run may be trying to mislead a model that has already decided to use the
    /// tool.
    pub fn check_unchanged(
        &self,
        server: &McpServer,
        tool: &McpToolDescription,
        meter: &Meter,
    ) -> Result<(), ToolError> {
        let mut seen = lock(&self.0);
        let before = seen.entry((server.name.clone(), tool.spec.name.clone())).or_insert_with(|| tool.says.clone());
        if *before == tool.says && meter.report_tool_digest(&server.name, &tool.spec.name, &tool.says) {
            return Ok(());
        }
        let (name, server) = (&tool.spec.name, &server.name);
        let why = format!("`{server}` has changed the description or schema of its tool `{name}` during this run");
        Err(ToolError::with_advice(why, "review the change of the server; if it is right, start a new run"))
    }
}
