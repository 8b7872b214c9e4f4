//! A transition whose condition can never hold for the result of its state, because of the kind of state or the
//! declared answer.

use trefoil_ir::solver::{NumberRange, TestTree, ValueConstraint};
use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::{BoundCondition, DeclarationKind, FlowCallee, FlowId, Source, StepId, StepKind, WorkflowState, walk};
use trefoil_syntax::{Diagnostic, FindingSeverity};
use trefoil_template::{ComparisonOperator, Value};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::conditions::is_written;
use crate::semantic::{PathType, SemanticModel};

pub(super) const RULE: Rule = Rule {
    name: "impossible-transition",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("impossible_transition.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for impossible in &model.facts.impossible {
        let finding = cx.new_finding(impossible.at, format!("`{}` is never true here", impossible.word));
        cx.report_finding(finding.with_help(impossible.why));
    }
    for (flow, _, step) in model.all_steps() {
        let StepKind::StateMachine(machine) = &step.kind else { continue };
        for state in &machine.states {
            for transition in &state.transitions {
                let Some(when) = &transition.when else { continue };
                if is_written(when) {
                    continue;
                }
                let Some((why, figure)) = impossible_figure(model, flow, when) else { continue };
                let finding = cx.new_finding(when.origin, format!("`{}` is never true here", transition.text));
                cx.report_finding(labelled(model, state, figure.name, finding.with_help(why)));
            }
        }
    }
}

/// The first number of a condition that can never match, and why.
fn impossible_figure<'p>(
    model: &SemanticModel<'_>,
    flow: FlowId,
    when: &'p BoundCondition,
) -> Option<(String, RequiredBound<'p>)> {
    for figure in figures(when) {
        if let Some(why) = never(model, flow, &figure) {
            return Some((why, figure));
        }
    }
    None
}

/// A number in an answer, and the order to a bound that a condition requires.
struct RequiredBound<'w> {
    source: &'w Source,
    name: &'w str,
    order: ComparisonOperator,
    bound: f64,
}

/// Whether a condition of the format compares numbers in an answer.
pub(super) fn has_figures(when: &BoundCondition) -> bool {
    !is_written(when) && !figures(when).is_empty()
}

/// The numbers that must all match.
fn figures(when: &BoundCondition) -> Vec<RequiredBound<'_>> {
    let mut figures = Vec::new();
    for test in TestTree::from_expression(when.condition.expression_tree(), true).needed_tests() {
        for required in test.list_requirements().unwrap_or_default() {
            let ValueConstraint::Bound(order, bound) = required.constraint else { continue };
            let Some(reference) = when.condition.references().get(required.reference as usize) else { continue };
            let source = when.sources.get(reference.binding.source as usize);
            let Some(source @ Source::Member(_, member)) = source else { continue };
            let Some(name) = member.last() else { continue };
            figures.push(RequiredBound { source, name, order, bound });
        }
    }
    figures
}

/// Why a number can never match, if its range is known or declared.
fn never(model: &SemanticModel<'_>, flow: FlowId, figure: &RequiredBound<'_>) -> Option<String> {
    let name = figure.name;
    if !model.format_words().transitions?.measures.contains(&name) {
        return None;
    }
    let Source::Member(slot, member) = figure.source else { return None };
    let path: Vec<&str> = member.iter().map(|segment| &**segment).collect();
    let reached = PathType::follow_path(model.program_types().slot_type(flow, *slot), &path);
    if matches!(reached.stop, Some((at, _)) if at + 1 == path.len()) {
        return Some(format!("the agent's answer has no `{name}`: its schema does not allow one"));
    }
    if is_no_number(&reached.schema) {
        return Some(format!("the `{name}` of the agent's answer is not a number"));
    }
    let lowest = reached.schema.keyword_limit("minimum").unwrap_or(0.0);
    let highest = reached.schema.keyword_limit("maximum").unwrap_or(1.0);
    let limit = figure.bound;
    let possible = NumberRange::from_inclusive(Some(lowest), Some(highest));
    if !NumberRange::from_comparison(figure.order, limit)?.is_apart(&possible) {
        return None;
    }
    Some(match figure.order {
        ComparisonOperator::Greater => format!("no {name} is above {limit}: the highest is {highest}"),
        ComparisonOperator::Less => format!("no {name} is below {limit}: the lowest is {lowest}"),
        ComparisonOperator::GreaterEqual => format!("{highest} is the highest {name}"),
        _ => format!("{lowest} is the lowest {name}"),
    })
}

/// Whether values of a type are never numbers, nor texts that are numbers.
fn is_no_number(schema: &ValueType) -> bool {
    if let Some(choices) = schema.allowed_values() {
        return !choices.iter().any(is_number);
    }
    match schema.solid_kinds() {
        Some(kinds) => !kinds.contains(ValueKind::Number) && !kinds.contains(ValueKind::Text),
        None => false,
    }
}

/// Whether a value is a number, or a text that is one.
fn is_number(value: &Value) -> bool {
    match value.as_str() {
        Some(text) => text.trim().parse::<f64>().is_ok(),
        None => value.as_f64().is_some(),
    }
}

/// Adds the place where the agent that a state calls declares the number.
fn labelled(model: &SemanticModel<'_>, state: &WorkflowState, name: &str, finding: Diagnostic) -> Diagnostic {
    for callee in callees(model, state.step) {
        let file = model.program.flows[callee].origin.file;
        for declaration in &model.facts.declarations {
            if declaration.kind == DeclarationKind::Property
                && *declaration.name == *name
                && declaration.at.file == file
            {
                return finding.with_label(declaration.at, "declared here");
            }
        }
    }
    finding
}

/// The flows that a step calls.
fn callees(model: &SemanticModel<'_>, id: StepId) -> Vec<FlowId> {
    let mut found = Vec::new();
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        let step = &model.program.steps[id];
        if let StepKind::Call(call) = &step.kind
            && let FlowCallee::Flow(flow) = &call.callee
        {
            found.push(*flow);
        }
        stack.extend(walk::children_of(step));
    }
    found
}
