//! State machines: when each transition is taken, which ones never are, and which outcomes match none.

use std::cell::OnceCell;
use std::sync::Arc;

use trefoil_ir::solver::{CaseValue, ConditionCase, ConditionCases, ConditionTruth, condition_truth};
use trefoil_ir::{
    IndexVec, MatchedOutcome, OnItemFailure, OnStepFailure, Program, SlotId, Source, StateId, StateMachine,
    StateTransition, StepId, StepKind, ValueExpression, WorkflowState, walk,
};
use trefoil_template::Value;

use super::human_answers::is_yes_or_no;

/// What is known about the transitions of a state.
#[derive(Debug, Clone, Default)]
pub struct StateExits {
    /// For each transition: whether it can be taken.
    pub taken: Vec<TransitionReachability>,
    /// A value for which a state that succeeded has no transition.
    pub gap: Option<UnmatchedOutcome>,
    /// Whether the state can fail without a transition for failure.
    pub failure_open: bool,
}

/// Whether a transition can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionReachability {
    /// Yes, as far as is known.
    Yes,
    /// Its condition can never hold.
    Impossible,
    /// It matches only failures, and the state does not fail.
    NoFailure,
    /// Its condition does not hold for the only result of a state that runs no program.
    Known,
    /// Earlier transitions always match first; the index is given if a single one does.
    Shadowed(Option<usize>),
}

/// An outcome that no transition matches.
#[derive(Debug, Clone)]
pub struct UnmatchedOutcome {
    /// `0.65 as REVIEW.score`; empty if nothing is known about the value.
    pub value: String,
    /// Whether it is between numbers whose order is compared.
    pub numeric: bool,
}

/// What is known about the states of a machine, in order.
pub fn find_exits(program: &Program, machine: &StateMachine) -> IndexVec<StateId, StateExits> {
    machine.states.map(|s| state_exits(program, s))
}

fn state_exits(program: &Program, state: &WorkflowState) -> StateExits {
    let transitions = &state.transitions;
    if transitions.is_empty() {
        return StateExits::default();
    }
    let failing = can_fail(program, state.step);
    let known = |slot, path: &[Arc<str>]| known(program, state, slot, path);
    // If success ends the machine, only outcomes that do not count as success can be gaps.
    let fails = state.fails_when.as_ref().filter(|_| state.ends_unmatched);
    let cases = ConditionCases::new(transitions.iter().filter_map(|t| t.when.as_ref()).chain(fails), &known);
    let mut table = TransitionTable::new(transitions, cases.as_ref());
    table.fails = fails.map(|_| table.condition.iter().flatten().count());
    table.outcome(MatchedOutcome::Success);
    if failing {
        table.outcome(MatchedOutcome::Failure);
    }
    let taken = transitions.iter().enumerate().map(|(i, t)| table.taken(i, t, failing)).collect();
    // The answer of a person and the values derived from it depend on each other.
    let entangled = is_human(program, state.step) && cases.as_ref().is_some_and(|c| c.values().len() > 1);
    let ends = state.ends_unmatched && fails.is_none();
    let answered = is_yes_or_no(&program.steps[state.step], transitions);
    let gap = table.gap(MatchedOutcome::Success).filter(|_| !entangled && !ends && !answered);
    let failure_open = failing && !transitions.iter().any(|t| t.takes != MatchedOutcome::Success);
    StateExits { taken, gap, failure_open }
}

struct TransitionTable<'t> {
    transitions: &'t [StateTransition],
    cases: Option<&'t ConditionCases>,
    /// For each transition: the index of its condition in the cases.
    condition: Vec<Option<usize>>,
    /// The index of the condition that must hold for outcomes that need a transition.
    fails: Option<usize>,
    first: Vec<bool>,
    /// See [`TransitionTable::first_sure`].
    sure: [OnceCell<Option<usize>>; 3],
}

