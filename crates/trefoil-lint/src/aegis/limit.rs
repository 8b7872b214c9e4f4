//! Limits that end a run before it can get anywhere.

use trefoil_syntax::Diagnostic;

use super::reach::successors;
use super::unit::{Agent, Found, Workflow};
use trefoil_front::aegis::manifest::transition::leave_success_open;
use trefoil_front::aegis::names::Before;

/// Fewer entries of states than the shortest way to an end has.
pub fn entries(unit: &Workflow<'_, '_>, found: &mut Found) {
    if let Some(at) = unit.workflow.max_entries_at
        && let Some(shortest) = shortest(unit)
        && shortest > unit.workflow.max_entries as usize
    {
        let message = format!("no run can reach an end: the shortest path has {shortest} states");
        found.push(Diagnostic::warning("endless-loop", unit.file.at(at), message).help("allow at least that many"));
    }
}

/// A single visit of a state to which transitions lead back.
pub fn visits(unit: &Workflow<'_, '_>, found: &mut Found) {
    for (i, state) in unit.workflow.states.iter().enumerate() {
        let Some(at) = state.max_visits_at.filter(|_| state.max_visits == 1) else { continue };
        if unit.names.paths.reachable(i) && unit.names.paths.before(i, i) != Before::Never {
            let message = format!("transitions lead back to `{}`, but its second visit fails the run", state.name);
            found.push(Diagnostic::warning("endless-loop", unit.file.at(at), message).help("allow at least 2 visits"));
        }
    }
}

/// How many states the shortest way from the first one to an end has.
fn shortest(unit: &Workflow<'_, '_>) -> Option<usize> {
    if unit.workflow.is_pipeline() {
        return Some(unit.workflow.states.len());
    }
    let first = unit.workflow.initial.as_ref().map_or(Some(0), |text| unit.names.index(&text.value))?;
    let mut seen = vec![false; unit.workflow.states.len()];
    let (mut here, mut length) = (vec![first], 1);
    while !here.is_empty() {
        let mut next = Vec::new();
        for at in here {
            match seen.get_mut(at) {
                Some(place) if !*place => *place = true,
                _ => continue,
            }
            let state = unit.workflow.states.get(at)?;
            // A way of unknown length may be shorter.
            let written = state.transitions.as_deref().unwrap_or_default();
            if state.kind.is_none() || written.is_empty() || leave_success_open(written) {
                return Some(length);
            }
            let behind = successors(unit, at);
            if behind.len() < state.transitions.as_ref().map_or(0, Vec::len) {
                return None;
            }
            next.extend(behind);
        }
        (here, length) = (next, length + 1);
    }
    None
}

/// A limit of one iteration above that of all together.
pub fn iteration(unit: &Agent<'_, '_>, found: &mut Found) {
    let agent = unit.agent;
    if let (Some(at), Some(deadline)) = (agent.execution.iteration_timeout_at, agent.deadline_ms)
        && deadline < agent.execution.iteration_timeout_ms
    {
        let message = format!(
            "`iteration_timeout` is never reached: `security.resources.timeout` ends all iterations after {} s",
            deadline / 1_000
        );
        found.push(Diagnostic::warning("no-effect", unit.file.at(at), message));
    }
}
