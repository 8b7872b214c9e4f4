//! A transition whose condition can never hold for the result of its state, because of the kind of state or the
//! declared answer.

use trefoil_ir::solve::{TestTree, ConditionTest, Constraint, NumberRange};
use trefoil_ir::types::{Kind, Type};
use trefoil_ir::{Callee, Cond, DeclarationKind, FlowId, Source, State, StepId, StepKind, walk};
use trefoil_syntax::{Diagnostic, Location, Severity};
use trefoil_template::{Comparison, Value};

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::conditions::is_written;
use crate::semantic::{Model, Walk};

pub(super) const RULE: Rule = Rule {
    name: "impossible-transition",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("impossible_transition.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for one in &model.facts.impossible {
        let finding = cx.finding(one.at, format!("`{}` is never true here", one.word));
        cx.report(finding.help(one.why));
    }
    for (flow, _, step) in model.all_steps() {
        let StepKind::StateMachine(machine) = &step.kind else { continue };
        for state in &machine.states {
            for transition in &state.transitions {
                let Some(when) = transition.when.as_ref().filter(|when| !is_written(when)) else { continue };
                let lacks = figures(when).into_iter().find_map(|figure| Some((never(model, flow, &figure)?, figure)));
                let Some((why, figure)) = lacks else { continue };
                let finding = cx.finding(when.origin, format!("`{}` is never true here", transition.text));
                cx.report(labelled(model, state, figure.name, finding.help(why)));
            }
        }
    }
}

/// A number in an answer, and the order to a bound that a condition requires.
struct Figure<'w> {
    source: &'w Source,
    name: &'w str,
    order: Comparison,
    bound: f64,
}

/// Whether a condition of the format compares numbers in an answer.
pub(super) fn has_figures(when: &Cond) -> bool {
    !is_written(when) && !figures(when).is_empty()
}

/// The numbers that must all match.
fn figures(when: &Cond) -> Vec<Figure<'_>> {
    let needed = TestTree::of(when.condition.expression(), true).needed();
    let required = needed.iter().filter_map(ConditionTest::requirements).flatten();
    let figures = required.filter_map(|required| {
        let Constraint::Bound(order, bound) = required.constraint else { return None };
        let reference = when.condition.references().get(required.reference as usize)?;
        let source = when.sources.get(reference.binding.source as usize)?;
        let Source::Member(_, member) = source else { return None };
        Some(Figure { source, name: member.last()?, order, bound })
    });
    figures.collect()
}

/// Why a number can never match, if its range is known or declared.
fn never(model: &Model<'_>, flow: FlowId, figure: &Figure<'_>) -> Option<String> {
    let name = figure.name;
    if !model.words().transitions.is_some_and(|words| words.measures.contains(&name)) {
        return None;
    }
    let Source::Member(slot, member) = figure.source else { return None };
    let path: Vec<&str> = member.iter().map(|segment| &**segment).collect();
    let reached = Walk::through(model.types().slot(flow, *slot), &path);
    if reached.stop.is_some_and(|(at, _)| at + 1 == path.len()) {
        return Some(format!("the agent's answer has no `{name}`: its schema does not allow one"));
    }
    if is_no_number(&reached.schema) {
        return Some(format!("the `{name}` of the agent's answer is not a number"));
    }
    let end = |key: &str| reached.schema.limit(key);
    let (lowest, highest) = (end("minimum").unwrap_or(0.0), end("maximum").unwrap_or(1.0));
    let limit = figure.bound;
    NumberRange::compared(figure.order, limit)?.is_apart(&NumberRange::between(Some(lowest), Some(highest))).then(|| {
        match figure.order {
            Comparison::Greater => format!("no {name} is above {limit}: the highest is {highest}"),
            Comparison::Less => format!("no {name} is below {limit}: the lowest is {lowest}"),
            Comparison::GreaterEqual => format!("{highest} is the highest {name}"),
            _ => format!("{lowest} is the lowest {name}"),
        }
    })
}

/// Whether values of a type are never numbers, nor texts that are numbers.
fn is_no_number(schema: &Type) -> bool {
    let number = |v: &Value| v.as_f64().is_some() || v.as_str().is_some_and(|t| t.trim().parse::<f64>().is_ok());
    if let Some(words) = schema.choices() {
        return !words.iter().any(number);
    }
    schema.solid_kinds().is_some_and(|kinds| !kinds.has(Kind::Number) && !kinds.has(Kind::Text))
}

/// Adds the place where the agent that a state calls declares the number.
fn labelled(model: &Model<'_>, state: &State, name: &str, finding: Diagnostic) -> Diagnostic {
    let declared = callees(model, state.step).into_iter().find_map(|callee| {
        let of = model.program.flows[callee].origin.file;
        let mut properties = model.facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Property);
        properties.find(|d| *d.name == *name && d.at.file == of).map(|d| d.at)
    });
    declared.into_iter().fold(finding, |d, at: Location| d.label(at, "declared here"))
}

/// The flows that a step calls.
fn callees(model: &Model<'_>, id: StepId) -> Vec<FlowId> {
    let mut found = Vec::new();
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        let step = &model.program.steps[id];
        if let StepKind::Call(call) = &step.kind
            && let Callee::Flow(flow) = &call.callee
        {
            found.push(*flow);
        }
        stack.extend(walk::children(step));
    }
    found
}
