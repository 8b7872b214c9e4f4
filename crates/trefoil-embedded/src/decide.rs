//! The decisions of a program that model answers take part in: which alternatives there are, and which one a run takes.
//!
//! Loops and judges end by the pass they are in, the last allowed one at the latest; state machines take any way in the
//! first visits and one that leads on afterwards; everything else takes each of its ways over seeds. All steps that take part in a decision
//! choose alike, because the choice hangs on the decision's own place and not on theirs.

use std::sync::Arc;

use trefoil_ir::StepId;
use trefoil_template::Condition;

use trefoil_machine::key::{KeyPart, parts};

use super::constraint::{Constraint, Side};
use super::random::{Random, hash};
use super::solve::Solver;
use super::trace::{Depth, Feed, ends_at};
use super::wants::{Path, Seg};

/// A loop ends after so many passes at most, where it may choose.
const PASSES: u32 = 3;
/// So many visits of a state may continue anywhere.
const FREE_VISITS: u32 = 2;
/// States entered in a run, where the machine itself sets no tighter limit.
const LONGEST_RUN: u32 = 60;

/// A condition, and which answers its references come from.
#[derive(Debug, Clone)]
pub(super) struct AskedCondition {
    pub condition: Condition,
    /// By reference.
    pub feeds: Vec<Vec<Feed>>,
}

/// A condition and what it should be: index into [`Decision::questions`].
pub(super) type Wanted = (usize, bool);

/// Several ways to continue.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    /// Names it, the same in every run.
    pub name: String,
    pub kind: ChoiceKind,
    pub questions: Vec<AskedCondition>,
    /// The depth of the place where it is taken.
    pub depth: Depth,
    /// The step whose passes or iterations count for it; answers from outside of it do not change with them.
    pub scope: Option<StepId>,
}

/// How a way is chosen.
#[derive(Debug, Clone)]
pub(super) enum ChoiceKind {
    /// Any of them, the first ones as often as their number says.
    Any(Vec<Vec<Wanted>>),
    /// One question: false in early passes, true at the latest in this one.
    Until(u32),
    /// A state's transitions: the machine, and which of its states.
    State(Arc<Machine>, usize),
    /// A judge's verdict: the score and confidence to reach, and the iterations there are.
    Judge { score: f64, confidence: f64, max: u32, feeds: Vec<Vec<Feed>> },
}

/// A state machine, as far as its transitions can be chosen.
#[derive(Debug)]
pub(super) struct Machine {
    /// Names it.
    pub name: String,
    /// By state.
    pub states: Vec<MachineState>,
    pub initial: usize,
    pub max_entries: u32,
}

/// A state of it.
#[derive(Debug)]
pub(super) struct MachineState {
    /// What each transition wants, and where it goes.
    pub ways: Vec<(Vec<Wanted>, usize)>,
    /// The first one that cannot lead back here, else the one that is nearest to an end: a run that takes these only ends.
    pub usual: usize,
    pub max_visits: u32,
}

impl Machine {
    /// The transition that a visit of a state takes: any in the first visits, then the usual one. How many visits those are
    /// is the seed's choice, as far as the machine's limits allow it.
    fn choice(&self, seed: u64, state: usize, visit: u32) -> usize {
        let wish = Random::new(hash(seed, &[&self.name])).below(FREE_VISITS as usize + 1) as u32;
        let free = (1..=wish).rev().find(|free| self.ends(seed, *free)).unwrap_or(0);
        self.way(seed, state, visit, free)
    }

    fn way(&self, seed: u64, state: usize, visit: u32, free: u32) -> usize {
        let Some(it) = self.states.get(state) else { return 0 };
        if visit > free {
            return it.usual;
        }
        let names = [self.name.as_str(), &state.to_string(), &visit.to_string()];
        Random::new(hash(seed, &names)).below(it.ways.len())
    }

