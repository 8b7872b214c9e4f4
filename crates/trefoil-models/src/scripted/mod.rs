//! Answers from a file: `--model scripted=FILE`. For tests, demonstrations, and examining one branch of a workflow.
//!
//! ```yaml
//! answers:
//!   writer: First draft                 # one answer: used for every call
//!   reviewer:                           # a list: used in order; a further call is an error
//!     - json: {approved: false, feedback: Too short.}
//!     - error: {status: 429, message: slow down, retry_after_ms: 10}
//!     - json: {approved: true}
//!       delay_ms: 50
//!       usage: {input_tokens: 100, output_tokens: 20}
//!   researcher:                         # tool calls first, then an answer
//!     - calls: [{name: search, arguments: {q: otters}}]
//!     - Otters sleep afloat.
//!   "pipeline/fan[1]/worker": Only this item
//!   "*": Whatever else is asked
//! tools:
//!   search: {value: {hits: []}}
//!   mail: {error: the server is down}
//! ```
//!
//! A call is looked up by its full key (with or without `!TRY`), then by the label of its step, its agent, the labels
//! around it from the inside out, and `*`. A list is used in the order of the calls. A resumed run continues with the first
//! answer that no call has used; an `error` in the script counts as an answer, too. If calls with the same name run concurrently,
//! their order is not fixed, so use their keys.

mod file;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use indexmap::IndexMap;
use trefoil_ir::{Program, StepKind, ToolKind, walk};
use trefoil_machine::error::RunError;
use trefoil_machine::key;
use trefoil_runtime::locks::lock;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{
    FinishReason, ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest, ModelToolCall, ToolError,
    ToolHost, ToolRequest, ToolSpec, Usage,
};
use trefoil_syntax::suggestions;
use trefoil_template::Value;

/// The name that matches every call.
const ANY: &str = "*";
/// The start of the error of a call for which the script has no answer. A resumed run recognizes such errors by it.
const SCRIPT_HAS_NO: &str = "the script has no";

/// Answers by name. It is also a host for the tools in the script.
#[derive(Debug, Default)]
pub struct Scripted {
    answers: IndexMap<String, ScriptTurns<ScriptedAnswer>>,
    tools: IndexMap<String, ScriptTurns<Value>>,
}

/// An error in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// One line, which starts with the file's name.
    pub message: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for ScriptError {}

/// The turns for one name.
#[derive(Debug)]
struct ScriptTurns<T> {
    turns: Vec<ScriptedTurn<T>>,
    /// Whether a single turn is used for every call, because it is not in a list.
    endless: bool,
    used: Mutex<UsedTurns>,
}

/// Which turns calls have used.
#[derive(Debug, Default)]
struct UsedTurns {
    /// The number of turns of calls that ended before the run was resumed.
    before_resume: usize,
    /// The index of the turn that each call got, by key.
    by_key: HashMap<String, usize>,
}

impl UsedTurns {
    fn count(&self) -> usize {
        self.before_resume + self.by_key.len()
    }
}

#[derive(Debug, Clone)]
struct ScriptedTurn<T> {
    outcome: Result<T, ScriptedFailure>,
    delay_ms: u64,
}

#[derive(Debug, Clone)]
struct ScriptedAnswer {
    text: String,
    calls: Vec<ModelToolCall>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
}

#[derive(Debug, Clone)]
struct ScriptedFailure {
    kind: ModelErrorKind,
    message: String,
    retry_after_ms: Option<u64>,
}

impl<T: Clone> ScriptTurns<T> {
    fn lock_used(&self) -> MutexGuard<'_, UsedTurns> {
        lock(&self.used)
    }

    /// The turn for the call with this key; `None` if there are no more. A call that asks again gets the same turn.
    fn turn(&self, key: &str) -> Option<&ScriptedTurn<T>> {
        let mut used = self.lock_used();
        let next = used.count();
        let index = *used.by_key.entry(key.to_owned()).or_insert(next);
        if self.endless { self.turns.first() } else { self.turns.get(index) }
    }

    /// Counts a call that ended before the run was resumed: it used a turn, unless its error is that the script had none.
    fn count_earlier_call(&self, error: Option<&RunError>) {
        match error {
            Some(error) if error.message.contains(SCRIPT_HAS_NO) => {}
            _ => self.lock_used().before_resume += 1,
        }
    }

    /// The message for the answers that were not used, if there are any.
    fn describe_unused(&self, name: &str) -> Option<String> {
        match self.turns.len().saturating_sub(self.lock_used().count()) {
            0 => None,
            1 => Some(format!("1 answer of the script for `{name}` was not used")),
            n => Some(format!("{n} answers of the script for `{name}` were not used")),
        }
    }
}

