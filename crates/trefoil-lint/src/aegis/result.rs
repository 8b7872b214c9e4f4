//! Names after that of a state that are certainly misspelled, although its result may have other members.

use trefoil_ir::ValuePresence;
use trefoil_syntax::{Diagnostic, suggestions};

use super::checked_reference::{CheckedReference, certain_misspelling};
use trefoil_front::aegis::names::StateResultForm;
use trefoil_front::names::{InnerNames, PathResolution};

/// The members of every state's result.
const OPEN: [&str; 6] = ["output", "status", "error", "stdout", "stderr", "exit_code"];

/// Checks the segments after the name of a state.
pub fn check_state_result(asked: &CheckedReference<'_, '_, '_>, segment: usize, state: usize) -> Option<Diagnostic> {
    let never = |at: usize| asked.used.bound.entries.get(at).is_some_and(|entry| entry.defined == ValuePresence::Never);
    match &asked.used.bound.end {
        PathResolution::Open(at) => {
            let d = unlikely(asked, segment, *at, state)?;
            Some(d.of_property())
        }
        PathResolution::There if never(segment + 1) && !never(segment) => no_figure(asked, segment + 1, state),
        // Members that certainly do not exist are reported by the checker.
        PathResolution::Nothing(_) | PathResolution::There => None,
    }
}

/// A name that may exist but is certainly a misspelling of another one.
fn unlikely(asked: &CheckedReference<'_, '_, '_>, segment: usize, at: usize, state: usize) -> Option<Diagnostic> {
    let (names, field) = (asked.names, asked.segment_name(at));
    let name = names.state_name(state);
    let InnerNames::Names(inside) = &asked.used.bound.entries.get(at.checked_sub(1)?)?.inside else { return None };
    match (names.result_form(state), at - segment) {
        (StateResultForm::Open, 1) => {
            let near = certain_misspelling(field, OPEN.into_iter())?;
            let message = format!("the result of `{name}` has no `{field}`");
            let help = format!("did you mean `{name}.{}`?", near.name);
            Some(asked.segment_warning("unresolved-name", &message, &help, at, Some(near)))
        }
        (outcome, 2) if outcome.is_command() && asked.segment_name(segment + 1) == "output" => {
            // JSON printed by a command may have any member, except a misspelling of those that every command's result
            // has.
            let all = inside.all_entries();
            let near = suggestions::find_near_match(field, all.iter().map(|(n, _)| &**n)).filter(|near| near.sure)?;
            let message =
                format!("the result of `{name}` has no `{field}`, unless the command prints JSON with this field");
            let help = format!("did you mean `{name}.output.{}`?", near.name);
            let near = suggestions::NearMatch { sure: false, ..near };
            Some(asked.segment_warning("unresolved-name", &message, &help, at, Some(near)))
        }
        (StateResultForm::Parallel { .. }, 3) if asked.segment_name(segment + 1) == "consensus" => {
            let all = inside.all_entries();
            let near = certain_misspelling(field, all.iter().map(|(n, _)| &**n))?;
            let message = format!("a consensus has no `metadata.{field}`");
            let help = format!("did you mean `{}`?", near.name);
            Some(asked.segment_warning("unresolved-name", &message, &help, at, Some(near)))
        }
        _ => None,
    }
}

/// A score that the agent's answer, judging by its schema, cannot have.
fn no_figure(asked: &CheckedReference<'_, '_, '_>, at: usize, state: usize) -> Option<Diagnostic> {
    let (name, what) = (asked.names.state_name(state), asked.segment_name(at));
    let answer = &asked.names.states.get(state)?.answers.first()?.schema;
    let path = asked.used.reference.dotted_path();
    let message = format!("`{path}` is always empty: the agent's answer has no `{what}`");
    let all: Vec<_> = answer.object_members().map(|(p, _)| format!("`{name}.output.{p}`")).take(8).collect();
    Some(asked.path_warning("missing-score", &message, &format!("available: {}", all.join(", "))))
}
