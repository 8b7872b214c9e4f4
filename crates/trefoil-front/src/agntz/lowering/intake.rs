//! The input contract: properties, defaults, and what an undeclared input becomes.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{FlowInputField, Intake, ProgramSchema};
use trefoil_syntax::Location;
use trefoil_template::{Value, ValueObject};

use super::AgntzLowering;
use crate::agntz::binding::BoundAgent;
use crate::agntz::signature::{AgentInputs, InputProperty};

/// How a flow processes its input.
pub fn build_intake(lowering: &mut AgntzLowering<'_, '_>, bound: &BoundAgent<'_>) -> Intake {
    let names = &bound.names;
    let inputs = &names.inputs;
    let slot = names.input;
    let raw = match (names.query, names.raw) {
        (Some(slot), _) => Some((slot, Some(Arc::from("userQuery")))),
        (None, Some(slot)) => Some((slot, None)),
        (None, None) => None,
    };
    let declared = match &bound.agent.input {
        Some(schema) if schema.sound => schema,
        _ => return Intake { raw, ..Intake::for_any_input(slot) },
    };
    let mut fields = Vec::with_capacity(inputs.properties.len());
    for property in &inputs.properties {
        // If the root combines alternatives, filling in null for an optional property could change which one matches.
        if inputs.combined && !property.required && property.default.is_none() {
            continue;
        }
        let origin = Location::new(bound.at.file, property.span);
        fields.push(FlowInputField {
            name: property.name.clone(),
            usual: if property.with_lists.is_some() { Some((ValueType::OBJECT, origin)) } else { None },
            schema: accepted_schema(property).clone(),
            default: property.default.clone(),
            nullable: !property.required,
            optional: false,
            origin,
        });
    }
    let schema = ProgramSchema {
        name: format!("{}_input", bound.id).into(),
        json: whole(&declared.json, inputs),
        origin: Location::new(bound.at.file, declared.key),
    };
    let schema = lowering.builder.add_schema(schema);
    let closed = inputs.closed && !inputs.combined;
    Intake { fields, closed, schema: Some(schema), raw, ..Intake::for_any_input(slot) }
}

/// The schema of the whole input after defaults: the declared one, with null allowed for properties that may be
/// omitted.
fn whole(declared: &Value, inputs: &AgentInputs) -> Value {
    let (Some(object), false) = (declared.as_object(), inputs.properties.is_empty()) else { return declared.clone() };
    let mut object = object.clone();
    let mut properties = ValueObject::default();
    for property in &inputs.properties {
        properties.insert(property.name.clone(), accepted_schema(property).clone());
    }
    object.insert("properties".into(), Value::Object(properties.into()));
    Value::Object(object.into())
}

/// The schema of what a caller may pass for a property.
fn accepted_schema(property: &InputProperty) -> &Value {
    property.with_lists.as_ref().unwrap_or(&property.json)
}
