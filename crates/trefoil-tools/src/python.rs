//! Python functions, called in child processes of the user's interpreter, one process for each call.
//!
//! The request is written to standard input as JSON, `{module, function, args}`. `call.py` imports the module, calls
//! the function with keyword arguments, awaits it if it is async, and writes the result as JSON. What the function
//! prints goes to standard error and is not part of the result.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use trefoil_ir::ToolKind;
use trefoil_machine::ToolRequest;
use trefoil_runtime::ports::{CallSite, Secrets};
use trefoil_runtime::{ToolError, ToolHost};
use trefoil_template::{Value, json_nodes, limits, read_json_bytes};

use crate::process::{self, OperatorProgram, ProcessEnvironment};

/// The script that the interpreter runs.
const CALL: &str = include_str!("call.py");
/// The default time limit of a call, which may do the work of a whole step.
const TIME: Duration = Duration::from_secs(600);

/// Settings of the interpreter.
#[derive(Debug, Clone)]
pub struct PythonSettings {
    /// The interpreter and its arguments; `None`: `python3`.
    pub command: Option<Vec<String>>,
    /// Folders that are searched for modules after the interpreter's own.
    pub path: Vec<PathBuf>,
    /// The environment of functions.
    pub environment: ProcessEnvironment,
    /// The time limit of a call.
    pub time: Duration,
}

impl Default for PythonSettings {
    fn default() -> Self {
        Self { command: None, path: Vec::new(), environment: ProcessEnvironment::default(), time: TIME }
    }
}

/// Calls Python functions.
#[derive(Clone)]
pub struct PythonTools {
    python: Arc<PythonSettings>,
    secrets: Arc<dyn Secrets>,
}

impl PythonTools {
    /// Creates the host with this interpreter.
    pub fn new(python: PythonSettings, secrets: Arc<dyn Secrets>) -> Self {
        Self { python: Arc::new(python), secrets }
    }
}

#[async_trait]
impl ToolHost for PythonTools {
    fn offers_tool(&self, _name: &str, kind: &ToolKind) -> bool {
        *kind == ToolKind::Python
    }

    async fn call_tool(&self, _at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        self.ask(request.arguments.to_json()).await
    }
}

impl PythonTools {
    /// Tries to import a module, which runs its code.
    pub async fn import_module(&self, module: &str) -> Result<(), ToolError> {
        self.ask(json!({ "module": module, "function": null })).await.map(drop)
    }

    async fn ask(&self, call: Json) -> Result<Value, ToolError> {
        let python = &*self.python;
        let default = if cfg!(windows) { "python" } else { "python3" };
        let mut words = python.command.clone().unwrap_or_else(|| vec![default.to_owned()]);
        words.extend(["-c".to_owned(), CALL.to_owned()]);
        let environment = python.environment.clone();
        let program = OperatorProgram { command: Vec::new(), folder: None, environment };
        let command = program.build_command(&words, &*self.secrets)?;
        let asked = json!({ "call": call, "path": python.path });
        let started = process::start_process(command, true)
            .map_err(|why| ToolError::with_advice(why.to_string(), INTERPRETER))?;
        let ended = started.run_to_end(Some(asked.to_string().into_bytes()), Some(python.time)).await?;
        // The first thing that call.py writes.
        let help = if ended.stdout.starts_with(b" ") { EXITS } else { INTERPRETER };
        if ended.code != 0 {
            // A signal may end it in the middle of its work.
            let is_killed = help == EXITS && (129..=192).contains(&ended.code);
            let failed = if is_killed { ToolError::unusable_result } else { ToolError::with_advice };
            return Err(failed(ended.failure_message(), help));
        }
        if json_nodes(&ended.stdout) > limits::ANSWER_NODES {
            let why = format!("its result has more than {} values", limits::ANSWER_NODES);
            return Err(ToolError::unusable_result(why, "let the function return less"));
        }
        let answer = match read_json_bytes(&ended.stdout) {
            Ok(json) => Value::from_json(json),
            Err(_) => Value::Null,
        };
        let member = |name: &str| answer.as_object()?.get(name);
        match (member("result"), member("error")) {
            (_, Some(error)) => {
                let kind = member("kind").and_then(Value::as_str);
                let failed = if kind == Some("result") { ToolError::unusable_result } else { ToolError::with_advice };
                Err(failed(error.to_text().to_string(), advice(kind)))
            }
            (Some(result), None) => Ok(result.clone()),
            (None, None) if help == EXITS => {
                Err(ToolError::unusable_result("the interpreter exited without a result", help))
            }
            (None, None) => Err(ToolError::with_advice("the interpreter exited without a result", help)),
        }
    }
}

/// The advice if the interpreter does not work.
const INTERPRETER: &str = "install Python 3, or set the interpreter with `command` of `[python]`";

/// The advice if the module or the function ends its process.
const EXITS: &str = "let the function return or raise an exception; it must not end its process";

/// The advice for a failure of this kind; see call.py.
fn advice(kind: Option<&str>) -> &'static str {
    match kind {
        Some("missing") => {
            "install the module for this interpreter with `pip`, choose another one with `command` of `[python]`, or add \
             the module's folder to `path` there"
        }
        Some("import") => "fix the module so that `import` works in this interpreter",
        Some("function") => "fix `function` of the node; it must be a function of the module",
        Some("result") => "let the function return what JSON can express: texts, numbers, lists and dicts",
        _ => "fix the function, or its `args` in the node",
    }
}
