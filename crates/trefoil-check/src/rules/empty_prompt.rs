//! A model call without a message.

use trefoil_syntax::hash::HashSet;

use trefoil_ir::{Source, StepKind, ValueExpression};
use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
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
            && is_blank(&call.prompt)
            && let Some(at) = message_location(&call.prompt)
        {
            let message = format!("{} asks an empty question", words::step_name(program, id));
            cx.report_finding(cx.new_finding(at, message).with_help("write the question"));
        }
        let StepKind::Model(call) = &step.kind else { continue };
        let name = || words::step_name(program, id);
        let blank_system = match &call.system {
            Some(system) if is_blank(system) => Some(system),
            _ => None,
        };
        if is_blank(&call.user) {
            let message = match call.system.is_none() || blank_system.is_some() {
                true => format!("{} sends the model no text at all", name()),
                false => format!("{} sends the model an empty user message", name()),
            };
            let at = message_location(&call.user).unwrap_or(step.origin);
            let mut finding = cx.new_finding(at, message).with_help(help);
            if let Some(system) = blank_system
                && let Some(at) = message_location(system)
            {
                finding = finding.with_label(at, "this is empty too");
            }
            cx.report_finding(finding);
        } else if let Some(system) = blank_system {
            let at = message_location(system).unwrap_or(step.origin);
            if seen.insert(at) {
                let mut finding = cx.new_finding(at, format!("{} has an empty system message", name()));
                finding.severity = FindingSeverity::Info;
                cx.report_finding(
                    finding.with_help("write instructions for the model, or remove the key if it is optional"),
                );
            }
        }
    }
}

/// Whether it certainly consists of whitespace only.
fn is_blank(message: &ValueExpression) -> bool {
    match message {
        ValueExpression::Const(value) => value.is_null() || is_blank_text(value.as_str()),
        ValueExpression::Template(text) | ValueExpression::Typed(text) => {
            matches!(text.template.literal_text(), Some(text) if text.trim().is_empty())
        }
        ValueExpression::Read(Source::Const(value)) => is_blank_text(value.as_str()),
        ValueExpression::AsText(inner) | ValueExpression::AsMessage(inner) => is_blank(inner),
        ValueExpression::Concat(all) => all.iter().all(is_blank),
        _ => false,
    }
}

fn is_blank_text(text: Option<&str>) -> bool {
    matches!(text, Some(text) if text.trim().is_empty())
}
