//! A secret, or a value of the environment, among the arguments of a program that is a tool. Such a call fails.

use trefoil_ir::{StepKind, ToolKind, walk};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::words::in_argument;

pub(super) const RULE: Rule = Rule {
    name: "secret-in-argument",
    group: Group::Safety,
    level: Some(Severity::Error),
    strict: None,
    page: include_str!("secret_in_argument.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for &(_, id) in cx.model.reachable() {
        let Some(step) = program.step(id).filter(|_| cx.model.reach().is_alive(id)) else { continue };
        let StepKind::Tool(call) = &step.kind else { continue };
        let mut declared = cx.roots.iter().flat_map(|root| &root.supplied.tools);
        let shown = declared.any(|tool| *tool.name == *call.name && tool.on_command_line);
        if call.kind != ToolKind::Local || !shown {
            continue;
        }
        for (kind, name, at) in walk::holes_of(step) {
            let (message, help) = in_argument(kind, &name, &call.name);
            cx.report(cx.finding(at, message).help(help));
        }
    }
}
