//! States from which no possible sequence of transitions leads to an end.

use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::states;
use crate::semantic::written::ending;

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
        let ends = machine.states.map(trefoil_ir::State::may_end);
        let meant = ending(ends.clone(), &|id| machine.states[id].transitions.iter().map(|t| t.target).collect());
        let ends = ending(ends, &|id| states::targets(&machine.states[id], &exits[id]).collect());
        let reached = states::reached(machine, exits);
        // If no written transition leads to an end, `endless-loop` reports it.
        let stuck = machine.states.entries().filter(|(id, _)| reached[*id] && !ends[*id] && meant[*id]);
        let mut places = stuck.map(|(_, s)| (s, program.steps[s.step].origin));
        let Some((state, at)) = places.next() else { continue };
        let message = format!("from `{}`, no sequence of possible transitions reaches an end", state.name);
        let mut finding = cx.finding(at, message);
        for (_, other) in places {
            finding = finding.label(other, "nor from this state");
        }
        cx.report(finding.help("the run loops until it exceeds a visit limit and fails; give one of the states a transition that leads out"));
    }
}
