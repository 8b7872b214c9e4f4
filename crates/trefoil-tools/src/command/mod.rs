//! Tools that are programs on this machine, declared by the operator. No shell interprets any part of a call.
//!
//! Arguments are inserted in the words of the command, or written to its standard input as one JSON object. The result
//! is its standard output; an exit code other than 0 is a failure.

mod words;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use trefoil_ir::ToolKind;
use trefoil_machine::{Effects, ToolRequest, ToolSpec};
use trefoil_runtime::ports::{CallSite, Secrets};
use trefoil_runtime::{ToolError, ToolHost};
use trefoil_template::{Value, ValueObject, json_nodes, json_text, limits};

use crate::process::{self, OperatorProgram};
use crate::tool_schema::ToolSchema;

pub use words::{CommandTemplate, WordPart};

/// The default time limit of a call.
pub const TIME: Duration = Duration::from_secs(60);

/// A tool that is a program.
#[derive(Debug, Clone)]
pub struct CommandTool {
    spec: ToolSpec,
    program: OperatorProgram,
    words: CommandTemplate,
    shape: ToolSchema,
    /// The schema of its results: compiled, and as a value for the checker.
    result: Option<(ToolSchema, Value)>,
    input: CommandInput,
    output: CommandResult,
    time: Duration,
}

/// How a program gets its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandInput {
    /// Only in the words of its command.
    Words,
    /// As a JSON object on its standard input.
    Json,
}

/// How a program's output is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandResult {
    /// An object or a list as JSON, anything else as text.
    Either,
    /// JSON; anything else is a failure.
    Json,
    /// Text.
    Text,
}

/// The operator's declaration of a tool.
#[derive(Debug, Clone)]
pub struct CommandToolDeclaration {
    /// Its name.
    pub name: String,
    /// What it does, for models.
    pub description: String,
    /// The program, with placeholders in its words.
    pub program: OperatorProgram,
    /// A JSON Schema of its arguments; `None`: one text for each placeholder.
    pub parameters: Option<serde_json::Value>,
    /// A JSON Schema of its result; `None`: any value.
    pub result: Option<serde_json::Value>,
    /// What it changes.
    pub effects: Effects,
    /// How it gets its arguments; `None`: as JSON if the words have no placeholders.
    pub input: Option<CommandInput>,
    /// How its output is read.
    pub output: CommandResult,
    /// How long a call may take.
    pub time: Duration,
}

impl CommandTool {
    /// Creates a tool, or returns what is wrong with its declaration.
    pub fn new(declared: CommandToolDeclaration) -> Result<Self, String> {
        let words = CommandTemplate::parse(&declared.program.command)?;
        let used = words.parameter_names();
        let default = if used.is_empty() { CommandInput::Json } else { CommandInput::Words };
        let input = declared.input.unwrap_or(default);
        let parameters = match declared.parameters {
            Some(mut parameters) => {
                if parameters.get("type") != Some(&json!("object")) {
                    return Err("`parameters` must be a JSON Schema with `type = \"object\"`".to_owned());
                }
                let known = parameters.get("properties").and_then(serde_json::Value::as_object);
                for (name, _) in &used {
                    let is_known = matches!(known, Some(known) if known.contains_key(&**name));
                    if !is_known {
                        return Err(format!("`{{{name}}}` is not one of the properties of `parameters`"));
                    }
                }
                // An argument without a placeholder would be dropped silently.
                if let (CommandInput::Words, Some(members)) = (input, parameters.as_object_mut())
                    && !members.contains_key("patternProperties")
                {
                    members.entry("additionalProperties").or_insert(json!(false));
                }
                parameters
            }
            None => of_words(&used),
        };
        let shape = ToolSchema::new(&parameters).map_err(|why| format!("`parameters` is not a JSON Schema: {why}"))?;
        let result = match declared.result {
            Some(schema) => {
                let shape = ToolSchema::new(&schema).map_err(|why| format!("`result` is not a JSON Schema: {why}"))?;
                Some((shape, Value::from_json(schema)))
            }
            None => None,
        };
        let spec = ToolSpec {
            name: declared.name.into(),
            description: declared.description.into(),
            parameters: Value::from_json(parameters),
            effects: declared.effects,
        };
        let CommandToolDeclaration { program, output, time, .. } = declared;
        Ok(Self { spec, program, words, shape, result, input, output, time })
    }

    /// The tool's description.
    pub fn tool_spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The JSON Schema of its results, if it has one.
    pub fn result_schema(&self) -> Option<&Value> {
        self.result.as_ref().map(|(_, schema)| schema)
    }

    /// The program that it runs.
    pub fn operator_program(&self) -> &OperatorProgram {
        &self.program
    }

    /// The words of its command.
    pub fn command_template(&self) -> &CommandTemplate {
        &self.words
    }

    /// Whether its arguments are among those of its process.
    pub fn is_on_command_line(&self) -> bool {
        !self.words.parameter_names().is_empty()
    }

