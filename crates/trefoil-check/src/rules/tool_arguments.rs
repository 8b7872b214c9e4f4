//! Arguments that a declared tool does not accept.

use trefoil_ir::types::ValueType;
use trefoil_ir::{FlowId, StepKind, ToolCall, ToolKind, ValueExpression};
use trefoil_syntax::{FindingSeverity, Location, suggestions};
use trefoil_template::{Value, ValueObject};

use crate::rule::{DeclaredTool, Rule, RuleContext, RuleGroup, RuleSource};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "tool-arguments",
    group: RuleGroup::Types,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("tool_arguments.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for (flow, _, step) in model.all_steps() {
        let StepKind::Tool(call) = &step.kind else { continue };
        // Arguments from a model are checked at run time.
        let ValueExpression::Object(given) = &call.arguments else { continue };
        let Some(tool) = declared(cx, call) else { continue };
        for (message, help, at) in faults(cx, flow, given, &tool) {
            cx.report_finding(cx.new_finding(at.unwrap_or(step.origin), message).with_help(help));
        }
    }
}

/// The tool, if its arguments are declared.
fn declared(cx: &RuleContext<'_>, call: &ToolCall) -> Option<DeclaredTool> {
    if call.kind != ToolKind::Local {
        return None;
    }
    for all in cx.supplied {
        for tool in &all.tools {
            if *tool.name == *call.name && tool.parameters.is_some() {
                return Some(tool.clone());
            }
        }
    }
    None
}

/// What is wrong, what to do, and where.
type ArgumentFault = (String, String, Option<Location>);

fn faults<'p>(
    cx: &RuleContext<'p>,
    flow: FlowId,
    given: &'p [(std::sync::Arc<str>, ValueExpression)],
    tool: &DeclaredTool,
) -> Vec<ArgumentFault> {
    let Some(schema) = &tool.parameters else { return Vec::new() };
    let none = ValueObject::default();
    let known = match schema.get("properties") {
        Some(properties) => properties.as_object().unwrap_or(&none),
        None => &none,
    };
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let mut found = Vec::new();
    for (name, value) in given {
        let Some(wanted) = known.get(name) else {
            if is_closed {
                let message = format!("the tool `{}` has no parameter `{name}`", tool.name);
                found.push((message, parameter_advice(name, known), argument_location(value)));
            }
            continue;
        };
        if let Some(why) = wrong(cx, flow, value, &ValueType::from_schema(wanted)) {
            let message = format!("`{name}` of the tool `{}` does not accept this value: {why}", tool.name);
            let help =
                format!("pass a value that fits, or change the declaration of `{name}` in the parameters of the tool");
            found.push((message, help, argument_location(value)));
        }
    }
    let Some(needed) = schema.get("required") else { return found };
    for name in needed.as_list().unwrap_or_default() {
        let Some(name) = name.as_str() else { continue };
        if !given.iter().any(|(have, _)| **have == *name) {
            let message = format!("the tool `{}` needs the parameter `{name}`", tool.name);
            found.push((message, format!("add `{name}` to `params`"), None));
        }
    }
    found
}

/// What to do about a parameter that a tool does not have.
fn parameter_advice(name: &str, known: &ValueObject) -> String {
    let names: Vec<&str> = known.iter().map(|(name, _)| &**name).collect();
    match suggestions::nearest_name(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "it takes no parameters".to_owned(),
        None => format!("its parameters are {}", words::quoted_names(names)),
    }
}

fn wrong<'p>(cx: &RuleContext<'p>, flow: FlowId, value: &'p ValueExpression, wanted: &ValueType) -> Option<String> {
    if let ValueExpression::Const(value) = value {
        return wanted.explain_rejection(value);
    }
    cx.model.program_types().expr_type(flow, value, None).explain_mismatch(wanted)
}

fn argument_location(value: &ValueExpression) -> Option<Location> {
    match value {
        ValueExpression::Template(text) | ValueExpression::Typed(text) => Some(text.origin),
        _ => None,
    }
}