    /// Whether a run in which all transitions are as chosen stays within the limits.
    fn ends(&self, seed: u64, free: u32) -> bool {
        let mut visits = vec![0; self.states.len()];
        let mut at = self.initial;
        for _ in 0..self.max_entries.min(LONGEST_RUN) {
            let (Some(state), Some(visits)) = (self.states.get(at), visits.get_mut(at)) else { return false };
            *visits += 1;
            if *visits > state.max_visits {
                return false;
            }
            match state.ways.get(self.way(seed, at, *visits, free)) {
                Some((_, target)) => at = *target,
                None => return true,
            }
        }
        false
    }
}

/// The marks of a key, by sort, in order.
#[derive(Debug, Default)]
pub(super) struct Marks {
    passes: Vec<u32>,
    items: Vec<u32>,
    iterations: Vec<u32>,
}

impl Marks {
    /// Reads them off a key.
    pub fn of(key: &str) -> Self {
        let mut marks = Self::default();
        for part in parts(key) {
            match part {
                KeyPart::Pass(n) => marks.passes.push(n),
                KeyPart::Item(n) => marks.items.push(n),
                KeyPart::Iteration(n) => marks.iterations.push(n),
                KeyPart::Label(_) | KeyPart::Try(_) | KeyPart::Own(_) => {}
            }
        }
        marks
    }

    /// Without those that are only there because an answer comes from further inside.
    fn without(&self, depth: Depth) -> Self {
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

/// How much hangs on a choice, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Without it the run fails.
    Needs,
    /// The way through a state machine.
    Likes,
    /// One more pass.
    Delays,
    /// It goes well either way.
    Any,
}

impl Weight {
    fn of(ends: bool) -> Self {
        if ends { Self::Needs } else { Self::Delays }
    }
}

/// A choice, asked for by one of the steps that take part.
pub(super) struct AskedChoice<'a> {
    pub decision: &'a Decision,
    pub seed: u64,
    /// Of the asking step's key.
    pub marks: &'a Marks,
    /// The key without its numbers.
    pub place: &'a str,
    pub step: StepId,
}

impl AskedChoice<'_> {
    /// What the asking step's answer should be, all of it or nothing, and how much hangs on it.
    pub fn constraints(&self) -> (Weight, Vec<(Path, Constraint)>) {
        let Some(feed) = self.decision.feeds().find(|f| self.is_asking(f)) else {
            return (Weight::Any, Vec::new());
        };
        let own = self.marks.without(feed.depth.minus(self.decision.depth));
        let inside = self.decision.scope.is_none() || feed.through.is_some();
        match &self.decision.kind {
            ChoiceKind::Any(ways) => {
                // Choices differ between the passes and items they are made in.
                let names = [self.decision.name.as_str(), &format!("{own:?}")];
                let mut random = Random::new(hash(self.seed, &names));
                let chosen = random.pick(ways).cloned().unwrap_or_default();
                (Weight::Any, self.wanted(&chosen, random))
            }
            ChoiceKind::Until(max) => {
                let random = Random::new(hash(self.seed, &[&self.decision.name]));
                let ends = 1 + random.clone().below((*max).clamp(1, PASSES) as usize) as u32;
                let pass = if inside { own.passes.last().copied().unwrap_or(u32::MAX) } else { u32::MAX };
                (Weight::of(pass >= ends), self.wanted(&[(0, pass >= ends)], random))
            }
            ChoiceKind::State(machine, index) => {
                let visit = if inside { own.passes.last().copied().unwrap_or(u32::MAX) } else { u32::MAX };
                let chosen = machine.choice(self.seed, *index, visit);
                let way = machine.states.get(*index).and_then(|s| s.ways.get(chosen));
                let random = Random::new(hash(self.seed, &[&self.decision.name, &visit.to_string()]));
                (Weight::Likes, way.map_or_else(Vec::new, |(wanted, _)| self.wanted(wanted, random)))
            }
            ChoiceKind::Judge { score, confidence, max, feeds } => {
                let mut random = Random::new(hash(self.seed, &[&self.decision.name]));
                let ends = 1 + random.below((*max).clamp(1, PASSES) as usize) as u32;
                let iteration = own.iterations.last().copied().unwrap_or(u32::MAX);
                let passes = iteration >= ends;
                let wants = [verdict(*score, passes), verdict(*confidence, true)];
                let all = feeds.iter().zip(wants).flat_map(|(feeds, want)| {
                    feeds.iter().filter(|f| self.is_asking(f)).map(move |f| (f.path.clone(), want.clone()))
                });
                (Weight::of(passes), all.collect())
            }
        }
    }

    /// Whether it is this very call that an answer comes from.
    fn is_asking(&self, feed: &Feed) -> bool {
        feed.step == self.step && ends_at(self.place, &feed.place)
    }

    fn wanted(&self, wanted: &[Wanted], random: Random) -> Vec<(Path, Constraint)> {
        let mut out = Vec::new();
        for (index, want) in wanted {
            let Some(question) = self.decision.questions.get(*index) else { continue };
            let feeds = |r: u32| question.feeds.get(r as usize).map(Vec::as_slice).unwrap_or_default();
            let mut solver = Solver { controlled: &|r| !feeds(r).is_empty(), random: random.clone() };
            for assignment in solver.solve(question.condition.expression(), *want).into_iter().flatten() {
                for feed in feeds(assignment.reference).iter().filter(|f| self.is_asking(f)) {
                    let mut path = feed.path.clone();
                    path.extend(assignment.path.iter().map(Seg::new));
                    let want = through(&assignment.constraint, feed.passes_at);
                    out.extend(vote(&want, feed.votes_at).map(|v| (path.clone(), v)));
                    out.push((path, want));
                }
            }
        }
        out
    }
}

