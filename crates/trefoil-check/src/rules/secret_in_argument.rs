//! A secret, or a value of the environment, among the arguments of a program that is a tool, and a secret among those of a flow.
//! Such a run does not start, or the call fails.

use trefoil_ir::{StepKind, ToolKind, walk};
use trefoil_syntax::FindingSeverity;
use trefoil_template::HoleKind;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::words::{in_argument, in_input};

pub(super) const RULE: Rule = Rule {
    name: "secret-in-argument",
    group: RuleGroup::Safety,
    level: Some(FindingSeverity::Error),
    strict: None,
    page: include_str!("secret_in_argument.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    for (_, _, step) in cx.model.live_steps() {
        let StepKind::Tool(call) = &step.kind else { continue };
        if call.kind != ToolKind::Local {
            continue;
        }
        let (mut is_shown, mut is_flow) = (false, false);
        for tool in cx.supplied.iter().flat_map(|all| &all.tools) {
            if *tool.name == *call.name {
                is_shown |= tool.on_command_line;
                is_flow |= tool.flow.is_some();
            }
        }
        for (kind, name, at) in walk::holes_of(step) {
            let (message, help) = match kind {
                _ if is_shown => in_argument(kind, &name, &call.name),
                HoleKind::Secret if is_flow => in_input(&name, &call.name),
                _ => continue,
            };
            cx.report_finding(cx.new_finding(at, message).with_help(help));
        }
    }
}
