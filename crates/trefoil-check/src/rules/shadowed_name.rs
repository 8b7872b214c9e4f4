//! A state that hides an input of its name.

use trefoil_ir::StepKind;
use trefoil_syntax::{Diagnostic, Severity};

use crate::rule::Context;

/// Looks on where lowering does not.
pub(super) fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for &(flow, id) in model.steps() {
        let (Some(flow), Some(step)) = (model.program.flow(flow), model.program.step(id)) else { continue };
        let StepKind::StateMachine(machine) = &step.kind else { continue };
        for state in &machine.states {
            let Some(field) = flow.intake.fields.iter().find(|f| f.name == state.name) else { continue };
            let at = model.program.step(state.step).map_or(step.origin, |s| s.origin);
            let message =
                format!("templates refer to this state as `{}`, which hides the input of that name", state.name);
            let d = Diagnostic { severity: Severity::Warning, ..cx.finding(at, message) };
            cx.report(d.label(field.origin, "the input").help("rename one of them"));
        }
    }
}
