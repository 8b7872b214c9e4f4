//! A transition whose condition can never hold for the result of its state, because of the kind of state or the
//! declared answer.

use trefoil_ir::solver::{TestTree, ConditionTest, ValueConstraint, NumberRange};
use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::{FlowCallee, BoundCondition, DeclarationKind, FlowId, Source, WorkflowState, StepId, StepKind, walk};
use trefoil_syntax::{Diagnostic, Location, FindingSeverity};
use trefoil_template::{ComparisonOperator, Value};

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::conditions::is_written;
use crate::semantic::{SemanticModel, PathType};

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
    for one in &model.facts.impossible {
        let finding = cx.new_finding(one.at, format!("`{}` is never true here", one.word));
        cx.report_finding(finding.with_help(one.why));
    }
    for (flow, _, step) in model.all_steps() {
        let StepKind::StateMachine(machine) = &step.kind else { continue };
        for state in &machine.states {
            for transition in &state.transitions {
                let Some(when) = transition.when.as_ref().filter(|when| !is_written(when)) else { continue };
                let lacks = figures(when).into_iter().find_map(|figure| Some((never(model, flow, &figure)?, figure)));
                let Some((why, figure)) = lacks else { continue };
                let finding = cx.new_finding(when.origin, format!("`{}` is never true here", transition.text));
                cx.report_finding(labelled(model, state, figure.name, finding.with_help(why)));
            }
        }
    }
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
    let needed = TestTree::from_expression(when.condition.expression_tree(), true).needed_tests();
    let required = needed.iter().filter_map(ConditionTest::list_requirements).flatten();
    let figures = required.filter_map(|required| {
        let ValueConstraint::Bound(order, bound) = required.constraint else { return None };
        let reference = when.condition.references().get(required.reference as usize)?;
        let source = when.sources.get(reference.binding.source as usize)?;
        let Source::Member(_, member) = source else { return None };
        Some(RequiredBound { source, name: member.last()?, order, bound })
    });
    figures.collect()
}

/// Why a number can never match, if its range is known or declared.
fn never(model: &SemanticModel<'_>, flow: FlowId, figure: &RequiredBound<'_>) -> Option<String> {
    let name = figure.name;
    if !model.format_words().transitions.is_some_and(|words| words.measures.contains(&name)) {
        return None;
    }
    let Source::Member(slot, member) = figure.source else { return None };
    let path: Vec<&str> = member.iter().map(|segment| &**segment).collect();
    let reached = PathType::follow_path(model.program_types().slot_type(flow, *slot), &path);
    if reached.stop.is_some_and(|(at, _)| at + 1 == path.len()) {
        return Some(format!("the agent's answer has no `{name}`: its schema does not allow one"));
    }
    if is_no_number(&reached.schema) {
        return Some(format!("the `{name}` of the agent's answer is not a number"));
    }
    let end = |key: &str| reached.schema.keyword_limit(key);
    let (lowest, highest) = (end("minimum").unwrap_or(0.0), end("maximum").unwrap_or(1.0));
    let limit = figure.bound;
    NumberRange::from_comparison(figure.order, limit)?.is_apart(&NumberRange::from_inclusive(Some(lowest), Some(highest))).then(|| {
        match figure.order {
            ComparisonOperator::Greater => format!("no {name} is above {limit}: the highest is {highest}"),
            ComparisonOperator::Less => format!("no {name} is below {limit}: the lowest is {lowest}"),
            ComparisonOperator::GreaterEqual => format!("{highest} is the highest {name}"),
            _ => format!("{lowest} is the lowest {name}"),
        }
    })
}

/// Whether values of a type are never numbers, nor texts that are numbers.
fn is_no_number(schema: &ValueType) -> bool {
    let number = |v: &Value| v.as_f64().is_some() || v.as_str().is_some_and(|t| t.trim().parse::<f64>().is_ok());
    if let Some(words) = schema.allowed_values() {
        return !words.iter().any(number);
    }
    schema.solid_kinds().is_some_and(|kinds| !kinds.contains(ValueKind::Number) && !kinds.contains(ValueKind::Text))
}

/// Adds the place where the agent that a state calls declares the number.
fn labelled(model: &SemanticModel<'_>, state: &WorkflowState, name: &str, finding: Diagnostic) -> Diagnostic {
    let declared = callees(model, state.step).into_iter().find_map(|callee| {
        let of = model.program.flows[callee].origin.file;
        let mut properties = model.facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Property);
        properties.find(|d| *d.name == *name && d.at.file == of).map(|d| d.at)
    });
    declared.into_iter().fold(finding, |d, at: Location| d.with_label(at, "declared here"))
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
