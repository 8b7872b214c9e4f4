//! States that lead only to each other, and limits that end a run too early.

use trefoil_ir::{
    MatchedOutcome, OnTimeout, Program, StateId, StateMachine, StateTransition, Step, StepId, StepKind, WorkflowState,
    walk,
};
use trefoil_syntax::{Diagnostic, FindingSeverity, Location};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::states::has_consensus;
use crate::semantic::transition_graph::TransitionGraph;

/// The maximum number of further states that a finding points to.
const MOST_LABELS: usize = 4;

pub(super) const RULE: Rule = Rule {
    name: "endless-loop",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("endless_loop.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    for (machine, written) in cx.model.transition_graphs() {
        let mut found = Vec::new();
        found.extend(endless(cx, machine, &written).or_else(|| going_round(cx, machine, &written)));
        found.extend(entries(cx, machine, &written));
        found.extend(visits(cx, machine, &written));
        for d in found {
            cx.report_finding(d);
        }
    }
}

/// A loop without an exit.
fn endless(cx: &RuleContext<'_>, machine: &StateMachine, written: &TransitionGraph) -> Option<Diagnostic> {
    let stuck = written.stuck_states(&|_, _| true);
    let (first, others) = stuck.split_first()?;
    let first = &machine.states[*first];
    let message = format!("no transition leads from `{}` to an end", first.name);
    let at = match first.transitions.last() {
        // For a state that only leads to itself, the target is probably the mistake.
        Some(transition) if others.is_empty() => transition.target_at,
        _ => cx.model.program.steps[first.step].origin,
    };
    let mut d = cx.new_finding(at, message);
    for other in others {
        d = d.with_label(cx.model.program.steps[machine.states[*other].step].origin, "nor from here");
    }
    Some(d.with_help("the run fails when it reaches a visit limit; add a transition that leads out"))
}

/// A loop that ends only if one of its states fails.
fn going_round(cx: &RuleContext<'_>, machine: &StateMachine, written: &TransitionGraph) -> Option<Diagnostic> {
    let stuck = written.stuck_states(&|from, to| leads_without_failure(machine, from, to));
    if stuck.iter().any(|state| may_fail_as_meant(cx.model.program, machine.states[*state].step)) {
        return None;
    }
    let transition = returning_transition(machine, &stuck)?;
    let to = &machine.states[transition.target];
    let message = format!("unless something fails, the run loops through `{}` until a limit ends it", to.name);
    let help = "only a failure leads out, so a visit limit ends the run; add a transition for success that leads out";
    Some(cx.new_finding(transition.target_at, message).with_help(help))
}

/// Whether a transition leads from one state to another although the first has not failed.
fn leads_without_failure(machine: &StateMachine, from: StateId, to: StateId) -> bool {
    let mut is_written = false;
    for transition in &machine.states[from].transitions {
        if transition.target == to {
            if transition.takes != MatchedOutcome::Failure {
                return true;
            }
            is_written = true;
        }
    }
    // A transition with an invalid target is not in the program yet.
    !is_written
}

/// The first transition without failure from one of these states back to an earlier one of them or itself.
fn returning_transition<'p>(machine: &'p StateMachine, states: &[StateId]) -> Option<&'p StateTransition> {
    for from in states {
        for transition in &machine.states[*from].transitions {
            if transition.takes != MatchedOutcome::Failure
                && transition.target <= *from
                && states.contains(&transition.target)
            {
                return Some(transition);
            }
        }
    }
    None
}

/// Whether the failure of a step may be the intended end: a timeout of a person, an answer that does not pass
/// validation, a consensus that is not reached, a called machine that ends with an error.
fn may_fail_as_meant(program: &Program, step: StepId) -> bool {
    let means = |step: &Step| match &step.kind {
        StepKind::Human(call) => step.policy.timeout_at.is_some() && matches!(call.on_timeout, OnTimeout::Fail),
        StepKind::Attempts(attempts) => !attempts.validators.is_empty(),
        StepKind::Compute(value) => has_consensus(value),
        StepKind::StateMachine(_) => true,
        _ => false,
    };
    let (mut steps, mut flows) = (vec![step], Vec::new());
    while let Some(step) = steps.pop() {
        let step = &program.steps[step];
        if means(step) {
            return true;
        }
        steps.extend(walk::children_of(step));
        flows.extend(walk::callees_of(step));
    }
    walk::reachable_from(program, &flows).into_iter().any(|(_, step)| means(&program.steps[step]))
}

/// A limit of state entries below the length of the shortest path to an end, or to a state.
fn entries(cx: &RuleContext<'_>, machine: &StateMachine, written: &TransitionGraph) -> Option<Diagnostic> {
    let limit = u64::from(machine.max_entries);
    if let Some(shortest) = written.shortest_run_length()
        && shortest > limit
        && let Some(at) = machine.max_entries_at
    {
        let message = format!("no run can reach an end: the shortest path has {shortest} states");
        return Some(cx.new_finding(at, message).with_help("allow at least that many"));
    }
    let beyond = states_beyond(cx.model.program, machine, written, limit);
    let (most, (length, first, place)) = (beyond.last()?.0, beyond.first()?);
    let so = format!("`{}` never runs: the shortest path to it has {length} states, the", first.name);
    let mut d = match machine.max_entries_at {
        Some(at) => cx.new_finding(at, format!("{so} limit is {limit}")).with_label(*place, "this state"),
        None => cx.new_finding(*place, format!("{so} default limit is {limit}")),
    };
    for (_, _, at) in beyond.iter().skip(1).take(MOST_LABELS) {
        d = d.with_label(*at, "nor does this one run");
    }
    let words = cx.model.format_words().transitions?;
    Some(match words.entries {
        (key, highest) if most <= highest => d.with_help(format!("set `{key}` to at least {most}")),
        (key, highest) => {
            d.with_help(format!("the highest `{key}` is {highest}: move some of the states to another workflow"))
        }
    })
}

/// The states to which the shortest path is longer than a limit, with its length and their places; the nearest first.
fn states_beyond<'p>(
    program: &Program,
    machine: &'p StateMachine,
    written: &TransitionGraph,
    limit: u64,
) -> Vec<(u64, &'p WorkflowState, Location)> {
    let mut beyond = Vec::new();
    for (length, state) in written.path_lengths().into_iter().zip(&machine.states) {
        if let Some(length) = length
            && length > limit
        {
            beyond.push((length, state, program.steps[state.step].origin));
        }
    }
    beyond.sort_by_key(|(length, _, at)| (*length, at.span.start));
    beyond
}

/// A limit of one visit for a state to which transitions lead back.
fn visits(cx: &RuleContext<'_>, machine: &StateMachine, written: &TransitionGraph) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (id, state) in machine.states.entries() {
        let Some(at) = state.max_visits_at else { continue };
        if state.max_visits == 1 && written.can_return_to(id) {
            let message = format!("transitions lead back to `{}`, but its second visit fails the run", state.name);
            found.push(cx.new_finding(at, message).with_help("allow at least 2 visits"));
        }
    }
    found
}