impl<'t> TransitionTable<'t> {
    fn new(transitions: &'t [StateTransition], cases: Option<&'t ConditionCases>) -> Self {
        let mut next = 0;
        let condition = transitions.iter().map(|t| {
            t.when.as_ref().map(|_| {
                next += 1;
                next - 1
            })
        });
        Self {
            transitions,
            cases,
            condition: condition.collect(),
            fails: None,
            first: vec![false; transitions.len()],
            sure: Default::default(),
        }
    }
    fn open(&self, at: usize) -> bool {
        match self.condition.get(at).copied().flatten() {
            Some(condition) => self.cases.is_none_or(|c| c.is_open(condition)),
            None => false,
        }
    }
    /// Records which transitions can be the first that matches this outcome.
    fn outcome(&mut self, outcome: MatchedOutcome) {
        let candidates: Vec<usize> = self.candidates(outcome);
        let Some(cases) = self.cases else {
            for at in candidates {
                self.note(at);
                if self.condition.get(at).is_some_and(Option::is_none) {
                    return;
                }
            }
            return;
        };
        let mut firsts = vec![false; self.transitions.len()];
        cases.visit_cases(true, &mut |case| {
            for &at in &candidates {
                let open = self.open(at);
                let holds = self.condition.get(at).copied().flatten().is_none_or(|c| case.condition_holds(c));
                if (open || holds)
                    && let Some(first) = firsts.get_mut(at)
                {
                    *first = true;
                }
                if holds && !open {
                    break;
                }
            }
            true
        });
        for (at, first) in firsts.into_iter().enumerate() {
            if first {
                self.note(at);
            }
        }
    }
    fn note(&mut self, at: usize) {
        if let Some(first) = self.first.get_mut(at) {
            *first = true;
        }
    }
    fn candidates(&self, outcome: MatchedOutcome) -> Vec<usize> {
        let takes = |t: &StateTransition| t.takes == MatchedOutcome::Both || t.takes == outcome;
        self.transitions.iter().enumerate().filter(|(_, t)| takes(t)).map(|(i, _)| i).collect()
    }
    fn taken(&self, at: usize, transition: &StateTransition, failing: bool) -> TransitionReachability {
        if self.first.get(at) == Some(&true) {
            return TransitionReachability::Yes;
        }
        if transition.when.as_ref().is_some_and(|w| condition_truth(w) == ConditionTruth::Never) {
            return TransitionReachability::Impossible;
        }
        if transition.takes == MatchedOutcome::Failure && !failing {
            return TransitionReachability::NoFailure;
        }
        if !self.may_hold(at) {
            return TransitionReachability::Known;
        }
        let covers = |first: Option<usize>| first.filter(|first| *first < at);
        let same = covers(self.first_sure(transition.takes));
        TransitionReachability::Shadowed(same.into_iter().chain(covers(self.first_sure(MatchedOutcome::Both))).min())
    }
    /// Whether a condition holds in some case, with the values that are known.
    fn may_hold(&self, at: usize) -> bool {
        let (Some(cases), Some(condition)) = (self.cases, self.condition.get(at).copied().flatten()) else {
            return true;
        };
        let mut any = cases.is_open(condition);
        cases.visit_cases(true, &mut |case| {
            any |= case.condition_holds(condition);
            !any
        });
        any
    }
    /// The first transition for exactly this outcome whose condition always holds.
    fn first_sure(&self, takes: MatchedOutcome) -> Option<usize> {
        let [success, failure, both] = &self.sure;
        let known = match takes {
            MatchedOutcome::Success => success,
            MatchedOutcome::Failure => failure,
            MatchedOutcome::Both => both,
        };
        let sure = |t: &StateTransition| {
            t.takes == takes && t.when.as_ref().is_none_or(|w| condition_truth(w) == ConditionTruth::Always)
        };
        *known.get_or_init(|| self.transitions.iter().position(sure))
    }
    /// An expected outcome that matches no transition: a case in which every condition is false.
    fn gap(&self, outcome: MatchedOutcome) -> Option<UnmatchedOutcome> {
        let candidates = self.candidates(outcome);
        if candidates.iter().any(|at| self.condition.get(*at).is_some_and(Option::is_none)) {
            return None;
        }
        let cases = self.cases?;
        if candidates.is_empty() {
            return Some(UnmatchedOutcome { value: String::new(), numeric: false });
        }
        let conditions: Vec<usize> =
            candidates.iter().filter_map(|at| self.condition.get(*at).copied().flatten()).collect();
        if cases.have_opposites(&conditions) {
            return None;
        }
        let mut found = None;
        cases.visit_cases(false, &mut |case| {
            let unmatched = |case: &ConditionCase<'_>| {
                let holds =
                    |at: &usize| self.condition.get(*at).copied().flatten().is_some_and(|c| case.condition_holds(c));
                self.fails.is_none_or(|c| case.condition_holds(c)) && !candidates.iter().any(holds)
            };
            let gap = unmatched(case);
            if gap {
                let numeric = cases.values().iter().all(CaseValue::is_ordered) && !cases.values().is_empty();
                found = Some(UnmatchedOutcome { value: case.describe_values(&unmatched), numeric });
            }
            !gap
        });
        found
    }
}

