//! State machines: when each transition is taken, which ones never are, and which outcomes match none.

use std::cell::OnceCell;
use std::sync::Arc;

use trefoil_ir::solver::{CaseValue, ConditionCase, ConditionCases, ConditionTruth, condition_truth};
use trefoil_ir::{
    BoundCondition, IndexVec, MatchedOutcome, OnItemFailure, OnStepFailure, Program, SlotId, Source, StateId,
    StateMachine, StateTransition, StepId, StepKind, ValueExpression, WorkflowState, walk,
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
    let fails = if state.ends_unmatched { state.fails_when.as_ref() } else { None };
    let mut conditions: Vec<&BoundCondition> = Vec::new();
    for transition in transitions {
        conditions.extend(&transition.when);
    }
    let fails_at = conditions.len();
    conditions.extend(fails);
    let cases = ConditionCases::new(conditions, &known);
    let mut table = TransitionTable::new(transitions, cases.as_ref());
    if fails.is_some() {
        table.fails = Some(fails_at);
    }
    table.outcome(MatchedOutcome::Success);
    if failing {
        table.outcome(MatchedOutcome::Failure);
    }
    let mut taken = Vec::with_capacity(transitions.len());
    for (at, transition) in transitions.iter().enumerate() {
        taken.push(table.taken(at, transition, failing));
    }
    // The answer of a person and the values derived from it depend on each other.
    let entangled = is_human(program, state.step) && matches!(&cases, Some(cases) if cases.values().len() > 1);
    let ends = state.ends_unmatched && fails.is_none();
    let answered = is_yes_or_no(&program.steps[state.step], transitions);
    let gap = if entangled || ends || answered { None } else { table.gap(MatchedOutcome::Success) };
    let failure_open = failing && transitions.iter().all(|t| t.takes == MatchedOutcome::Success);
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
        let mut condition = Vec::with_capacity(transitions.len());
        let mut next = 0;
        for transition in transitions {
            if transition.when.is_none() {
                condition.push(None);
            } else {
                condition.push(Some(next));
                next += 1;
            }
        }
        Self {
            transitions,
            cases,
            condition,
            fails: None,
            first: vec![false; transitions.len()],
            sure: Default::default(),
        }
    }
    /// The index of a transition's condition in the cases.
    fn condition_of(&self, at: usize) -> Option<usize> {
        self.condition.get(at).copied().flatten()
    }
    fn open(&self, at: usize) -> bool {
        match (self.condition_of(at), self.cases) {
            (Some(condition), Some(cases)) => cases.is_open(condition),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
    /// Records which transitions can be the first that matches this outcome.
    fn outcome(&mut self, outcome: MatchedOutcome) {
        let candidates: Vec<usize> = self.candidates(outcome);
        let Some(cases) = self.cases else {
            for at in candidates {
                self.note(at);
                if self.condition_of(at).is_none() {
                    return;
                }
            }
            return;
        };
        let mut firsts = vec![false; self.transitions.len()];
        cases.visit_cases(true, &mut |case| {
            for &at in &candidates {
                let open = self.open(at);
                let holds = match self.condition_of(at) {
                    Some(condition) => case.condition_holds(condition),
                    None => true,
                };
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
        let mut candidates = Vec::new();
        for (at, transition) in self.transitions.iter().enumerate() {
            if transition.takes == MatchedOutcome::Both || transition.takes == outcome {
                candidates.push(at);
            }
        }
        candidates
    }
    fn taken(&self, at: usize, transition: &StateTransition, failing: bool) -> TransitionReachability {
        if self.first.get(at) == Some(&true) {
            return TransitionReachability::Yes;
        }
        if let Some(when) = &transition.when
            && condition_truth(when) == ConditionTruth::Never
        {
            return TransitionReachability::Impossible;
        }
        if transition.takes == MatchedOutcome::Failure && !failing {
            return TransitionReachability::NoFailure;
        }
        if !self.may_hold(at) {
            return TransitionReachability::Known;
        }
        let sure = [self.first_sure(transition.takes), self.first_sure(MatchedOutcome::Both)];
        TransitionReachability::Shadowed(sure.into_iter().flatten().filter(|sure| *sure < at).min())
    }
    /// Whether a condition holds in some case, with the values that are known.
    fn may_hold(&self, at: usize) -> bool {
        let (Some(cases), Some(condition)) = (self.cases, self.condition_of(at)) else { return true };
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
        *known.get_or_init(|| self.transitions.iter().position(|t| t.takes == takes && always_matches(t)))
    }
    /// An expected outcome that matches no transition: a case in which every condition is false.
    fn gap(&self, outcome: MatchedOutcome) -> Option<UnmatchedOutcome> {
        let candidates = self.candidates(outcome);
        let mut conditions = Vec::with_capacity(candidates.len());
        for at in &candidates {
            conditions.push(self.condition_of(*at)?);
        }
        let cases = self.cases?;
        if candidates.is_empty() {
            return Some(UnmatchedOutcome { value: String::new(), numeric: false });
        }
        if cases.have_opposites(&conditions) {
            return None;
        }
        let unmatched = |case: &ConditionCase<'_>| {
            if let Some(fails) = self.fails
                && !case.condition_holds(fails)
            {
                return false;
            }
            !conditions.iter().any(|condition| case.condition_holds(*condition))
        };
        let mut found = None;
        cases.visit_cases(false, &mut |case| {
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

/// Whether the condition of a transition always holds.
fn always_matches(transition: &StateTransition) -> bool {
    match &transition.when {
        Some(when) => condition_truth(when) == ConditionTruth::Always,
        None => true,
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
    let transitions = state.transitions.iter().zip(&exits.taken);
    transitions.filter_map(|(transition, taken)| match taken {
        TransitionReachability::Yes => Some(transition.target),
        _ => None,
    })
}
