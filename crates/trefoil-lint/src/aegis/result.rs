//! Names after that of a state that are certainly misspelled, although its result may have other members.

use trefoil_ir::Defined;
use trefoil_syntax::{Diagnostic, suggest};

use super::asked::{Asked, slip};
use trefoil_front::aegis::names::Outcome;
use trefoil_front::names::{End, Inside};

/// The members of every state's result.
const OPEN: [&str; 6] = ["output", "status", "error", "stdout", "stderr", "exit_code"];

/// Checks the segments after the name of a state.
pub fn check(asked: &Asked<'_, '_, '_>, segment: usize, state: usize) -> Option<Diagnostic> {
    let never = |at: usize| asked.used.bound.entries.get(at).is_some_and(|entry| entry.defined == Defined::Never);
    match &asked.used.bound.end {
        End::Open(at) => {
            let d = unlikely(asked, segment, *at, state)?;
            Some(d.of_property())
        }
        End::There if never(segment + 1) && !never(segment) => no_figure(asked, segment + 1, state),
        // Members that certainly do not exist are reported by the checker.
        End::Nothing(_) | End::There => None,
    }
}

/// A name that may exist but is certainly a misspelling of another one.
fn unlikely(asked: &Asked<'_, '_, '_>, segment: usize, at: usize, state: usize) -> Option<Diagnostic> {
    let (names, field) = (asked.names, asked.name(at));
    let name = names.name(state);
    let Inside::Names(inside) = &asked.used.bound.entries.get(at.checked_sub(1)?)?.inside else { return None };
    match (names.outcome(state), at - segment) {
        (Outcome::Open, 1) => {
            let near = slip(field, OPEN.into_iter())?;
            let message = format!("the result of `{name}` has no `{field}`");
            let help = format!("did you mean `{name}.{}`?", near.name);
            Some(asked.near("unresolved-name", &message, &help, at, Some(near)))
        }
        (outcome, 2) if outcome.is_command() && asked.name(segment + 1) == "output" => {
            // JSON printed by a command may have any member, except a misspelling of those that every command's result
            // has.
            let all = inside.all();
            let near = suggest::near(field, all.iter().map(|(n, _)| &**n)).filter(|near| near.sure)?;
            let message =
                format!("the result of `{name}` has no `{field}`, unless the command prints JSON with this field");
            let help = format!("did you mean `{name}.output.{}`?", near.name);
            let near = suggest::Near { sure: false, ..near };
            Some(asked.near("unresolved-name", &message, &help, at, Some(near)))
        }
        (Outcome::Parallel { .. }, 3) if asked.name(segment + 1) == "consensus" => {
            let all = inside.all();
            let near = slip(field, all.iter().map(|(n, _)| &**n))?;
            let message = format!("a consensus has no `metadata.{field}`");
            let help = format!("did you mean `{}`?", near.name);
            Some(asked.near("unresolved-name", &message, &help, at, Some(near)))
        }
        _ => None,
    }
}

/// A score that the agent's answer, judging by its schema, cannot have.
fn no_figure(asked: &Asked<'_, '_, '_>, at: usize, state: usize) -> Option<Diagnostic> {
    let (name, what) = (asked.names.name(state), asked.name(at));
    let answer = &asked.names.states.get(state)?.answers.first()?.schema;
    let path = asked.used.reference.dotted();
    let message = format!("`{path}` is always empty: the agent's answer has no `{what}`");
    let all: Vec<_> = answer.members().map(|(p, _)| format!("`{name}.output.{p}`")).take(8).collect();
    Some(asked.warning("missing-score", &message, &format!("available: {}", all.join(", "))))
}