    fn valid(&self, value: Value) -> Result<Value, ToolError> {
        let Some((shape, _)) = &self.result else { return Ok(value) };
        if let Err(why) = shape.check_value(&value.to_json()) {
            let why = format!("its output does not match `result`: {why}");
            return Err(ToolError::unusable_result(why, "fix the program, or `result` in the settings of the tool"));
        }
        Ok(value)
    }

    async fn call(&self, discloses: bool, arguments: &Value, secrets: &dyn Secrets) -> Result<Value, ToolError> {
        if discloses && self.is_on_command_line() {
            // Every user of the machine can see the arguments of its processes.
            let what = "an argument contains a secret or an environment value, which must not appear on a command line";
            return Err(ToolError::with_advice(what, "declare the tool with `input = \"json\"` and no placeholders"));
        }
        let json = arguments.to_json();
        // A secret that is too short to be recognized in a message must not be quoted in it.
        let checked = if discloses { self.shape.check_unquoted(&json) } else { self.shape.check_value(&json) };
        let help = "fix the arguments of the call, or `parameters` in the settings of the tool";
        checked.map_err(|why| ToolError::invalid_arguments(why, help))?;
        let empty = ValueObject::default();
        let words = self.words.fill_values(arguments.as_object().unwrap_or(&empty))?;
        let command = self.program.build_command(&words, secrets)?;
        let input = match self.input {
            CommandInput::Json => Some(format!("{json}\n").into_bytes()),
            CommandInput::Words => None,
        };
        let ended = process::start_process(command, input.is_some())?.run_to_end(input, Some(self.time)).await?;
        match ended.code {
            0 => self.valid(self.read(ended.stdout)?),
            // A signal ended it, in the middle of its work.
            129..=192 => Err(ToolError::Unusable(ended.failure_message())),
            _ => Err(tool_failure(ended.failure_message())),
        }
    }

    fn read(&self, bytes: Vec<u8>) -> Result<Value, ToolError> {
        if self.output != CommandResult::Text
            && bytes.len() > limits::ANSWER_NODES
            && json_nodes(&bytes) > limits::ANSWER_NODES
        {
            let why = format!("its output has more than {} values", limits::ANSWER_NODES);
            return Err(ToolError::unusable_result(why, "let it print less, or set `output = \"text\"`"));
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = match text.strip_suffix('\n') {
            Some(line) => line.strip_suffix('\r').unwrap_or(line),
            None => &*text,
        };
        match self.output {
            CommandResult::Text => Ok(text.into()),
            CommandResult::Either => Ok(parse_structured(text).unwrap_or_else(|| text.into())),
            CommandResult::Json => Value::parse(text).map_err(|why| {
                let help = "let the program print JSON and nothing else, or set `output = \"text\"`";
                ToolError::unusable_result(format!("its output is not JSON: {why}"), help)
            }),
        }
    }
}

/// Parses a text as JSON if it is an object or a list. A number or a word is more likely meant as text.
pub(crate) fn parse_structured(text: &str) -> Option<Value> {
    let text = json_text(text);
    if text.starts_with(['{', '[']) { Value::parse(text).ok() } else { None }
}

fn of_words(used: &[(Arc<str>, bool)]) -> serde_json::Value {
    if used.is_empty() {
        return json!({"type": "object"});
    }
    let (mut properties, mut required) = (serde_json::Map::new(), Vec::new());
    for (name, optional) in used {
        properties.insert(name.to_string(), json!({"type": ["string", "number", "boolean"]}));
        if !optional {
            required.push(&**name);
        }
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The operator's programs, by name.
#[derive(Clone)]
pub struct CommandTools {
    tools: Arc<BTreeMap<String, CommandTool>>,
    secrets: Arc<dyn Secrets>,
}

impl CommandTools {
    /// If two tools have the same name, the later one is used.
    pub fn new(tools: impl IntoIterator<Item = CommandTool>, secrets: Arc<dyn Secrets>) -> Self {
        let tools = tools.into_iter().map(|tool| (tool.spec.name.to_string(), tool)).collect();
        Self { tools: Arc::new(tools), secrets }
    }
}

#[async_trait]
impl ToolHost for CommandTools {
    fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool {
        *kind == ToolKind::Local && self.tools.contains_key(name)
    }

    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let Some(tool) = self.tools.get(&*request.name) else {
            return Err(tool_failure("it is not declared".to_owned()));
        };
        tool.call(at.discloses, &request.arguments, &*self.secrets).await
    }

    async fn list_tools(&self, _at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        let all = self.tools.values().map(|tool| tool.spec.clone());
        Ok(if *kind == ToolKind::Local { all.collect() } else { Vec::new() })
    }

    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        matches!(self.tools.get(&*request.name), Some(tool) if tool.spec.effects.is_idempotent())
    }
}

fn tool_failure(what: String) -> ToolError {
    ToolError::Failed(what)
}
