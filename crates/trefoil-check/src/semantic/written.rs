//! The transitions of a machine as written, whether or not they can be taken, including those whose intended targets
//! are only guessed (`Lead`).

use trefoil_ir::{Facts, Program, StateMachine};
use trefoil_syntax::Location;

/// The written paths through a machine.
pub struct Written {
    start: Way,
    /// The targets of each state.
    next: Vec<Way>,
    /// For each state: whether a run can end there.
    ends: Vec<bool>,
}

/// The targets of a state, or of the start.
#[derive(Default)]
struct Way {
    to: Vec<usize>,
    /// Whether a target is invalid and resembles no state, so that any state may have been meant.
    anywhere: bool,
}

impl Way {
    fn meant(&mut self, facts: &Facts, from: Location, places: &[Option<Location>]) {
        for lead in facts.leads.iter().filter(|lead| lead.from == from) {
            match lead.to {
                Some(to) => self.to.extend(places.iter().position(|at| *at == Some(to))),
                None => self.anywhere = true,
            }
        }
    }
}

impl Written {
    /// The paths of a machine that is declared here.
    pub fn of(program: &Program, facts: &Facts, machine: &StateMachine, origin: Location) -> Self {
        let place = |s: &trefoil_ir::State| program.step(s.step).map(|step| step.origin);
        let places: Vec<Option<Location>> = machine.states.iter().map(place).collect();
        let mut start = Way { to: vec![machine.initial.index()], anywhere: false };
        start.meant(facts, origin, &places);
        let ways = machine.states.iter().zip(&places).map(|(state, at)| {
            let mut way = Way { to: state.transitions.iter().map(|t| t.target.index()).collect(), anywhere: false };
            at.iter().for_each(|at| way.meant(facts, *at, &places));
            way
        });
        let next: Vec<Way> = ways.collect();
        let ends = machine.states.iter().map(trefoil_ir::State::may_end).collect();
        Self { start, next, ends }
    }

    /// For each state: whether a run can reach it by the written transitions, or could if the reported ones were fixed.
    /// `None`: any state may have been meant.
    pub fn reached(&self) -> Option<Vec<bool>> {
        let seen = self.seen();
        let lost = self.start.anywhere || seen.iter().zip(&self.next).any(|(seen, way)| *seen && way.anywhere);
        (!lost).then_some(seen)
    }

    fn seen(&self) -> Vec<bool> {
        let mut seen = vec![false; self.next.len()];
        let mut stack = self.start.to.clone();
        while let Some(at) = stack.pop() {
            match seen.get_mut(at) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            stack.extend(self.targets(at));
        }
        seen
    }

    /// The targets of a state.
    pub fn targets(&self, state: usize) -> impl Iterator<Item = usize> {
        self.next.get(state).into_iter().flat_map(|way| &way.to).copied()
    }

    /// The states that a run can reach, but from which it cannot reach an end, if it only takes the transitions
    /// accepted by `goes`.
    pub fn stuck(&self, goes: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
        let open = self.next.iter().zip(&self.ends).map(|(way, ends)| *ends || way.anywhere).collect();
        let next = |from: usize| self.targets(from).filter(|to| goes(from, *to)).collect();
        let ends = ending(open, &next);
        let stuck = self.seen().into_iter().zip(ends).enumerate();
        stuck.filter(|(_, (seen, ends))| *seen && !ends).map(|(at, _)| at).collect()
    }

    /// For each state, the number of states on the shortest path from the start to it, itself included; `None`: no path
    /// leads to it, or an unknown path may be shorter.
    pub fn entered(&self) -> Vec<Option<u64>> {
        let mut lengths = vec![None; self.next.len()];
        let mut lost = self.start.anywhere;
        let (mut here, mut length) = (self.start.to.clone(), 1);
        while !here.is_empty() && !lost {
            let mut next = Vec::new();
            for at in here {
                match lengths.get_mut(at) {
                    Some(place @ None) => *place = Some(length),
                    _ => continue,
                }
                lost |= self.next.get(at).is_some_and(|way| way.anywhere);
                next.extend(self.targets(at));
            }
            (here, length) = (next, length + 1);
        }
        lengths
    }

