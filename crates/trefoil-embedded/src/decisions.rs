//! The decisions of a program that depend on model answers: their alternatives, and the one that a run takes.
//!
//! Loops and judges end depending on the current pass, at the latest in the last allowed one. State machines take any
//! transition in the first visits, and then one that leads to an end. Other decisions take each of their alternatives
//! for some seed. All steps that a decision depends on make the same choice, because it depends on the place of the
//! decision and not on theirs.

use std::sync::Arc;

use trefoil_ir::solver::{ConditionSolver, SplitMixRandom, ValueConstraint, stable_hash};
use trefoil_ir::{IndexVec, StateId, StepId};
use trefoil_template::{ComparisonOperator, Condition};

use trefoil_machine::key::{KeyPart, parse_key_parts};

use super::origins::{AnswerFeed, KeyDepth, ends_at};
use super::requirements::{AnswerPath, AnswerPathSegment};

/// Maximum number of passes of a loop that may choose.
const PASSES: u32 = 3;
/// Maximum number of visits of a state with a free choice of transitions.
const FREE_VISITS: u32 = 2;
/// Maximum number of states that a run enters, unless the machine has a lower limit.
const LONGEST_RUN: u32 = 60;

/// A condition, and the answers that its references come from.
#[derive(Debug, Clone)]
pub(super) struct DecisionCondition {
    pub condition: Condition,
    /// The answers of each reference.
    pub feeds: Vec<Vec<AnswerFeed>>,
}

/// The index of a condition in [`ProgramDecision::questions`], and its wanted result.
pub(super) type ConditionOutcome = (usize, bool);

/// A choice between several alternatives.
#[derive(Debug, Clone)]
pub(super) struct ProgramDecision {
    /// A name that is the same in every run.
    pub name: String,
    pub kind: DecisionKind,
    pub questions: Vec<DecisionCondition>,
    /// The depth of the place of the decision.
    pub depth: KeyDepth,
    /// The step whose passes or iterations count for the decision. Answers from outside of it do not change with them.
    pub scope: Option<StepId>,
}

/// How an alternative is chosen.
#[derive(Debug, Clone)]
pub(super) enum DecisionKind {
    /// Any of these. If an alternative is listed several times, it is chosen more often.
    Any(Vec<Vec<ConditionOutcome>>),
    /// The only question: false in early passes, true in this pass at the latest.
    Until(u32),
    /// The transitions of a state of a machine.
    State(Arc<StateGraph>, StateId),
    /// A judge's verdict: the required score and confidence, and the number of iterations.
    Judge { score: f64, confidence: f64, max: u32, feeds: Vec<Vec<AnswerFeed>> },
}

/// The part of a state machine that is needed to choose transitions.
#[derive(Debug)]
pub(super) struct StateGraph {
    /// Its name.
    pub name: String,
    /// Its states.
    pub states: IndexVec<StateId, MachineState>,
    pub initial: StateId,
    pub max_entries: u32,
}

/// A state of a machine.
#[derive(Debug)]
pub(super) struct MachineState {
    /// The requirements of each transition, and its target.
    pub ways: Vec<(Vec<ConditionOutcome>, StateId)>,
    /// The first transition that cannot lead back to this state, otherwise the one nearest to an end. A run that takes
    /// only these transitions ends.
    pub usual: usize,
    pub max_visits: u32,
}

impl StateGraph {
    /// The transition that a visit of a state takes: any in the first visits, then the usual one. The seed determines
    /// the number of free visits, within the machine's limits.
    fn choice(&self, seed: u64, state: StateId, visit: u32) -> usize {
        let wish = SplitMixRandom::new(stable_hash(seed, &[&self.name])).pick_below(FREE_VISITS as usize + 1) as u32;
        let free = (1..=wish).rev().find(|free| self.ends(seed, *free)).unwrap_or(0);
        self.way(seed, state, visit, free)
    }

    fn way(&self, seed: u64, state: StateId, visit: u32, free: u32) -> usize {
        let it = &self.states[state];
        if visit > free {
            return it.usual;
        }
        let names = [self.name.as_str(), &state.0.to_string(), &visit.to_string()];
        SplitMixRandom::new(stable_hash(seed, &names)).pick_below(it.ways.len())
    }

    /// Whether a run with the chosen transitions stays within the limits.
    fn ends(&self, seed: u64, free: u32) -> bool {
        let mut visits = self.states.map(|_| 0);
        let mut at = self.initial;
        for _ in 0..self.max_entries.min(LONGEST_RUN) {
            let state = &self.states[at];
            visits[at] += 1;
            if visits[at] > state.max_visits {
                return false;
            }
            match state.ways.get(self.way(seed, at, visits[at], free)) {
                Some((_, target)) => at = *target,
                None => return true,
            }
        }
        false
    }
}

