//! What a step contains, calls and evaluates: every expression of a step, every source of an expression.

use std::sync::Arc;

use trefoil_syntax::{Location, Span};
use trefoil_template::{HoleKind, Piece, Reference, Value};

use crate::effect::ToolKind;
use crate::expr::{Cond, Expr, Source, Text};
use crate::flow::Flow;
use crate::ids::{FlowId, StepId};
use crate::policy::OnFailure;
use crate::step::{Step, StepKind};

/// The steps directly inside a step, not those of the flows it calls.
pub fn children(step: &Step) -> Vec<StepId> {
    match &step.kind {
        StepKind::Sequence(steps) => steps.clone(),
        StepKind::Parallel(parallel) => parallel.branches.clone(),
        StepKind::Branch { arms, otherwise } => arms.iter().map(|a| a.step).chain(*otherwise).collect(),
        StepKind::Loop(it) => vec![it.body],
        StepKind::Graph(graph) => graph.nodes.iter().map(|n| n.step).collect(),
        StepKind::StateMachine(machine) => machine.states.iter().map(|s| s.step).collect(),
        StepKind::Attempts(attempts) => vec![attempts.body],
        StepKind::Conversation(it) => {
            [it.turn].into_iter().chain(it.offers.iter().map(|o| o.step)).chain(it.gate).collect()
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
pub fn callees(step: &Step) -> Vec<FlowId> {
    match &step.kind {
        StepKind::ForEach(each) => vec![each.body],
        StepKind::Call(call) => call.callee.flows(),
        StepKind::Attempts(attempts) => attempts.judges().map(|judge| judge.flow).collect(),
        _ => Vec::new(),
    }
}

/// Something that a step evaluates.
#[derive(Debug, Clone, Copy)]
pub enum Evaluated<'p> {
    /// An expression.
    Expr(&'p Expr),
    /// A condition.
    Cond(&'p Cond),
    /// A template outside an expression (feedback, the name of a callee).
    Text(&'p Text),
    /// A source outside an expression (captures).
    Source(&'p Source),
}

/// What a step itself evaluates, in order, without the steps inside it.
pub fn evaluated(step: &Step) -> Vec<Evaluated<'_>> {
    let mut all: Vec<Evaluated<'_>> = Vec::new();
    all.extend(step.when.as_ref().map(Evaluated::Cond));
    all.extend(step.kind.reads().into_iter().map(|(_, evaluated)| evaluated));
    all.extend(step.shape.as_ref().map(Evaluated::Expr));
    if let OnFailure::Use(value) = &step.policy.on_failure {
        all.push(Evaluated::Expr(value));
    }
    all
}

/// What a flow evaluates outside its steps, in order.
pub fn evaluated_by_flow(flow: &Flow) -> Vec<Evaluated<'_>> {
    let init = flow.init.iter().map(|(_, e)| Evaluated::Expr(e));
    init.chain(flow.output.iter().map(Evaluated::Expr)).collect()
}

impl<'p> Evaluated<'p> {
    /// Every source that it can read. The sources inside a [`Source::Either`] come after it.
    pub fn sources(self, visit: &mut dyn FnMut(&'p Source)) {
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
            Self::Expr(expr) => sources(expr, &mut each),
            Self::Cond(cond) => cond.sources.iter().for_each(each),
            Self::Text(text) => text.sources.iter().for_each(each),
            Self::Source(source) => each(source),
        }
    }
}

/// The holes of a step, with their places.
pub fn holes_of(step: &Step) -> Vec<(HoleKind, Arc<str>, Location)> {
    let mut found: Vec<_> = evaluated(step).into_iter().flat_map(Evaluated::holes).collect();
    if let StepKind::Tool(call) = &step.kind
        && let ToolKind::Mcp { headers, .. } = &call.kind
    {
        for (_, text) in headers {
            let Value::Masked(masked) = text else { continue };
            let holes = masked.pieces.iter().filter_map(|piece| match piece {
                Piece::Hole(hole) => Some((hole.kind, hole.name.clone(), step.origin)),
                Piece::Text(_) => None,
            });
            found.extend(holes);
        }
    }
    found
}

impl Evaluated<'_> {
    /// The environment variables and secrets that it names, with their places.
    pub fn holes(self) -> Vec<(HoleKind, Arc<str>, Location)> {
        let mut found = Vec::new();
        let mut look = |references: &[Reference], sources: &[Source], origin: Location, spans: &[Span]| {
            for (n, reference) in references.iter().enumerate() {
                let Some(source) = sources.get(reference.binding.source as usize) else { continue };
                let segment = reference.path.get(usize::from(reference.binding.skip));
                let Some(name) = segment.map(|segment| Arc::<str>::from(&*segment.name)) else { continue };
                let at = spans.get(n).map_or(origin, |span| Location::new(origin.file, *span));
                source.tried(&mut |source| match source {
                    Source::Environment => found.push((HoleKind::Env, name.clone(), at)),
                    Source::Secrets => found.push((HoleKind::Secret, name.clone(), at)),
                    _ => {}
                });
            }
        };
        match self {
            Self::Expr(expr) => {
                texts(expr, &mut |t| look(t.template.references(), &t.sources, t.origin, &t.spans));
            }
            Self::Text(text) => look(text.template.references(), &text.sources, text.origin, &text.spans),
            Self::Cond(cond) => look(cond.condition.references(), &cond.sources, cond.origin, &cond.spans),
            Self::Source(_) => {}
        }
        found
    }
}

/// An expression and all expressions in it, outermost first.
pub fn expressions<'p>(expr: &'p Expr, visit: &mut dyn FnMut(&'p Expr)) {
    visit(expr);
    match expr {
        Expr::Const(_) | Expr::Template(_) | Expr::Typed(_) | Expr::Read(_) => {}
        Expr::Object(members) => members.iter().for_each(|(_, e)| expressions(e, visit)),
        Expr::List(all) | Expr::Concat(all) | Expr::Merge(all) => all.iter().for_each(|e| expressions(e, visit)),
        Expr::Join { otherwise, .. } => expressions(otherwise, visit),
        Expr::Lines(inner)
        | Expr::AsText(inner)
        | Expr::AsMessage(inner)
        | Expr::Structured(inner)
        | Expr::Verdict(inner)
        | Expr::Coerce(inner, _) => expressions(inner, visit),
        Expr::If { then, otherwise, .. } => {
            expressions(then, visit);
            expressions(otherwise, visit);
        }
        Expr::Consensus { verdicts, .. } => verdicts.iter().for_each(|b| expressions(&b.value, visit)),
    }
}

/// Every template in an expression.
pub fn texts<'p>(expr: &'p Expr, visit: &mut dyn FnMut(&'p Text)) {
    expressions(expr, &mut |e| {
        if let Expr::Template(text) | Expr::Typed(text) = e {
            visit(text);
        }
    });
}

/// Every source that an expression can read, including those of its templates.
pub fn sources<'p>(expr: &'p Expr, visit: &mut dyn FnMut(&'p Source)) {
    expressions(expr, &mut |e| match e {
        Expr::Template(text) | Expr::Typed(text) => text.sources.iter().for_each(&mut *visit),
        Expr::Read(source) | Expr::If { source, .. } => visit(source),
        Expr::Join { parts, .. } => parts.iter().for_each(&mut *visit),
        _ => {}
    });
}
