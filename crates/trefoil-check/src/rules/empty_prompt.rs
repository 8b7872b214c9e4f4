//! A model call without a message.

use trefoil_syntax::hash::HashSet;

use trefoil_ir::{Expr, Source, StepKind};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::told::place;
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "empty-prompt",
    group: Group::Form,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("empty_prompt.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    let help = "write a prompt, or remove the key to use the default";
    // Several steps may call one agent; each text is reported once.
    let mut seen = HashSet::default();
    for (_, id, step) in cx.model.reachable_steps() {
        if let StepKind::Human(call) = &step.kind
            && let Some(at) = Some(&call.prompt).filter(|prompt| is_blank(prompt)).and_then(place)
        {
            let message = format!("{} asks an empty question", words::step(program, id));
            cx.report(cx.finding(at, message).help("write the question"));
        }
        let StepKind::Model(call) = &step.kind else { continue };
        let name = || words::step(program, id);
        if is_blank(&call.user) {
            let message = match call.system.as_ref().is_none_or(is_blank) {
                true => format!("{} sends the model no text at all", name()),
                false => format!("{} sends the model an empty user message", name()),
            };
            let finding = cx.finding(place(&call.user).unwrap_or(step.origin), message).help(help);
            cx.report(match call.system.as_ref().filter(|s| is_blank(s)).and_then(place) {
                Some(at) => finding.label(at, "this is empty too"),
                None => finding,
            });
        } else if let Some(system) = call.system.as_ref().filter(|s| is_blank(s)) {
            let at = place(system).unwrap_or(step.origin);
            if seen.insert(at) {
                let mut finding = cx.finding(at, format!("{} has an empty system message", name()));
                finding.severity = Severity::Info;
                cx.report(finding.help("write instructions for the model, or remove the key if it is optional"));
            }
        }
    }
}

/// Whether it certainly consists of whitespace only.
fn is_blank(message: &Expr) -> bool {
    match message {
        Expr::Const(value) => value.is_null() || value.as_str().is_some_and(|t| t.trim().is_empty()),
        Expr::Template(text) | Expr::Typed(text) => text.template.literal().is_some_and(|t| t.trim().is_empty()),
        Expr::Read(Source::Const(value)) => value.as_str().is_some_and(|t| t.trim().is_empty()),
        Expr::AsText(inner) | Expr::AsMessage(inner) => is_blank(inner),
        Expr::Concat(all) => all.iter().all(is_blank),
        _ => false,
    }
}
