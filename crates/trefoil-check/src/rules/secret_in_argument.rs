//! A secret, or a value of the environment, among the arguments of a program that is a tool, and a secret among those of a flow.
//! Such a run does not start, or the call fails.

use trefoil_ir::{StepKind, ToolKind, walk};
use trefoil_syntax::Severity;
use trefoil_template::HoleKind;

use crate::rule::{Context, Group, Rule, Run};
use crate::words::{in_argument, in_input};

pub(super) const RULE: Rule = Rule {
    name: "secret-in-argument",
    group: Group::Safety,
    level: Some(Severity::Error),
    strict: None,
    page: include_str!("secret_in_argument.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    for (_, _, step) in cx.model.live_steps() {
        let StepKind::Tool(call) = &step.kind else { continue };
        if call.kind != ToolKind::Local {
            continue;
        }
        let tools = cx.supplied.iter().flat_map(|all| &all.tools);
        let declared: Vec<_> = tools.filter(|tool| *tool.name == *call.name).collect();
        let is_shown = declared.iter().any(|tool| tool.on_command_line);
        let is_flow = declared.iter().any(|tool| tool.flow.is_some());
        for (kind, name, at) in walk::holes_of(step) {
            let (message, help) = match kind {
                _ if is_shown => in_argument(kind, &name, &call.name),
                HoleKind::Secret if is_flow => in_input(&name, &call.name),
                _ => continue,
            };
            cx.report(cx.finding(at, message).help(help));
        }
    }
}
