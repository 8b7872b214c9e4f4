//! A model call that says nothing.

use trefoil_ir::{Expr, Source, StepKind};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "empty-prompt",
    group: Group::Form,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("empty_prompt.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for &(_, id) in cx.model.reachable() {
        let Some(step) = program.step(id) else { continue };
        let StepKind::Model(call) = &step.kind else { continue };
        let name = words::step(program, id);
        let help = "write what the model is asked, or leave the key out for what is usual";
        if is_blank(&call.user) {
            let message = match call.system.as_ref().is_none_or(is_blank) {
                true => format!("the model of {name} is told nothing at all"),
                false => format!("the model of {name} gets an empty user message"),
            };
            cx.report(cx.finding(step.origin, message).help(help));
        } else if call.system.as_ref().is_some_and(is_blank) {
            let mut finding = cx.finding(step.origin, format!("the system message of {name} is written and empty"));
            finding.severity = Severity::Info;
            cx.report(finding.help(help));
        }
    }
}

/// Whether it surely is nothing but white space.
fn is_blank(message: &Expr) -> bool {
    match message {
        Expr::Const(value) => value.is_null() || value.as_str().is_some_and(|t| t.trim().is_empty()),
        Expr::Template(text) | Expr::Typed(text) => text.template.literal().is_some_and(|t| t.trim().is_empty()),
        Expr::Read(Source::Const(value)) => value.as_str().is_some_and(|t| t.trim().is_empty()),
        Expr::AsText(inner) => is_blank(inner),
        Expr::Concat(all) => all.iter().all(is_blank),
        _ => false,
    }
}
