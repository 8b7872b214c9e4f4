//! Where a run starts, and loops that no run leaves.

use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Location, suggest};

use super::unit::{Found, Workflow};
use trefoil_front::aegis::manifest::state::StateKind;
use trefoil_front::aegis::manifest::transition::{Condition, Transition, leave_success_open};
use trefoil_front::aegis::manifest::{self, Unit};
use trefoil_front::mend::respelt;

fn at_state(unit: &Workflow<'_, '_>, state: usize) -> Location {
    unit.names.states.get(state).map_or(unit.file.at(unit.workflow.span), |s| s.span)
}

/// An `initial_state` that is no state.
pub fn initial(unit: &Workflow<'_, '_>, found: &mut Found) {
    let Some(text) = &unit.workflow.initial else { return };
    if unit.names.index(&text.value).is_some() || unit.names.states.is_empty() {
        return;
    }
    let at = unit.file.at(text.span);
    let d = Diagnostic::error("unknown-reference", at, format!("unknown state `{}`", text.value));
    found.push(match suggest::near(&text.value, unit.names.state_names()) {
        Some(near) => respelt(d.help(format!("did you mean `{}`?", near.name)), at, text, near),
        None => d,
    });
}

/// Loops without a way out.
pub fn endless(unit: &Workflow<'_, '_>, found: &mut Found) {
    let endless = unit.names.paths.endless();
    if let [first, rest @ ..] = endless.as_slice() {
        let message = format!("no transition leads from `{}` to an end", unit.names.name(*first));
        // Of a state that leads only to itself, the way there is what was meant to be another one.
        let own = unit.workflow.states.get(*first).filter(|_| rest.is_empty()).and_then(|s| s.transitions.as_deref());
        let at = own.and_then(|all| all.last()).and_then(|t| t.target.as_ref()).map(|t| unit.file.at(t.span));
        let mut d = Diagnostic::warning("endless-loop", at.unwrap_or_else(|| at_state(unit, *first)), message);
        for state in rest {
            d = d.label(at_state(unit, *state), "nor from here");
        }
        found.push(d.help("the run fails when a limit of visits is reached; give one state a way out"));
    } else {
        going_round(unit, found);
    }
}

/// A loop that nothing but a failure of one of its states leads out of.
fn going_round(unit: &Workflow<'_, '_>, found: &mut Found) {
    let on_failure = |from: usize, t: &Transition| {
        matches!(t.condition, Some(Condition::OnFailure)) && !unit.names.outcome(from).is_command()
    };
    let written =
        |state: usize| unit.workflow.states.get(state).and_then(|s| s.transitions.as_deref()).unwrap_or_default();
    let failing =
        |state: &usize| unit.names.paths.reachable(*state) && written(*state).iter().any(|t| on_failure(*state, t));
    if !(0..unit.workflow.states.len()).any(|state| failing(&state)) {
        return;
    }
    let leads = |from: usize, t: &Transition| {
        t.target.as_ref().filter(|_| !on_failure(from, t)).and_then(|t| unit.names.index(&t.value))
    };
    // A straight pipeline has no transitions, and ends; so does what has transitions for failures alone.
    let ends = |from: usize| written(from).is_empty() || leave_success_open(written(from));
    let goes = |from: usize, to: usize| ends(from) || written(from).iter().any(|t| leads(from, t) == Some(to));
    let stuck = unit.names.paths.stuck(&goes);
    // That nobody answers in time, that a called workflow finds no more to do, that an answer passes no validation or that
    // several agree on nothing may well be the end that was meant.
    let validated = |name: &Text| {
        let document = unit.directory.document(Unit::Agent, &name.value);
        document.is_some_and(|document| manifest::has_validation(&document.root))
    };
    let ends = |at: &usize| {
        unit.workflow.states.get(*at).is_some_and(|state| match &state.kind {
            Some(StateKind::Human(human)) => state.timeout_ms.is_some() && human.default_response.is_none(),
            Some(StateKind::Subworkflow(_) | StateKind::Parallel(_)) => true,
            Some(StateKind::Agent(agent)) => !agent.judges.is_empty() || agent.agent.as_ref().is_some_and(validated),
            _ => false,
        })
    };
    if stuck.iter().any(ends) {
        return;
    }
    let mut back = stuck.iter().flat_map(|from| {
        written(*from)
            .iter()
            .filter_map(|t| Some((t.target.as_ref()?, leads(*from, t).filter(|to| to <= from && stuck.contains(to))?)))
    });
    let Some((target, to)) = back.next() else { return };
    let message =
        format!("unless something fails, the run loops through `{}` until a limit ends it", unit.names.name(to));
    let d = Diagnostic::warning("endless-loop", unit.file.at(target.span), message);
    let help = "only a failure leads out, so a limit of visits ends the run; lead on from here when all went well";
    found.push(d.help(help));
}

/// The states after each, by their transitions.
pub fn successors(unit: &Workflow<'_, '_>, state: usize) -> Vec<usize> {
    let written = unit.workflow.states.get(state).and_then(|s| s.transitions.as_deref()).unwrap_or_default();
    written.iter().filter_map(|t| unit.names.index(&t.target.as_ref()?.value)).collect()
}
