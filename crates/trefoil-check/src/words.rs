//! How rules call the things of a program.

use trefoil_ir::{Program, StepId, StepKind};

use crate::semantic::bound::Bound;

/// What the manifest calls a step, in backticks; else what it is.
pub fn step(program: &Program, id: StepId) -> String {
    let Some(step) = program.step(id) else { return "this step".to_owned() };
    match (&step.label, &step.kind) {
        (Some(label), _) => format!("`{label}`"),
        (None, StepKind::Model(call)) => format!("`{}`", call.speaker),
        (None, StepKind::Tool(call)) => format!("`{}`", call.name),
        (None, _) => "this step".to_owned(),
    }
}

/// `1 model call`, `7 + 3 per item of {{plan}} model calls`.
pub fn model_calls(calls: &Bound) -> String {
    match calls.number() {
        Some(1) => "1 model call".to_owned(),
        _ => format!("{calls} model calls"),
    }
}
