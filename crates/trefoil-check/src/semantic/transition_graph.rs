//! The transitions of a machine as written, whether or not they can be taken, including those whose intended targets
//! are only guessed (`BrokenTransition`).

use trefoil_ir::{Facts, IndexVec, Program, StateId, StateMachine, WorkflowState};
use trefoil_syntax::Location;

/// The written paths through a machine.
pub struct TransitionGraph {
    start: TransitionTargets,
    /// The targets of each state.
    next: IndexVec<StateId, TransitionTargets>,
    /// For each state: whether a run can end there.
    ends: IndexVec<StateId, bool>,
}

/// The targets of a state, or of the start.
#[derive(Default)]
struct TransitionTargets {
    to: Vec<StateId>,
    /// Whether a target is invalid and resembles no state, so that any state may have been meant.
    anywhere: bool,
}

impl TransitionTargets {
    fn add_intended_targets(&mut self, facts: &Facts, from: Location, places: &IndexVec<StateId, Location>) {
        for lead in &facts.broken_transitions {
            if lead.from != from {
                continue;
            }
            match lead.to {
                Some(to) => self.to.extend(places.find_id(|at| *at == to)),
                None => self.anywhere = true,
            }
        }
    }
}

impl TransitionGraph {
    /// The paths of a machine that is declared here.
    pub fn from_machine(program: &Program, facts: &Facts, machine: &StateMachine, origin: Location) -> Self {
        let places = machine.states.map(|state| program.steps[state.step].origin);
        let mut start = TransitionTargets { to: vec![machine.initial], anywhere: false };
        start.add_intended_targets(facts, origin, &places);
        let mut next = IndexVec::default();
        for (id, state) in machine.states.entries() {
            let written = state.transitions.iter().map(|transition| transition.target).collect();
            let mut targets = TransitionTargets { to: written, anywhere: false };
            targets.add_intended_targets(facts, places[id], &places);
            next.push(targets);
        }
        let ends = machine.states.map(WorkflowState::may_end);
        Self { start, next, ends }
    }

    /// For each state: whether a run can reach it by the written transitions, or could if the reported ones were fixed.
    /// `None`: any state may have been meant.
    pub fn reached_states(&self) -> Option<IndexVec<StateId, bool>> {
        let seen = self.reachable_states();
        let mut lost = self.start.anywhere;
        for (id, targets) in self.next.entries() {
            lost |= seen[id] && targets.anywhere;
        }
        if lost { None } else { Some(seen) }
    }

    fn reachable_states(&self) -> IndexVec<StateId, bool> {
        self.seen_from(&self.start.to)
    }

    /// For each state: whether a path leads to it from one of these, which lead to themselves.
    fn seen_from(&self, start: &[StateId]) -> IndexVec<StateId, bool> {
        let mut seen = self.next.map(|_| false);
        let mut stack = start.to_vec();
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut seen[id], true) {
                stack.extend(self.target_states(id));
            }
        }
        seen
    }

    /// The targets of a state.
    pub fn target_states(&self, state: StateId) -> &[StateId] {
        &self.next[state].to
    }

    /// The states that a run can reach, but from which it cannot reach an end, if it only takes the transitions
    /// accepted by `goes`.
    pub fn stuck_states(&self, goes: &dyn Fn(StateId, StateId) -> bool) -> Vec<StateId> {
        let mut ends = self.ends.clone();
        for (id, targets) in self.next.entries() {
            ends[id] |= targets.anywhere;
        }
        let next = |from: StateId| {
            let mut targets = self.target_states(from).to_vec();
            targets.retain(|to| goes(from, *to));
            targets
        };
        let leads_to_end = states_reaching_end(ends, &next);
        let seen = self.reachable_states();
        let mut stuck = Vec::new();
        for id in seen.element_ids() {
            if seen[id] && !leads_to_end[id] {
                stuck.push(id);
            }
        }
        stuck
    }

    /// For each state, the number of states on the shortest path from the start to it, itself included; `None`: no path
    /// leads to it, or an unknown path may be shorter.
    pub fn path_lengths(&self) -> IndexVec<StateId, Option<u64>> {
        let mut lengths = self.next.map(|_| None);
        let mut lost = self.start.anywhere;
        let (mut here, mut length) = (self.start.to.clone(), 1);
        while !here.is_empty() && !lost {
            let mut next = Vec::new();
            for id in here {
                if lengths[id].is_none() {
                    lengths[id] = Some(length);
                    lost |= self.next[id].anywhere;
                    next.extend(self.target_states(id));
                }
            }
            (here, length) = (next, length + 1);
        }
        lengths
    }

    /// The number of states on the shortest path from the start to an end; `None`: there is none, or an unknown path
    /// may be shorter.
    pub fn shortest_run_length(&self) -> Option<u64> {
        let entered = self.path_lengths();
        let mut runs = Vec::new();
        for (id, length) in entered.entries() {
            if self.ends[id] {
                runs.extend(*length);
            }
        }
        let shortest = runs.into_iter().min()?;
        if self.start.anywhere {
            return None;
        }
        for (id, length) in entered.entries() {
            let may_lead_anywhere = self.next[id].anywhere;
            if may_lead_anywhere && matches!(length, Some(length) if *length < shortest) {
                return None;
            }
        }
        Some(shortest)
    }

    /// Whether a run can reach a state, and from there the same state again.
    pub fn can_return_to(&self, state: StateId) -> bool {
        self.seen_from(self.target_states(state))[state] && self.reachable_states()[state]
    }
}

