//! A state that is not the target of any transition.

use trefoil_ir::StateMachine;
use trefoil_syntax::{Location, Severity};

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::written::Written;

pub(super) const RULE: Rule = Rule {
    name: "unreachable-state",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("unreachable_state.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    for (machine, written) in cx.model.written() {
        one(cx, machine, &written);
    }
}

/// States that can only be reached from unreachable states are reported together with the first of those.
fn one(cx: &mut Context<'_>, machine: &StateMachine, written: &Written) {
    let count = machine.states.len();
    let places: Vec<Option<Location>> =
        machine.states.iter().map(|s| cx.model.program.step(s.step).map(|s| s.origin)).collect();
    let Some(seen) = written.reached() else { return };
    let mut left: Vec<bool> = seen.iter().map(|seen| !seen).collect();
    let mut led = vec![false; count];
    for from in (0..count).filter(|at| left.get(*at) == Some(&true)) {
        for to in written.targets(from).filter(|to| *to != from) {
            led.get_mut(to).into_iter().for_each(|led| *led = true);
        }
    }
    // Those without incoming transitions come first; the others form cycles.
    let roots = (0..count).filter(|at| led.get(*at) == Some(&false));
    for root in roots.chain(0..count).collect::<Vec<_>>() {
        let (Some(true), Some(state), Some(at)) = (left.get(root), machine.states.get(root), place(&places, root)) else {
            continue;
        };
        let mut finding = cx.finding(at, format!("no transition leads to `{}`, so it never runs", state.name));
        let mut stack = vec![root];
        while let Some(at) = stack.pop() {
            match left.get_mut(at) {
                Some(left) if *left => *left = false,
                _ => continue,
            }
            if let Some(place) = place(&places, at).filter(|_| at != root) {
                finding = finding.label(place, "this state never runs either, because only that one leads to it");
            }
            stack.extend(written.targets(at));
        }
        cx.report(finding.help("add a transition to it, or remove the state"));
    }
}

fn place(places: &[Option<Location>], state: usize) -> Option<Location> {
    places.get(state).copied().flatten()
}
