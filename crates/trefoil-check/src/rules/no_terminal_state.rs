//! States from which no transition that can be taken leads to an end.

use trefoil_ir::StateMachine;
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::states::{self, Exits};

pub(super) const RULE: Rule = Rule {
    name: "no-terminal-state",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("no_terminal_state.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for (machine, exits) in cx.model.machines() {
        let written: Vec<Exits> = machine
            .states
            .iter()
            .map(|s| Exits { taken: vec![states::Taken::Yes; s.transitions.len()], ..Exits::default() })
            .collect();
        let (ends, meant) = (ending(machine, exits), ending(machine, &written));
        let reached = states::reached(machine, exits);
        let is = |list: &[bool], at: usize| list.get(at) == Some(&true);
        // Where nothing that is written leads to an end, loading has said so.
        let stuck = (0..machine.states.len()).filter(|s| is(&reached, *s) && !is(&ends, *s) && is(&meant, *s));
        let mut places = stuck.filter_map(|s| machine.states.get(s)).filter_map(|s| Some((s, program.step(s.step)?.origin)));
        let Some((state, at)) = places.next() else { continue };
        let message = format!("from `{}`, no sequence of possible transitions reaches an end", state.name);
        let mut finding = cx.finding(at, message);
        for (_, other) in places {
            finding = finding.label(other, "nor from this state");
        }
        cx.report(finding.help("the run loops until it exceeds a visit limit and fails; give one of the states a transition that leads out"));
    }
}

/// Per state: whether an end can be reached from it.
fn ending(machine: &StateMachine, exits: &[Exits]) -> Vec<bool> {
    let mut ends: Vec<bool> = machine.states.iter().map(trefoil_ir::State::may_end).collect();
    let mut before = vec![Vec::new(); machine.states.len()];
    for at in 0..machine.states.len() {
        for target in states::targets(machine, exits, at) {
            if let Some(list) = before.get_mut(target) {
                list.push(at);
            }
        }
    }
    let mut stack: Vec<usize> = (0..ends.len()).filter(|at| ends.get(*at) == Some(&true)).collect();
    while let Some(at) = stack.pop() {
        for from in before.get(at).into_iter().flatten() {
            if let Some(place) = ends.get_mut(*from).filter(|place| !**place) {
                *place = true;
                stack.push(*from);
            }
        }
    }
    ends
}
