//! The initial state.

use trefoil_syntax::{Diagnostic, suggest};

use super::unit::{Found, Workflow};
use trefoil_front::mend::respelt;

/// An `initial_state` that does not exist.
pub fn unknown(unit: &Workflow<'_, '_>, found: &mut Found) {
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
