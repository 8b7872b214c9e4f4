//! Every condition in a manifest, with what it decides.

use trefoil_ir::{Cond, FlowId, Spelling, StepId, StepKind};
use trefoil_syntax::Location;
use trefoil_syntax::hash::HashSet;
use trefoil_template::{Expression, Value};

use super::Model;

/// A condition and its purpose.
#[derive(Clone, Copy)]
pub struct Decision<'p> {
    /// The condition.
    pub cond: &'p Cond,
    /// What it decides.
    pub of: Decides,
    /// Whether some run evaluates it.
    pub runs: bool,
}

/// What a condition decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decides {
    /// Whether a step runs.
    Step,
    /// Whether a loop ends.
    Loop,
    /// Whether an edge is taken.
    Edge,
    /// Whether a transition is taken.
    Transition,
}

/// All conditions, each once.
pub fn all<'p>(model: &Model<'p>) -> Vec<Decision<'p>> {
    let runs: HashSet<(FlowId, StepId)> = model.reachable().iter().copied().collect();
    let mut found: Vec<Decision<'p>> = Vec::new();
    let mut seen: HashSet<Location> = HashSet::default();
    for (flow, id, step) in model.all_steps() {
        let here = runs.contains(&(flow, id));
        let mut add = |cond: Option<&'p Cond>, of, runs| {
            if let Some(cond) = cond.filter(|cond| is_written(cond) && seen.insert(cond.origin)) {
                found.push(Decision { cond, of, runs });
            }
        };
        add(step.when.as_ref(), Decides::Step, here);
        match &step.kind {
            StepKind::Loop(it) => add(Some(&it.until), Decides::Loop, here),
            StepKind::Branch { arms, .. } => arms.iter().for_each(|arm| add(Some(&arm.when), Decides::Step, here)),
            StepKind::Graph(graph) => {
                let edges = graph.nodes.iter().flat_map(|node| &node.incoming);
                edges.for_each(|edge| add(edge.when.as_ref(), Decides::Edge, here));
            }
            StepKind::StateMachine(machine) => {
                for state in &machine.states {
                    let runs = here && model.reach().is_alive(state.step);
                    let transitions = state.transitions.iter();
                    transitions.for_each(|t| add(t.when.as_ref(), Decides::Transition, runs));
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a condition is written in the manifest, rather than made by lowering from a keyword.
pub fn is_written(cond: &Cond) -> bool {
    !cond.written.is_empty() || cond.condition.references().iter().any(|r| !r.span.is_empty())
}

/// Whether a condition has several parts.
pub fn is_joined(expression: &Expression) -> bool {
    matches!(expression, Expression::And(_) | Expression::Or(_) | Expression::Not(_))
}

/// The literals of a part that compares nothing: a text, a number, or a list of them.
pub fn lone(part: &Expression) -> Option<Vec<(&Value, Option<u32>)>> {
    match part {
        Expression::Literal(value, at) => Some(vec![(value, at.0)]),
        Expression::List(items) if !items.is_empty() => {
            Some(items.iter().map(lone).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
        }
        _ => None,
    }
}

/// The spelling of a literal in a condition.
pub fn spelling(cond: &Cond, literal: Option<u32>) -> Option<&Spelling> {
    cond.written.get(literal? as usize)
}
