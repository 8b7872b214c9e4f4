//! States: what has run before each, over all paths of transitions.

use trefoil_ir::walk::children;
use trefoil_ir::{Flow, Position, Program, SlotId, StateMachine, Step, StepId, StepKind, Takes};

use super::Walk;
use super::look::ReadPlace;
use crate::semantic::reads::Why;
use crate::semantic::slots::{Slots, State};
use crate::semantic::states::has_consensus;

/// The slots of the results of states that, if they fail, have an error as their only value. A command that fails has its
/// output.
pub(super) fn fallible(program: &Program, flow: &Flow) -> Vec<SlotId> {
    let mut found = Vec::new();
    let mut stack = vec![flow.body];
    while let Some(step) = stack.pop().and_then(|id| program.step(id)) {
        if let StepKind::StateMachine(machine) = &step.kind {
            let states = machine.states.iter().filter(|state| state.failed.is_some());
            let steps = states.filter_map(|state| program.step(state.step));
            let fails =
                |step: &&Step| !matches!(step.kind, StepKind::Command(_) | StepKind::Compute(_) | StepKind::Refused(_));
            found.extend(steps.filter(fails).filter_map(|step| step.out));
        }
        stack.extend(children(step));
    }
    found
}

/// What is set for certain if a state has succeeded, and cannot be if it has failed.
fn failed_lacks(well: &State, failed: &State) -> Vec<usize> {
    well.must.beyond(&failed.may)
}

