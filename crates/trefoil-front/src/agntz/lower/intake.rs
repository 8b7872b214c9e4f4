//! The input contract: properties, defaults, and what an undeclared input becomes.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{InputField, Intake, Schema};
use trefoil_syntax::Location;
use trefoil_template::{Object, Value};

use super::Lowering;
use crate::agntz::bind::BoundAgent;
use crate::agntz::signature::{Inputs, Property};

/// How a flow processes its input.
pub fn intake(lowering: &mut Lowering<'_, '_>, bound: &BoundAgent<'_>) -> Intake {
    let names = &bound.names;
    let inputs = &names.inputs;
    let slot = names.input;
    let query = names.query.map(|slot| (slot, Some(Arc::from("userQuery"))));
    let raw = query.or(names.raw.map(|slot| (slot, None)));
    let Some(declared) = bound.agent.input.as_ref().filter(|s| s.sound) else {
        return Intake { raw, ..Intake::plain(slot) };
    };
    // If the root combines alternatives, filling in null for an optional property could change which one matches.
    let listed = inputs.properties.iter().filter(|p| !inputs.combined || p.required || p.default.is_some());
    let fields = listed
        .map(|p| {
            let origin = Location::new(bound.at.file, p.span);
            let loose = p.with_lists.clone();
            InputField {
                name: p.name.clone(),
                usual: loose.is_some().then_some((Type::OBJECT, origin)),
                schema: loose.unwrap_or_else(|| p.json.clone()),
                default: p.default.clone(),
                nullable: !p.required,
                optional: false,
                origin,
            }
        })
        .collect();
    let schema = Schema {
        name: format!("{}_input", bound.id).into(),
        json: whole(&declared.json, inputs),
        origin: Location::new(bound.at.file, declared.key),
    };
    let schema = lowering.builder.schema(schema);
    let closed = inputs.closed && !inputs.combined;
    Intake { fields, closed, schema: Some(schema), raw, ..Intake::plain(slot) }
}

/// The schema of the whole input after defaults: the declared one, with null allowed for properties that may be
/// omitted.
fn whole(declared: &Value, inputs: &Inputs) -> Value {
    let (Some(object), false) = (declared.as_object(), inputs.properties.is_empty()) else { return declared.clone() };
    let mut object = object.clone();
    let schema = |p: &Property| p.with_lists.clone().unwrap_or_else(|| p.json.clone());
    let properties: Object = inputs.properties.iter().map(|p| (p.name.clone(), schema(p))).collect();
    object.insert("properties".into(), Value::Object(properties.into()));
    Value::Object(object.into())
}
