//! The initial state.

use trefoil_syntax::{Diagnostic, suggestions};

use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::spelling_fixes::fix_spelling;

/// An `initial_state` that does not exist.
pub fn find_unknown_initial_state(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    let Some(text) = &unit.workflow.initial else { return };
    if unit.names.state_index(&text.value).is_some() || unit.names.states.is_empty() {
        return;
    }
    let at = unit.file.location_of(text.span);
    let d = Diagnostic::new_error("unknown-reference", at, format!("unknown state `{}`", text.value));
    found.push(match suggestions::find_near_match(&text.value, unit.names.state_names()) {
        Some(near) => fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, text, near),
        None => d,
    });
}