impl<'p> Walk<'_, 'p> {
    /// What is set when the machine has ended.
    pub(super) fn states(&mut self, machine: &'p StateMachine, before: State) -> State {
        let entry = self.entries(machine, &before);
        let spoken = self.spoken(machine, &entry);
        let mut end: Option<State> = None;
        for ((state, entry), spoken) in machine.states.iter().zip(entry).zip(spoken) {
            if let (Some(feedback), Some(spoken)) = (machine.feedback, spoken) {
                self.implies.insert(feedback, spoken.must);
            }
            let reached = entry.is_some();
            // An unreachable state (reported elsewhere) is treated as if everything had run before it, so that nothing
            // is reported.
            let here = entry.unwrap_or_else(|| {
                let all = Slots::new(self.width, true);
                State { must: all.clone(), may: all }
            });
            self.doubt(&here, &Why::NotVisited);
            self.transient(machine);
            let origin = self.program.step(state.step).map_or(self.flow.origin, |s| s.origin);
            let place = ReadPlace::new(Some(state.step), origin, Position::Data);
            let mut after = self.step(state.step, here);
            let success = self.success(state.step);
            if let Some(bit) = success {
                after.set(bit);
            }
            if let Some(failed) = &state.failed {
                self.expr(failed, &after, place.guarded());
            }
            for transition in &state.transitions {
                if let Some(when) = &transition.when {
                    self.cond(when, &after, Some(state.step));
                }
                if let Some(feedback) = &transition.feedback {
                    let mut told = after.clone();
                    if let Some(bit) = success.filter(|_| transition.takes == Takes::Failure) {
                        told.unset(bit);
                    }
                    self.text(feedback, &told, place, false);
                }
            }
            if let Some(fails) = &state.fails_when {
                self.cond(fails, &after, Some(state.step));
            }
            if state.may_end() && reached {
                match &mut end {
                    Some(end) => end.join(&after),
                    None => end = Some(after),
                }
            }
        }
        let end = end.unwrap_or(before);
        self.doubt(&end, &Why::NotVisited);
        self.transient(machine);
        end
    }

    /// For each state: what is set when it is entered with feedback; `None`: it never is.
    fn spoken(&mut self, machine: &'p StateMachine, entry: &[Option<State>]) -> Vec<Option<State>> {
        let mut spoken: Vec<Option<State>> = vec![None; machine.states.len()];
        self.silent += 1;
        for (at, here) in entry.iter().enumerate() {
            let transitions = machine.states.get(at).map(|s| s.transitions.as_slice()).unwrap_or_default();
            let Some(here) = here.as_ref().filter(|_| transitions.iter().any(|t| t.feedback.is_some())) else {
                continue;
            };
            for ((target, state), transition) in self.leave(machine, at, here.clone()).into_iter().zip(transitions) {
                match (spoken.get_mut(target), &transition.feedback) {
                    (Some(Some(known)), Some(_)) => known.join(&state),
                    (Some(none), Some(_)) => *none = Some(state),
                    _ => {}
                }
            }
        }
        self.silent -= 1;
        spoken
    }

    /// Why slots that the machine itself sets at every transition may be unset.
    fn transient(&mut self, machine: &StateMachine) {
        let reasons = [(machine.previous_error, Why::NoFailure), (machine.feedback, Why::NoFeedback)];
        for (slot, why) in reasons {
            if let Some(slot) = slot {
                self.because(slot.index(), why);
            }
        }
    }

    /// What is set when each state is entered; `None`: it is unreachable.
    fn entries(&mut self, machine: &'p StateMachine, before: &State) -> Vec<Option<State>> {
        let mut entry: Vec<Option<State>> = vec![None; machine.states.len()];
        let mut first = before.clone();
        if let Some(visit) = machine.visit {
            first.set(visit.index());
        }
        let initial = machine.initial.index();
        if let Some(place) = entry.get_mut(initial) {
            *place = Some(first);
        }
        // Repeat until nothing changes.
        self.silent += 1;
        // In turns over all states: with the first one next, each transition back to it would repeat all before.
        let mut todo = std::collections::BTreeSet::from([initial]);
        let mut turn = 0;
        while let Some(at) = todo.range(turn..).next().or_else(|| todo.first()).copied() {
            todo.remove(&at);
            turn = at + 1;
            let Some(Some(here)) = entry.get(at).cloned() else { continue };
            for (target, state) in self.leave(machine, at, here) {
                let Some(known) = entry.get_mut(target) else { continue };
                match known {
                    None => *known = Some(state),
                    Some(known) => {
                        let mut joined = known.clone();
                        joined.join(&state);
                        if joined == *known {
                            continue;
                        }
                        *known = joined;
                    }
                }
                todo.insert(target);
            }
        }
        for (at, here) in entry.iter().enumerate() {
            let out = machine.states.get(at).and_then(|s| self.program.step(s.step)?.out);
            if let (Some(here), Some(out)) = (here, out) {
                let (mut well, failed) = self.outcomes(machine, at, here.clone());
                well.join(&failed);
                self.implies.insert(out, well.must);
            }
        }
        self.silent -= 1;
        entry
    }

    /// Whether a step can fail. A computation cannot, unless it needs a number of verdicts.
    fn can_fail(&self, id: StepId) -> bool {
        let Some(step) = self.program.step(id) else { return true };
        match &step.kind {
            StepKind::Compute(value) => has_consensus(value),
            StepKind::Sequence(steps) => steps.iter().any(|s| self.can_fail(*s)),
            _ => true,
        }
    }

    /// What is set after a state has succeeded, and after it has failed.
    fn outcomes(&mut self, machine: &'p StateMachine, at: usize, before: State) -> (State, State) {
        let Some(state) = machine.states.get(at) else { return (before.clone(), before) };
        let mut well = self.step(state.step, before.clone());
        let success = self.success(state.step);
        if let Some(bit) = success {
            well.set(bit);
        }
        if !self.can_fail(state.step) {
            return (well.clone(), well);
        }
        // A state that fails certainly sets its result, and nothing else.
        let mut failed = State { must: before.must.clone(), may: self.until_failure(state.step, before, &well).may };
        if let Some(out) = self.program.step(state.step).and_then(|s| s.out) {
            failed.set(out.index());
        }
        if let Some(bit) = success {
            failed.unset(bit);
        }
        (well, failed)
    }

    /// The bit for the success of a state.
    fn success(&self, step: StepId) -> Option<usize> {
        self.succeeded.get(&self.program.step(step)?.out?).copied()
    }

    /// What may be set when a step fails: nothing after its last part that can fail.
    fn until_failure(&mut self, id: StepId, before: State, well: &State) -> State {
        let Some(Step { kind: StepKind::Sequence(steps), when: None, .. }) = self.program.step(id) else {
            return well.clone();
        };
        let last = steps.iter().rposition(|s| self.can_fail(*s)).unwrap_or_default();
        steps.iter().take(last + 1).fold(before, |state, s| self.step(*s, state))
    }

    /// The targets of a state, and what is set there.
    fn leave(&mut self, machine: &'p StateMachine, at: usize, before: State) -> Vec<(usize, State)> {
        let Some(state) = machine.states.get(at) else { return Vec::new() };
        let (well, failed) = self.outcomes(machine, at, before);
        // Failures that an earlier transition takes are not left for a later one.
        let mut caught = false;
        // What only a state that succeeded sets.
        let telling = |state: &State| failed_lacks(&well, &failed).into_iter().any(|bit| state.must.has(bit));
        let leave = |transition: &trefoil_ir::Transition| {
            let (mut well, mut failed) = (well.clone(), failed.clone());
            if let Some(error) = machine.previous_error {
                well.unset(error.index());
                failed.set(error.index());
            }
            let mut state = match transition.takes {
                Takes::Success => well,
                Takes::Failure => failed,
                Takes::Both if caught => well,
                Takes::Both => {
                    let mut both = well.clone();
                    both.join(&failed);
                    let mut held = both.clone();
                    transition.when.iter().for_each(|when| self.granted(when, &mut held));
                    if telling(&held) { well } else { both }
                }
            };
            if let Some(feedback) = machine.feedback {
                match transition.feedback {
                    Some(_) => state.set(feedback.index()),
                    None => state.unset(feedback.index()),
                }
            }
            match &transition.when {
                Some(when) => self.granted(when, &mut state),
                None => caught |= transition.takes != Takes::Success,
            }
            (transition.target.index(), state)
        };
        state.transitions.iter().map(leave).collect()
    }
}
