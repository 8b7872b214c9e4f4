//! Arguments that a declared tool does not accept.

use trefoil_ir::types::Type;
use trefoil_ir::{Expr, FlowId, StepKind, ToolCall, ToolKind};
use trefoil_syntax::{Location, Severity, suggest};
use trefoil_template::{Object, Value};

use crate::rule::{Context, Group, Rule, Run, SuppliedTool};

pub(super) const RULE: Rule = Rule {
    name: "tool-arguments",
    group: Group::Types,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("tool_arguments.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for (flow, _, step) in model.all_steps() {
        let StepKind::Tool(call) = &step.kind else { continue };
        // Arguments from a model are checked at run time.
        let Expr::Object(given) = &call.arguments else { continue };
        let Some(tool) = declared(cx, call) else { continue };
        for (message, help, at) in faults(cx, flow, given, &tool) {
            cx.report(cx.finding(at.unwrap_or(step.origin), message).help(help));
        }
    }
}

/// The tool, if its arguments are declared.
fn declared(cx: &Context<'_>, call: &ToolCall) -> Option<SuppliedTool> {
    let mut all = cx.supplied.iter().flat_map(|all| &all.tools);
    let is_local = call.kind == ToolKind::Local;
    all.find(|tool| is_local && *tool.name == *call.name && tool.parameters.is_some()).cloned()
}

/// What is wrong, what to do, and where.
type Fault = (String, String, Option<Location>);

fn faults<'p>(
    cx: &Context<'p>,
    flow: FlowId,
    given: &'p [(std::sync::Arc<str>, Expr)],
    tool: &SuppliedTool,
) -> Vec<Fault> {
    let Some(schema) = &tool.parameters else { return Vec::new() };
    let none = Object::default();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let names = || known.iter().map(|(name, _)| &**name);
    let mut found = Vec::new();
    for (name, value) in given {
        let Some(wanted) = known.get(name) else {
            if is_closed {
                let help = match suggest::nearest(name, names()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if known.is_empty() => "it takes no parameters".to_owned(),
                    None => format!("its parameters are `{}`", names().collect::<Vec<_>>().join("`, `")),
                };
                found.push((format!("the tool `{}` has no parameter `{name}`", tool.name), help, place(value)));
            }
            continue;
        };
        if let Some(why) = wrong(cx, flow, value, &Type::declared(wanted)) {
            let message = format!("`{name}` of the tool `{}` does not accept this value: {why}", tool.name);
            let help = format!("pass a value that fits, or change the declaration of `{name}` in the parameters of the tool");
            found.push((message, help, place(value)));
        }
    }
    let needed = schema.get("required").and_then(Value::as_list).unwrap_or_default();
    for name in needed.iter().filter_map(Value::as_str) {
        if !given.iter().any(|(have, _)| **have == *name) {
            let message = format!("the tool `{}` needs the parameter `{name}`", tool.name);
            found.push((message, format!("add `{name}` to `params`"), None));
        }
    }
    found
}

fn wrong<'p>(cx: &Context<'p>, flow: FlowId, value: &'p Expr, wanted: &Type) -> Option<String> {
    if let Expr::Const(value) = value {
        return wanted.refuses(value);
    }
    cx.model.types().expr(flow, value, None).misfit(wanted)
}

fn place(value: &Expr) -> Option<Location> {
    match value {
        Expr::Template(text) | Expr::Typed(text) => Some(text.origin),
        _ => None,
    }
}
