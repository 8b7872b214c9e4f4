//! The description of a flow as a tool: name, purpose, and a schema of its arguments.

use serde_json::{Map, Value, json};
use trefoil_ir::{AnswerFormat, Intake, OnStepFailure, Program, Step, StepKind};
use trefoil_syntax::{Location, SourceFiles, suggestions};
use trefoil_view::plan::{DeclaredInput, Plan};

use crate::input::{self, InputError, UndeclaredReads};

/// The argument of a flow whose input is a text.
const TEXT: &str = "input";

/// A flow as a tool.
#[derive(Debug, Clone)]
pub struct FlowToolInterface {
    /// Its purpose.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub parameters: Map<String, Value>,
    /// The JSON Schema of its result, if that is certain to be an object that matches.
    pub result: Option<Map<String, Value>>,
    form: InputForm,
    /// The place of the flow.
    origin: Location,
}

/// How arguments become the input.
#[derive(Debug, Clone)]
enum InputForm {
    /// They are the input.
    Object,
    /// The argument [`TEXT`] is the input, and there are no others.
    Text {
        /// Whether the flow reads it.
        required: bool,
    },
    /// The flow declares nothing: the argument [`TEXT`] alone is the input, and any other arguments are its members.
    Open {
        /// Whether the flow reads the input as a whole and no members.
        needs_text: bool,
    },
}

impl FlowToolInterface {
    /// The description of a program as a tool; `about` is what its manifest says of its purpose.
    pub fn new(program: &Program, files: &SourceFiles, about: Option<&str>) -> Self {
        let plan = Plan::for_program(program, files);
        let entry = program.entry_flow();
        let intake = &entry.intake;
        let undeclared = plan.inputs.is_empty() && plan.takes_text;
        let reads = if undeclared { input::find_undeclared_reads(program) } else { UndeclaredReads::default() };
        let members = &reads.members;
        let form = match undeclared {
            true if takes_only_text(intake, &reads) => InputForm::Text { required: reads.whole || !members.is_empty() },
            true => InputForm::Open { needs_text: reads.whole && members.is_empty() },
            false => InputForm::Object,
        };
        let text = || json!({ "type": "string", "description": "The text to work on" });
        let (properties, required) = match form {
            InputForm::Text { required } => {
                (json!({ TEXT: text() }), if required { vec![TEXT.into()] } else { Vec::new() })
            }
            InputForm::Open { needs_text } => {
                let mut all: Map<String, Value> = members.iter().map(|name| (name.to_string(), json!({}))).collect();
                if members.is_empty() || reads.whole {
                    all.entry(TEXT).or_insert_with(text);
                }
                (Value::Object(all), if needs_text { vec![TEXT.into()] } else { Vec::new() })
            }
            InputForm::Object => {
                let mut required = Vec::new();
                for input in &plan.inputs {
                    if input.required {
                        required.push(input.name.clone().into());
                    }
                }
                (Value::Object(plan.inputs.into_iter().map(property).collect()), required)
            }
        };
        let mut parameters = Map::new();
        parameters.insert("type".to_owned(), "object".into());
        parameters.insert("properties".to_owned(), properties);
        match form {
            InputForm::Text { .. } => drop(parameters.insert("additionalProperties".to_owned(), false.into())),
            InputForm::Open { .. } => drop(parameters.insert("additionalProperties".to_owned(), true.into())),
            InputForm::Object if intake.closed && intake.tolerated.is_empty() => {
                parameters.insert("additionalProperties".to_owned(), false.into());
            }
            InputForm::Object => {}
        }
        if !required.is_empty() {
            parameters.insert("required".to_owned(), Value::Array(required));
        }
        let description = match about {
            Some(about) => about.to_owned(),
            None => format!("Runs the {} `{}`.", plan.sort, program.name),
        };
        Self { description, parameters, result: result(program, entry), form, origin: entry.origin }
    }