/// The marks of a key, by kind, in order.
#[derive(Default)]
pub(super) struct KeyNumbers {
    passes: Vec<u32>,
    items: Vec<u32>,
    iterations: Vec<u32>,
}

impl KeyNumbers {
    /// What a choice depends on. This text must not change: answers would.
    fn seed_text(&self) -> String {
        let Self { passes, items, iterations } = self;
        format!("Marks {{ passes: {passes:?}, items: {items:?}, iterations: {iterations:?} }}")
    }

    /// Parses the marks of a key.
    pub fn from_key(key: &str) -> Self {
        let mut marks = Self::default();
        for part in parse_key_parts(key) {
            match part {
                KeyPart::Pass(n) => marks.passes.push(n),
                KeyPart::Item(n) => marks.items.push(n),
                KeyPart::Iteration(n) => marks.iterations.push(n),
                KeyPart::Label(_) | KeyPart::Try(_) | KeyPart::Own(_) => {}
            }
        }
        marks
    }

    /// Removes the marks that exist only because the answer comes from a nested place.
    fn without(&self, depth: KeyDepth) -> Self {
        let cut = |all: &[u32], by: i32| {
            let keep = all.len().saturating_sub(usize::try_from(by).unwrap_or(0));
            all.get(..keep).unwrap_or_default().to_vec()
        };
        Self {
            passes: cut(&self.passes, depth.passes),
            items: cut(&self.items, depth.items),
            iterations: cut(&self.iterations, depth.iterations),
        }
    }
}

/// The importance of a choice, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChoiceWeight {
    /// The run fails without it.
    Needs,
    /// It determines the path through a state machine.
    Likes,
    /// It only adds another pass.
    Delays,
    /// The run succeeds either way.
    Any,
}

impl ChoiceWeight {
    fn for_ending(ends: bool) -> Self {
        if ends { Self::Needs } else { Self::Delays }
    }
}

/// A choice, for one of the steps that it depends on.
pub(super) struct StepChoice<'a> {
    pub decision: &'a ProgramDecision,
    pub seed: u64,
    /// The marks of that step's key.
    pub marks: &'a KeyNumbers,
    /// The key without its numbers.
    pub place: &'a str,
    pub step: StepId,
}

impl StepChoice<'_> {
    /// The weight of the choice, and its requirements on the answer of this step: all of them, or none.
    pub fn weighted_constraints(&self) -> (ChoiceWeight, Vec<(AnswerPath, ValueConstraint)>) {
        let Some(feed) = self.decision.answer_feeds().find(|f| self.is_asking(f)) else {
            return (ChoiceWeight::Any, Vec::new());
        };
        let own = self.marks.without(feed.depth.subtract_depth(self.decision.depth));
        let inside = self.decision.scope.is_none() || feed.through.is_some();
        match &self.decision.kind {
            DecisionKind::Any(ways) => {
                // Choices may differ between passes and items.
                let names = [self.decision.name.as_str(), &own.seed_text()];
                let mut random = SplitMixRandom::new(stable_hash(self.seed, &names));
                let chosen = random.pick_one(ways).cloned().unwrap_or_default();
                (ChoiceWeight::Any, self.outcome_constraints(&chosen, random))
            }
            DecisionKind::Until(max) => {
                let random = SplitMixRandom::new(stable_hash(self.seed, &[&self.decision.name]));
                let ends = 1 + random.clone().pick_below((*max).clamp(1, PASSES) as usize) as u32;
                let pass = if inside { own.passes.last().copied().unwrap_or(u32::MAX) } else { u32::MAX };
                (ChoiceWeight::for_ending(pass >= ends), self.outcome_constraints(&[(0, pass >= ends)], random))
            }
            DecisionKind::State(machine, state) => {
                let visit = if inside { own.passes.last().copied().unwrap_or(u32::MAX) } else { u32::MAX };
                let chosen = machine.choice(self.seed, *state, visit);
                let random = SplitMixRandom::new(stable_hash(self.seed, &[&self.decision.name, &visit.to_string()]));
                let constraints = match machine.states[*state].ways.get(chosen) {
                    Some((wanted, _)) => self.outcome_constraints(wanted, random),
                    None => Vec::new(),
                };
                (ChoiceWeight::Likes, constraints)
            }
            DecisionKind::Judge { score, confidence, max, feeds } => {
                let mut random = SplitMixRandom::new(stable_hash(self.seed, &[&self.decision.name]));
                let ends = 1 + random.pick_below((*max).clamp(1, PASSES) as usize) as u32;
                let iteration = own.iterations.last().copied().unwrap_or(u32::MAX);
                let passes = iteration >= ends;
                let wants = [verdict(*score, passes), verdict(*confidence, true)];
                let mut constraints = Vec::new();
                for (feeds, want) in feeds.iter().zip(wants) {
                    for feed in feeds {
                        if self.is_asking(feed) {
                            constraints.push((feed.path.clone(), want.clone()));
                        }
                    }
                }
                (ChoiceWeight::for_ending(passes), constraints)
            }
        }
    }

    /// Whether an answer comes from exactly this call.
    fn is_asking(&self, feed: &AnswerFeed) -> bool {
        feed.step == self.step && ends_at(self.place, &feed.place)
    }

    fn outcome_constraints(
        &self,
        wanted: &[ConditionOutcome],
        random: SplitMixRandom,
    ) -> Vec<(AnswerPath, ValueConstraint)> {
        let mut out = Vec::new();
        for (index, want) in wanted {
            let Some(question) = self.decision.questions.get(*index) else { continue };
            let feeds = |reference: u32| match question.feeds.get(reference as usize) {
                Some(feeds) => feeds.as_slice(),
                None => &[],
            };
            let is_controlled = |reference: u32| !feeds(reference).is_empty();
            let mut solver = ConditionSolver { controlled: &is_controlled, random: random.clone() };
            for required in solver.find_requirements(question.condition.expression_tree(), *want).into_iter().flatten()
            {
                for feed in feeds(required.reference) {
                    if !self.is_asking(feed) {
                        continue;
                    }
                    let mut path = feed.path.clone();
                    path.extend(required.path.iter().map(AnswerPathSegment::new));
                    let want = through(&required.constraint, feed.passes_at);
                    if let Some(vote) = vote(&want, feed.votes_at) {
                        out.push((path.clone(), vote));
                    }
                    out.push((path, want));
                }
            }
        }
        out
    }
}

