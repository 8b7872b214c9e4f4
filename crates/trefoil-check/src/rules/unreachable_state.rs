//! A state that is not the target of any transition.

use trefoil_ir::StateMachine;
use trefoil_syntax::Severity;

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
    let (program, states) = (cx.model.program, &machine.states);
    let Some(mut seen) = written.reached() else { return };
    let mut led = states.map(|_| false);
    for from in states.ids().filter(|id| !seen[*id]) {
        written.targets(from).iter().filter(|to| **to != from).for_each(|to| led[*to] = true);
    }
    // Those without incoming transitions come first; the others form cycles.
    let roots = states.ids().filter(|id| !led[*id]);
    for root in roots.chain(states.ids()) {
        if seen[root] {
            continue;
        }
        let state = &states[root];
        let message = format!("no transition leads to `{}`, so it never runs", state.name);
        let mut finding = cx.finding(program.steps[state.step].origin, message);
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut seen[id], true) {
                continue;
            }
            if id != root {
                let place = program.steps[states[id].step].origin;
                finding = finding.label(place, "this state never runs either, because only that one leads to it");
            }
            stack.extend(written.targets(id));
        }
        cx.report(finding.help("add a transition to it, or remove the state"));
    }
}
