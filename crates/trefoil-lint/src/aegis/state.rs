//! States as a whole: their names, and answers that nobody can give.

use trefoil_syntax::Diagnostic;

use super::unit::{Found, Workflow};
use trefoil_front::aegis::manifest::RESERVED;
use trefoil_front::aegis::manifest::state::StateKind;

/// Names that templates cannot read.
pub fn names(unit: &Workflow<'_, '_>, found: &mut Found) {
    for state in &unit.workflow.states {
        if RESERVED.contains(&&*state.name) || state.name.contains(['.', '/', ' ', '{', '}']) {
            let message = format!("templates cannot read the result of a state named `{}`", state.name);
            let d = Diagnostic::warning("invalid-name", unit.file.at(state.span), message);
            found.push(d.help("use letters, digits, `_` and `-`, and no reserved name"));
        }
    }
}

/// The answer that a person gives by not answering, when no transition is for it.
pub fn unanswered(unit: &Workflow<'_, '_>, found: &mut Found) {
    for state in &unit.workflow.states {
        let Some(StateKind::Human(human)) = &state.kind else { continue };
        let Some((answer, span)) = human.default_response.as_ref().zip(human.default_span) else { continue };
        let mut conditions = state.written().iter().map(|t| &t.condition);
        if state.written().is_empty() || conditions.any(|c| c.as_ref().is_none_or(|c| c.takes_answer(answer))) {
            continue;
        }
        let message =
            format!("no transition of `{}` matches `{answer}`, so the run fails if nobody answers in time", state.name);
        let d = Diagnostic::warning("unknown-value", unit.file.at(span), message);
        found.push(d.help("add a transition for it, or one with `condition: always`"));
    }
}
