//! `metadata.output_template`: the output of a workflow. The default is the result of its last state.

use std::sync::Arc;

use trefoil_ir::{JsonType, Source, ValueExpression};
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar};
use trefoil_template::Value;

use super::lowering_context::LoweringContext;
use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::workflow::AegisWorkflowManifest;
use crate::aegis::names::{RenderMoment, name_path};
use crate::program_builder;
use crate::yaml_reader::to_value;

/// The workflow's output.
pub fn lower_output(scene: &LoweringContext<'_>, workflow: &AegisWorkflowManifest) -> ValueExpression {
    let Some(node) = &workflow.output_template else {
        return ValueExpression::Read(Source::Member(scene.names.fixed.result, name_path(&["output"])));
    };
    let Some(mapping) = node.as_mapping() else { return ValueExpression::Const(Value::Null) };
    let mut entries = Vec::with_capacity(mapping.entries.len());
    for entry in &mapping.entries {
        let value = expression(scene, &entry.value);
        let value = match coercion(workflow.output_schema.as_ref(), &entry.key.value) {
            Some(to) if entry.value.as_string().is_some() => ValueExpression::Coerce(Box::new(value), to),
            _ => value,
        };
        entries.push((entry.key.value.clone(), value));
    }
    ValueExpression::Object(entries)
}

/// Strings are templates; other values are literal.
fn expression(scene: &LoweringContext<'_>, node: &YamlNode) -> ValueExpression {
    match &*node.kind {
        YamlNodeKind::Scalar(YamlScalar::Str, source) => match scene.texts.template_text(RenderMoment::End, source) {
            Some(text) => program_builder::as_text(text),
            None => ValueExpression::Const(Value::Null),
        },
        YamlNodeKind::Scalar(..) => ValueExpression::Const(to_value(node)),
        YamlNodeKind::Sequence(items) => {
            ValueExpression::List(items.iter().map(|item| expression(scene, item)).collect())
        }
        YamlNodeKind::Mapping(mapping) => {
            let entries = mapping.entries.iter();
            let entries = entries.map(|entry| (Arc::clone(&entry.key.value), expression(scene, &entry.value)));
            ValueExpression::Object(entries.collect())
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
