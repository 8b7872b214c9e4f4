//! Two overlapping ranges, so that their order decides.

use trefoil_ir::solver::ConditionCases;
use trefoil_ir::{StateTransition, WorkflowState};
use trefoil_syntax::FindingSeverity;

use super::score_gap::by_majority;
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};

pub(super) const RULE: Rule = Rule {
    name: "score-overlap",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("score_overlap.md"),
    run: RuleSource::Declared(run),
};

/// The number of ranges of one state that are compared with each other.
const MOST: usize = 50;

fn run(cx: &mut RuleContext<'_>) {
    for (machine, _) in cx.model.state_machines() {
        for state in machine.states.iter().filter(|s| cx.model.reach_analysis().is_alive(s.step)) {
            let ranges: Vec<&StateTransition> = state.transitions.iter().filter(|t| is_range(t)).take(MOST).collect();
            for (at, second) in ranges.iter().enumerate() {
                for first in ranges.iter().take(at) {
                    pair(cx, state, first, second);
                }
            }
        }
    }
}

/// Whether a condition compares the order of one value.
fn is_range(transition: &StateTransition) -> bool {
    let Some(when) = &transition.when else { return false };
    let Some(cases) = ConditionCases::new([when], &|_, _| None) else { return false };
    matches!(cases.values(), [value] if value.is_ordered()) && !cases.is_open(0)
}

fn pair(cx: &mut RuleContext<'_>, state: &WorkflowState, first: &StateTransition, second: &StateTransition) {
    if first.takes != second.takes || first.target == second.target {
        return;
    }
    let (Some(a), Some(b)) = (&first.when, &second.when) else { return };
    let Some(cases) = ConditionCases::new([a, b], &|_, _| None) else { return };
    if !matches!(cases.values(), [value] if value.is_ordered()) || cases.is_open(0) || cases.is_open(1) {
        return;
    }
    let (mut only_first, mut only_second, mut both) = (false, false, None);
    cases.visit_cases(false, &mut |case| {
        match (case.condition_holds(0), case.condition_holds(1)) {
            (true, true) if case.is_edge() => {}
            (true, true) => both = Some(case.describe_values(&|_| false)),
            (true, false) => only_first = true,
            (false, true) => only_second = true,
            (false, false) => {}
        }
        true
    });
    // A narrow range before a wide one is a cascade, and a shared boundary does no harm.
    if let Some(example) = both
        && only_first
        && only_second
        && !by_majority(cx.model.program, state)
    {
        let message = format!("`{}` and `{}` both match {example}; the first one wins", first.text, second.text);
        let finding = cx.new_finding(second.origin, message).with_label(first.origin, "taken first");
        cx.report_finding(finding.with_help("let one range start where the other ends"));
    }
}
