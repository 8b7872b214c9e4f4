//! Judges: agents that receive an answer and return a verdict.

use std::sync::Arc;

use trefoil_ir::{FlowId, Judge, ValueExpression};
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{FileId, Location};

use super::AegisLowering;
use super::expressions::{constant_text, current_result, object_expression};
use crate::aegis::manifest::AegisUnitKind;

/// The data that a judge receives.
pub struct JudgeInput {
    /// The task of the judged agent.
    pub task: ValueExpression,
    /// The criteria, if there are any.
    pub criteria: Option<Arc<str>>,
    /// `semantic`: pass the whole record as an object, whatever the judge declares.
    pub record: bool,
}

/// A judge of the current answer.
pub fn lower_judge(
    lowering: &mut AegisLowering<'_>,
    file: FileId,
    name: &YamlText,
    case: &JudgeInput,
    weight: f64,
    (timeout_ms, timeout_at): (u64, Option<Location>),
) -> Judge {
    let (flow, input) = judge_call(lowering, file, name, case, &ValueExpression::AsText(Box::new(current_result())));
    Judge { name: name.value.clone(), flow, input, weight, timeout_ms: Some(timeout_ms), timeout_at }
}

/// The judge's flow and its input. A judge with an input schema gets an object with the declared properties; one
/// without gets the answer unchanged, with the criteria as its intent.
pub fn judge_call(
    lowering: &mut AegisLowering<'_>,
    file: FileId,
    name: &YamlText,
    case: &JudgeInput,
    output: &ValueExpression,
) -> (FlowId, ValueExpression) {
    let schema = lowering.directory.takes_object(AegisUnitKind::Agent, &name.value);
    let criteria = || case.criteria.clone().map_or_else(|| constant_text(""), constant_text);
    let context = if case.record { constant_text("semantic_judge") } else { constant_text(name.value.clone()) };
    if let Some((_, schema)) = schema {
        let mut entries: Vec<(Arc<str>, ValueExpression)> = Vec::new();
        for (property, _) in schema.declared_properties() {
            let value = match &**property {
                "output" | "generated_manifest" | "generated_workflow" => output.clone(),
                "task" | "user_objective" if case.record || case.criteria.is_none() => case.task.clone(),
                "task" | "user_objective" | "criteria" => criteria(),
                "validation_context" => context.clone(),
                other if schema.requires_property(other) => ValueExpression::Const(trefoil_template::Value::Null),
                _ => continue,
            };
            entries.push((property.clone(), value));
        }
        return (lowering.agent_flow(file, name, false), ValueExpression::Object(entries));
    }
    if case.record {
        let input = object_expression([
            ("task", case.task.clone()),
            ("output", output.clone()),
            ("criteria", criteria()),
            ("validation_context", context),
        ]);
        return (lowering.agent_flow(file, name, false), input);
    }
    match &case.criteria {
        Some(criteria) if lowering.declares_agent(&name.value) => {
            let input = object_expression([("input", output.clone()), ("intent", constant_text(criteria.clone()))]);
            (lowering.agent_flow(file, name, true), input)
        }
        _ => (lowering.agent_flow(file, name, false), output.clone()),
    }
}
