//! A fan-out, or a loop in a template, over a value that is not a list.

use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::walk::{self, EvaluatedPart};
use trefoil_ir::{BoundTemplate, FanOutItems, FlowId, StepKind, ValueExpression};
use trefoil_syntax::{FindingSeverity, Location};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::SemanticModel;
use crate::semantic::paths::path_in_source;

pub(super) const RULE: Rule = Rule {
    name: "not-a-list",
    group: RuleGroup::Types,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("not_a_list.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    let mut found: Vec<(Location, String)> = Vec::new();
    for (flow, _, step) in model.all_steps() {
        if let StepKind::ForEach(each) = &step.kind
            && let FanOutItems::List(items) = &each.items
            && let Some(what) = never_a_list(&model.program_types().expr_type(flow, items, None))
        {
            let at = place(items).unwrap_or(step.origin);
            found.push((at, format!("a fan-out needs a list, but this is {what}")));
        }
        for evaluated in walk::evaluated_by_step(step) {
            let each = &mut |text: &BoundTemplate| looped(model, flow, text, &mut found);
            match evaluated {
                EvaluatedPart::Expr(expr) => walk::visit_templates(expr, each),
                EvaluatedPart::Text(text) => each(text),
                EvaluatedPart::Cond(_) | EvaluatedPart::Source(_) => {}
            }
        }
    }
    for (at, message) in found {
        let d = cx.new_finding(at, message);
        cx.report_finding(d.with_help("name the list itself, or make the value a list"));
    }
}

/// The kind of a value that is neither a list nor text that may contain one.
fn never_a_list(of: &ValueType) -> Option<&'static str> {
    let kinds = of.solid_kinds()?;
    if kinds.contains(ValueKind::List) {
        return None;
    }
    if !kinds.contains(ValueKind::Text) {
        return Some(kinds.iter().next()?.display_name());
    }
    if !kinds.is_only(ValueKind::Text) {
        return None;
    }
    if let Some(choices) = of.allowed_values() {
        let may_be_list = choices.iter().any(|choice| matches!(choice.as_str(), Some(text) if text.contains('[')));
        return if may_be_list { None } else { Some("text that is not a list") };
    }
    let inner = of.json_content()?.solid_kinds()?;
    if inner.contains(ValueKind::List) { None } else { Some("text that is never a list") }
}

/// `{{#each}}` over a value without items.
fn looped(model: &SemanticModel<'_>, flow: FlowId, text: &BoundTemplate, found: &mut Vec<(Location, String)>) {
    for i in text.template.looped_references() {
        let Some(reference) = text.template.references().get(i) else { continue };
        let Some(source) = text.sources.get(reference.binding.source as usize) else { continue };
        let walk = model.program_types().source_type(flow, source, &path_in_source(reference), None);
        let Some(kinds) = walk.schema.solid_kinds() else { continue };
        if walk.stop.is_some() {
            continue;
        }
        if !kinds.contains(ValueKind::List) && !kinds.contains(ValueKind::Object) {
            let span = text.spans.get(i).copied().unwrap_or(text.origin.span);
            let message = format!("`{}` is {kinds}, which has no items", reference.dotted_path());
            found.push((Location::new(text.origin.file, span), message));
        }
    }
}

fn place(items: &ValueExpression) -> Option<Location> {
    match items {
        ValueExpression::Typed(text) | ValueExpression::Template(text) => {
            Some(Location::new(text.origin.file, text.spans.first().copied().unwrap_or(text.origin.span)))
        }
        _ => None,
    }
}
