//! States: what has run before each, over all paths of transitions.

use trefoil_ir::walk::children_of;
use trefoil_ir::{
    FlowDefinition, IndexVec, MatchedOutcome, Program, SlotId, StateId, StateMachine, Step, StepId, StepKind, TextRole,
    WorkflowState,
};

use super::AssignmentWalk;
use super::expression_reads::ReadContext;
use crate::semantic::reads::AbsenceReason;
use crate::semantic::slots::{SlotSet, SlotState};
use crate::semantic::states::has_consensus;

/// The slots of the results of states that, if they fail, have an error as their only value. A command that fails has its
/// output.
pub(super) fn fallible_result_slots(program: &Program, flow: &FlowDefinition) -> Vec<SlotId> {
    let mut found = Vec::new();
    let mut stack = vec![flow.body];
    while let Some(id) = stack.pop() {
        let step = &program.steps[id];
        if let StepKind::StateMachine(machine) = &step.kind {
            for state in &machine.states {
                let step = &program.steps[state.step];
                let has_output =
                    matches!(step.kind, StepKind::Command(_) | StepKind::Compute(_) | StepKind::Refused(_));
                if state.failed.is_some() && !has_output {
                    found.extend(step.out);
                }
            }
        }
        stack.extend(children_of(step));
    }
    found
}

/// What is set for certain if a state has succeeded, and cannot be if it has failed.
fn failed_lacks(well: &SlotState, failed: &SlotState) -> Vec<usize> {
    well.must.difference_from(&failed.may)
}

