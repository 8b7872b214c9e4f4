//! Feedback that nothing reads.

use std::collections::BTreeSet;

use trefoil_syntax::Diagnostic;

use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::aegis::names::{RenderMoment, StatePrecedence, StateResultForm};
use trefoil_front::names::{BoundReference, MissingValueReason, NameKind};

/// Feedback for a state in a loop that does not read it, so the next round is the same as the last one. Feedback is
/// discarded at the next transition, so reads by other states do not count.
pub fn find_unread_feedback(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    let reads = unit.texts.bound_references().filter(|(_, used)| reads_feedback(used));
    let readers: BTreeSet<usize> = reads.filter_map(|(moment, _)| moment.state_index()).collect();
    let varied = varied(unit);
    for (from, state) in unit.workflow.states.iter().enumerate().filter(|(i, _)| unit.names.paths.is_reachable(*i)) {
        for transition in state.transitions.iter().flatten() {
            let (Some(feedback), Some(target)) = (&transition.feedback, &transition.target) else { continue };
            let Some(to) = unit.names.state_index(&target.value) else { continue };
            let calls = matches!(unit.names.result_form(to), StateResultForm::Agent | StateResultForm::Parallel { .. });
            if !calls
                || readers.contains(&to)
                || varied.contains(&to)
                || (to != from && unit.names.paths.precedence_of(to, from) == StatePrecedence::Never)
            {
                continue;
            }
            let message = format!(
                "`{0}` does not read `state.feedback`, so it repeats without seeing this feedback",
                target.value
            );
            let d = Diagnostic::new_info("unused", unit.file.location_of(feedback.span), message);
            found.push(d.with_help(format!("write `{{{{state.feedback}}}}` in the `input` of `{}`", target.value)));
        }
    }
}

/// Whether a reference reads `state.feedback`, or the whole state.
fn reads_feedback(used: &BoundReference) -> bool {
    let path: Vec<&str> = used.reference.path.iter().map(|s| &*s.name).collect();
    let path = path.strip_prefix(&["blackboard"]).unwrap_or(&path);
    matches!(path, [] | ["state"] | ["state", "feedback", ..])
}

/// The states that read something else that may change between visits.
fn varied(unit: &WorkflowUnit<'_, '_>) -> BTreeSet<usize> {
    let varies = |used: &BoundReference| {
        let entries = &used.bound.entries;
        let names = |i: usize| used.reference.path.get(i).map_or("", |s| &*s.name);
        let built_in =
            matches!((names(0), names(1)), ("human", "feedback") | ("iteration_number" | "previous_error", _));
        let changes = |(i, entry): (usize, &trefoil_front::names::NameEntry)| match entry.sort {
            NameKind::Step(_) => matches!(entry.doubt, Some(MissingValueReason::Skipped(_))),
            NameKind::Key => unit.names.keys.contains_key(names(i)),
            _ => false,
        };
        built_in || entries.iter().enumerate().any(changes)
    };
    let read = unit.texts.bound_references().filter(|(_, used)| varies(used));
    read.filter_map(|(moment, _)| matches!(moment, RenderMoment::Entering(_)).then(|| moment.state_index()).flatten())
        .collect()
}
