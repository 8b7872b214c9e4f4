//! The decisions of a program that model answers take part in: which alternatives there are, and which one a run takes.
//!
//! Loops and judges end by the pass they are in, the last allowed one at the latest; state machines go back at most twice,
//! from one of their states; everything else takes each of its ways over seeds. All steps that take part in a decision
//! choose alike, because the choice hangs on the decision's own place and not on theirs.

use trefoil_ir::StepId;
use trefoil_template::Condition;

use super::constraint::{Constraint, Side};
use super::random::{Random, hash};
use super::solve::Solver;
use super::trace::{Depth, Feed};
use super::wants::{Path, Seg};

/// A loop ends after so many passes at most, where it may choose.
const PASSES: u32 = 3;
/// How often a state machine goes back.
const RETURNS: u32 = 2;

/// A condition, and which answers its references come from.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub condition: Condition,
    /// By reference.
    pub feeds: Vec<Vec<Feed>>,
}

/// A condition and what it should be: index into [`Decision::questions`].
pub(super) type Wanted = (usize, bool);

/// Several ways to go on.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    /// Names it, the same in every run.
    pub name: String,
    pub kind: Kind,
    pub questions: Vec<Question>,
    /// The depth of the place where it is taken.
    pub depth: Depth,
    /// The step whose passes or iterations count for it; answers from outside of it do not change with them.
    pub scope: Option<StepId>,
}

/// How a way is chosen.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Any of them, the first ones as often as their number says.
    Any(Vec<Vec<Wanted>>),
    /// One question: false in early passes, true at the latest in this one.
    Until(u32),
    /// A state's transitions.
    State(Ways),
    /// A judge's verdict: the score and confidence to reach, and the iterations there are.
    Judge { score: f64, confidence: f64, max: u32, feeds: Vec<Vec<Feed>> },
}

/// The transitions of a state.
#[derive(Debug, Clone)]
pub(super) struct Ways {
    /// What each wants.
    pub wanted: Vec<Vec<Wanted>>,
    /// Those that cannot lead back here.
    pub onward: Vec<usize>,
    /// The one that is nearest to an end.
    pub nearest: usize,
    /// How often the machine may go back at all.
    pub returns: u32,
    /// Which of the machine's choosing states this is, and how many there are.
    pub place: (usize, usize),
    /// Names the machine.
    pub machine: String,
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
        let mut rest = key;
        while let Some(at) = rest.find(['@', '[', '#']) {
            let (mark, after) = rest.split_at(at);
            let _ = mark;
            let mut chars = after.chars();
            let sort = chars.next();
            rest = chars.as_str();
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number = rest.get(..digits).and_then(|d| d.parse().ok());
            match (sort, number) {
                (Some('@'), Some(n)) => marks.passes.push(n),
                (Some('['), Some(n)) => marks.items.push(n),
                (Some('#'), Some(n)) => marks.iterations.push(n),
                _ => {}
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

/// A choice, asked for by one of the steps that take part.
pub(super) struct Asked<'a> {
    pub decision: &'a Decision,
    pub seed: u64,
    /// Of the asking step's key.
    pub marks: &'a Marks,
    pub step: StepId,
}

impl Asked<'_> {
    /// What the asking step's answer should be, all of it or nothing.
    pub fn constraints(&self) -> Vec<(Path, Constraint)> {
        let Some(feed) = self.decision.feeds().find(|f| f.step == self.step) else { return Vec::new() };
        let own = self.marks.without(feed.depth.minus(self.decision.depth));
        let inside = self.decision.scope.is_none() || feed.through.is_some();
        match &self.decision.kind {
            Kind::Any(ways) => {
                // Choices differ between the passes and items they are made in.
                let names = [self.decision.name.as_str(), &format!("{own:?}")];
                let mut random = Random::new(hash(self.seed, &names));
                let chosen = random.pick(ways).cloned().unwrap_or_default();
                self.wanted(&chosen, random)
            }
            Kind::Until(max) => {
                let random = Random::new(hash(self.seed, &[&self.decision.name]));
                let ends = 1 + random.clone().below((*max).clamp(1, PASSES) as usize) as u32;
                let pass = if inside { own.passes.last().copied().unwrap_or(u32::MAX) } else { u32::MAX };
                self.wanted(&[(0, pass >= ends)], random)
            }
            Kind::State(ways) => {
                let visit = if inside { own.passes.last().copied().unwrap_or(u32::MAX) } else { u32::MAX };
                let chosen = self.transition(ways, visit);
                let random = Random::new(hash(self.seed, &[&self.decision.name, &visit.to_string()]));
                ways.wanted.get(chosen).map_or_else(Vec::new, |w| self.wanted(w, random))
            }
            Kind::Judge { score, confidence, max, feeds } => {
                let mut random = Random::new(hash(self.seed, &[&self.decision.name]));
                let ends = 1 + random.below((*max).clamp(1, PASSES) as usize) as u32;
                let iteration = own.iterations.last().copied().unwrap_or(u32::MAX);
                let passes = iteration >= ends;
                let wants = [verdict(*score, passes), verdict(*confidence, true)];
                let all = feeds.iter().zip(wants);
                all.flat_map(|(feeds, want)| {
                    feeds.iter().filter(|f| f.step == self.step).map(move |f| (f.path.clone(), want.clone()))
                })
                .collect()
            }
        }
    }

    /// Early on any way, then only those that lead on.
    fn transition(&self, ways: &Ways, visit: u32) -> usize {
        let mut machine = Random::new(hash(self.seed, &[&ways.machine]));
        let (place, places) = ways.place;
        let returning = machine.below(places.max(1)) == place;
        let allowed = if returning { machine.below(ways.returns.min(RETURNS) as usize + 1) as u32 } else { 0 };
        let mut random = Random::new(hash(self.seed, &[&self.decision.name, &visit.to_string(), "way"]));
        if visit <= allowed {
            random.below(ways.wanted.len())
        } else {
            random.pick(&ways.onward).copied().unwrap_or(ways.nearest)
        }
    }

    fn wanted(&self, wanted: &[Wanted], random: Random) -> Vec<(Path, Constraint)> {
        let mut out = Vec::new();
        for (index, want) in wanted {
            let Some(question) = self.decision.questions.get(*index) else { continue };
            let feeds = |r: u32| question.feeds.get(r as usize).map(Vec::as_slice).unwrap_or_default();
            let mut solver = Solver { controlled: &|r| !feeds(r).is_empty(), random: random.clone() };
            for assignment in solver.solve(question.condition.expression(), *want).into_iter().flatten() {
                for feed in feeds(assignment.reference).iter().filter(|f| f.step == self.step) {
                    let mut path = feed.path.clone();
                    path.extend(assignment.path.iter().map(Seg::new));
                    out.push((path, through(&assignment.constraint, feed.passes_at)));
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
            Kind::Judge { feeds, .. } => feeds.as_slice(),
            _ => &[],
        };
        self.questions.iter().flat_map(|q| &q.feeds).chain(judged).flatten()
    }

    /// Whether a way's conditions can all come out as it wants them.
    pub fn possible(questions: &[Question], wanted: &[Wanted]) -> bool {
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

/// A want on "the score reaches this" as a want on the score.
fn through(constraint: &Constraint, passes_at: Option<f64>) -> Constraint {
    let Some(threshold) = passes_at else { return constraint.clone() };
    verdict(threshold, constraint.holds(&serde_json::Value::Bool(true)))
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
