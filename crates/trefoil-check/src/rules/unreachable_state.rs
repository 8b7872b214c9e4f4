//! A state that no transition leads to.

use trefoil_ir::StateMachine;
use trefoil_syntax::{Location, Severity};

use crate::rule::{Context, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "unreachable-state",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("unreachable_state.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    for (machine, origin) in machines(cx) {
        one(cx, machine, origin);
    }
}

/// The state machines that a run can reach, with their origins.
fn machines<'p>(cx: &Context<'p>) -> Vec<(&'p StateMachine, Location)> {
    let steps = cx.model.reachable().iter().filter_map(|(_, id)| cx.model.program.step(*id));
    let machines = steps.filter_map(|step| match &step.kind {
        trefoil_ir::StepKind::StateMachine(machine) => Some((machine, step.origin)),
        _ => None,
    });
    machines.collect()
}

/// States to which only states lead that never run are reported with the first of those.
fn one(cx: &mut Context<'_>, machine: &StateMachine, origin: Location) {
    let count = machine.states.len();
    let places: Vec<Option<Location>> =
        machine.states.iter().map(|s| cx.model.program.step(s.step).map(|s| s.origin)).collect();
    let Some(seen) = reached(cx, machine, origin, &places) else { return };
    let mut left: Vec<bool> = seen.iter().map(|seen| !seen).collect();
    let mut led = vec![false; count];
    for from in (0..count).filter(|at| left.get(*at) == Some(&true)) {
        for to in targets(machine, from).filter(|to| *to != from) {
            led.get_mut(to).into_iter().for_each(|led| *led = true);
        }
    }
    // Those that nothing leads to come first; the others form circles.
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
                finding = finding.label(place, "nor does this state, to which only it leads");
            }
            stack.extend(targets(machine, at));
        }
        cx.report(finding.help("add a transition to it, or remove the state"));
    }
}

fn targets(machine: &StateMachine, state: usize) -> impl Iterator<Item = usize> {
    machine.states.get(state).into_iter().flat_map(|s| &s.transitions).map(|t| t.target.index())
}

fn place(places: &[Option<Location>], state: usize) -> Option<Location> {
    places.get(state).copied().flatten()
}

/// Per state: whether a run gets there by what is written, or would if what is reported about it were fixed. None: all states
/// may have been meant.
fn reached(
    cx: &Context<'_>,
    machine: &StateMachine,
    origin: Location,
    places: &[Option<Location>],
) -> Option<Vec<bool>> {
    let mut seen = vec![false; machine.states.len()];
    let meant = |from: Option<Location>, stack: &mut Vec<usize>| -> Option<()> {
        for lead in cx.model.facts.leads.iter().filter(|lead| Some(lead.from) == from) {
            let to = lead.to?;
            stack.extend(places.iter().position(|at| *at == Some(to)));
        }
        Some(())
    };
    let mut stack = vec![machine.initial.index()];
    meant(Some(origin), &mut stack)?;
    while let Some(at) = stack.pop() {
        match seen.get_mut(at) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        stack.extend(targets(machine, at));
        meant(place(places, at), &mut stack)?;
    }
    Some(seen)
}
