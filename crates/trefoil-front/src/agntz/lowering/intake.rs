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
    let query = names.query.map(|slot| (slot, Some(Arc::from("userQuery"))));
    let raw = query.or(names.raw.map(|slot| (slot, None)));
    let Some(declared) = bound.agent.input.as_ref().filter(|s| s.sound) else {
        return Intake { raw, ..Intake::for_any_input(slot) };
    };
    // If the root combines alternatives, filling in null for an optional property could change which one matches.
    let listed = inputs.properties.iter().filter(|p| !inputs.combined || p.required || p.default.is_some());
    let fields = listed
        .map(|p| {
            let origin = Location::new(bound.at.file, p.span);
            let loose = p.with_lists.clone();
            FlowInputField {
                name: p.name.clone(),
                usual: loose.is_some().then_some((ValueType::OBJECT, origin)),
                schema: loose.unwrap_or_else(|| p.json.clone()),
                default: p.default.clone(),
                nullable: !p.required,
                optional: false,
                origin,
            }
        })
        .collect();
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
    let schema = |p: &InputProperty| p.with_lists.clone().unwrap_or_else(|| p.json.clone());
    let properties: ValueObject = inputs.properties.iter().map(|p| (p.name.clone(), schema(p))).collect();
    object.insert("properties".into(), Value::Object(properties.into()));
    Value::Object(object.into())
}
