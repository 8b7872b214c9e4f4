//! What a step contains, calls and evaluates: every expression of a step, every source of an expression.

use std::sync::Arc;

use trefoil_syntax::{Location, Span};
use trefoil_template::{HoleKind, MaskedPiece, Reference, Value};

use crate::effect::ToolKind;
use crate::expr::{BoundCondition, BoundTemplate, Source, ValueExpression};
use crate::flow::FlowDefinition;
use crate::ids::{FlowId, StepId};
use crate::policy::OnStepFailure;
use crate::step::{Step, StepKind};

/// The steps directly inside a step, not those of the flows it calls.
pub fn children_of(step: &Step) -> Vec<StepId> {
    match &step.kind {
        StepKind::Sequence(steps) => steps.clone(),
        StepKind::Parallel(parallel) => parallel.branches.clone(),
        StepKind::Branch { arms, otherwise } => {
            let mut steps: Vec<StepId> = arms.iter().map(|arm| arm.step).collect();
            steps.extend(*otherwise);
            steps
        }
        StepKind::Loop(it) => vec![it.body],
        StepKind::Graph(graph) => graph.nodes.iter().map(|n| n.step).collect(),
        StepKind::StateMachine(machine) => machine.states.iter().map(|s| s.step).collect(),
        StepKind::Attempts(attempts) => vec![attempts.body],
        StepKind::Conversation(conversation) => {
            let mut steps = vec![conversation.turn];
            steps.extend(conversation.offers.iter().map(|offer| offer.step));
            steps.extend(conversation.gate);
            steps
        }
        StepKind::Model(_)
        | StepKind::Tool(_)
        | StepKind::Command(_)
        | StepKind::Human(_)
        | StepKind::Wait { .. }
        | StepKind::Compute(_)
        | StepKind::ForEach(_)
        | StepKind::Call(_)
        | StepKind::Refused(_) => Vec::new(),
    }
}

/// The flows that a step calls directly: callees, fan-out bodies, judges.
pub fn callees_of(step: &Step) -> Vec<FlowId> {
    match &step.kind {
        StepKind::ForEach(each) => vec![each.body],
        StepKind::Call(call) => call.callee.possible_flows(),
        StepKind::Attempts(attempts) => attempts.all_judges().map(|judge| judge.flow).collect(),
        _ => Vec::new(),
    }
}

