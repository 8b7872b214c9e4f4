//! Tools that change something with text from a model or another tool, without a review before: in steps, and in tool
//! calls by a model.

use std::collections::HashSet;

use trefoil_ir::{FlowId, Offer, Step, StepId, StepKind, ToolCall, ToolKind, ValueExpression, walk};
use trefoil_syntax::{FindingSeverity, Location};

use super::untrusted_command::taint_labels;
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::effects;
use crate::semantic::human_reviews::HumanReviews;
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
    // A person who is asked before has reviewed it; what is shown to the person is checked by another rule.
    let reviews = HumanReviews::from_model(cx.model);
    let is_reviewed = |flow, id| match &reviews {
        Some(reviews) => reviews.is_reviewed(flow, id),
        None => false,
    };
    let mut offered = HashSet::new();
    let mut reported = HashSet::new();
    for (flow, id, step) in cx.model.live_steps() {
        for offer in offers(step) {
            offered.insert(offer.step);
            let Some(what) = offered_write(cx, offer) else { continue };
            if is_reviewed(flow, id) || !reported.insert(offer.origin) {
                continue;
            }
            let message = format!("{what} with what a model gives it, and no person sees it before");
            let help =
                "offer the model only tools that read, or make the call in a step of its own after a person has agreed";
            let finding = cx.new_finding(offer.origin, message).with_help(help);
            cx.report_finding(finding);
        }
    }
    for (flow, id, step) in cx.model.live_steps() {
        if offered.contains(&id) {
            continue;
        }
        let StepKind::Tool(call) = &step.kind else { continue };
        let Some(what) = writes(cx, call) else { continue };
        if is_reviewed(flow, id) {
            continue;
        }
        let labels = held(cx, flow, id, &call.arguments);
        let (who, from) = match (labels.model, labels.tool) {
            (Some(from), _) => ("a model's answer", from),
            (None, Some(from)) => ("a tool's result", from),
            (None, None) => continue,
        };
        let message = format!("{what} with text from {who}, and no person reviews it first");
        let at = place(&call.arguments).unwrap_or(step.origin);
        let finding = cx.new_finding(at, message).with_label(from, "comes from here");
        cx.report_finding(
            finding.with_help("check the text against a schema or a list of values, or ask a person before this step"),
        );
    }
}

/// The tools that the model of a step may call without a judge of the calls.
fn offers(step: &Step) -> &[Offer] {
    match &step.kind {
        StepKind::Conversation(it) if it.gate.is_none() => &it.offers,
        _ => &[],
    }
}

/// What an offered tool changes with arguments from a model, if known.
fn offered_write(cx: &RuleContext<'_>, offer: &Offer) -> Option<String> {
    let StepKind::Tool(call) = &cx.model.program.steps[offer.step].kind else { return None };
    let what = writes(cx, call)?;
    if gives_nothing(cx, offer) { None } else { Some(what) }
}

/// Whether all arguments of a tool are pinned.
fn gives_nothing(cx: &RuleContext<'_>, offer: &Offer) -> bool {
    let Some(id) = offer.parameters else { return false };
    let Some(properties) = cx.model.program.schemas[id].json.get("properties") else { return false };
    matches!(properties.as_object(), Some(properties) if properties.is_empty())
}

/// What it changes, if known.
fn writes(cx: &RuleContext<'_>, call: &ToolCall) -> Option<String> {
    let effect = effects::tool_call_effect(call, cx.supplied.iter().copied());
    let what = effect.change_text()?;
    Some(match call.kind {
        ToolKind::Http => format!("this sends a {}", what.strip_prefix("this ").unwrap_or(what)),
        ToolKind::Local | ToolKind::Mcp { .. } | ToolKind::Python => {
            format!("this calls {what}, which changes something,")
        }
    })
}

/// The labels of everything that the arguments can contain.
fn held(cx: &RuleContext<'_>, flow: FlowId, id: StepId, arguments: &ValueExpression) -> TaintLabels {
    let mut all = TaintLabels::default();
    walk::visit_expressions(arguments, &mut |expr| {
        if matches!(
            expr,
            ValueExpression::Template(_)
                | ValueExpression::Typed(_)
                | ValueExpression::Read(_)
                | ValueExpression::Join { .. }
        ) {
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
