//! A model call without a message.

use trefoil_syntax::hash::HashSet;

use trefoil_ir::{ValueExpression, Source, StepKind};
use trefoil_syntax::FindingSeverity;

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::message_texts::message_location;
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "empty-prompt",
    group: RuleGroup::Form,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("empty_prompt.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    let help = "write a prompt, or remove the key to use the default";
    // Several steps may call one agent; each text is reported once.
    let mut seen = HashSet::default();
    for (_, id, step) in cx.model.reachable_steps() {
        if let StepKind::Human(call) = &step.kind
            && let Some(at) = Some(&call.prompt).filter(|prompt| is_blank(prompt)).and_then(message_location)
        {
            let message = format!("{} asks an empty question", words::step_name(program, id));
            cx.report_finding(cx.new_finding(at, message).with_help("write the question"));
        }
        let StepKind::Model(call) = &step.kind else { continue };
        let name = || words::step_name(program, id);
        if is_blank(&call.user) {
            let message = match call.system.as_ref().is_none_or(is_blank) {
                true => format!("{} sends the model no text at all", name()),
                false => format!("{} sends the model an empty user message", name()),
            };
            let finding = cx.new_finding(message_location(&call.user).unwrap_or(step.origin), message).with_help(help);
            cx.report_finding(match call.system.as_ref().filter(|s| is_blank(s)).and_then(message_location) {
                Some(at) => finding.with_label(at, "this is empty too"),
                None => finding,
            });
        } else if let Some(system) = call.system.as_ref().filter(|s| is_blank(s)) {
            let at = message_location(system).unwrap_or(step.origin);
            if seen.insert(at) {
                let mut finding = cx.new_finding(at, format!("{} has an empty system message", name()));
                finding.severity = FindingSeverity::Info;
                cx.report_finding(finding.with_help("write instructions for the model, or remove the key if it is optional"));
            }
        }
    }
}

/// Whether it certainly consists of whitespace only.
fn is_blank(message: &ValueExpression) -> bool {
    match message {
        ValueExpression::Const(value) => value.is_null() || value.as_str().is_some_and(|t| t.trim().is_empty()),
        ValueExpression::Template(text) | ValueExpression::Typed(text) => text.template.literal_text().is_some_and(|t| t.trim().is_empty()),
        ValueExpression::Read(Source::Const(value)) => value.as_str().is_some_and(|t| t.trim().is_empty()),
        ValueExpression::AsText(inner) | ValueExpression::AsMessage(inner) => is_blank(inner),
        ValueExpression::Concat(all) => all.iter().all(is_blank),
        _ => false,
    }
}
