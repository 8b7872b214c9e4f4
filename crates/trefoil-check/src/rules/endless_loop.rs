//! States that lead only to each other, and limits that end a run too early.

use trefoil_ir::{OnTimeout, Program, WorkflowState, StateId, StateMachine, Step, StepId, StepKind, MatchedOutcome, StateTransition, walk};
use trefoil_syntax::{Diagnostic, Location, FindingSeverity};

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
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
        let endless = endless(cx, machine, &written).or_else(|| going_round(cx, machine, &written));
        let entries = entries(cx, machine, &written);
        let found: Vec<Diagnostic> =
            endless.into_iter().chain(entries).chain(visits(cx, machine, &written)).collect();
        found.into_iter().for_each(|d| cx.report_finding(d));
    }
}

/// A loop without an exit.
fn endless(cx: &RuleContext<'_>, machine: &StateMachine, written: &TransitionGraph) -> Option<Diagnostic> {
    let stuck = written.stuck_states(&|_, _| true);
    let mut states = stuck.iter().map(|id| &machine.states[*id]);
    let first = states.next()?;
    let place = |state: &WorkflowState| cx.model.program.steps[state.step].origin;
    // For a state that only leads to itself, the target is probably the mistake.
    let own = first.transitions.last().map(|t| t.target_at).filter(|_| stuck.len() == 1);
    let message = format!("no transition leads from `{}` to an end", first.name);
    let mut d = cx.new_finding(own.unwrap_or_else(|| place(first)), message);
    for at in states.map(place) {
        d = d.with_label(at, "nor from here");
    }
    Some(d.with_help("the run fails when it reaches a visit limit; add a transition that leads out"))
}

/// A loop that ends only if one of its states fails.
fn going_round(cx: &RuleContext<'_>, machine: &StateMachine, written: &TransitionGraph) -> Option<Diagnostic> {
    let well = |t: &&StateTransition| t.takes != MatchedOutcome::Failure;
    let leads = |from: StateId, to: StateId| {
        let mut there = machine.states[from].transitions.iter().filter(|t| t.target == to).peekable();
        // A transition with an invalid target is not in the program yet.
        there.peek().is_none() || there.any(|t| well(&t))
    };
    let stuck = written.stuck_states(&leads);
    let mut states = stuck.iter().map(|id| &machine.states[*id]);
    if states.any(|state| may_fail_as_meant(cx.model.program, state.step)) {
        return None;
    }
    let mut back = stuck.iter().flat_map(|from| {
        let back = |t: &&StateTransition| t.target <= *from && stuck.contains(&t.target);
        machine.states[*from].transitions.iter().filter(well).filter(back)
    });
    let transition = back.next()?;
    let to = &machine.states[transition.target];
    let message = format!("unless something fails, the run loops through `{}` until a limit ends it", to.name);
    let help = "only a failure leads out, so a visit limit ends the run; add a transition for success that leads out";
    Some(cx.new_finding(transition.target_at, message).with_help(help))
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
    let mut called = walk::reachable_from(program, &flows).into_iter().map(|(_, step)| &program.steps[step]);
    called.any(means)
}

/// A limit of state entries below the length of the shortest path to an end, or to a state.
fn entries(cx: &RuleContext<'_>, machine: &StateMachine, written: &TransitionGraph) -> Option<Diagnostic> {
    let limit = u64::from(machine.max_entries);
    if let Some(shortest) = written.shortest_run_length().filter(|shortest| *shortest > limit)
        && let Some(at) = machine.max_entries_at
    {
        let message = format!("no run can reach an end: the shortest path has {shortest} states");
        return Some(cx.new_finding(at, message).with_help("allow at least that many"));
    }
    let beyond = written.path_lengths().into_iter().zip(&machine.states).filter_map(|(length, state)| {
        Some((length.filter(|length| *length > limit)?, state, cx.model.program.steps[state.step].origin))
    });
    let mut beyond: Vec<(u64, &WorkflowState, Location)> = beyond.collect();
    beyond.sort_by_key(|(length, _, at)| (*length, at.span.start));
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
        (key, highest) => d.with_help(format!("the highest `{key}` is {highest}: move some of the states to another workflow")),
    })
}

/// A limit of one visit for a state to which transitions lead back.
fn visits(cx: &RuleContext<'_>, machine: &StateMachine, written: &TransitionGraph) -> Vec<Diagnostic> {
    let once = |state: &WorkflowState| -> Option<Location> { state.max_visits_at.filter(|_| state.max_visits == 1) };
    let states = machine.states.entries().filter_map(|(id, s)| Some((id, s, once(s)?)));
    let returning = states.filter(|(id, ..)| written.can_return_to(*id));
    let finding = |(_, state, at): (StateId, &WorkflowState, Location)| {
        let message = format!("transitions lead back to `{}`, but its second visit fails the run", state.name);
        cx.new_finding(at, message).with_help("allow at least 2 visits")
    };
    returning.map(finding).collect()
}