impl<'p> AssignmentWalk<'_, 'p> {
    /// What is set when the machine has ended.
    pub(super) fn walk_states(&mut self, machine: &'p StateMachine, before: SlotState) -> SlotState {
        let mut entries = self.entries(machine, &before);
        let mut spoken = self.spoken(machine, &entries);
        let mut end: Option<SlotState> = None;
        for (id, state) in machine.states.entries() {
            if let (Some(feedback), Some(spoken)) = (machine.feedback, spoken[id].take()) {
                self.implies.insert(feedback, spoken.must);
            }
            let entry = entries[id].take();
            let reached = entry.is_some();
            let here = match entry {
                Some(entry) => entry,
                // An unreachable state (reported elsewhere) is treated as if everything had run before it, so that
                // nothing is reported.
                None => {
                    let all = SlotSet::new(self.width, true);
                    SlotState { must: all.clone(), may: all }
                }
            };
            self.doubt(&here, &AbsenceReason::NotVisited);
            self.transient(machine);
            let after = self.walk_state(state, here);
            if state.may_end() && reached {
                match &mut end {
                    Some(end) => end.merge_alternative(&after),
                    None => end = Some(after),
                }
            }
        }
        let end = end.unwrap_or(before);
        self.doubt(&end, &AbsenceReason::NotVisited);
        self.transient(machine);
        end
    }

    /// Walks a state, and what is read when it is left. What is set when it has succeeded.
    fn walk_state(&mut self, state: &'p WorkflowState, before: SlotState) -> SlotState {
        let origin = self.program.steps[state.step].origin;
        let place = ReadContext::new(Some(state.step), origin, TextRole::Data);
        let mut after = self.step(state.step, before);
        let success = self.success(state.step);
        if let Some(bit) = success {
            after.set_always(bit);
        }
        if let Some(failed) = &state.failed {
            self.visit_expr(failed, &after, place.with_guard());
        }
        for transition in &state.transitions {
            if let Some(when) = &transition.when {
                self.visit_condition(when, &after, Some(state.step));
            }
            if let Some(feedback) = &transition.feedback {
                let mut told = after.clone();
                if let Some(bit) = success
                    && transition.takes == MatchedOutcome::Failure
                {
                    told.unset_slot(bit);
                }
                self.visit_text(feedback, &told, place, false);
            }
        }
        if let Some(fails) = &state.fails_when {
            self.visit_condition(fails, &after, Some(state.step));
        }
        after
    }

    /// For each state: what is set when it is entered with feedback; `None`: it never is.
    fn spoken(
        &mut self,
        machine: &'p StateMachine,
        entry: &IndexVec<StateId, Option<SlotState>>,
    ) -> IndexVec<StateId, Option<SlotState>> {
        let mut spoken: IndexVec<StateId, Option<SlotState>> = machine.states.map(|_| None);
        self.silent += 1;
        for (id, state) in machine.states.entries() {
            let Some(here) = &entry[id] else { continue };
            let transitions = &state.transitions;
            if transitions.iter().all(|transition| transition.feedback.is_none()) {
                continue;
            }
            let left = self.leave(machine, state, here.clone());
            for ((target, there), transition) in left.into_iter().zip(transitions) {
                if transition.feedback.is_none() {
                    continue;
                }
                match &mut spoken[target] {
                    Some(known) => known.merge_alternative(&there),
                    none => *none = Some(there),
                }
            }
        }
        self.silent -= 1;
        spoken
    }

    /// Why slots that the machine itself sets at every transition may be unset.
    fn transient(&mut self, machine: &StateMachine) {
        let reasons =
            [(machine.previous_error, AbsenceReason::NoFailure), (machine.feedback, AbsenceReason::NoFeedback)];
        for (slot, why) in reasons {
            if let Some(slot) = slot {
                self.set_absence_reason(slot.index(), why);
            }
        }
    }

    /// What is set when each state is entered; `None`: it is unreachable.
    fn entries(&mut self, machine: &'p StateMachine, before: &SlotState) -> IndexVec<StateId, Option<SlotState>> {
        let mut entry: IndexVec<StateId, Option<SlotState>> = machine.states.map(|_| None);
        let mut first = before.clone();
        if let Some(visit) = machine.visit {
            first.set_always(visit.index());
        }
        entry[machine.initial] = Some(first);
        // Repeat until nothing changes.
        self.silent += 1;
        // In turns over all states: with the first one next, each transition back to it would repeat all before.
        let mut todo = std::collections::BTreeSet::from([machine.initial]);
        let mut turn = StateId(0);
        while let Some(id) = todo.range(turn..).next().or_else(|| todo.first()).copied() {
            todo.remove(&id);
            turn = StateId(id.0 + 1);
            let Some(here) = entry[id].clone() else { continue };
            for (target, state) in self.leave(machine, &machine.states[id], here) {
                let known = &mut entry[target];
                match known {
                    None => *known = Some(state),
                    Some(known) => {
                        let mut joined = known.clone();
                        joined.merge_alternative(&state);
                        if joined == *known {
                            continue;
                        }
                        *known = joined;
                    }
                }
                todo.insert(target);
            }
        }
        for (id, state) in machine.states.entries() {
            if let (Some(here), Some(out)) = (&entry[id], self.program.steps[state.step].out) {
                let (mut well, failed) = self.outcomes(state, here.clone());
                well.merge_alternative(&failed);
                self.implies.insert(out, well.must);
            }
        }
        self.silent -= 1;
        entry
    }

    /// Whether a step can fail. A computation cannot, unless it needs a number of verdicts.
    fn can_fail(&self, id: StepId) -> bool {
        let step = &self.program.steps[id];
        match &step.kind {
            StepKind::Compute(value) => has_consensus(value),
            StepKind::Sequence(steps) => steps.iter().any(|s| self.can_fail(*s)),
            _ => true,
        }
    }

    /// What is set after a state has succeeded, and after it has failed.
    fn outcomes(&mut self, state: &'p WorkflowState, before: SlotState) -> (SlotState, SlotState) {
        let mut well = self.step(state.step, before.clone());
        let success = self.success(state.step);
        if let Some(bit) = success {
            well.set_always(bit);
        }
        if !self.can_fail(state.step) {
            return (well.clone(), well);
        }
        // A state that fails certainly sets its result, and nothing else.
        let mut failed =
            SlotState { must: before.must.clone(), may: self.until_failure(state.step, before, &well).may };
        if let Some(out) = self.program.steps[state.step].out {
            failed.set_always(out.index());
        }
        if let Some(bit) = success {
            failed.unset_slot(bit);
        }
        (well, failed)
    }

    /// The bit for the success of a state.
    fn success(&self, step: StepId) -> Option<usize> {
        self.succeeded.get(&self.program.steps[step].out?).copied()
    }

    /// What may be set when a step fails: nothing after its last part that can fail.
    fn until_failure(&mut self, id: StepId, before: SlotState, well: &SlotState) -> SlotState {
        let Step { kind: StepKind::Sequence(steps), when: None, .. } = &self.program.steps[id] else {
            return well.clone();
        };
        let last = steps.iter().rposition(|s| self.can_fail(*s)).unwrap_or_default();
        let mut state = before;
        for step in steps.iter().take(last + 1) {
            state = self.step(*step, state);
        }
        state
    }

    /// The targets of a state, and what is set there.
    fn leave(
        &mut self,
        machine: &'p StateMachine,
        state: &'p WorkflowState,
        before: SlotState,
    ) -> Vec<(StateId, SlotState)> {
        let (well, failed) = self.outcomes(state, before);
        // Failures that an earlier transition takes are not left for a later one.
        let mut caught = false;
        // What only a state that succeeded sets.
        let telling = |held: &SlotState| failed_lacks(&well, &failed).into_iter().any(|bit| held.must.has_slot(bit));
        let mut left = Vec::with_capacity(state.transitions.len());
        for transition in &state.transitions {
            let (mut well, mut failed) = (well.clone(), failed.clone());
            if let Some(error) = machine.previous_error {
                well.unset_slot(error.index());
                failed.set_always(error.index());
            }
            let mut there = match transition.takes {
                MatchedOutcome::Success => well,
                MatchedOutcome::Failure => failed,
                MatchedOutcome::Both if caught => well,
                MatchedOutcome::Both => {
                    let mut both = well.clone();
                    both.merge_alternative(&failed);
                    let mut held = both.clone();
                    if let Some(when) = &transition.when {
                        self.apply_condition(when, &mut held);
                    }
                    if telling(&held) { well } else { both }
                }
            };
            if let Some(feedback) = machine.feedback {
                match transition.feedback {
                    Some(_) => there.set_always(feedback.index()),
                    None => there.unset_slot(feedback.index()),
                }
            }
            match &transition.when {
                Some(when) => self.apply_condition(when, &mut there),
                None => caught |= transition.takes != MatchedOutcome::Success,
            }
            left.push((transition.target, there));
        }
        left
    }
}
