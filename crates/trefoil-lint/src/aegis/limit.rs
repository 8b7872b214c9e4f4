//! Timeouts that are too short for any model.

use trefoil_syntax::{Diagnostic, Span};

use super::unit::{AgentUnit, FindingList, WorkflowUnit};
use trefoil_front::ManifestSource;
use trefoil_front::aegis::manifest::state::StateKind;

/// The timeouts of an agent's iterations.
pub fn too_short(unit: &AgentUnit<'_, '_>, found: &mut FindingList) {
    let execution = &unit.agent.execution;
    if let Some(at) = execution.iteration_timeout_at {
        found.extend(below_a_second(unit.file, "iteration_timeout", execution.iteration_timeout_ms, at));
    }
}

/// The timeouts of states that call models.
pub fn of_states(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for state in &unit.workflow.states {
        if let (Some(StateKind::Agent(_) | StateKind::Parallel(_)), Some(ms), Some(at)) =
            (&state.kind, state.timeout_ms, state.timeout_at)
        {
            found.extend(below_a_second(unit.file, "timeout", ms, at));
        }
    }
}

/// No model answers within a fraction of a second; usually another unit was meant.
fn below_a_second(file: ManifestSource<'_>, key: &str, ms: u64, at: Span) -> Option<Diagnostic> {
    let message = format!("`{key}` is {ms} ms; hardly any model answers in that time");
    let d = Diagnostic::new_warning("unlikely-timeout", file.location_of(at), message);
    (ms < 1_000).then(|| d.with_help("`s` means seconds, `m` minutes and `ms` milliseconds"))
}