/// For each state: whether an end can be reached from it. `ends`: the states that are one.
pub fn states_reaching_end(
    mut ends: IndexVec<StateId, bool>,
    next: &dyn Fn(StateId) -> Vec<StateId>,
) -> IndexVec<StateId, bool> {
    let mut before: IndexVec<StateId, Vec<StateId>> = ends.map(|_| Vec::new());
    for id in ends.element_ids() {
        for target in next(id) {
            before[target].push(id);
        }
    }
    let mut stack = Vec::new();
    for (id, is_end) in ends.entries() {
        if *is_end {
            stack.push(id);
        }
    }
    while let Some(id) = stack.pop() {
        for &from in &before[id] {
            if !std::mem::replace(&mut ends[from], true) {
                stack.push(from);
            }
        }
    }
    ends
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use trefoil_ir::StateId;

    use super::{TransitionGraph, TransitionTargets};

    /// The first state is the start; states without targets are the ends.
    fn written(next: &[&[u32]]) -> TransitionGraph {
        let way = |to: &[u32]| TransitionTargets { to: to.iter().copied().map(StateId).collect(), anywhere: false };
        let ends = next.iter().map(|to| to.is_empty()).collect();
        TransitionGraph { start: way(&[0]), next: next.iter().map(|to| way(to)).collect(), ends }
    }

    #[test]
    fn states_without_a_way_out_are_found() {
        let all = |_, _| true;
        assert_eq!(written(&[&[1, 3], &[2], &[1], &[]]).stuck_states(&all), [1, 2].map(StateId));
        let looped = written(&[&[1], &[2], &[0, 3], &[], &[4]]);
        assert!(looped.stuck_states(&all).is_empty(), "nothing leads to the last one");
        assert_eq!(looped.stuck_states(&|from, to| (from.0, to.0) != (2, 3)), [0, 1, 2].map(StateId));
    }

    #[test]
    fn a_way_that_may_lead_anywhere_may_lead_out() {
        let mut lost = written(&[&[1], &[0]]);
        lost.next[StateId(1)].anywhere = true;
        assert!(lost.stuck_states(&|_, _| true).is_empty());
        assert_eq!(lost.shortest_run_length(), None);
        assert_eq!(lost.reached_states(), None);
    }

    #[test]
    fn the_shortest_way_counts_states() {
        assert_eq!(written(&[&[1, 2], &[2], &[]]).shortest_run_length(), Some(2));
        assert_eq!(written(&[&[1], &[0]]).shortest_run_length(), None);
        assert_eq!(
            written(&[&[1, 2], &[3], &[], &[0], &[]]).path_lengths().as_slice(),
            [1, 2, 2, 3, 0].map(|n| Some(n).filter(|n| *n > 0))
        );
    }

    #[test]
    fn a_state_returns_where_a_round_leads_through_it() {
        let looped = written(&[&[1], &[2], &[1, 3], &[], &[4]]);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|state| looped.can_return_to(StateId(state))),
            [false, true, true, false, false]
        );
    }
}
