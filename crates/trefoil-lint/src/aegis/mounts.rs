//! Volumes that containers mount but the workflow does not declare.

use trefoil_syntax::{Diagnostic, suggestions};

use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::aegis::manifest::state::StateKind;
use trefoil_front::spelling_fixes::fix_spelling;

/// Volumes that are neither the workspace nor shared. If the workflow shares none, they may be declared elsewhere.
pub fn find_unknown_volumes(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    let shared = &unit.workflow.shared_volumes;
    if shared.is_empty() {
        return;
    }
    for state in &unit.workflow.states {
        let Some(StateKind::Container(container)) = &state.kind else { continue };
        for volume in &container.volumes {
            if &*volume.value == "workspace" || shared.iter().any(|s| s.value == volume.value) {
                continue;
            }
            let at = unit.file.location_of(volume.span);
            let d = Diagnostic::new_error("unknown-reference", at, format!("unknown shared volume `{}`", volume.value));
            found.push(match suggestions::find_near_match(&volume.value, shared.iter().map(|s| &*s.value)) {
                Some(near) => fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, volume, near),
                None => d,
            });
        }
    }
}
