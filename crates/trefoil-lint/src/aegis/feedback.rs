//! Feedback that nothing reads.

use std::collections::BTreeSet;

use trefoil_syntax::Diagnostic;

use super::unit::{Found, Workflow};
use trefoil_front::aegis::names::{Before, Moment, Outcome};
use trefoil_front::names::{Doubt, Sort, Use};

/// Feedback for a state in a loop that does not read it, so the next round is the same as the last one. Feedback is
/// discarded at the next transition, so reads by other states do not count.
pub fn unread(unit: &Workflow<'_, '_>, found: &mut Found) {
    let reads = unit.texts.uses().filter(|(_, used)| reads_feedback(used));
    let readers: BTreeSet<usize> = reads.filter_map(|(moment, _)| moment.state()).collect();
    let varied = varied(unit);
    for (from, state) in unit.workflow.states.iter().enumerate().filter(|(i, _)| unit.names.paths.reachable(*i)) {
        for transition in state.transitions.iter().flatten() {
            let (Some(feedback), Some(target)) = (&transition.feedback, &transition.target) else { continue };
            let Some(to) = unit.names.index(&target.value) else { continue };
            let calls = matches!(unit.names.outcome(to), Outcome::Agent | Outcome::Parallel { .. });
            if !calls
                || readers.contains(&to)
                || varied.contains(&to)
                || (to != from && unit.names.paths.before(to, from) == Before::Never)
            {
                continue;
            }
            let message = format!(
                "`{0}` does not read `state.feedback`, so it repeats without seeing this feedback",
                target.value
            );
            let d = Diagnostic::info("unused", unit.file.at(feedback.span), message);
            found.push(d.help(format!("write `{{{{state.feedback}}}}` in the `input` of `{}`", target.value)));
        }
    }
}

/// Whether a reference reads `state.feedback`, or the whole state.
fn reads_feedback(used: &Use) -> bool {
    let path: Vec<&str> = used.reference.path.iter().map(|s| &*s.name).collect();
    let path = path.strip_prefix(&["blackboard"]).unwrap_or(&path);
    matches!(path, [] | ["state"] | ["state", "feedback", ..])
}

/// The states that read something else that may change between visits.
fn varied(unit: &Workflow<'_, '_>) -> BTreeSet<usize> {
    let varies = |used: &Use| {
        let entries = &used.bound.entries;
        let names = |i: usize| used.reference.path.get(i).map_or("", |s| &*s.name);
        let built_in =
            matches!((names(0), names(1)), ("human", "feedback") | ("iteration_number" | "previous_error", _));
        let changes = |(i, entry): (usize, &trefoil_front::names::Entry)| match entry.sort {
            Sort::Step(_) => matches!(entry.doubt, Some(Doubt::Skipped(_))),
            Sort::Key => unit.names.keys.contains_key(names(i)),
            _ => false,
        };
        built_in || entries.iter().enumerate().any(changes)
    };
    let read = unit.texts.uses().filter(|(_, used)| varies(used));
    read.filter_map(|(moment, _)| matches!(moment, Moment::Entering(_)).then(|| moment.state()).flatten()).collect()
}
