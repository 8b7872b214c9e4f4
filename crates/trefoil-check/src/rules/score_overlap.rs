//! Two overlapping ranges, so that their order decides.

use trefoil_ir::solve::Cases;
use trefoil_ir::{State, Transition};
use trefoil_syntax::Severity;

use super::score_gap::by_majority;
use crate::rule::{Context, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "score-overlap",
    group: Group::Flow,
    level: Some(Severity::Info),
    strict: Some(Severity::Warning),
    page: include_str!("score_overlap.md"),
    run: Run::Declared(run),
};

/// The number of ranges of one state that are compared with each other.
const MOST: usize = 50;

fn run(cx: &mut Context<'_>) {
    for (machine, _) in cx.model.machines() {
        for state in machine.states.iter().filter(|s| cx.model.reach().is_alive(s.step)) {
            let ranges: Vec<&Transition> = state.transitions.iter().filter(|t| is_range(t)).take(MOST).collect();
            for (at, second) in ranges.iter().enumerate() {
                for first in ranges.iter().take(at) {
                    pair(cx, state, first, second);
                }
            }
        }
    }
}

/// Whether a condition compares the order of one value.
fn is_range(transition: &Transition) -> bool {
    let cases = transition.when.as_ref().and_then(|when| Cases::new([when], &|_, _| None));
    cases.is_some_and(|cases| matches!(cases.values(), [value] if value.is_ordered()) && !cases.is_open(0))
}

fn pair(cx: &mut Context<'_>, state: &State, first: &Transition, second: &Transition) {
    if first.takes != second.takes || first.target == second.target {
        return;
    }
    let (Some(a), Some(b)) = (&first.when, &second.when) else { return };
    let Some(cases) = Cases::new([a, b], &|_, _| None) else { return };
    if !matches!(cases.values(), [value] if value.is_ordered()) || cases.is_open(0) || cases.is_open(1) {
        return;
    }
    let (mut only_first, mut only_second, mut both) = (false, false, None);
    cases.each(false, &mut |case| {
        match (case.holds(0), case.holds(1)) {
            (true, true) if case.is_edge() => {}
            (true, true) => both = Some(case.describe(&|_| false)),
            (true, false) => only_first = true,
            (false, true) => only_second = true,
            (false, false) => {}
        }
        true
    });
    // A narrow range before a wide one is a cascade, and a shared boundary does no harm.
    let crossed = both.filter(|_| only_first && only_second);
    if let Some(example) = crossed.filter(|_| !by_majority(cx.model.program, state)) {
        let message = format!("`{}` and `{}` both match {example}; the first one wins", first.text, second.text);
        let finding = cx.finding(second.origin, message).label(first.origin, "taken first");
        cx.report(finding.help("let one range start where the other ends"));
    }
}
