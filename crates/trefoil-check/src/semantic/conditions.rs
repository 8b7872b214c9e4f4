//! Every condition in a manifest, with what it decides.

use trefoil_ir::{BoundCondition, FlowId, LiteralSpelling, StepId, StepKind};
use trefoil_syntax::Location;
use trefoil_syntax::hash::HashSet;
use trefoil_template::{ConditionExpression, Value};

use super::SemanticModel;

/// A condition and its purpose.
#[derive(Clone, Copy)]
pub struct ConditionSite<'p> {
    /// The condition.
    pub cond: &'p BoundCondition,
    /// What it decides.
    pub of: ConditionPurpose,
    /// Whether some run evaluates it.
    pub runs: bool,
}

/// What a condition decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionPurpose {
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
pub fn find_conditions<'p>(model: &SemanticModel<'p>) -> Vec<ConditionSite<'p>> {
    let runs: HashSet<(FlowId, StepId)> = model.reachable_step_ids().iter().copied().collect();
    let mut found: Vec<ConditionSite<'p>> = Vec::new();
    let mut seen: HashSet<Location> = HashSet::default();
    for (flow, id, step) in model.all_steps() {
        let here = runs.contains(&(flow, id));
        let mut add = |cond: Option<&'p BoundCondition>, of, runs| {
            if let Some(cond) = cond
                && is_written(cond)
                && seen.insert(cond.origin)
            {
                found.push(ConditionSite { cond, of, runs });
            }
        };
        add(step.when.as_ref(), ConditionPurpose::Step, here);
        match &step.kind {
            StepKind::Loop(it) => add(Some(&it.until), ConditionPurpose::Loop, here),
            StepKind::Branch { arms, .. } => {
                for arm in arms {
                    add(Some(&arm.when), ConditionPurpose::Step, here);
                }
            }
            StepKind::Graph(graph) => {
                for node in &graph.nodes {
                    for edge in &node.incoming {
                        add(edge.when.as_ref(), ConditionPurpose::Edge, here);
                    }
                }
            }
            StepKind::StateMachine(machine) => {
                for state in &machine.states {
                    let runs = here && model.reach_analysis().is_alive(state.step);
                    for transition in &state.transitions {
                        add(transition.when.as_ref(), ConditionPurpose::Transition, runs);
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a condition is written in the manifest, rather than made by lowering from a keyword.
pub fn is_written(cond: &BoundCondition) -> bool {
    !cond.written.is_empty() || cond.condition.references().iter().any(|r| !r.span.is_empty())
}

/// Whether a condition has several parts.
pub fn is_joined(expression: &ConditionExpression) -> bool {
    matches!(expression, ConditionExpression::And(_) | ConditionExpression::Or(_) | ConditionExpression::Not(_))
}

/// The literals of a part that compares nothing: a text, a number, or a list of them.
pub fn lone_literals(part: &ConditionExpression) -> Option<Vec<(&Value, Option<u32>)>> {
    match part {
        ConditionExpression::Literal(value, at) => Some(vec![(value, at.0)]),
        ConditionExpression::List(items) if !items.is_empty() => {
            let mut literals = Vec::new();
            for item in items {
                literals.extend(lone_literals(item)?);
            }
            Some(literals)
        }
        _ => None,
    }
}

/// The spelling of a literal in a condition.
pub fn literal_spelling(cond: &BoundCondition, literal: Option<u32>) -> Option<&LiteralSpelling> {
    cond.written.get(literal? as usize)
}
