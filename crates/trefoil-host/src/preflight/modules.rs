//! Finds Python modules that cannot be imported. Importing a module runs its code, so it is tried only where commands are allowed.

use std::sync::Arc;

use trefoil_check::semantic::text_pieces::{TextPiece, expression_pieces};
use trefoil_ir::{Program, Step, StepKind, ToolCall, ToolKind, ValueExpression, walk};
use trefoil_runtime::ToolError;
use trefoil_syntax::{Diagnostic, Location};
use trefoil_tools::PythonTools;

/// The name of the finding: a Python module that cannot be imported.
pub const MODULE: &str = "missing-module";

/// A module that a run may import.
pub struct ModuleUse {
    /// Its name.
    pub name: Arc<str>,
    /// The first step that calls one of its functions.
    pub at: Location,
}

/// The modules of the functions that a program calls, each once. `runs_in_python`: whether a call is performed by Python, and not
/// by something else that answers for tools.
pub fn modules_of(program: &Program, runs_in_python: &dyn Fn(&ToolCall) -> bool) -> Vec<ModuleUse> {
    let mut modules: Vec<ModuleUse> = Vec::new();
    for (_, id) in walk::reachable_steps(program, program.entry) {
        let step = &program.steps[id];
        if let Some(call) = python_call(step)
            && runs_in_python(call)
            && let Some(name) = literal_argument(call, "module")
            && !modules.iter().any(|known| known.name == name)
        {
            modules.push(ModuleUse { name, at: step.origin });
        }
    }
    modules
}

/// The function that a call names: `module.function`, with `…` for a part that is known only at run time.
pub fn function_of(call: &ToolCall) -> String {
    let part = |name: &str| literal_argument(call, name).unwrap_or_else(|| "…".into());
    format!("{}.{}", part("module"), part("function"))
}

fn python_call(step: &Step) -> Option<&ToolCall> {
    match &step.kind {
        StepKind::Tool(call) if call.kind == ToolKind::Python => Some(call),
        _ => None,
    }
}

/// An argument of a call; `None` if it is missing or has placeholders.
fn literal_argument(call: &ToolCall, name: &str) -> Option<Arc<str>> {
    let ValueExpression::Object(members) = &call.arguments else { return None };
    let (_, text) = members.iter().find(|(member, _)| &**member == name)?;
    match expression_pieces(text).as_slice() {
        [TextPiece::Written(text)] => Some(text.as_str().into()),
        _ => None,
    }
}

/// Tries to import the modules, one after the other. Returns a finding for each that cannot be imported.
pub async fn missing_modules(python: &PythonTools, modules: Vec<ModuleUse>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for ModuleUse { name, at } in modules {
        let Err(error) = python.import_module(&name).await else { continue };
        let finding = Diagnostic::new_error(MODULE, at, error.to_string());
        findings.push(match error {
            ToolError::Advised { help, .. } => finding.with_help(help),
            _ => finding,
        });
    }
    findings
}
