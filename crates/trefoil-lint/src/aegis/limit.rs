//! A limit that another one makes idle.

use trefoil_syntax::Diagnostic;

use super::unit::{Agent, Found};

/// A limit of one iteration above that of all together.
pub fn iteration(unit: &Agent<'_, '_>, found: &mut Found) {
    let agent = unit.agent;
    if let (Some(at), Some(deadline)) = (agent.execution.iteration_timeout_at, agent.deadline_ms)
        && deadline < agent.execution.iteration_timeout_ms
    {
        let message = format!(
            "`iteration_timeout` is never reached: `security.resources.timeout` ends all iterations after {} s",
            deadline / 1_000
        );
        found.push(Diagnostic::warning("no-effect", unit.file.at(at), message));
    }
}
