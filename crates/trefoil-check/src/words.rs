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

/// A number of model calls: `1 model call`, `2 model calls`, `4 per item of {{list}} model calls`.
pub fn model_calls(calls: &Bound) -> String {
    let noun = if calls.number() == Some(1) { "model call" } else { "model calls" };
    format!("{calls} {noun}")
}

/// A name as TOML writes it in the head of a table: in quotes where it has to.
pub fn toml_key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_bare { name.to_owned() } else { format!("{name:?}") }
}
