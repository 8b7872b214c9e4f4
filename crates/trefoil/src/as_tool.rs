//! A flow as whoever may call it as a tool sees it: a name, what it is for, and a schema of what it takes.

use serde_json::{Map, Value, json};

use crate::flow::Flow;
use crate::plan::Input;

/// The argument of a flow that takes a text.
const TEXT: &str = "input";

/// A flow as a tool.
#[derive(Debug, Clone)]
pub struct AsTool {
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub parameters: Map<String, Value>,
    /// Its argument [`TEXT`] is its whole input.
    takes_text: bool,
}

impl AsTool {
    /// Of a flow.
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
        let intake = program.flow(program.entry).map(|entry| &entry.intake);
        if takes_text || intake.is_some_and(|intake| intake.closed && intake.tolerated.is_empty()) {
            parameters.insert("additionalProperties".to_owned(), false.into());
        }
        if !required.is_empty() {
            parameters.insert("required".to_owned(), Value::Array(required));
        }
        let said = flow.description().map(str::to_owned);
        let description = said.unwrap_or_else(|| format!("Runs the {} `{}`.", plan.sort, flow.name()));
        Self { description, parameters, takes_text }
    }

    /// The input of a run from the arguments of a call.
    pub fn input(&self, arguments: Value) -> Value {
        let Value::Object(mut arguments) = arguments else { return arguments };
        match self.takes_text {
            true => arguments.remove(TEXT).unwrap_or_default(),
            false if arguments.is_empty() => Value::Null,
            false => Value::Object(arguments),
        }
    }
}

fn property(input: Input) -> (String, Value) {
    let mut schema = input.schema.to_json();
    if let (Some(default), Value::Object(schema)) = (input.default, &mut schema) {
        schema.entry("default").or_insert_with(|| default.to_json());
    }
    (input.name, schema)
}
