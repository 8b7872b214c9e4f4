//! Tools that change something with text that a model or another tool wrote, where nobody looks at it before.

use trefoil_ir::{Expr, FlowId, StepId, StepKind, ToolCall, ToolKind, walk};
use trefoil_syntax::{Location, Severity};

use super::untrusted_command::labels;
use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::taint::Labels;

pub(super) const RULE: Rule = Rule {
    name: "unreviewed-write",
    group: Group::Safety,
    level: Some(Severity::Info),
    strict: Some(Severity::Warning),
    page: include_str!("unreviewed_write.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    let alive = cx.model.reachable().iter().filter(|(_, id)| cx.model.reach().is_alive(*id));
    let steps: Vec<_> = alive.filter_map(|(flow, id)| Some((*flow, *id, program.step(*id)?))).collect();
    // Whoever asks a person somewhere has thought of it, and what is shown there is another rule's.
    if steps.iter().any(|(.., step)| matches!(step.kind, StepKind::Human(_))) {
        return;
    }
    for (flow, id, step) in steps {
        let StepKind::Tool(call) = &step.kind else { continue };
        let Some(what) = writes(cx, call) else { continue };
        let held = held(cx, flow, id, &call.arguments);
        let from = [("a model's answer", held.model), ("a tool's result", held.tool)];
        let Some((who, Some(from))) = from.into_iter().find(|(_, at)| at.is_some()) else { continue };
        let message = format!("{what} with text from {who}, and no person sees it before");
        let at = place(&call.arguments).unwrap_or(step.origin);
        let finding = cx.finding(at, message).label(from, "comes from here");
        cx.report(finding.help("check the text against a schema or a list of values, or ask a person before this step"));
    }
}

/// What it changes, if that is known.
fn writes(cx: &Context<'_>, call: &ToolCall) -> Option<String> {
    match &call.kind {
        ToolKind::Http => {
            let Expr::Object(members) = &call.arguments else { return None };
            let (_, Expr::Const(method)) = members.iter().find(|(name, _)| &**name == "method")? else { return None };
            let method = method.as_str().filter(|method| !matches!(*method, "GET" | "HEAD"))?;
            Some(format!("this sends a {method} request"))
        }
        ToolKind::Local => {
            let mut tools = cx.roots.iter().flat_map(|root| &root.supplied.tools);
            let is_it = tools.any(|tool| *tool.name == *call.name && tool.writes);
            is_it.then(|| format!("this calls `{}`, which changes something,", call.name))
        }
        // What these do, nobody declares.
        ToolKind::Mcp { .. } | ToolKind::Python => None,
    }
}

/// Everything that the arguments can hold.
fn held(cx: &Context<'_>, flow: FlowId, id: StepId, arguments: &Expr) -> Labels {
    let mut all = Labels::default();
    walk::expressions(arguments, &mut |expr| {
        if matches!(expr, Expr::Template(_) | Expr::Typed(_) | Expr::Read(_) | Expr::Join { .. }) {
            all = all.and(labels(cx, flow, id, expr));
        }
    });
    all
}

/// The first text with a value in it.
fn place(arguments: &Expr) -> Option<Location> {
    let mut at = None;
    walk::texts(arguments, &mut |text| {
        if !text.sources.is_empty() {
            at = at.or(Some(text.origin));
        }
    });
    at
}
