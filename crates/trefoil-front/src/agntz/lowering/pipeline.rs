//! `kind: sequential` and `kind: parallel`: one slot for each state key, steps in order.

use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::{
    FlowCallee, FlowExport, OnItemFailure, ParallelSteps, Source, Step, StepId, StepKind, StepLoop, StepPolicy,
    SubflowCall, ValueExpression,
};
use trefoil_syntax::Location;
use trefoil_syntax::yaml::YamlText;

use super::body::AgntzFlowBody;
use super::{AgntzLowering, output, text, tool};
use crate::agntz::binding::{self, BoundAgent};
use crate::agntz::manifest::PipelineManifest;
use crate::agntz::names::{AgntzAgentNames, PipelinePosition};
use crate::program_builder::plain_step;

/// Lowers a sequential agent.
pub fn lower_sequential(
    lowering: &mut AgntzLowering<'_, '_>,
    bound: &BoundAgent<'_>,
    pipeline: &PipelineManifest<'_>,
) -> AgntzFlowBody {
    let steps = steps(lowering, bound, pipeline);
    let mut body = lowering.builder.add_step(plain_step(StepKind::Sequence(steps), bound.origin));
    if let Some(until) = pipeline.until
        && let Some(until) = text::bound_condition(bound, until, PipelinePosition::End)
    {
        let kind = StepKind::Loop(Box::new(StepLoop { body, until, max: pipeline.max_iterations }));
        body = lowering.builder.add_step(plain_step(kind, bound.origin));
    }
    let last = bound.names.steps.last().map(|s| ValueExpression::Read(Source::Slot(s.slot)));
    finish(bound, pipeline, body, last)
}

/// Lowers a parallel agent.
pub fn lower_parallel(
    lowering: &mut AgntzLowering<'_, '_>,
    bound: &BoundAgent<'_>,
    pipeline: &PipelineManifest<'_>,
) -> AgntzFlowBody {
    let branches = steps(lowering, bound, pipeline);
    let kind = StepKind::Parallel(ParallelSteps { branches, concurrency: None, on_failure: OnItemFailure::Abort });
    let body = lowering.builder.add_step(plain_step(kind, bound.origin));
    let all = bound.names.steps.iter().map(|s| (s.key.clone(), ValueExpression::Read(Source::Slot(s.slot))));
    finish(bound, pipeline, body, Some(ValueExpression::Object(all.collect())))
}

fn finish(
    bound: &BoundAgent<'_>,
    pipeline: &PipelineManifest<'_>,
    step: StepId,
    otherwise: Option<ValueExpression>,
) -> AgntzFlowBody {
    let mut body = AgntzFlowBody::from_step(Some(step));
    body.output = match &pipeline.output {
        Some(map) => Some(output::output_expression(bound, map)),
        None => otherwise,
    };
    let names = &bound.names;
    for (i, step) in names.steps.iter().enumerate() {
        if names.steps_named(&step.key).last() != Some(&i) {
            continue; // a later step takes the key over
        }
        for key in std::iter::once(&step.key).chain(&step.alias) {
            body.exports.push(FlowExport {
                key: key.clone(),
                slot: step.slot,
                member: Vec::new(),
                inner: step.exports,
            });
        }
    }
    body
}

fn steps(lowering: &mut AgntzLowering<'_, '_>, bound: &BoundAgent<'_>, pipeline: &PipelineManifest<'_>) -> Vec<StepId> {
    for callee in &bound.callees {
        match callee {
            binding::AgntzCallee::Document(document) => lowering.document(*document),
            binding::AgntzCallee::Inline(inner) => lowering.lower_agent(inner),
            binding::AgntzCallee::Nobody => {}
        }
    }
    let labels = labels(&bound.names);
    let mut built = Vec::with_capacity(pipeline.steps.len());
    for (index, ((step, name), label)) in pipeline.steps.iter().zip(&bound.names.steps).zip(labels).enumerate() {
        let (at, origin) = (PipelinePosition::Step(index), Location::new(bound.at.file, step.span));
        let when = match step.when {
            Some(condition) => text::bound_condition(bound, condition, at),
            None => None,
        };
        let typed = |value: &YamlText| text::typed_expression(bound, value, at);
        let input = step.input.as_ref().map(|map| tool::object_expression(map, &typed));
        let flow = match &name.callee {
            Some(callee) => callee.flow,
            // The step itself can be checked even if the agent that it calls does not exist.
            None => {
                let nobody = lowering.builder.stand_in("agent", origin);
                lowering.builder.add_flow(nobody)
            }
        };
        let span = if name.id == label { None } else { Some(name.id.clone()) };
        let call = SubflowCall { callee: FlowCallee::Flow(flow), input, exports: name.exports, span };
        built.push(lowering.builder.add_step(Step {
            kind: StepKind::Call(Box::new(call)),
            label: Some(label),
            origin,
            when,
            out: Some(name.slot),
            shape: None,
            policy: StepPolicy::default(),
        }));
    }
    built
}

/// The labels of the steps in keys: the agent's id; if that repeats, the state key, otherwise a number.
fn labels(scope: &AgntzAgentNames) -> Vec<Arc<str>> {
    let mut taken: HashSet<Arc<str>> = HashSet::default();
    let mut repeats: HashMap<Arc<str>, usize> = HashMap::default();
    let mut labels = Vec::with_capacity(scope.steps.len());
    for step in &scope.steps {
        if taken.insert(step.id.clone()) {
            labels.push(step.id.clone());
            continue;
        }
        if taken.insert(step.key.clone()) {
            labels.push(step.key.clone());
            continue;
        }
        let number = repeats.entry(step.id.clone()).or_insert(1);
        labels.push(loop {
            *number += 1;
            let label: Arc<str> = format!("{}-{number}", step.id).into();
            if taken.insert(label.clone()) {
                break label;
            }
        });
    }
    labels
}
