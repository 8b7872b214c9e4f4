//! Guardrails: one file a kind, pure functions (SirenSpec, reference section 2.13).
use trefoil_ir::Guard;
use trefoil_template::Value;
use crate::error::RunError;
/// A text that passed.
#[derive(Debug)]
pub struct Checked {
    /// The text.
    pub value: Value,
    /// Things to say.
    pub flags: Vec<String>,
}
/// Input side.
pub fn input(_guards: &[Guard], value: Value) -> Result<Checked, RunError> {
    Ok(Checked { value, flags: Vec::new() })
}

/// An answer that passed.
#[derive(Debug)]
pub struct Passed {
    /// The text.
    pub text: String,
    /// Things to say.
    pub flags: Vec<String>,
}
/// Output side.
pub fn output(_guards: &[Guard], text: String, _prepared: &crate::machine::Prepared) -> Result<Passed, RunError> {
    Ok(Passed { text, flags: Vec::new() })
}
