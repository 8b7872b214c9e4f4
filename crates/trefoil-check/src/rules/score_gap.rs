//! Numbers between two ranges that no condition covers.

use trefoil_ir::solver::{CaseValue, ConditionCase, ConditionCases};
use trefoil_ir::types::ValueKind;
use trefoil_ir::walk::{self, EvaluatedPart};
use trefoil_ir::{
    BoundCondition, ConsensusStrategy, GraphEdge, IndexVec, NodeId, Program, StepGraph, StepKind, ValueExpression,
    WorkflowState,
};
use trefoil_syntax::{FindingSeverity, Location};
use trefoil_template::ConditionExpression;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
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
            let Some(gap) = &exits.gap else { continue };
            if !gap.numeric || gap.value.is_empty() || by_majority(program, state) {
                continue;
            }
            // What is no number matches none of them: other rules report that at the comparison.
            if state.transitions.iter().any(|t| matches!(&t.when, Some(when) if reads_no_number(cx, when))) {
                continue;
            }
            let message = format!("no transition of `{}` matches {}, so the run would fail", state.name, gap.value);
            let mut finding = cx.new_finding(step.origin, message);
            for transition in &state.transitions {
                finding = finding.with_label(transition.origin, format!("`{}`", transition.text));
            }
            cx.report_finding(match cx.model.format_words().transitions {
                Some(words) => {
                    let always = words.condition_line(words.always);
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
    for compared in cx.model.typed_comparisons() {
        let schema = &compared.value.schema;
        if here(compared.at)
            && !schema.is_answer()
            && let Some(kinds) = schema.solid_kinds()
            && !kinds.contains(ValueKind::Number)
        {
            return true;
        }
    }
    false
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
    for node in graph.nodes.iter() {
        for edge in &node.incoming {
            leaving[edge.from].push(edge);
        }
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
        let Some(gap) = uncovered_numbers(&conditions) else { continue };
        let Some((first, others)) = conditions.split_first() else { continue };
        let message = format!("no edge from {} covers {gap}", words::step_name(cx.model.program, node.step));
        let mut finding = cx.new_finding(first.origin, message);
        for cond in others {
            finding = finding.with_label(cond.origin, "nor does this one");
        }
        cx.report_finding(finding.with_help("let the ranges meet, or add an edge for the rest"));
    }
}

/// The numbers between those for which one of the conditions holds, for which none does, if all compare one value.
fn uncovered_numbers(conditions: &[&BoundCondition]) -> Option<String> {
    let cases = ConditionCases::new(conditions.iter().copied(), &|_, _| None)?;
    let is_single = matches!(cases.values(), [value] if CaseValue::is_ordered(value));
    if !is_single || (0..conditions.len()).any(|c| cases.is_open(c)) {
        return None;
    }
    let unmatched = |case: &ConditionCase<'_>| !(0..conditions.len()).any(|c| case.condition_holds(c));
    // Numbers beyond all ranges are not a gap: a graph may end there.
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    cases.visit_cases(true, &mut |case| {
        if let Some(number) = case_number(case)
            && !unmatched(case)
        {
            (low, high) = (low.min(number), high.max(number));
        }
        true
    });
    let mut gap = None;
    cases.visit_cases(false, &mut |case| {
        if let Some(number) = case_number(case)
            && low < number
            && number < high
            && unmatched(case)
        {
            gap = Some(case.describe_values(&unmatched));
            return false;
        }
        true
    });
    gap
}

/// The compared number. Values that are not numbers match no range, but the ranges are not about them.
fn case_number(case: &ConditionCase<'_>) -> Option<f64> {
    case.value_of_read(0)?.as_f64()
}

/// Whether a condition compares something with a text.
fn asks_for_text(expression: &ConditionExpression) -> bool {
    match expression {
        ConditionExpression::Literal(value, _) => value.as_str().is_some(),
        ConditionExpression::Compare(all, _)
        | ConditionExpression::And(all)
        | ConditionExpression::Or(all)
        | ConditionExpression::List(all) => all.iter().any(asks_for_text),
        ConditionExpression::Not(inner) => asks_for_text(inner),
        _ => false,
    }
}