impl ProgramDecision {
    /// All answers that the decision depends on.
    pub fn answer_feeds(&self) -> impl Iterator<Item = &AnswerFeed> {
        let judged = match &self.kind {
            DecisionKind::Judge { feeds, .. } => feeds.as_slice(),
            _ => &[],
        };
        self.questions.iter().flat_map(|question| &question.feeds).chain(judged).flatten()
    }

    /// Whether all conditions of an alternative can have the wanted results.
    pub fn is_possible(questions: &[DecisionCondition], wanted: &[ConditionOutcome]) -> bool {
        for (index, want) in wanted {
            let Some(question) = questions.get(*index) else { return false };
            let mut solver = ConditionSolver { controlled: &|_| true, random: SplitMixRandom::new(0) };
            if solver.find_requirements(question.condition.expression_tree(), *want).is_none() {
                return false;
            }
        }
        true
    }
}

/// A score that clearly passes or clearly fails.
fn verdict(least: f64, passes: bool) -> ValueConstraint {
    if passes {
        ValueConstraint::Bound(ComparisonOperator::GreaterEqual, least.max(0.9))
    } else {
        ValueConstraint::Bound(ComparisonOperator::Less, least)
    }
}

/// If votes are counted, a high score needs passing votes, and a low one failing votes.
fn vote(want: &ValueConstraint, votes_at: Option<f64>) -> Option<ValueConstraint> {
    match (want, votes_at) {
        (ValueConstraint::Bound(ComparisonOperator::GreaterEqual | ComparisonOperator::Greater, _), Some(at)) => {
            Some(ValueConstraint::Bound(ComparisonOperator::GreaterEqual, at))
        }
        (ValueConstraint::Bound(ComparisonOperator::LessEqual | ComparisonOperator::Less, _), Some(at)) => {
            Some(ValueConstraint::Bound(ComparisonOperator::Less, at))
        }
        _ => None,
    }
}

/// Converts a constraint on "the score reaches the threshold" to one on the score.
fn through(constraint: &ValueConstraint, passes_at: Option<f64>) -> ValueConstraint {
    let Some(threshold) = passes_at else { return constraint.clone() };
    let side = if constraint.accepts_value(&serde_json::Value::Bool(true)) {
        ComparisonOperator::GreaterEqual
    } else {
        ComparisonOperator::Less
    };
    ValueConstraint::Bound(side, threshold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_off_a_key() {
        let marks = KeyNumbers::from_key("write@2[0]#3/re%40view@12/x!2~timeout.1");
        assert_eq!((marks.passes, marks.items, marks.iterations), (vec![2, 12], vec![0], vec![3]));
        let cut = KeyNumbers::from_key("a@1/b@2[5]").without(KeyDepth { passes: 1, items: -1, iterations: 3 });
        assert_eq!((cut.passes, cut.items), (vec![1], vec![5]));
    }
}
