//! Conditions that are equivalent to another one.

use trefoil_syntax::Diagnostic;

use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::aegis::manifest::transition::TransitionCondition;
use trefoil_front::aegis::names::StateResultForm;

/// Exit codes of agents.
pub fn same_as_success(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for (state, names) in unit.workflow.states.iter().zip(&unit.names.states) {
        if names.outcome != StateResultForm::Agent {
            continue;
        }
        for transition in state.written_transitions() {
            let Some(condition) = &transition.condition else { continue };
            if matches!(condition, TransitionCondition::ExitCodeZero | TransitionCondition::ExitCode(0)) {
                let message = format!("for an agent, `{}` is the same as `on_success`", condition.display_text());
                let d = Diagnostic::new_warning("redundant", unit.file.location_of(transition.at), message);
                found.push(d.with_help("write `condition: on_success`"));
            }
        }
    }
}
