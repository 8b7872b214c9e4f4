//! `metadata.output_template`: the output of a workflow. The default is the result of its last state.

use std::sync::Arc;

use trefoil_ir::{Expr, JsonType, Source};
use trefoil_syntax::yaml::{Kind, Node, Scalar};
use trefoil_template::Value;

use super::scene::Scene;
use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::workflow::Workflow;
use crate::aegis::names::{Moment, path};
use crate::build;
use crate::read::to_value;

/// The workflow's output.
pub fn lower(scene: &Scene<'_>, workflow: &Workflow) -> Expr {
    let Some(node) = &workflow.output_template else {
        return Expr::Read(Source::Member(scene.names.fixed.result, path(&["output"])));
    };
    let Some(mapping) = node.mapping() else { return Expr::Const(Value::Null) };
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

/// Strings are templates; other values are literal.
fn expression(scene: &Scene<'_>, node: &Node) -> Expr {
    match &*node.kind {
        Kind::Scalar(Scalar::Str, source) => {
            scene.texts.text(Moment::End, source).map_or(Expr::Const(Value::Null), build::as_text)
        }
        Kind::Scalar(..) => Expr::Const(to_value(node)),
        Kind::Sequence(items) => Expr::List(items.iter().map(|item| expression(scene, item)).collect()),
        Kind::Mapping(m) => {
            let entries = m.entries.iter().map(|e| (Arc::clone(&e.key.value), expression(scene, &e.value)));
            Expr::Object(entries.collect())
        }
    }
}

/// The type that `output_schema` declares for a key, unless it is text.
fn coercion(schema: Option<&JsonSchema>, key: &str) -> Option<JsonType> {
    let declared = schema?.json.get("properties")?.get(key)?.get("type")?;
    match declared.as_str()? {
        "integer" => Some(JsonType::Integer),
        "number" => Some(JsonType::Number),
        "boolean" => Some(JsonType::Boolean),
        "object" => Some(JsonType::Object),
        "array" => Some(JsonType::List),
        _ => None,
    }
}
