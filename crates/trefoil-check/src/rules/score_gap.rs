//! Numbers between two ranges that no condition covers.

use trefoil_ir::solve::{Case, CaseValue, Cases};
use trefoil_ir::types::Kind;
use trefoil_ir::walk::{self, Evaluated};
use trefoil_ir::{Cond, Edge, Expr, Graph, IndexVec, NodeId, Program, State, StepKind, Strategy};
use trefoil_syntax::{Location, Severity};
use trefoil_template::{Expression, Value};

use crate::rule::{Context, Group, Rule, Run};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "score-gap",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("score_gap.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for (machine, exits) in cx.model.machines() {
        for (state, exits) in machine.states.iter().zip(exits) {
            if !cx.model.reach().is_alive(state.step) {
                continue;
            }
            let step = &program.steps[state.step];
            let Some(gap) = exits.gap.as_ref().filter(|g| g.numeric && !g.value.is_empty() && !by_majority(program, state)) else { continue };
            // What is no number matches none of them: other rules report that at the comparison.
            if state.transitions.iter().filter_map(|t| t.when.as_ref()).any(|when| reads_no_number(cx, when)) {
                continue;
            }
            let message = format!("no transition of `{}` matches {}, so the run would fail", state.name, gap.value);
            let mut finding = cx.finding(step.origin, message);
            for transition in &state.transitions {
                finding = finding.label(transition.origin, format!("`{}`", transition.text));
            }
            cx.report(match cx.model.words().transitions.map(|words| words.written(words.always)) {
                Some(always) => {
                    finding.help(format!("let the ranges meet, or add a last transition with `{always}`"))
                }
                None => finding.help("let the ranges meet"),
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
fn reads_no_number(cx: &Context<'_>, when: &Cond) -> bool {
    let span = when.origin.span;
    let here = |at: Location| at.file == when.origin.file && span.start <= at.span.start && at.span.end <= span.end;
    cx.model.comparisons().iter().filter(|compared| here(compared.at)).any(|compared| {
        let kinds = compared.value.schema.solid_kinds();
        let text = compared.value.schema.is_answer();
        !text && kinds.is_some_and(|kinds| !kinds.has(Kind::Number))
    })
}

/// Whether the score of a state is that of a majority vote, which has three possible values.
pub(super) fn by_majority(program: &Program, state: &State) -> bool {
    let mut stack = vec![state.step];
    let mut found = false;
    while let Some(id) = stack.pop() {
        let step = &program.steps[id];
        for evaluated in walk::evaluated(step) {
            let Evaluated::Expr(expr) = evaluated else { continue };
            walk::expressions(expr, &mut |e| {
                found |= matches!(e, Expr::Consensus { consensus, .. } if consensus.strategy == Strategy::Majority);
            });
        }
        stack.extend(walk::children(step));
    }
    found
}

/// Two or more edges of a node that distinguish ranges and leave a gap.
fn edges(cx: &mut Context<'_>, graph: &Graph) {
    let mut leaving: IndexVec<NodeId, Vec<&Edge>> = graph.nodes.map(|_| Vec::new());
    for edge in graph.nodes.iter().flat_map(|n| &n.incoming) {
        leaving[edge.from].push(edge);
    }
    for (node, out) in graph.nodes.iter().zip(leaving) {
        let conditions: Vec<_> = out.iter().filter_map(|e| e.when.as_ref()).collect();
        if conditions.len() < 2 || conditions.len() < out.len() {
            continue;
        }
        // A number may be compared as text: `working.t == "5"`.
        if conditions.iter().any(|c| asks_for_text(c.condition.expression())) {
            continue;
        }
        let Some(cases) = Cases::new(conditions.iter().copied(), &|_, _| None) else { continue };
        let one = matches!(cases.values(), [value] if CaseValue::is_ordered(value));
        if !one || (0..conditions.len()).any(|c| cases.is_open(c)) {
            continue;
        }
        let unmatched = |case: &Case<'_>| !(0..conditions.len()).any(|c| case.holds(c));
        // Values that are not numbers match no range, but the ranges are not about them.
        let number = |case: &Case<'_>| case.value(0).and_then(Value::as_f64);
        // Numbers beyond all ranges are not a gap: a graph may end there.
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        cases.each(true, &mut |case| {
            if let Some(n) = number(case).filter(|_| !unmatched(case)) {
                (low, high) = (low.min(n), high.max(n));
            }
            true
        });
        let mut gap = None;
        cases.each(false, &mut |case| {
            let found = number(case).is_some_and(|n| low < n && n < high) && unmatched(case);
            if found {
                gap = Some(case.describe(&unmatched));
            }
            !found
        });
        let Some((gap, first)) = gap.zip(conditions.first()) else { continue };
        let message = format!("no edge from {} covers {gap}", words::step(cx.model.program, node.step));
        let mut finding = cx.finding(first.origin, message);
        for cond in conditions.iter().skip(1) {
            finding = finding.label(cond.origin, "nor does this one");
        }
        cx.report(finding.help("let the ranges meet, or add an edge for the rest"));
    }
}

/// Whether a condition compares something with a text.
fn asks_for_text(expression: &Expression) -> bool {
    match expression {
        Expression::Literal(value, _) => value.as_str().is_some(),
        Expression::Compare(all, _) | Expression::And(all) | Expression::Or(all) | Expression::List(all) => {
            all.iter().any(asks_for_text)
        }
        Expression::Not(inner) => asks_for_text(inner),
        _ => false,
    }
}
