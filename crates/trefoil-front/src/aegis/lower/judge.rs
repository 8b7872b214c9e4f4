//! Judges: agents that receive an answer and return a verdict.

use std::sync::Arc;

use trefoil_ir::{Expr, FlowId, Judge};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{FileId, Location};

use super::Lowering;
use super::pieces::{constant, object, result};
use crate::aegis::manifest::Unit;

/// The data that a judge receives.
pub struct Case {
    /// The task of the judged agent.
    pub task: Expr,
    /// The criteria, if there are any.
    pub criteria: Option<Arc<str>>,
    /// `semantic`: pass the whole record as an object, whatever the judge declares.
    pub record: bool,
}

/// A judge of the current answer.
pub fn judge(
    lowering: &mut Lowering<'_>,
    file: FileId,
    name: &Text,
    case: &Case,
    weight: f64,
    (timeout_ms, timeout_at): (u64, Option<Location>),
) -> Judge {
    let (flow, input) = call(lowering, file, name, case, &Expr::AsText(Box::new(result())));
    Judge { name: name.value.clone(), flow, input, weight, timeout_ms: Some(timeout_ms), timeout_at }
}

/// The judge's flow and its input. A judge with an input schema gets an object with the declared properties; one
/// without gets the answer unchanged, with the criteria as its intent.
pub fn call(lowering: &mut Lowering<'_>, file: FileId, name: &Text, case: &Case, output: &Expr) -> (FlowId, Expr) {
    let schema = lowering.directory.takes_object(Unit::Agent, &name.value);
    let criteria = || case.criteria.clone().map_or_else(|| constant(""), constant);
    let context = if case.record { constant("semantic_judge") } else { constant(name.value.clone()) };
    if let Some((_, schema)) = schema {
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
        return (lowering.agent(file, name, false), Expr::Object(entries));
    }
    if case.record {
        let input = object([
            ("task", case.task.clone()),
            ("output", output.clone()),
            ("criteria", criteria()),
            ("validation_context", context),
        ]);
        return (lowering.agent(file, name, false), input);
    }
    match &case.criteria {
        Some(criteria) if lowering.declares_agent(&name.value) => {
            let input = object([("input", output.clone()), ("intent", constant(criteria.clone()))]);
            (lowering.agent(file, name, true), input)
        }
        _ => (lowering.agent(file, name, false), output.clone()),
    }
}
