//! States from which no possible sequence of transitions leads to an end.

use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::states;
use crate::semantic::transition_graph::states_reaching_end;

pub(super) const RULE: Rule = Rule {
    name: "no-terminal-state",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("no_terminal_state.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    for (machine, exits) in cx.model.state_machines() {
        let ends = machine.states.map(trefoil_ir::WorkflowState::may_end);
        let meant =
            states_reaching_end(ends.clone(), &|id| machine.states[id].transitions.iter().map(|t| t.target).collect());
        let ends = states_reaching_end(ends, &|id| states::taken_targets(&machine.states[id], &exits[id]).collect());
        let reached = states::reached_states(machine, exits);
        // If no written transition leads to an end, `endless-loop` reports it.
        let mut stuck = machine.states.entries().filter(|(id, _)| reached[*id] && !ends[*id] && meant[*id]);
        let Some((_, state)) = stuck.next() else { continue };
        let message = format!("from `{}`, no sequence of possible transitions reaches an end", state.name);
        let mut finding = cx.new_finding(program.steps[state.step].origin, message);
        for (_, other) in stuck {
            finding = finding.with_label(program.steps[other.step].origin, "nor from this state");
        }
        cx.report_finding(finding.with_help("the run loops until it exceeds a visit limit and fails; give one of the states a transition that leads out"));
    }
}
