//! Numbers between two ranges that no condition covers.

use trefoil_ir::solver::{ConditionCase, CaseValue, ConditionCases};
use trefoil_ir::types::ValueKind;
use trefoil_ir::walk::{self, EvaluatedPart};
use trefoil_ir::{BoundCondition, GraphEdge, ValueExpression, StepGraph, IndexVec, NodeId, Program, WorkflowState, StepKind, ConsensusStrategy};
use trefoil_syntax::{Location, FindingSeverity};
use trefoil_template::{ConditionExpression, Value};

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "score-gap",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("score_gap.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    for (machine, exits) in cx.model.state_machines() {
        for (state, exits) in machine.states.iter().zip(exits) {
            if !cx.model.reach_analysis().is_alive(state.step) {
                continue;
            }
            let step = &program.steps[state.step];
            let Some(gap) = exits.gap.as_ref().filter(|g| g.numeric && !g.value.is_empty() && !by_majority(program, state)) else { continue };
            // What is no number matches none of them: other rules report that at the comparison.
            if state.transitions.iter().filter_map(|t| t.when.as_ref()).any(|when| reads_no_number(cx, when)) {
                continue;
            }
            let message = format!("no transition of `{}` matches {}, so the run would fail", state.name, gap.value);
            let mut finding = cx.new_finding(step.origin, message);
            for transition in &state.transitions {
                finding = finding.with_label(transition.origin, format!("`{}`", transition.text));
            }
            cx.report_finding(match cx.model.format_words().transitions.map(|words| words.condition_line(words.always)) {
                Some(always) => {
                    finding.with_help(format!("let the ranges meet, or add a last transition with `{always}`"))
                }
                None => finding.with_help("let the ranges meet"),
            });
        }
    }
    for (_, _, step) in cx.model.reachable_steps() {
        if let StepKind::Graph(graph) = &step.kind {
            edges(cx, graph);
        }
    }
}

/// Whether a condition compares a value that is certainly not a number.
fn reads_no_number(cx: &RuleContext<'_>, when: &BoundCondition) -> bool {
    let span = when.origin.span;
    let here = |at: Location| at.file == when.origin.file && span.start <= at.span.start && at.span.end <= span.end;
    cx.model.typed_comparisons().iter().filter(|compared| here(compared.at)).any(|compared| {
        let kinds = compared.value.schema.solid_kinds();
        let text = compared.value.schema.is_answer();
        !text && kinds.is_some_and(|kinds| !kinds.contains(ValueKind::Number))
    })
}

/// Whether the score of a state is that of a majority vote, which has three possible values.
pub(super) fn by_majority(program: &Program, state: &WorkflowState) -> bool {
    let mut stack = vec![state.step];
    let mut found = false;
    while let Some(id) = stack.pop() {
        let step = &program.steps[id];
        for evaluated in walk::evaluated_by_step(step) {
            let EvaluatedPart::Expr(expr) = evaluated else { continue };
            walk::visit_expressions(expr, &mut |e| {
                found |= matches!(e, ValueExpression::Consensus { consensus, .. } if consensus.strategy == ConsensusStrategy::Majority);
            });
        }
        stack.extend(walk::children_of(step));
    }
    found
}

/// Two or more edges of a node that distinguish ranges and leave a gap.
fn edges(cx: &mut RuleContext<'_>, graph: &StepGraph) {
    let mut leaving: IndexVec<NodeId, Vec<&GraphEdge>> = graph.nodes.map(|_| Vec::new());
    for edge in graph.nodes.iter().flat_map(|n| &n.incoming) {
        leaving[edge.from].push(edge);
    }
    for (node, out) in graph.nodes.iter().zip(leaving) {
        let conditions: Vec<_> = out.iter().filter_map(|e| e.when.as_ref()).collect();
        if conditions.len() < 2 || conditions.len() < out.len() {
            continue;
        }
        // A number may be compared as text: `working.t == "5"`.
        if conditions.iter().any(|c| asks_for_text(c.condition.expression_tree())) {
            continue;
        }
        let Some(cases) = ConditionCases::new(conditions.iter().copied(), &|_, _| None) else { continue };
        let one = matches!(cases.values(), [value] if CaseValue::is_ordered(value));
        if !one || (0..conditions.len()).any(|c| cases.is_open(c)) {
            continue;
        }
        let unmatched = |case: &ConditionCase<'_>| !(0..conditions.len()).any(|c| case.condition_holds(c));
        // Values that are not numbers match no range, but the ranges are not about them.
        let number = |case: &ConditionCase<'_>| case.value_of_read(0).and_then(Value::as_f64);
        // Numbers beyond all ranges are not a gap: a graph may end there.
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        cases.visit_cases(true, &mut |case| {
            if let Some(n) = number(case).filter(|_| !unmatched(case)) {
                (low, high) = (low.min(n), high.max(n));
            }
            true
        });
        let mut gap = None;
        cases.visit_cases(false, &mut |case| {
            let found = number(case).is_some_and(|n| low < n && n < high) && unmatched(case);
            if found {
                gap = Some(case.describe_values(&unmatched));
            }
            !found
        });
        let Some((gap, first)) = gap.zip(conditions.first()) else { continue };
        let message = format!("no edge from {} covers {gap}", words::step_name(cx.model.program, node.step));
        let mut finding = cx.new_finding(first.origin, message);
        for cond in conditions.iter().skip(1) {
            finding = finding.with_label(cond.origin, "nor does this one");
        }
        cx.report_finding(finding.with_help("let the ranges meet, or add an edge for the rest"));
    }
}

/// Whether a condition compares something with a text.
fn asks_for_text(expression: &ConditionExpression) -> bool {
    match expression {
        ConditionExpression::Literal(value, _) => value.as_str().is_some(),
        ConditionExpression::Compare(all, _) | ConditionExpression::And(all) | ConditionExpression::Or(all) | ConditionExpression::List(all) => {
            all.iter().any(asks_for_text)
        }
        ConditionExpression::Not(inner) => asks_for_text(inner),
        _ => false,
    }
}