/// A literal member of a state's result (the exit code of a step that runs no program).
fn known(program: &Program, state: &WorkflowState, slot: SlotId, path: &[Arc<str>]) -> Option<Value> {
    let step = &program.steps[state.step];
    if step.out != Some(slot) || step.shape.is_some() {
        return None;
    }
    let mut kind = &step.kind;
    while let StepKind::Sequence(steps) = kind {
        kind = &program.steps[*steps.last()?].kind;
    }
    let StepKind::Compute(value) = kind else { return None };
    let mut value = value;
    for name in path {
        let ValueExpression::Object(members) = value else { return None };
        value = &members.iter().find(|(key, _)| key == name)?.1;
    }
    match value {
        ValueExpression::Const(value) => Some(value.clone()),
        _ => None,
    }
}

fn is_human(program: &Program, id: StepId) -> bool {
    let step = &program.steps[id];
    matches!(step.kind, StepKind::Human(_)) || walk::children_of(step).into_iter().any(|s| is_human(program, s))
}

/// Whether a step can fail. Only pure computations certainly cannot.
pub fn can_fail(program: &Program, id: StepId) -> bool {
    let step = &program.steps[id];
    if !matches!(step.policy.on_failure, OnStepFailure::Fail) {
        return false;
    }
    match &step.kind {
        StepKind::Compute(value) => strict(value),
        StepKind::Wait { .. } => false,
        StepKind::Parallel(parallel) if parallel.on_failure == OnItemFailure::Continue => false,
        StepKind::Sequence(_) | StepKind::Parallel(_) | StepKind::Branch { .. } => {
            walk::children_of(step).into_iter().any(|s| can_fail(program, s))
        }
        _ => true,
    }
}

/// Whether evaluating an expression can fail: a template in a language where a missing value is an error, or a
/// consensus without enough verdicts.
fn strict(value: &ValueExpression) -> bool {
    let mut found = has_consensus(value);
    walk::visit_templates(value, &mut |text| found |= text.template.is_strict() && !text.sources.is_empty());
    walk::visit_expressions(value, &mut |e| found |= matches!(e, ValueExpression::Read(Source::Missing(..))));
    found
}

/// Whether it contains a consensus, which fails without enough verdicts.
pub fn has_consensus(value: &ValueExpression) -> bool {
    let mut found = false;
    walk::visit_expressions(value, &mut |e| found |= matches!(e, ValueExpression::Consensus { .. }));
    found
}

/// For each state: whether a run can reach it, by transitions that can be taken.
pub fn reached_states(machine: &StateMachine, exits: &IndexVec<StateId, StateExits>) -> IndexVec<StateId, bool> {
    let mut seen = machine.states.map(|_| false);
    let mut stack = vec![machine.initial];
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut seen[id], true) {
            stack.extend(taken_targets(&machine.states[id], &exits[id]));
        }
    }
    seen
}

/// The targets of transitions that can be taken.
pub fn taken_targets(state: &WorkflowState, exits: &StateExits) -> impl Iterator<Item = StateId> {
    let open = state.transitions.iter().zip(&exits.taken).filter(|(_, taken)| **taken == TransitionReachability::Yes);
    open.map(|(transition, _)| transition.target)
}