impl Scripted {
    /// Reads a file: JSON if its name ends in `.json`, otherwise YAML.
    pub fn read_file(path: &Path) -> Result<Self, ScriptError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            let why = error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase();
            ScriptError { message: format!("{name}: cannot read the script: {why}") }
        })?;
        Self::parse(&name, &text)
    }

    /// Parses a script; the extension of `name`, the file's name, distinguishes JSON from YAML.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        file::parse(name, text).map_err(|what| ScriptError { message: format!("{name}: {what}") })
    }

    /// One message for every name that does not exist in this program. Keys are not checked.
    pub fn unknown_names(&self, program: &Program) -> Vec<String> {
        let mut calls: Vec<&str> = vec![ANY];
        let mut tools: Vec<&str> = Vec::new();
        for (_, id) in walk::reachable_steps(program, program.entry) {
            let step = &program.steps[id];
            calls.extend(step.label.as_deref());
            match &step.kind {
                StepKind::Model(call) => calls.push(&call.speaker),
                // This step may call any tool of a server, whose names only the server knows.
                StepKind::Tool(call) if call.name.is_empty() => tools.extend(self.tools.keys().map(String::as_str)),
                StepKind::Tool(call) => tools.push(&call.name),
                _ => {}
            }
        }
        let mut unknown = Vec::new();
        for name in self.answers.keys() {
            unknown.extend(describe_unknown(name, "step or agent", &calls));
        }
        for name in self.tools.keys() {
            unknown.extend(describe_unknown(name, "tool", &tools));
        }
        unknown
    }

    /// One message for every name with unused answers.
    pub fn unused_answers(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, turns) in &self.answers {
            lines.extend(turns.describe_unused(name));
        }
        for (name, turns) in &self.tools {
            lines.extend(turns.describe_unused(name));
        }
        lines
    }

    /// The answers for a model call, and the name under which the script has them.
    fn find_answers(&self, at: &CallSite<'_>, speaker: &str) -> Option<(&String, &ScriptTurns<ScriptedAnswer>)> {
        let mut names = vec![at.key.as_str(), at.key.without_try()];
        if let Some(label) = at.labels.last() {
            names.push(label);
        }
        names.push(speaker);
        for around in at.labels.iter().rev().skip(1) {
            names.push(around);
        }
        names.push(ANY);
        names.into_iter().find_map(|name| self.answers.get_key_value(name))
    }
}

/// The message for a name in the script that the program does not have. Names that are keys are not checked.
fn describe_unknown(name: &str, sort: &str, known: &[&str]) -> Option<String> {
    if known.contains(&name) || key::parse_key_parts(name).nth(1).is_some() {
        return None;
    }
    let hint = match suggestions::nearest_name(name, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    Some(format!("the script answers for `{name}`, but this workflow has no such {sort}{hint}"))
}

#[async_trait]
impl ModelProvider for Scripted {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let setup_error = |message: String| ModelError::new(ModelErrorKind::Setup, message);
        let Some((name, turns)) = self.find_answers(&at, &request.speaker) else {
            return Err(setup_error(format!("{SCRIPT_HAS_NO} answer for agent `{}` at `{}`", request.speaker, at.key)));
        };
        let Some(turn) = turns.turn(&at.key.0) else {
            let n = turns.turns.len();
            return Err(setup_error(format!("{SCRIPT_HAS_NO} more answers for `{name}` (it has {n})")));
        };
        at.meter.report_usage(Usage::default());
        if turn.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(turn.delay_ms)).await;
        }
        match &turn.outcome {
            Ok(answer) => {
                if request.stream {
                    answer.text.split_inclusive(' ').for_each(delta);
                }
                let usage = answer.usage.unwrap_or_else(|| Usage::in_words(request, &answer.text));
                let calls = answer.calls.clone();
                Ok(ModelAnswer { calls, finish: answer.finish, ..ModelAnswer::new(answer.text.clone(), usage) })
            }
            Err(failure) => {
                let error = ModelError::new(failure.kind, failure.message.clone());
                Err(ModelError { retry_after_ms: failure.retry_after_ms, ..error })
            }
        }
    }

    fn recall_model_call(&self, at: CallSite<'_>, request: &ModelRequest, error: Option<&RunError>) {
        if let Some((_, turns)) = self.find_answers(&at, &request.speaker) {
            turns.count_earlier_call(error);
        }
    }

    fn label(&self, _request: &ModelRequest) -> String {
        "scripted".to_owned()
    }
}

#[async_trait]
impl ToolHost for Scripted {
    fn offers_tool(&self, name: &str, _kind: &ToolKind) -> bool {
        name.is_empty() || self.tools.contains_key(name)
    }

    /// Lists all tools in the script; it does not know which server they belong to.
    async fn list_tools(&self, _at: CallSite<'_>, _kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        let spec = |name: &String| ToolSpec::without_description(name.as_str());
        Ok(self.tools.keys().map(spec).collect())
    }

    fn recall_tool_call(&self, _at: CallSite<'_>, request: &ToolRequest, error: Option<&RunError>) {
        if let Some(turns) = self.tools.get(&*request.name) {
            turns.count_earlier_call(error);
        }
    }

    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let Some(turns) = self.tools.get(&*request.name) else {
            return Err(ToolError::Failed(format!("{SCRIPT_HAS_NO} tool `{}`", request.name)));
        };
        let Some(turn) = turns.turn(&at.key.0) else {
            let (name, n) = (&request.name, turns.turns.len());
            return Err(ToolError::Failed(format!("{SCRIPT_HAS_NO} more answers for `{name}` (it has {n})")));
        };
        if turn.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(turn.delay_ms)).await;
        }
        match &turn.outcome {
            Ok(value) => Ok(value.clone()),
            Err(ScriptedFailure { kind: ModelErrorKind::Timeout, .. }) => Err(ToolError::Timeout),
            Err(failure) => Err(ToolError::Failed(failure.message.clone())),
        }
    }
}
