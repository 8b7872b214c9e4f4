//! The description of a flow as a tool: name, purpose, and a schema of its arguments.

use serde_json::{Map, Value, json};
use trefoil_syntax::{Location, suggest};

use crate::flow::Flow;
use crate::input::InputError;
use crate::plan::Input;

/// The argument of a flow whose input is a text.
const TEXT: &str = "input";

/// A flow as a tool.
#[derive(Debug, Clone)]
pub struct AsTool {
    /// Its purpose.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub parameters: Map<String, Value>,
    /// Whether the argument [`TEXT`] is its whole input.
    takes_text: bool,
    /// The place of the flow.
    origin: Option<Location>,
}

impl AsTool {
    /// The description of a flow.
    pub fn of(flow: &Flow) -> Self {
        let plan = flow.plan();
        let takes_text = plan.inputs.is_empty() && plan.takes_text;
        let (properties, required) = match takes_text {
            true => (json!({ TEXT: { "type": "string", "description": "The text to work on" } }), vec![TEXT.into()]),
            false => {
                let required = plan.inputs.iter().filter(|input| input.required).map(|input| input.name.clone().into());
                let required = required.collect();
                (Value::Object(plan.inputs.into_iter().map(property).collect()), required)
            }
        };
        let mut parameters = Map::new();
        parameters.insert("type".to_owned(), "object".into());
        parameters.insert("properties".to_owned(), properties);
        let program = &flow.loaded().program;
        let entry = program.flow(program.entry);
        let intake = entry.map(|entry| &entry.intake);
        if takes_text || intake.is_some_and(|intake| intake.closed && intake.tolerated.is_empty()) {
            parameters.insert("additionalProperties".to_owned(), false.into());
        }
        if !required.is_empty() {
            parameters.insert("required".to_owned(), Value::Array(required));
        }
        let said = flow.description().map(str::to_owned);
        let description = said.unwrap_or_else(|| format!("Runs the {} `{}`.", plan.sort, flow.name()));
        Self { description, parameters, takes_text, origin: entry.map(|entry| entry.origin) }
    }

    /// The input of a run from the arguments of a call. Text arguments are checked here, because their schema belongs
    /// to the tool only. Declared inputs are checked by the run.
    pub fn input(&self, arguments: Value) -> Result<Value, InputError> {
        match arguments {
            arguments if self.takes_text => {
                text(arguments).map_err(|error| InputError { location: self.origin, ..error })
            }
            Value::Object(none) if none.is_empty() => Ok(Value::Null),
            arguments => Ok(arguments),
        }
    }
}

/// The input of a flow that only accepts a text.
fn text(arguments: Value) -> Result<Value, InputError> {
    let pass = format!("pass only `{TEXT}`, the text to work on");
    let Value::Object(mut arguments) = arguments else {
        return Err(InputError::new("the arguments must be an object").help(pass));
    };
    let given = arguments.remove(TEXT);
    if let Some(other) = arguments.keys().next() {
        let near = suggest::nearest(other, [TEXT]).filter(|_| given.is_none());
        let help = near.map_or(pass, |near| format!("did you mean `{near}`?"));
        return Err(InputError::new(format!("unknown input `{other}`")).help(help));
    }
    match given {
        Some(given @ Value::String(_)) => Ok(given),
        Some(other) => {
            let found = trefoil_template::Value::from_json(other);
            Err(InputError::new(format!("the input `{TEXT}` must be text, but it is {}", found.describe())).help(pass))
        }
        None => Err(InputError::new(format!("the input `{TEXT}` is missing")).help(pass)),
    }
}

fn property(input: Input) -> (String, Value) {
    let mut schema = input.schema.to_json();
    if let (Some(default), Value::Object(schema)) = (input.default, &mut schema) {
        schema.entry("default").or_insert_with(|| default.to_json());
    }
    (input.name, schema)
}
