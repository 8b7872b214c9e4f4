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
        let ends = machine.states.iter().map(trefoil_ir::State::may_end).collect::<Vec<_>>();
        let meant = |at: usize| machine.states.get(at).map(|s| s.transitions.iter().map(|t| t.target.index()).collect());
        let meant = ending(ends.clone(), &|at| meant(at).unwrap_or_default());
        let ends = ending(ends, &|at| states::targets(machine, exits, at));
        let reached = states::reached(machine, exits);
        let is = |list: &[bool], at: usize| list.get(at) == Some(&true);
        // If no written transition leads to an end, `endless-loop` reports it.
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
