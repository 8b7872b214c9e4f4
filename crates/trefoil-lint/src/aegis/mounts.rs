//! Volumes that containers mount but the workflow does not declare.

use trefoil_syntax::{Diagnostic, suggest};

use super::unit::{Found, Workflow};
use trefoil_front::aegis::manifest::state::StateKind;
use trefoil_front::mend::respelt;

/// Volumes that are neither the workspace nor shared. If the workflow shares none, they may be declared elsewhere.
pub fn unknown(unit: &Workflow<'_, '_>, found: &mut Found) {
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
            let at = unit.file.at(volume.span);
            let d = Diagnostic::error("unknown-reference", at, format!("unknown shared volume `{}`", volume.value));
            found.push(match suggest::near(&volume.value, shared.iter().map(|s| &*s.value)) {
                Some(near) => respelt(d.help(format!("did you mean `{}`?", near.name)), at, volume, near),
                None => d,
            });
        }
    }
}
