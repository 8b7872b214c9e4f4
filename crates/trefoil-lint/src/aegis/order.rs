//! Results of states that have not run, or not on every path, where they are read.

use trefoil_syntax::Diagnostic;

use super::asked::Asked;
use trefoil_front::aegis::names::{Before, Moment};
use trefoil_front::names::Doubt;

/// Whether a state's result is there when this text is rendered.
pub fn check(asked: &Asked<'_, '_, '_>, segment: usize, state: usize) -> Option<Diagnostic> {
    let (names, reference) = (asked.names, &asked.used.reference);
    let name = names.name(state);
    let here = asked.moment.state().map_or("the end".to_owned(), |here| format!("`{}`", names.name(here)));
    match asked.used.bound.entries.get(segment)?.doubt.as_ref()? {
        Doubt::Own => {
            let message = format!("{here} cannot read its own result before it has run");
            let help = "a state reads its own result in its transitions";
            Some(asked.warning("unordered-read", &message, help))
        }
        Doubt::Later => {
            let message = format!("`{name}` never runs before {here}: it is always empty");
            Some(asked.warning("unordered-read", &message, "check the transitions, or the name"))
        }
        _ if reference.guarded || reference.beside() || is_implied(asked, state) => None,
        _ => {
            let message = format!("`{name}` may not have run before {here}; its value is then empty");
            Some(Diagnostic::info("maybe-undefined", asked.used.at, message))
        }
    }
}

/// Whether a block around it asks for something that is there only when this state has run: the result of one behind it,
/// the feedback of one.
fn is_implied(asked: &Asked<'_, '_, '_>, state: usize) -> bool {
    let names = asked.names;
    let behind = |later: usize| later == state || names.paths.before(state, later) == Before::Always;
    asked.used.reference.asked.iter().any(|path| {
        let mut segments = path.iter().map(|s| &*s.name);
        match (segments.next(), segments.next(), asked.moment) {
            (Some("state"), Some("feedback"), Moment::Entering(here)) => {
                let from = names.states.get(here).map(|s| s.given_feedback.as_slice()).unwrap_or_default();
                !from.is_empty() && from.iter().all(|s| behind(*s))
            }
            (Some(root), ..) => names.index(root).is_some_and(behind),
            _ => false,
        }
    })
}
