//! Python modules that cannot be imported. To import one runs its code, so it is tried only where commands are allowed.

use std::sync::Arc;

use trefoil_check::semantic::text_pieces::{TextPiece, expression_pieces};
use trefoil_ir::{Program, Step, StepKind, ToolCall, ToolKind, ValueExpression, walk};
use trefoil_runtime::ToolError;
use trefoil_syntax::{Diagnostic, Location};
use trefoil_tools::PythonTools;

/// A Python module that cannot be imported.
pub const MODULE: &str = "missing-module";

/// A module that a run may import.
pub struct ModuleUse {
    /// Its name.
    pub name: Arc<str>,
    /// The first step that calls one of its functions.
    pub at: Location,
}

/// The modules that the steps of a program name, each once. `is_ours`: whether Python makes a call.
pub fn modules_of(program: &Program, is_ours: &dyn Fn(&ToolCall) -> bool) -> Vec<ModuleUse> {
    let mut all: Vec<ModuleUse> = Vec::new();
    for (_, id) in walk::reachable_steps(program, program.entry) {
        let step = &program.steps[id];
        if let Some(call) = python_call(step)
            && is_ours(call)
            && let Some(name) = argument(call, "module")
            && !all.iter().any(|known| known.name == name)
        {
            all.push(ModuleUse { name, at: step.origin });
        }
    }
    all
}

/// The function that a call names: `module.function`.
pub fn function_of(call: &ToolCall) -> String {
    let part = |name: &str| argument(call, name).unwrap_or_else(|| "…".into());
    format!("{}.{}", part("module"), part("function"))
}

fn python_call(step: &Step) -> Option<&ToolCall> {
    match &step.kind {
        StepKind::Tool(call) if call.kind == ToolKind::Python => Some(call),
        _ => None,
    }
}

/// An argument without placeholders.
fn argument(call: &ToolCall, name: &str) -> Option<Arc<str>> {
    let ValueExpression::Object(members) = &call.arguments else { return None };
    let (_, text) = members.iter().find(|(member, _)| &**member == name)?;
    match expression_pieces(text).as_slice() {
        [TextPiece::Written(text)] => Some(text.as_str().into()),
        _ => None,
    }
}

/// Tries to import the modules, one after the other.
pub async fn missing_modules(python: &PythonTools, modules: Vec<ModuleUse>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for ModuleUse { name, at } in modules {
        let Err(why) = python.import_module(&name).await else { continue };
        let finding = Diagnostic::new_error(MODULE, at, why.to_string());
        found.push(match why {
            ToolError::Advised { help, .. } => finding.with_help(help),
            _ => finding,
        });
    }
    found
}
