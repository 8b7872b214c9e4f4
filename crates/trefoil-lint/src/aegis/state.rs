//! States as a whole: their names, and the inputs that they pass to their agents.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::aegis::manifest::RESERVED;
use trefoil_front::aegis::manifest::state::StateKind;

/// Names that templates cannot read.
pub fn check_state_names(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for state in &unit.workflow.states {
        if RESERVED.contains(&&*state.name) || is_unreadable(&state.name) {
            let message = format!("templates cannot read the result of a state named `{}`", state.name);
            let d = Diagnostic::new_warning("state-key", unit.file.location_of(state.span), message);
            found.push(d.with_help("use letters, digits, `_` and `-`, and no reserved name"));
        }
    }
}

/// Whether a name has characters that end a name in a template.
pub fn is_unreadable(name: &str) -> bool {
    name.contains(['.', '/', ' ', '{', '}'])
}

/// Inputs that are set but blank.
pub fn blank_inputs(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for state in &unit.workflow.states {
        let inputs: Vec<&YamlText> = match &state.kind {
            Some(StateKind::Agent(agent)) => agent.input.iter().collect(),
            Some(StateKind::Parallel(parallel)) => parallel.agents.iter().filter_map(|a| a.input.as_ref()).collect(),
            _ => continue,
        };
        for text in inputs.into_iter().filter(|text| text.value.trim().is_empty()) {
            let message = "`input` is blank, so the agent gets no input";
            let d = Diagnostic::new_warning("empty-message", unit.file.location_of(text.span), message);
            found.push(d.with_help("remove the key to pass the workflow's start input to the agent"));
        }
    }
}
