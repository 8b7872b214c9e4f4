//! `metadata.output_template`: what a workflow answers. Without one: what its last state answered.

use std::sync::Arc;

use trefoil_ir::{Expr, JsonType, Position, SlotId, Source};
use trefoil_syntax::yaml::{Kind, Node, Scalar};
use trefoil_template::Value;

use super::names::{Place, Scene};
use super::pieces::{path, text};
use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::workflow::Workflow;
use crate::read::to_value;

/// The workflow's output; `result` is the slot of the last state's result.
pub(super) fn lower(scene: &Scene<'_, '_>, workflow: &Workflow, result: SlotId) -> Expr {
    let Some(node) = &workflow.output_template else {
        return Expr::Read(Source::Member(result, path(["output"])));
    };
    let Some(mapping) = node.mapping() else {
        scene.reader.wrong_type(node, "output_template", "a mapping");
        return Expr::Const(Value::Null);
    };
    let entries = mapping.entries.iter().map(|entry| {
        let value = expression(scene, &entry.value);
        let value = match coercion(workflow.output_schema.as_ref(), &entry.key.value) {
            Some(to) if entry.value.string().is_some() => Expr::Coerce(Box::new(value), to),
            _ => value,
        };
        (entry.key.value.clone(), value)
    });
    Expr::Object(entries.collect())
}

/// Templates at the leaves, the rest as it is written.
fn expression(scene: &Scene<'_, '_>, node: &Node) -> Expr {
    match &*node.kind {
        Kind::Scalar(Scalar::Str, source) => {
            text(scene.reader, source, &mut scene.here(Place::End, Position::Data)).unwrap_or(Expr::Const(Value::Null))
        }
        Kind::Scalar(..) => Expr::Const(to_value(node)),
        Kind::Sequence(items) => Expr::List(items.iter().map(|item| expression(scene, item)).collect()),
        Kind::Mapping(m) => {
            let entries = m.entries.iter().map(|e| (Arc::clone(&e.key.value), expression(scene, &e.value)));
            Expr::Object(entries.collect())
        }
    }
}

/// The type that `output_schema` gives a key, when it is not text anyway.
fn coercion(schema: Option<&JsonSchema>, key: &str) -> Option<JsonType> {
    let declared = schema?.json.get("properties")?.get(key)?.get("type")?;
    match declared.as_str()? {
        "integer" => Some(JsonType::Integer),
        "number" => Some(JsonType::Number),
        "boolean" => Some(JsonType::Boolean),
        "object" | "array" => Some(JsonType::Json),
        _ => None,
    }
}
