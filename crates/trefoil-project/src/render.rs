//! Renders one template, or evaluates one condition, with a given state and without a workflow: `trefoil render` and
//! its line protocol.
//!
//! A request is `{dialect, kind: "template"|"condition"|"value", text, state}`; the response is
//! `{"ok":true,"result":…}` or `{"ok":false,"phase":"load"|"run","error":{code, message, line, column, …}}`. Test cases
//! are requests too: `id`, `expect`, `error` and `load_error` are ignored. Any other member is an error.

use serde_json::{Map, Value as Json, json};
use trefoil_front::{FrontEnd, front_end};
use trefoil_syntax::{Diagnostic, FileId, Location, SourceFile, SourceFiles, Span};
use trefoil_template::state::{self, RenderFailure, TextKind, TracedText};
use trefoil_template::{EvalError, Value, ValueObject};

use crate::data::parse_strict_json as unique_json;

/// A text, a state, and how to evaluate the text.
#[derive(Clone)]
pub struct RenderRequest {
    /// The dialect.
    pub dialect: &'static dyn FrontEnd,
    /// The kind of text.
    pub kind: TextKind,
    /// The text.
    pub text: String,
    /// The state: in agntz and AEGIS the root object; in SirenSpec an object that may contain `inputs`, `nodes`, `env`,
    /// `item`, `index`, `total`, `working`, `output`, `_budget`.
    pub state: Value,
}

/// Members of test cases that do not affect the response.
const TESTS: &[&str] = &["id", "expect", "error", "load_error"];

impl RenderRequest {
    /// Parses a request; the error is a message.
    pub fn from_json(json: Json) -> Result<Self, String> {
        let Json::Object(mut fields) = json else { return Err("a question must be an object".to_owned()) };
        let mut text = |key: &str| match fields.remove(key) {
            Some(Json::String(text)) => Ok(text),
            Some(_) => Err(format!("`{key}` must be text")),
            None => Err(format!("`{key}` is missing")),
        };
        let (name, kind, body) = (text("dialect")?, text("kind")?, text("text")?);
        let Some(dialect) = front_end(&name) else { return Err(format!("unknown dialect `{name}`")) };
        let kind = match &*kind {
            "template" => TextKind::Template,
            "value" => TextKind::Value,
            "condition" => TextKind::Condition,
            other => return Err(format!("`kind` must be `template`, `value` or `condition`, not `{other}`")),
        };
        let state = match fields.remove("state") {
            Some(state @ Json::Object(_)) => Value::from_json(state),
            None | Some(Json::Null) => Value::from(ValueObject::default()),
            Some(_) => return Err("`state` must be an object".to_owned()),
        };
        for ignored in TESTS {
            fields.shift_remove(*ignored);
        }
        if !fields.is_empty() {
            let names: Vec<String> = fields.keys().map(|name| format!("`{name}`")).collect();
            return Err(format!("unknown key {}; a question has `dialect`, `kind`, `text`, `state`", names.join(", ")));
        }
        check_state(dialect, &state)?;
        Ok(Self { dialect, kind, text: body, state })
    }
    /// The result.
    pub fn evaluate_text(&self) -> Result<Value, RenderFailure> {
        state::evaluate_text(self.dialect.policy(), self.kind, &self.text, &self.state)
    }
    /// The text with the origin of each part.
    pub fn trace_text(&self) -> Result<TracedText, RenderFailure> {
        state::trace_text(self.dialect.policy(), &self.text, &self.state)
    }
    /// A failure as findings in a file with the text.
    pub fn explain_failure(&self, failure: &RenderFailure) -> (SourceFiles, Vec<Diagnostic>) {
        let mut files = SourceFiles::default();
        let file = files.add_file(SourceFile::new("text", self.text.as_str()));
        let found = match failure {
            RenderFailure::Load(errors) => errors
                .iter()
                .map(|e| {
                    let at = to_location(file, &e.error.span);
                    let d = Diagnostic::new_error(e.error.code, at, e.error.message.clone());
                    match &e.error.help {
                        Some(help) => d.with_help(help.clone()),
                        None => d,
                    }
                })
                .collect(),
            RenderFailure::Run(error) => {
                let span = match error {
                    EvalError::Undefined { span, .. } => span.clone(),
                    _ => 0..self.text.len() as u32,
                };
                vec![Diagnostic::new_error("interpolation-error", to_location(file, &span), error.to_string())]
            }
        };
        (files, found)
    }
}

fn to_location(file: FileId, span: &std::ops::Range<u32>) -> Location {
    Location::new(file, Span::new(span.start, span.end))
}

/// The response to one line.
pub fn answer_line(line: &str) -> Json {
    let question = match parse_line(line) {
        Ok(question) => question,
        Err(message) => return bad_question(&message),
    };
    match question.evaluate_text() {
        Ok(result) => json!({"ok": true, "result": result.to_json()}),
        Err(failure) => {
            let phase = if matches!(failure, RenderFailure::Load(_)) { "load" } else { "run" };
            json!({"ok": false, "phase": phase, "error": error(&question.text, &failure)})
        }
    }
}

fn parse_line(line: &str) -> Result<RenderRequest, String> {
    if line.trim().is_empty() {
        return Err("this line is empty".to_owned());
    }
    let json = unique_json(line).map_err(|error| format!("this line is not JSON: {error}"))?;
    RenderRequest::from_json(json)
}

/// The response to an invalid line.
pub fn bad_question(message: &str) -> Json {
    let error = json!({"code": "bad-question", "message": message, "line": null, "column": null});
    json!({"ok": false, "phase": "load", "error": error})
}

/// Checks that a state has only members that are roots of the dialect; if the state is the root object, any member is
/// allowed.
pub fn check_state(dialect: &dyn FrontEnd, state: &Value) -> Result<(), String> {
    let roots = dialect.policy().state_roots();
    let Some(object) = state.as_object() else { return Ok(()) };
    if roots.is_empty() {
        return Ok(());
    }
    match object.keys().find(|key| !roots.contains(&&***key)) {
        None => Ok(()),
        Some(key) => {
            let known: Vec<String> = roots.iter().map(|r| format!("`{r}`")).collect();
            Err(format!("unknown key `{key}` in the state; its keys are {}", known.join(", ")))
        }
    }
}

/// The first mistake, or the error of the evaluation.
fn error(text: &str, failure: &RenderFailure) -> Json {
    let mut error = Map::new();
    let mut put = |key: &str, value: Json| error.insert(key.to_owned(), value);
    match failure {
        RenderFailure::Load(errors) => {
            let first = errors.first();
            put("code", first.map(|e| e.error.code).into());
            put("message", first.map(|e| e.error.message.clone()).into());
            put("line", first.map(|e| e.line).into());
            put("column", first.map(|e| e.column).into());
        }
        RenderFailure::Run(EvalError::Undefined { expression, namespace, reason, span }) => {
            let (line, column) = state::line_and_column(text, span.start as usize);
            put("code", "INTERPOLATION_ERROR".into());
            put("message", format!("InterpolationError in '{{{{ {expression} }}}}' [{namespace}]: {reason}").into());
            put("line", line.into());
            put("column", column.into());
            put("expression", (&**expression).into());
            put("namespace", (&**namespace).into());
            put("reason", reason.as_str().into());
        }
        RenderFailure::Run(other) => {
            put("code", if matches!(other, EvalError::Limit(_)) { "LIMIT_EXCEEDED" } else { "UNDECIDED" }.into());
            put("message", other.to_string().into());
            put("line", Json::Null);
            put("column", Json::Null);
        }
    }
    Json::Object(error)
}
