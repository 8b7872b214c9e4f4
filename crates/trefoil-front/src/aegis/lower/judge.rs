//! Judges: agents that are shown an answer and return a verdict.

use std::sync::Arc;

use trefoil_ir::{Expr, FlowId, Judge};
use trefoil_syntax::yaml::Text;

use super::Lowering;
use super::pieces::{constant, object, result};
use crate::Reader;
use crate::aegis::manifest;
use crate::aegis::manifest::schema::JsonSchema;
use crate::read::to_value;

/// What a judge goes by.
pub(super) struct Case {
    /// What the judged agent was asked.
    pub task: Expr,
    /// The criteria, where there are some.
    pub criteria: Option<Arc<str>>,
    /// `semantic`: the whole record as an object, whatever the judge declares.
    pub record: bool,
}

/// A judge of the answer at hand.
pub(super) fn judge(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    name: &Text,
    case: &Case,
    weight: f64,
    timeout_ms: Option<u64>,
) -> Judge {
    let (flow, input) = call(lowering, reader, name, case, &Expr::AsText(Box::new(result())));
    Judge { name: name.value.clone(), flow, input, weight, timeout_ms }
}

/// The judge's flow and its input. A judge with an input schema gets an object of what it declares; one without gets the
/// answer as it is, and the criteria as its intent.
pub(super) fn call(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    name: &Text,
    case: &Case,
    output: &Expr,
) -> (FlowId, Expr) {
    let schema = declared_schema(lowering, &name.value);
    let criteria = || case.criteria.clone().map_or_else(|| constant(""), constant);
    let context = if case.record { constant("semantic_judge") } else { constant(name.value.clone()) };
    if let Some(schema) = schema {
        let mut entries: Vec<(Arc<str>, Expr)> = Vec::new();
        for (property, _) in schema.properties() {
            let value = match &**property {
                "output" | "generated_manifest" | "generated_workflow" => output.clone(),
                "task" | "user_objective" if case.record || case.criteria.is_none() => case.task.clone(),
                "task" | "user_objective" | "criteria" => criteria(),
                "validation_context" => context.clone(),
                other if schema.requires(other) => Expr::Const(trefoil_template::Value::Null),
                _ => continue,
            };
            entries.push((property.clone(), value));
        }
        return (lowering.agent(reader, name, false), Expr::Object(entries));
    }
    if case.record {
        let input = object([
            ("task", case.task.clone()),
            ("output", output.clone()),
            ("criteria", criteria()),
            ("validation_context", context),
        ]);
        return (lowering.agent(reader, name, false), input);
    }
    match &case.criteria {
        Some(criteria) if lowering.declares_agent(&name.value) => {
            let input = object([("input", output.clone()), ("intent", constant(criteria.clone()))]);
            (lowering.agent(reader, name, true), input)
        }
        _ => (lowering.agent(reader, name, false), output.clone()),
    }
}

fn declared_schema(lowering: &Lowering<'_>, name: &str) -> Option<JsonSchema> {
    let document = *lowering.directory.agents(name).first()?;
    let node = manifest::input_schema(&lowering.project.documents.get(document)?.root)?;
    let schema = JsonSchema { json: to_value(node), node: node.clone() };
    schema.of_objects().then_some(schema)
}