    /// The input of a run from the arguments of a call. Text arguments are checked here, because their schema belongs
    /// to the tool only. Declared inputs are checked by the run.
    pub fn run_input(&self, arguments: Value) -> Result<Value, InputError> {
        let placed = |error| InputError { location: Some(self.origin), ..error };
        match (&self.form, arguments) {
            (InputForm::Text { required: false }, Value::Object(none)) if none.is_empty() => Ok(Value::Null),
            (InputForm::Text { .. }, arguments) => text(arguments).map_err(placed),
            (InputForm::Open { needs_text: true }, Value::Object(none)) if none.is_empty() => {
                text(Value::Object(none)).map_err(placed)
            }
            (InputForm::Open { .. }, Value::Object(mut all)) if all.len() == 1 => Ok(match all.remove(TEXT) {
                Some(Value::String(text)) if self.has_text() => text.into(),
                Some(other) => json!({ TEXT: other }),
                None => Value::Object(all),
            }),
            (_, Value::Object(none)) if none.is_empty() => Ok(Value::Null),
            (_, arguments) => Ok(arguments),
        }
    }

    /// Whether the argument [`TEXT`] is the whole input, and not a member that is named like this.
    fn has_text(&self) -> bool {
        let Some(properties) = self.parameters.get("properties") else { return false };
        let Some(text) = properties.get(TEXT) else { return false };
        text.get("type").is_some()
    }
}

/// The schema of the result of a flow that is an agent with structured answers.
fn result(program: &Program, flow: &trefoil_ir::FlowDefinition) -> Option<Map<String, Value>> {
    let unchanged = |step: &Step| {
        step.when.is_none() && step.shape.is_none() && matches!(step.policy.on_failure, OnStepFailure::Fail)
    };
    let body = &program.steps[flow.body];
    let answer = match &body.kind {
        StepKind::Conversation(it) => &program.steps[it.turn],
        _ => body,
    };
    if !unchanged(body) || !unchanged(answer) {
        return None;
    }
    let StepKind::Model(call) = &answer.kind else { return None };
    let AnswerFormat::Json(schema) = call.format else { return None };
    if flow.output.is_some() || flow.budget.is_some() {
        return None;
    }
    match program.schemas[schema].json.to_json() {
        Value::Object(schema) if matches!(schema.get("type"), Some(sort) if sort == "object") => Some(schema),
        _ => None,
    }
}

/// Whether a flow without declared input works on a text and nothing else.
fn takes_only_text(intake: &Intake, reads: &UndeclaredReads) -> bool {
    let is_query = matches!(intake.raw, Some((_, Some(_))));
    let wrap = if intake.closed { intake.wrap.as_deref() } else { None };
    (is_query || wrap.is_some()) && reads.members.iter().all(|name| Some(&**name) == wrap)
}

/// The input of a flow that only accepts a text.
fn text(arguments: Value) -> Result<Value, InputError> {
    let pass = format!("pass only `{TEXT}`, the text to work on");
    let Value::Object(mut arguments) = arguments else {
        return Err(InputError::new("the arguments must be an object").with_help(pass));
    };
    let given = arguments.remove(TEXT);
    if let Some(other) = arguments.keys().next() {
        let help = match suggestions::nearest_name(other, [TEXT]) {
            Some(near) if given.is_none() => format!("did you mean `{near}`?"),
            _ => pass,
        };
        return Err(InputError::new(format!("unknown input `{other}`")).with_help(help));
    }
    match given {
        Some(given @ Value::String(_)) => Ok(given),
        Some(other) => {
            let found = trefoil_template::Value::from_json(other);
            Err(InputError::new(format!("the input `{TEXT}` must be text, but it is {}", found.kind_description()))
                .with_help(pass))
        }
        None => Err(InputError::new(format!("the input `{TEXT}` is missing")).with_help(pass)),
    }
}

fn property(input: DeclaredInput) -> (String, Value) {
    let mut schema = input.schema.to_json();
    if let (Some(default), Value::Object(schema)) = (input.default, &mut schema) {
        schema.entry("default").or_insert_with(|| default.to_json());
    }
    (input.name, schema)
}
