//! Requests that change something and are retried on failure.

use trefoil_ir::{Expr, StepKind, ToolCall, ToolKind};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "repeated-write",
    group: Group::Safety,
    level: Some(Severity::Info),
    strict: Some(Severity::Warning),
    page: include_str!("repeated_write.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for &(_, id) in cx.model.reachable() {
        let Some(step) = program.step(id).filter(|_| cx.model.reach().is_alive(id)) else { continue };
        let StepKind::Tool(call) = &step.kind else { continue };
        let Some(retry) = step.policy.retry.as_ref().filter(|retry| retry.max_attempts > 1) else { continue };
        if let Some(method) = writes(call) {
            let tries = retry.max_attempts;
            let message = format!("this {method} request is sent up to {tries} times if it fails, but a failed one may have been processed");
            let finding = cx.finding(step.origin, message);
            cx.report(finding.help("remove the retries, or make sure that the server ignores a repeated request"));
        }
    }
}

/// The method of a request that has another effect each time it is sent (RFC 9110, 9.2.2).
fn writes(call: &ToolCall) -> Option<&str> {
    let Expr::Object(members) = &call.arguments else { return None };
    let (_, Expr::Const(method)) = members.iter().find(|(name, _)| &**name == "method")? else { return None };
    let method = method.as_str().filter(|_| call.kind == ToolKind::Http)?;
    matches!(method, "POST" | "PATCH").then_some(method)
}
