//! Walking a program: every step reachable from a flow, every expression of a step, every source of an expression.
//!
//! Everything that asks "where in the program is there an X?" goes through here, so that a new step kind or expression
//! is added to one match. Iterative where a manifest decides the depth.

use crate::effect::{CommandCall, ModelCall};
use crate::expr::{Cond, Expr, Source, Text};
use crate::flow::{Flow, Program};
use crate::ids::{FlowId, StepId};
use crate::judge::{Validator, ValidatorKind};
use crate::policy::OnFailure;
use crate::step::{Callee, Items, Refused, Step, StepKind};

/// The steps directly beneath a step, in the order in which they stand in the program. Flows that it calls are not
/// beneath it: see [`callees`].
pub fn children(step: &Step) -> Vec<StepId> {
    match &step.kind {
        StepKind::Sequence(steps) => steps.clone(),
        StepKind::Parallel(parallel) => parallel.branches.clone(),
        StepKind::Branch { arms, otherwise } => arms.iter().map(|a| a.step).chain(*otherwise).collect(),
        StepKind::Loop(repeat) => vec![repeat.body],
        StepKind::Graph(graph) => graph.nodes.iter().map(|n| n.step).collect(),
        StepKind::StateMachine(machine) => machine.states.iter().map(|s| s.step).collect(),
        StepKind::Attempts(attempts) => vec![attempts.body],
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

/// The flows that a step may call: of a call, a fan-out, or judges.
pub fn callees(step: &Step) -> Vec<FlowId> {
    match &step.kind {
        StepKind::Call(call) => match &call.callee {
            Callee::Flow(flow) => vec![*flow],
            Callee::Named { flows, .. } => flows.iter().map(|(_, flow)| *flow).collect(),
        },
        StepKind::ForEach(each) => vec![each.body],
        StepKind::Attempts(attempts) => attempts.validators.iter().flat_map(judges).collect(),
        _ => Vec::new(),
    }
}

fn judges(validator: &Validator) -> Vec<FlowId> {
    match &validator.kind {
        ValidatorKind::Judges { judges, .. } => judges.iter().map(|j| j.flow).collect(),
        _ => Vec::new(),
    }
}

/// The steps of one flow, each before those beneath it, in the order of the program. A step that stands in two places
/// (a front end's mistake) is listed once.
pub fn steps(program: &Program, flow: FlowId) -> Vec<StepId> {
    let mut found = Vec::new();
    let mut seen = vec![false; program.steps.len()];
    let mut stack: Vec<StepId> = program.flow(flow).map(|f| f.body).into_iter().collect();
    while let Some(id) = stack.pop() {
        let (Some(step), Some(seen)) = (program.step(id), seen.get_mut(id.index())) else { continue };
        if std::mem::replace(seen, true) {
            continue;
        }
        found.push(id);
        stack.extend(children(step).into_iter().rev());
    }
    found
}

/// The flows that a run of `flow` can reach, itself first, each once.
pub fn flows(program: &Program, flow: FlowId) -> Vec<FlowId> {
    let mut found = Vec::new();
    let mut seen = vec![false; program.flows.len()];
    let mut stack = vec![flow];
    while let Some(id) = stack.pop() {
        let Some(seen) = seen.get_mut(id.index()) else { continue };
        if std::mem::replace(seen, true) {
            continue;
        }
        found.push(id);
        let calls = steps(program, id).into_iter().filter_map(|s| program.step(s)).flat_map(callees);
        let mut calls: Vec<FlowId> = calls.collect();
        calls.reverse();
        stack.append(&mut calls);
    }
    found
}

/// What a run of the program can reach and this version does not run. The host asks before it starts one.
pub fn refusals(program: &Program) -> Vec<(StepId, &Refused)> {
    let reached = flows(program, program.entry).into_iter().flat_map(|flow| steps(program, flow));
    reached
        .filter_map(|id| match &program.step(id)?.kind {
            StepKind::Refused(refused) => Some((id, refused)),
            _ => None,
        })
        .collect()
}

/// Something in a step or flow that is evaluated.
#[derive(Debug, Clone, Copy)]
pub enum Evaluated<'p> {
    /// An expression.
    Expr(&'p Expr),
    /// A condition.
    Cond(&'p Cond),
    /// A text that stands for itself (a callee's name, a transition's feedback).
    Text(&'p Text),
    /// A source that is read as it is (a capture).
    Source(&'p Source),
}

impl<'p> Evaluated<'p> {
    /// Every source in it, those inside other sources and expressions included.
    pub fn sources(self, found: &mut dyn FnMut(&'p Source)) {
        let mut exprs = Vec::new();
        match self {
            Self::Expr(expr) => exprs.push(expr),
            Self::Cond(cond) => cond.sources.iter().for_each(|s| inner(s, found)),
            Self::Text(text) => text.sources.iter().for_each(|s| inner(s, found)),
            Self::Source(source) => inner(source, found),
        }
        while let Some(expr) = exprs.pop() {
            match expr {
                Expr::Const(_) => {}
                Expr::Template(text) | Expr::Typed(text) => text.sources.iter().for_each(|s| inner(s, found)),
                Expr::Read(source) => inner(source, found),
                Expr::Object(members) => exprs.extend(members.iter().rev().map(|(_, e)| e)),
                Expr::List(items) | Expr::Concat(items) | Expr::Merge(items) => exprs.extend(items.iter().rev()),
                Expr::Join { parts, otherwise, .. } => {
                    parts.iter().for_each(|s| inner(s, found));
                    exprs.push(otherwise);
                }
                Expr::Lines(e) | Expr::AsText(e) | Expr::Coerce(e, _) => exprs.push(e),
                Expr::If { source, then, otherwise } => {
                    inner(source, found);
                    exprs.extend([&**otherwise, &**then]);
                }
                Expr::Consensus { verdicts, .. } => exprs.extend(verdicts.iter().rev().map(|(e, _)| e)),
            }
        }
    }

    /// Every text (template) in it, in the order of the program.
    pub fn texts(self, found: &mut dyn FnMut(&'p Text)) {
        let mut exprs = Vec::new();
        match self {
            Self::Expr(expr) => exprs.push(expr),
            Self::Text(text) => found(text),
            Self::Cond(_) | Self::Source(_) => {}
        }
        while let Some(expr) = exprs.pop() {
            match expr {
                Expr::Const(_) | Expr::Read(_) => {}
                Expr::Template(text) | Expr::Typed(text) => found(text),
                Expr::Object(members) => exprs.extend(members.iter().rev().map(|(_, e)| e)),
                Expr::List(items) | Expr::Concat(items) | Expr::Merge(items) => exprs.extend(items.iter().rev()),
                Expr::Join { otherwise: e, .. } | Expr::Lines(e) | Expr::AsText(e) | Expr::Coerce(e, _) => exprs.push(e),
                Expr::If { then, otherwise, .. } => exprs.extend([&**otherwise, &**then]),
                Expr::Consensus { verdicts, .. } => exprs.extend(verdicts.iter().rev().map(|(e, _)| e)),
            }
        }
    }
}

fn inner<'p>(source: &'p Source, found: &mut dyn FnMut(&'p Source)) {
    let mut stack = vec![source];
    while let Some(source) = stack.pop() {
        found(source);
        if let Source::Either(first, second) = source {
            stack.extend([&**second, &**first]);
        }
    }
}

/// Everything that a step evaluates itself (not what the steps beneath it do), in the order in which it stands.
pub fn evaluated(step: &Step) -> Vec<Evaluated<'_>> {
    let mut all: Vec<Evaluated<'_>> = step.when.iter().map(Evaluated::Cond).collect();
    match &step.kind {
        StepKind::Model(call) => model(call, &mut all),
        StepKind::Tool(call) => all.push(Evaluated::Expr(&call.arguments)),
        StepKind::Command(call) => command(call, &mut all),
        StepKind::Human(call) => all.push(Evaluated::Expr(&call.prompt)),
        StepKind::Compute(expr) => all.push(Evaluated::Expr(expr)),
        StepKind::Branch { arms, .. } => all.extend(arms.iter().map(|a| Evaluated::Cond(&a.when))),
        StepKind::Loop(repeat) => all.push(Evaluated::Cond(&repeat.until)),
        StepKind::ForEach(each) => {
            let (Items::List(items) | Items::Count(items, _)) = &each.items;
            all.push(Evaluated::Expr(items));
            all.extend(each.captures.iter().map(|(_, s)| Evaluated::Source(s)));
        }
        StepKind::Graph(graph) => {
            let edges = graph.nodes.iter().flat_map(|n| &n.incoming);
            all.extend(edges.filter_map(|e| e.when.as_ref()).map(Evaluated::Cond));
        }
        StepKind::StateMachine(machine) => {
            for state in &machine.states {
                all.extend(state.failed.iter().map(Evaluated::Expr));
                for transition in &state.transitions {
                    all.extend(transition.when.iter().map(Evaluated::Cond));
                    all.extend(transition.feedback.iter().map(Evaluated::Text));
                }
                all.extend(state.fails_when.iter().map(Evaluated::Cond));
            }
        }
        StepKind::Attempts(attempts) => {
            for validator in &attempts.validators {
                if let ValidatorKind::Judges { judges, .. } = &validator.kind {
                    all.extend(judges.iter().map(|j| Evaluated::Expr(&j.input)));
                }
            }
        }
        StepKind::Call(call) => {
            if let Callee::Named { name, .. } = &call.callee {
                all.push(Evaluated::Text(name));
            }
            all.extend(call.input.iter().map(Evaluated::Expr));
        }
        StepKind::Wait { .. } | StepKind::Sequence(_) | StepKind::Parallel(_) | StepKind::Refused(_) => {}
    }
    all.extend(step.shape.iter().map(Evaluated::Expr));
    if let OnFailure::Use(expr) = &step.policy.on_failure {
        all.push(Evaluated::Expr(expr));
    }
    all
}

fn model<'p>(call: &'p ModelCall, all: &mut Vec<Evaluated<'p>>) {
    all.extend(call.system.iter().map(Evaluated::Expr));
    all.push(Evaluated::Expr(&call.user));
}

fn command<'p>(call: &'p CommandCall, all: &mut Vec<Evaluated<'p>>) {
    all.extend(call.arguments.iter().map(Evaluated::Expr));
    all.extend(call.env.iter().map(|(_, e)| Evaluated::Expr(e)));
    all.extend(call.workdir.iter().map(Evaluated::Expr));
}

/// Everything that a flow evaluates outside of its steps.
pub fn evaluated_by_flow(flow: &Flow) -> Vec<Evaluated<'_>> {
    let init = flow.init.iter().map(|(_, e)| Evaluated::Expr(e));
    init.chain(flow.output.iter().map(Evaluated::Expr)).collect()
}