impl Decision {
    /// All answers that take part.
    pub fn feeds(&self) -> impl Iterator<Item = &Feed> {
        let judged = match &self.kind {
            ChoiceKind::Judge { feeds, .. } => feeds.as_slice(),
            _ => &[],
        };
        self.questions.iter().flat_map(|q| &q.feeds).chain(judged).flatten()
    }

    /// Whether a way's conditions can all come out as it wants them.
    pub fn possible(questions: &[AskedCondition], wanted: &[Wanted]) -> bool {
        wanted.iter().all(|(index, want)| {
            questions.get(*index).is_some_and(|q| {
                let mut solver = Solver { controlled: &|_| true, random: Random::new(0) };
                solver.solve(q.condition.expression(), *want).is_some()
            })
        })
    }
}

/// A score that passes clearly, or fails clearly.
fn verdict(least: f64, passes: bool) -> Constraint {
    if passes { Constraint::Bound(Side::AtLeast, least.max(0.9)) } else { Constraint::Bound(Side::Below, least) }
}

/// Where votes are counted, a high score needs passing votes, and a low one failing votes.
fn vote(want: &Constraint, votes_at: Option<f64>) -> Option<Constraint> {
    match (want, votes_at) {
        (Constraint::Bound(Side::AtLeast | Side::Above, _), Some(at)) => Some(Constraint::Bound(Side::AtLeast, at)),
        (Constraint::Bound(Side::AtMost | Side::Below, _), Some(at)) => Some(Constraint::Bound(Side::Below, at)),
        _ => None,
    }
}

/// A want on "the score reaches this" as a want on the score.
fn through(constraint: &Constraint, passes_at: Option<f64>) -> Constraint {
    let Some(threshold) = passes_at else { return constraint.clone() };
    let side = if constraint.holds(&serde_json::Value::Bool(true)) { Side::AtLeast } else { Side::Below };
    Constraint::Bound(side, threshold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_off_a_key() {
        let marks = Marks::of("write@2[0]#3/re%40view@12/x!2~timeout.1");
        assert_eq!((marks.passes, marks.items, marks.iterations), (vec![2, 12], vec![0], vec![3]));
        let cut = Marks::of("a@1/b@2[5]").without(Depth { passes: 1, items: -1, iterations: 3 });
        assert_eq!((cut.passes, cut.items), (vec![1], vec![5]));
    }
}
