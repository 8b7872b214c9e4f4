//! A state that is not the target of any transition.

use trefoil_ir::StateMachine;
use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::transition_graph::TransitionGraph;

pub(super) const RULE: Rule = Rule {
    name: "unreachable-state",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("unreachable_state.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    for (machine, written) in cx.model.transition_graphs() {
        one(cx, machine, &written);
    }
}

/// States that can only be reached from unreachable states are reported together with the first of those.
fn one(cx: &mut RuleContext<'_>, machine: &StateMachine, written: &TransitionGraph) {
    let (program, states) = (cx.model.program, &machine.states);
    let Some(mut seen) = written.reached_states() else { return };
    let mut led = states.map(|_| false);
    for from in states.element_ids() {
        if seen[from] {
            continue;
        }
        for to in written.target_states(from) {
            if *to != from {
                led[*to] = true;
            }
        }
    }
    // Those without incoming transitions come first; the others form cycles.
    let roots = states.element_ids().filter(|id| !led[*id]);
    for root in roots.chain(states.element_ids()) {
        if seen[root] {
            continue;
        }
        let state = &states[root];
        let message = format!("no transition leads to `{}`, so it never runs", state.name);
        let mut finding = cx.new_finding(program.steps[state.step].origin, message);
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut seen[id], true) {
                continue;
            }
            if id != root {
                let place = program.steps[states[id].step].origin;
                finding = finding.with_label(place, "this state never runs either, because only that one leads to it");
            }
            stack.extend(written.target_states(id));
        }
        cx.report_finding(finding.with_help("add a transition to it, or remove the state"));
    }
}