/// Something that a step evaluates.
#[derive(Debug, Clone, Copy)]
pub enum EvaluatedPart<'p> {
    /// An expression.
    Expr(&'p ValueExpression),
    /// A condition.
    Cond(&'p BoundCondition),
    /// A template outside an expression (feedback, the name of a callee).
    Text(&'p BoundTemplate),
    /// A source outside an expression (captures).
    Source(&'p Source),
}

/// What a step itself evaluates, in order, without the steps inside it.
pub fn evaluated_by_step(step: &Step) -> Vec<EvaluatedPart<'_>> {
    let mut all: Vec<EvaluatedPart<'_>> = Vec::new();
    if let Some(when) = &step.when {
        all.push(EvaluatedPart::Cond(when));
    }
    for (_, evaluated) in step.kind.list_reads() {
        all.push(evaluated);
    }
    if let Some(shape) = &step.shape {
        all.push(EvaluatedPart::Expr(shape));
    }
    if let OnStepFailure::Use(value) = &step.policy.on_failure {
        all.push(EvaluatedPart::Expr(value));
    }
    all
}

/// What a flow evaluates outside its steps, in order.
pub fn evaluated_by_flow(flow: &FlowDefinition) -> Vec<EvaluatedPart<'_>> {
    let mut all = Vec::new();
    for (_, value) in &flow.init {
        all.push(EvaluatedPart::Expr(value));
    }
    if let Some(output) = &flow.output {
        all.push(EvaluatedPart::Expr(output));
    }
    all
}

impl<'p> EvaluatedPart<'p> {
    /// Every source that it can read. The sources inside a [`Source::Either`] come after it.
    pub fn visit_sources(self, visit: &mut dyn FnMut(&'p Source)) {
        let mut each = |source: &'p Source| {
            let mut stack = vec![source];
            while let Some(source) = stack.pop() {
                visit(source);
                if let Source::Either(first, second) = source {
                    stack.extend([&**second, &**first]);
                }
            }
        };
        match self {
            Self::Expr(expr) => visit_sources(expr, &mut each),
            Self::Cond(cond) => cond.sources.iter().for_each(each),
            Self::Text(text) => text.sources.iter().for_each(each),
            Self::Source(source) => each(source),
        }
    }
}

/// The holes of a step, with their places.
pub fn holes_of(step: &Step) -> Vec<(HoleKind, Arc<str>, Location)> {
    let mut found = Vec::new();
    for evaluated in evaluated_by_step(step) {
        found.extend(evaluated.find_holes());
    }
    if let StepKind::Tool(call) = &step.kind
        && let ToolKind::Mcp { headers, .. } = &call.kind
    {
        for (_, text) in headers {
            let Value::Masked(masked) = text else { continue };
            for piece in masked.pieces.iter() {
                if let MaskedPiece::Hole(hole) = piece {
                    found.push((hole.kind, hole.name.clone(), step.origin));
                }
            }
        }
    }
    found
}

impl EvaluatedPart<'_> {
    /// The environment variables and secrets that it names, with their places.
    pub fn find_holes(self) -> Vec<(HoleKind, Arc<str>, Location)> {
        let mut found = Vec::new();
        let mut look = |references: &[Reference], sources: &[Source], origin: Location, spans: &[Span]| {
            for (n, reference) in references.iter().enumerate() {
                let Some(source) = sources.get(reference.binding.source as usize) else { continue };
                let Some(segment) = reference.path.get(usize::from(reference.binding.skip)) else { continue };
                let name = Arc::<str>::from(&*segment.name);
                let at = match spans.get(n) {
                    Some(span) => Location::new(origin.file, *span),
                    None => origin,
                };
                source.visit_alternatives(&mut |source| match source {
                    Source::Environment => found.push((HoleKind::Env, name.clone(), at)),
                    Source::Secrets => found.push((HoleKind::Secret, name.clone(), at)),
                    _ => {}
                });
            }
        };
        match self {
            Self::Expr(expr) => {
                visit_templates(expr, &mut |t| look(t.template.references(), &t.sources, t.origin, &t.spans));
            }
            Self::Text(text) => look(text.template.references(), &text.sources, text.origin, &text.spans),
            Self::Cond(cond) => look(cond.condition.references(), &cond.sources, cond.origin, &cond.spans),
            Self::Source(_) => {}
        }
        found
    }
}

/// An expression and all expressions in it, outermost first.
pub fn visit_expressions<'p>(expr: &'p ValueExpression, visit: &mut dyn FnMut(&'p ValueExpression)) {
    visit(expr);
    match expr {
        ValueExpression::Const(_)
        | ValueExpression::Template(_)
        | ValueExpression::Typed(_)
        | ValueExpression::Read(_) => {}
        ValueExpression::Object(members) => members.iter().for_each(|(_, e)| visit_expressions(e, visit)),
        ValueExpression::List(all) | ValueExpression::Concat(all) | ValueExpression::Merge(all) => {
            all.iter().for_each(|e| visit_expressions(e, visit))
        }
        ValueExpression::Join { otherwise, .. } => visit_expressions(otherwise, visit),
        ValueExpression::Lines(inner)
        | ValueExpression::AsText(inner)
        | ValueExpression::AsMessage(inner)
        | ValueExpression::Structured(inner)
        | ValueExpression::Verdict(inner)
        | ValueExpression::Coerce(inner, _) => visit_expressions(inner, visit),
        ValueExpression::If { then, otherwise, .. } => {
            visit_expressions(then, visit);
            visit_expressions(otherwise, visit);
        }
        ValueExpression::Consensus { verdicts, .. } => verdicts.iter().for_each(|b| visit_expressions(&b.value, visit)),
    }
}

/// Every template in an expression.
pub fn visit_templates<'p>(expr: &'p ValueExpression, visit: &mut dyn FnMut(&'p BoundTemplate)) {
    visit_expressions(expr, &mut |e| {
        if let ValueExpression::Template(text) | ValueExpression::Typed(text) = e {
            visit(text);
        }
    });
}

/// Every source that an expression can read, including those of its templates.
pub fn visit_sources<'p>(expr: &'p ValueExpression, visit: &mut dyn FnMut(&'p Source)) {
    visit_expressions(expr, &mut |e| match e {
        ValueExpression::Template(text) | ValueExpression::Typed(text) => text.sources.iter().for_each(&mut *visit),
        ValueExpression::Read(source) | ValueExpression::If { source, .. } => visit(source),
        ValueExpression::Join { parts, .. } => parts.iter().for_each(&mut *visit),
        _ => {}
    });
}