    /// The number of states on the shortest path from the start to an end; `None`: there is none, or an unknown path
    /// may be shorter.
    pub fn shortest(&self) -> Option<u64> {
        let entered = self.entered();
        let shortest = entered.iter().zip(&self.ends).filter_map(|(length, end)| length.filter(|_| *end)).min()?;
        let lost = self.start.anywhere
            || entered.iter().zip(&self.next).any(|(length, way)| way.anywhere && length.is_some_and(|l| l < shortest));
        (!lost).then_some(shortest)
    }

    /// Whether a run can reach a state, and from there the same state again.
    pub fn returns(&self, state: usize) -> bool {
        let mut seen = vec![false; self.next.len()];
        let mut stack: Vec<usize> = self.targets(state).collect();
        while let Some(at) = stack.pop() {
            match seen.get_mut(at) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            stack.extend(self.targets(at));
        }
        seen.get(state) == Some(&true) && self.seen().get(state) == Some(&true)
    }
}

/// For each state: whether an end can be reached from it. `ends`: the states that are one.
pub fn ending(mut ends: Vec<bool>, next: &dyn Fn(usize) -> Vec<usize>) -> Vec<bool> {
    let mut before = vec![Vec::new(); ends.len()];
    for at in 0..ends.len() {
        for target in next(at) {
            if let Some(list) = before.get_mut(target) {
                list.push(at);
            }
        }
    }
    let mut stack: Vec<usize> = (0..ends.len()).filter(|at| ends.get(*at) == Some(&true)).collect();
    while let Some(at) = stack.pop() {
        for from in before.get(at).into_iter().flatten() {
            if let Some(place) = ends.get_mut(*from).filter(|place| !**place) {
                *place = true;
                stack.push(*from);
            }
        }
    }
    ends
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::{Way, Written};

    /// The first state is the start; states without targets are the ends.
    fn written(next: &[&[usize]]) -> Written {
        let way = |to: &[usize]| Way { to: to.to_vec(), anywhere: false };
        let ends = next.iter().map(|to| to.is_empty()).collect();
        Written { start: way(&[0]), next: next.iter().map(|to| way(to)).collect(), ends }
    }

    #[test]
    fn states_without_a_way_out_are_found() {
        let all = |_, _| true;
        assert_eq!(written(&[&[1, 3], &[2], &[1], &[]]).stuck(&all), [1, 2]);
        let looped = written(&[&[1], &[2], &[0, 3], &[], &[4]]);
        assert!(looped.stuck(&all).is_empty(), "nothing leads to the last one");
        assert_eq!(looped.stuck(&|from, to| (from, to) != (2, 3)), [0, 1, 2]);
    }

    #[test]
    fn a_way_that_may_lead_anywhere_may_lead_out() {
        let mut lost = written(&[&[1], &[0]]);
        lost.next[1].anywhere = true;
        assert!(lost.stuck(&|_, _| true).is_empty());
        assert_eq!(lost.shortest(), None);
        assert_eq!(lost.reached(), None);
    }

    #[test]
    fn the_shortest_way_counts_states() {
        assert_eq!(written(&[&[1, 2], &[2], &[]]).shortest(), Some(2));
        assert_eq!(written(&[&[1], &[0]]).shortest(), None);
        assert_eq!(
            written(&[&[1, 2], &[3], &[], &[0], &[]]).entered(),
            [1, 2, 2, 3, 0].map(|n| Some(n).filter(|n| *n > 0))
        );
    }

    #[test]
    fn a_state_returns_where_a_round_leads_through_it() {
        let looped = written(&[&[1], &[2], &[1, 3], &[], &[4]]);
        assert_eq!([0, 1, 2, 3, 4].map(|state| looped.returns(state)), [false, true, true, false, false]);
    }
}
