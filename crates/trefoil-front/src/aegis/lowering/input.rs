//! `input_schema`: how a flow processes its input.

use std::sync::Arc;

use trefoil_ir::{FlowInputField, Intake, ProgramSchema, SlotId};
use trefoil_syntax::{FileId, Location};
use trefoil_template::Value;

use super::AegisLowering;
use super::expressions::constant_object;
use crate::aegis::manifest::schema::JsonSchema;

/// The intake of a flow: each property, and a check of the whole input against the schema.
pub fn build_intake(
    lowering: &mut AegisLowering<'_>,
    file: FileId,
    name: &str,
    schema: Option<&JsonSchema>,
    slot: SlotId,
    tolerated: &'static [&'static str],
) -> Intake {
    let mut intake = Intake::for_any_input(slot);
    let Some(schema) = schema else { return intake };
    let origin = Location::new(file, schema.node.span);
    intake.schema = Some(lowering.builder.add_schema(ProgramSchema {
        name: format!("{name}_input").into(),
        json: schema.json.clone(),
        origin,
    }));
    if schema.of_objects() {
        for (property, declared) in schema.declared_properties() {
            intake.fields.push(FlowInputField {
                name: property.clone(),
                schema: declared.clone(),
                default: declared.get("default").cloned(),
                usual: None,
                nullable: false,
                optional: !schema.requires_property(property),
                origin: Location::new(file, schema.property_at(property)),
            });
        }
    }
    // Only a person's input must be declared; a state without an input template passes on everything.
    if lowering.is_entry() && schema.lists_all() {
        intake.closed = true;
        intake.tolerated = tolerated;
    }
    intake
}

/// The schema of `{input, intent}` around an input's schema. References in the input's schema still resolve within it.
pub fn envelope_schema(schema: &JsonSchema) -> Value {
    let inner = match &schema.json {
        Value::Object(o) if !o.contains_key("$id") => {
            let id = (Arc::from("$id"), Value::from("urn:trefoil:input"));
            constant_object(std::iter::once(id).chain(o.iter().map(|(k, v)| (k.clone(), v.clone()))))
        }
        other => other.clone(),
    };
    let properties = constant_object([(Arc::from("input"), inner)]);
    constant_object([(Arc::from("type"), Value::from("object")), (Arc::from("properties"), properties)])
}
