//! The wording of things in a program.

use std::fmt::{Display, Write as _};

use trefoil_ir::{Budget, OnExceeded, Program, StepId, StepKind};
use trefoil_template::HoleKind;

use crate::semantic::call_bounds::CallBound;

/// The name of a step in the manifest, in backticks; otherwise a description.
pub fn step_name(program: &Program, id: StepId) -> String {
    let step = &program.steps[id];
    match (&step.label, &step.kind) {
        (Some(label), _) => format!("`{label}`"),
        (None, StepKind::Model(call)) => format!("`{}`", call.speaker),
        (None, StepKind::Tool(call)) => format!("`{}`", call.name),
        (None, _) => "this step".to_owned(),
    }
}

/// Names for a list in a message: each in backticks, with commas between them.
pub fn quoted_names(names: impl IntoIterator<Item = impl Display>) -> String {
    let mut list = String::new();
    for name in names {
        let separator = if list.is_empty() { "" } else { ", " };
        let _ = write!(list, "{separator}`{name}`");
    }
    list
}

/// What would happen beyond a budget.
pub fn exceeded_budget(budget: &Budget) -> &'static str {
    match budget.on_exceeded {
        OnExceeded::Abort => "the run would fail",
        OnExceeded::Warn => "the run would continue with a warning",
        OnExceeded::SkipRemaining => "the rest would be skipped",
    }
}

/// What is wrong with a secret among the arguments of a program, and what to do.
pub fn in_argument(kind: HoleKind, name: &str, tool: &str) -> (String, String) {
    let what = match kind {
        HoleKind::Secret => format!("the secret `{name}`"),
        HoleKind::Env => format!("the value of `env.{name}`"),
    };
    let message =
        format!("{what} would be a command-line argument of `{tool}`, which every user of the machine can see");
    let help = format!(
        "pass it in `env` of `[tools.{}]`, or use `input = \"json\"` and a `command` without placeholders",
        toml_key(tool)
    );
    (message, help)
}

/// What is wrong with a secret among the arguments of a flow, and what to do.
pub fn in_input(name: &str, flow: &str) -> (String, String) {
    let message = format!("the secret `{name}` would be stored as input of the flow `{flow}`");
    let help = format!("remove it, and write `{{{{secrets.{name}}}}}` in that flow where it is needed");
    (message, help)
}

/// A number of model calls: `1 model call`, `2 model calls`, `4 per item of {{list}} model calls`, `any number of model calls`.
pub fn model_calls(calls: &CallBound) -> String {
    if calls.endless {
        return "any number of model calls".to_owned();
    }
    let noun = if calls.fixed_number() == Some(1) { "model call" } else { "model calls" };
    format!("{calls} {noun}")
}

/// A name as a TOML table header: quoted if necessary.
pub fn toml_key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_bare { name.to_owned() } else { format!("{name:?}") }
}

/// What to do if a tool's name is that of a server, or of a server and its tool.
pub fn server_as_tool(name: &str, tool: Option<&str>) -> String {
    let (entry, listed) = match tool {
        None => (format!("`kind: mcp` and `server: {name}`"), format!("mcp:{name}")),
        Some(tool) => (format!("`kind: mcp`, `server: {name}` and `tools: [{tool}]`"), format!("mcp:{name}/{tool}")),
    };
    format!(
        "`[mcp.{}]` is a server: offer its tools as `{listed}` in a list of names, or in an entry with {entry}",
        toml_key(name)
    )
}
