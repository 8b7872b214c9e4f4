//! `metadata.output_template`: what a workflow answers. Without one: what its last state answered.

use std::sync::Arc;

use trefoil_ir::{Expr, JsonType, Position, SlotId, Source};
use trefoil_syntax::yaml::{Kind, Mapping, Node, Scalar};
use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::Value;

use super::names::{Place, Scene};
use super::pieces::{path, text};
use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::workflow::Workflow;
use crate::read::{respelt, to_value};

/// The workflow's output; `result` is the slot of the last state's result.
pub(super) fn lower(scene: &Scene<'_, '_>, workflow: &Workflow, result: SlotId) -> Expr {
    let Some(node) = &workflow.output_template else {
        if let Some(schema) = &workflow.output_schema {
            let message =
                "`output_schema` has no effect: without `output_template` the output is what the last state answered";
            scene.reader.warning("no-effect", schema.node.span, message);
        }
        return Expr::Read(Source::Member(result, path(["output"])));
    };
    let Some(mapping) = node.mapping() else {
        scene.reader.wrong_type(node, "output_template", "a mapping");
        return Expr::Const(Value::Null);
    };
    if let Some(schema) = &workflow.output_schema {
        let meant = check_keys(scene, schema, mapping);
        for (property, _) in schema.properties().filter(|(p, _)| schema.requires(p)) {
            if mapping.get(property).is_none() && !meant.contains(property) {
                let message = format!("`output_template` gives no `{property}`, and `output_schema` requires it");
                let d = Diagnostic::warning("missing-key", scene.reader.at(node.span), message);
                let at = scene.reader.at(schema.property_at(property));
                scene.reader.report(d.label(at, "required here"));
            }
        }
    }
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

/// Keys that the schema does not have: where it is closed, or where one that it has is left out and was meant.
/// Those that were meant by others.
fn check_keys(scene: &Scene<'_, '_>, schema: &JsonSchema, template: &Mapping) -> Vec<Arc<str>> {
    let mut meant = Vec::new();
    let left_out = || schema.properties().map(|(p, _)| &**p).filter(|p| template.get(p).is_none());
    for entry in &template.entries {
        let key = &entry.key;
        if schema.properties().any(|(p, _)| *p == key.value) {
            continue;
        }
        let at = scene.reader.at(key.span);
        // An open one may have others as well.
        let near = suggest::near(&key.value, left_out()).filter(|n| n.sure || schema.closed());
        let message = format!("`output_schema` declares no `{}`", key.value);
        let d = Diagnostic::warning("unknown-property", at, message);
        match near {
            Some(near) => {
                meant.push(near.name.into());
                let d = d.help(format!("did you mean `{}`?", near.name));
                scene.reader.report(respelt(d, at, key, near));
            }
            None if schema.closed() => scene.reader.report(d),
            None => {}
        }
    }
    meant
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
