//! Tools and commands that change something with text from a model or another tool, without a review before: in steps, and in tool
//! calls by a model.

use std::collections::HashSet;

use trefoil_ir::{CommandCall, ValueExpression, FlowId, Offer, Step, StepId, StepKind, ToolCall, ToolKind, walk};
use trefoil_syntax::{Location, FindingSeverity};
use trefoil_template::Value;

use super::untrusted_command::taint_labels;
use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::human_reviews::HumanReviews;
use crate::semantic::effects;
use crate::semantic::taint::TaintLabels;

pub(super) const RULE: Rule = Rule {
    name: "unreviewed-write",
    group: RuleGroup::Safety,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("unreviewed_write.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    let steps: Vec<_> = cx.model.live_steps().collect();
    // A person who is asked before has reviewed it; what is shown to the person is checked by another rule.
    let before = HumanReviews::from_model(cx.model);
    let is_reviewed = |flow, id| before.as_ref().is_some_and(|before| before.is_reviewed(flow, id));
    let offered = steps.iter().filter_map(|(flow, id, step)| Some((*flow, *id, offers(step)?)));
    let offers: Vec<_> = offered.flat_map(|(flow, id, all)| all.iter().map(move |offer| (flow, id, offer))).collect();
    let mut said = HashSet::new();
    for &(flow, id, offer) in &offers {
        let StepKind::Tool(call) = &program.steps[offer.step].kind else { continue };
        let Some(what) = writes(cx, call).filter(|_| !gives_nothing(cx, offer)) else { continue };
        if is_reviewed(flow, id) || !said.insert(offer.origin) {
            continue;
        }
        let message = format!("{what} with what a model gives it, and no person sees it before");
        let help = "offer the model only tools that read, or make the call in a step of its own after a person has agreed";
        let finding = cx.new_finding(offer.origin, message).with_help(help);
        cx.report_finding(finding);
    }
    for (flow, id, step) in steps {
        if offers.iter().any(|(.., offer)| offer.step == id) {
            continue;
        }
        let (what, given): (_, Vec<&ValueExpression>) = match &step.kind {
            StepKind::Tool(call) => (writes(cx, call), vec![&call.arguments]),
            StepKind::Command(call) => {
                let given = call.arguments.iter().chain(call.env.iter().map(|(_, value)| value));
                (runs(call), given.collect())
            }
            _ => continue,
        };
        let Some(what) = what.filter(|_| !is_reviewed(flow, id)) else { continue };
        let held = given.iter().map(|value| held(cx, flow, id, value)).fold(TaintLabels::default(), TaintLabels::union_with);
        let from = [("a model's answer", held.model), ("a tool's result", held.tool)];
        let Some((who, Some(from))) = from.into_iter().find(|(_, at)| at.is_some()) else { continue };
        let message = format!("{what} with text from {who}, and no person reviews it first");
        let at = given.into_iter().find_map(place).unwrap_or(step.origin);
        let finding = cx.new_finding(at, message).with_label(from, "comes from here");
        cx.report_finding(finding.with_help("check the text against a schema or a list of values, or ask a person before this step"));
    }
}

/// The tools that the model of a step may call without a judge of the calls.
fn offers(step: &Step) -> Option<&[Offer]> {
    match &step.kind {
        StepKind::Conversation(it) if it.gate.is_none() => Some(&it.offers),
        _ => None,
    }
}

/// Whether all arguments of a tool are pinned.
fn gives_nothing(cx: &RuleContext<'_>, offer: &Offer) -> bool {
    let properties = offer.parameters.and_then(|id| cx.model.program.schemas[id].json.get("properties"));
    properties.and_then(Value::as_object).is_some_and(|all| all.is_empty())
}

/// What it changes, if known.
fn writes(cx: &RuleContext<'_>, call: &ToolCall) -> Option<String> {
    let effect = effects::tool_call_effect(call, cx.supplied.iter().copied());
    let what = effect.change_text()?;
    Some(match call.kind {
        ToolKind::Http => format!("this sends a {}", what.strip_prefix("this ").unwrap_or(what)),
        ToolKind::Local | ToolKind::Mcp { .. } | ToolKind::Python => format!("this calls {what}, which changes something,"),
    })
}

/// The same for a command.
fn runs(call: &CommandCall) -> Option<String> {
    let effect = effects::command_effect(call);
    let what = effect.change_text()?;
    Some(match what.strip_prefix("this ") {
        Some(request) => format!("this sends a {request}"),
        None => format!("this runs {what}, which changes something,"),
    })
}

/// The labels of everything that the arguments can contain.
fn held(cx: &RuleContext<'_>, flow: FlowId, id: StepId, arguments: &ValueExpression) -> TaintLabels {
    let mut all = TaintLabels::default();
    walk::visit_expressions(arguments, &mut |expr| {
        if matches!(expr, ValueExpression::Template(_) | ValueExpression::Typed(_) | ValueExpression::Read(_) | ValueExpression::Join { .. }) {
            all = all.union_with(taint_labels(cx, flow, id, expr));
        }
    });
    all
}

/// The place of the first text with a value in it.
fn place(arguments: &ValueExpression) -> Option<Location> {
    let mut at = None;
    walk::visit_templates(arguments, &mut |text| {
        if !text.sources.is_empty() {
            at = at.or(Some(text.origin));
        }
    });
    at
}
