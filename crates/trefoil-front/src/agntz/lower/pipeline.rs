//! `kind: sequential` and `kind: parallel`: one slot for each state key, steps in order.

use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::{
    Call, Callee, Export, Expr, Loop, OnItemFailure, Parallel, Source, Step, StepId, StepKind, StepPolicy,
};
use trefoil_syntax::Location;

use super::body::Body;
use super::{Lowering, output, text};
use crate::agntz::bind::{self, BoundAgent};
use crate::agntz::manifest::Pipeline;
use crate::agntz::names::{AgentNames, At, StepName};
use crate::build::plain;

/// Lowers a sequential agent.
pub fn sequential(lowering: &mut Lowering<'_, '_>, bound: &BoundAgent<'_>, pipeline: &Pipeline<'_>) -> Body {
    let steps = steps(lowering, bound, pipeline);
    let mut body = lowering.builder.step(plain(StepKind::Sequence(steps), bound.origin));
    if let Some(until) = pipeline.until.and_then(|until| text::condition(bound, until, At::End)) {
        let kind = StepKind::Loop(Box::new(Loop { body, until, max: pipeline.max_iterations }));
        body = lowering.builder.step(plain(kind, bound.origin));
    }
    let last = bound.names.steps.last().map(|s| Expr::Read(Source::Slot(s.slot)));
    finish(bound, pipeline, body, last)
}

/// Lowers a parallel agent.
pub fn parallel(lowering: &mut Lowering<'_, '_>, bound: &BoundAgent<'_>, pipeline: &Pipeline<'_>) -> Body {
    let branches = steps(lowering, bound, pipeline);
    let kind = StepKind::Parallel(Parallel { branches, concurrency: None, on_failure: OnItemFailure::Abort });
    let body = lowering.builder.step(plain(kind, bound.origin));
    let all = bound.names.steps.iter().map(|s| (s.key.clone(), Expr::Read(Source::Slot(s.slot))));
    finish(bound, pipeline, body, Some(Expr::Object(all.collect())))
}

fn finish(bound: &BoundAgent<'_>, pipeline: &Pipeline<'_>, step: StepId, otherwise: Option<Expr>) -> Body {
    let mut body = Body::of(Some(step));
    body.output = match &pipeline.output {
        Some(map) => Some(output::map(bound, map)),
        None => otherwise,
    };
    let names = &bound.names;
    for (i, step) in names.steps.iter().enumerate() {
        if names.named(&step.key).last() != Some(&i) {
            continue; // a later step takes the key over
        }
        for key in std::iter::once(&step.key).chain(&step.alias) {
            body.exports.push(Export { key: key.clone(), slot: step.slot, member: Vec::new(), inner: step.exports });
        }
    }
    body
}

fn steps(lowering: &mut Lowering<'_, '_>, bound: &BoundAgent<'_>, pipeline: &Pipeline<'_>) -> Vec<StepId> {
    for callee in &bound.callees {
        match callee {
            bind::Callee::Document(document) => lowering.document(*document),
            bind::Callee::Inline(inner) => lowering.agent(inner),
            bind::Callee::Nobody => {}
        }
    }
    let labels = labels(&bound.names);
    let named = pipeline.steps.iter().zip(&bound.names.steps).zip(labels).enumerate();
    let built = named.map(|(index, ((step, name), label))| {
        let (at, origin) = (At::Step(index), Location::new(bound.at.file, step.span));
        let when = step.when.and_then(|t| text::condition(bound, t, at));
        let input = step.input.as_ref().map(|map| {
            let members = map.iter().map(|(key, value)| (key.value.clone(), text::typed(bound, value, at)));
            Expr::Object(members.collect())
        });
        // The step itself can be checked even if the agent that it calls does not exist.
        let flow = name.callee.as_ref().map(|callee| callee.flow).unwrap_or_else(|| {
            let nobody = lowering.builder.stand_in("agent", origin);
            lowering.builder.flow(nobody)
        });
        let span = (name.id != label).then(|| name.id.clone());
        let call = Call { callee: Callee::Flow(flow), input, exports: name.exports, span };
        lowering.builder.step(Step {
            kind: StepKind::Call(Box::new(call)),
            label: Some(label),
            origin,
            when,
            out: Some(name.slot),
            shape: None,
            policy: StepPolicy::default(),
        })
    });
    built.collect()
}

/// The labels of the steps in keys: the agent's id; if that repeats, the state key, otherwise a number.
fn labels(scope: &AgentNames) -> Vec<Arc<str>> {
    let mut taken: HashSet<Arc<str>> = HashSet::default();
    let mut repeats: HashMap<Arc<str>, usize> = HashMap::default();
    let label = |step: &StepName| {
        if taken.insert(step.id.clone()) {
            return step.id.clone();
        }
        if taken.insert(step.key.clone()) {
            return step.key.clone();
        }
        let n = repeats.entry(step.id.clone()).or_insert(1);
        loop {
            *n += 1;
            let label: Arc<str> = format!("{}-{n}", step.id).into();
            if taken.insert(label.clone()) {
                return label;
            }
        }
    };
    scope.steps.iter().map(label).collect()
}
