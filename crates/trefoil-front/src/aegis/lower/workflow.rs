//! A workflow as a flow: slots for its state, a state machine, the output.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_ir::{Expr, Flow, Intake, Position, SlotId, Source, State, StateId, StateMachine, Step, StepId, StepKind};
use trefoil_syntax::yaml::{Kind, Node};
use trefoil_syntax::{Diagnostic, Location, suggest};
use trefoil_template::Value;

use super::names::{Answer, Fixed, Known, Named, Names, Place, RESERVED, Scene, Shape};
use super::paths::{Before, Paths};
use super::pieces::{constant_object, object};
use super::{Lowering, Slots, input, output, shell, states, transition};
use crate::aegis::manifest::state::{self as written, StateKind};
use crate::aegis::manifest::states::human::HumanState;
use crate::aegis::manifest::states::system::Action;
use crate::aegis::manifest::transition::Condition;
use crate::aegis::manifest::workflow::Workflow;
use crate::aegis::manifest::{self};
use crate::build::plain;
use crate::learn::{self, Resolve};
use crate::read::respelt;
use crate::{Document, Reader};

/// Lowers a workflow.
pub(super) fn lower(lowering: &mut Lowering<'_>, reader: &Reader<'_>, document: &Document) -> Option<Flow> {
    let mut fields = reader.fields(&document.root, "an AEGIS manifest")?;
    manifest::header(&mut fields, manifest::Unit::Workflow);
    let workflow = manifest::workflow::read(reader, &mut fields);
    fields.finish();

    let mut slots = Slots::default();
    let fixed = Fixed {
        input: slots.add("input"),
        raw: slots.add("input"),
        blackboard: slots.add("blackboard"),
        feedback: slots.add("state.feedback"),
        previous_error: slots.add("previous_error"),
        visit: slots.add("iteration_number"),
    };
    let result = slots.add("result");
    let names = names(&workflow, fixed, &mut slots);
    let initial = initial(reader, &workflow, &names);
    let paths = Arc::new(paths(&workflow, &names, initial.unwrap_or(0)));
    let known = Arc::new(Known::new(reader, lowering, &workflow, names.states.iter().map(|s| &s.shape), &paths));
    if let Some(text) = &workflow.initial {
        learn::names(reader, text, initial.and_then(|at| known.states.get(at)).map(|s| s.at));
    }
    let spans: Vec<Location> = workflow.states.iter().map(|s| reader.at(s.span)).collect();
    let reads_feedback = &std::cell::Cell::new(false);
    let varied = &std::cell::RefCell::default();
    let scene = Scene { reader, names: &names, paths: &paths, known: &known, spans: &spans, reads_feedback, varied };
    report_states(&scene, &workflow);
    if let Some(context) = &workflow.context_node {
        report_context(&scene, context);
    }

    let machine = StateMachine {
        states: workflow
            .states
            .iter()
            .enumerate()
            .map(|(i, s)| state(lowering, &scene, &mut slots, &workflow, i, s))
            .collect(),
        initial: StateId(initial.unwrap_or(0) as u32),
        max_entries: workflow.max_entries,
        feedback: Some(fixed.feedback),
        previous_error: Some(fixed.previous_error),
        visit: Some(fixed.visit),
    };
    let origin = reader.at(workflow.identity.span);
    let body = lowering.builder.step(Step { out: Some(result), ..plain(StepKind::StateMachine(machine), origin) });
    let output = output::lower(&scene, &workflow, result);
    if !reads_feedback.get() {
        unread_feedback(&scene, &workflow);
    }
    let context = workflow.context.iter().map(|(key, value)| (key.value.clone(), value.clone()));
    let blackboard = Expr::Merge(vec![Expr::Const(constant_object(context)), Expr::Read(Source::Slot(fixed.input))]);
    Some(Flow {
        name: workflow.identity.name.clone(),
        sort: "workflow",
        origin,
        intake: take_in(lowering, reader, &workflow, fixed),
        init: vec![(fixed.blackboard, blackboard)],
        body,
        output: Some(output),
        slots: slots.0,
        exports: Vec::new(),
        budget: None,
    })
}

/// A start input that is a text is the `task`, where the input may be an object at all.
fn take_in(lowering: &mut Lowering<'_>, reader: &Reader<'_>, workflow: &Workflow, fixed: Fixed) -> Intake {
    let schema = workflow.input_schema.as_ref();
    let mut intake =
        input::intake(lowering, reader, &workflow.identity.name, schema, fixed.input, super::names::ALWAYS);
    intake.raw = Some((fixed.raw, None));
    let of_objects = schema.is_none_or(|s| s.json.get("type").is_none_or(|t| t.as_str() == Some("object")));
    intake.wrap = of_objects.then(|| "task".into());
    intake
}

fn names(workflow: &Workflow, fixed: Fixed, slots: &mut Slots) -> Names {
    let mut keys: BTreeSet<Arc<str>> = workflow.context.iter().map(|(key, _)| key.value.clone()).collect();
    let mut states: Vec<Named> = Vec::new();
    for state in &workflow.states {
        let mut named = Named {
            name: state.name.clone(),
            slot: slots.add(state.name.clone()),
            shape: Shape::Open,
            consensus: (None, None),
            given_feedback: Vec::new(),
            answers: false,
            rounds: None,
        };
        match &state.kind {
            Some(StateKind::Agent(agent)) => {
                named.shape = Shape::Agent;
                if !agent.judges.is_empty() {
                    let round = slots.add(format!("{}.iteration_number", state.name));
                    named.rounds = Some((round, slots.add(format!("{}.previous_error", state.name))));
                }
            }
            Some(StateKind::System(system)) => {
                named.shape = match &system.action {
                    Some(Action::Update(entries)) => {
                        keys.extend(entries.iter().map(|(key, _)| key.value.clone()));
                        Shape::Update
                    }
                    Some(Action::Command { command, .. }) if shell::is_plain_echo(&command.value) => Shape::Echo,
                    _ => Shape::Command,
                };
            }
            Some(StateKind::Human(human)) => {
                named.shape = Shape::Human;
                named.answers = human.default_response.is_some();
            }
            Some(StateKind::Parallel(parallel)) => {
                named.shape = Shape::Parallel { agents: parallel.agents.len() };
                named.consensus = parallel.consensus.as_ref().map_or((None, None), |c| (c.threshold, c.agreement));
            }
            Some(StateKind::Subworkflow(sub)) => keys.extend(sub.result_key.as_ref().map(|k| k.value.clone())),
            Some(StateKind::Container(container)) => {
                named.shape = container.steps.clone().map_or(Shape::Container, Shape::Containers);
            }
            None => {}
        }
        states.push(named);
    }
    let mut with_feedback: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (from, state) in workflow.states.iter().enumerate() {
        let speaking = state.transitions.iter().flatten().filter(|t| t.feedback.is_some());
        for target in speaking.filter_map(|t| t.target.as_ref()) {
            with_feedback.entry(&target.value).or_default().push(from);
        }
    }
    for named in &mut states {
        named.given_feedback = with_feedback.remove(&*named.name).unwrap_or_default();
    }
    // Of two states of one name (reported) the first is meant.
    let by_name = states.iter().enumerate().rev().map(|(i, s)| (s.name.clone(), i)).collect();
    Names {
        fixed,
        states,
        by_name,
        keys,
        workflow: workflow.identity.name.clone(),
        version: workflow.identity.version.clone().unwrap_or_else(|| "1.0.0".into()),
        schema: workflow.input_schema.clone(),
    }
}

fn initial(reader: &Reader<'_>, workflow: &Workflow, names: &Names) -> Option<usize> {
    let Some(text) = &workflow.initial else { return Some(0) };
    let found = names.index(&text.value);
    if found.is_none() && !names.states.is_empty() {
        let at = reader.at(text.span);
        let d = Diagnostic::error("unknown-reference", at, format!("no state is called `{}`", text.value));
        reader.report(match suggest::near(&text.value, names.state_names()) {
            Some(near) => respelt(d.help(format!("did you mean `{}`?", near.name)), at, text, near),
            None => d,
        });
    }
    found
}

/// A list without any transitions is a straight pipeline.
fn is_pipeline(workflow: &Workflow) -> bool {
    workflow.list_form && workflow.states.iter().all(|s| s.transitions.is_none())
}

fn paths(workflow: &Workflow, names: &Names, initial: usize) -> Paths {
    let count = workflow.states.len();
    if is_pipeline(workflow) {
        let edges: Vec<_> = (0..count).map(|i| if i + 1 < count { vec![i + 1] } else { Vec::new() }).collect();
        return Paths::new(initial, &edges, (0..count).map(|i| i + 1 == count).collect());
    }
    let targets = |s: &written::State| -> Vec<Option<usize>> {
        let transitions = s.transitions.as_deref().unwrap_or_default();
        transitions.iter().map(|t| names.index(&t.target.as_ref()?.value)).collect()
    };
    let targets: Vec<_> = workflow.states.iter().map(targets).collect();
    let edges: Vec<Vec<usize>> = targets.iter().map(|all| all.iter().flatten().copied().collect()).collect();
    // A transition to nowhere is reported as that; where it was meant to lead nobody knows.
    let terminal = targets.iter().zip(&workflow.states).map(|(all, state)| {
        let written = state.transitions.as_deref().unwrap_or_default();
        all.is_empty() || all.contains(&None) || transition::leave_success_open(written)
    });
    Paths::new(initial, &edges, terminal.collect())
}

/// Placeholders in the context, whose values are data.
fn report_context(scene: &Scene<'_, '_>, node: &Node) {
    match &*node.kind {
        Kind::Scalar(_, text) if text.value.contains("{{") => {
            let here = scene.here(Place::End, Position::Data);
            let named = |path: &str| here.is_there(path, true);
            let help = "write it where the value is used, or write the key in an `update_blackboard` state";
            super::agent::no_template(scene.reader, text, "context", help, &named);
        }
        Kind::Scalar(..) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| report_context(scene, item)),
        Kind::Mapping(m) => m.entries.iter().for_each(|e| report_context(scene, &e.value)),
    }
}

/// What is wrong with states as a whole.
fn report_states(scene: &Scene<'_, '_>, workflow: &Workflow) {
    let reader = scene.reader;
    let meant = meant(workflow, scene);
    for (i, state) in workflow.states.iter().enumerate() {
        if RESERVED.contains(&&*state.name) || state.name.contains(['.', '/', ' ', '{', '}']) {
            let d = Diagnostic::warning(
                "invalid-name",
                scene.state_at(i),
                format!("templates cannot read the result of a state called `{}`", state.name),
            );
            reader.report(d.help("write letters, digits, `_` and `-`, and none of the names that templates have"));
        }
        if let Some(StateKind::Human(human)) = &state.kind {
            unanswered(scene, state, human);
        }
    }
    unreachable(scene, workflow, &meant);
    limits(scene, workflow);
    let endless = scene.paths.endless();
    if let [first, rest @ ..] = endless.as_slice() {
        let message = format!("no transition leads from `{}` to an end", scene.names.name(*first));
        // Of a state that leads only to itself, the way there is what was meant to be another one.
        let own = workflow.states.get(*first).filter(|_| rest.is_empty()).and_then(|s| s.transitions.as_deref());
        let at = own.and_then(|all| all.last()).and_then(|t| t.target.as_ref()).map(|t| reader.at(t.span));
        let mut d = Diagnostic::warning("endless-loop", at.unwrap_or_else(|| scene.state_at(*first)), message);
        for state in rest {
            d = d.label(scene.state_at(*state), "nor from here");
        }
        reader.report(d.help("the run fails when a limit of visits is reached; give one state a way out"));
    } else {
        going_round(scene, workflow);
    }
}

/// A loop that nothing but a failure of one of its states leads out of.
fn going_round(scene: &Scene<'_, '_>, workflow: &Workflow) {
    let on_failure = |from: usize, t: &manifest::transition::Transition| {
        matches!(t.condition, Some(Condition::OnFailure)) && !scene.names.shape(from).is_command()
    };
    let written = |state: usize| workflow.states.get(state).and_then(|s| s.transitions.as_deref()).unwrap_or_default();
    let failing =
        |state: &usize| scene.paths.reachable(*state) && written(*state).iter().any(|t| on_failure(*state, t));
    if !(0..workflow.states.len()).any(|state| failing(&state)) {
        return;
    }
    let leads = |from: usize, t: &manifest::transition::Transition| {
        t.target.as_ref().filter(|_| !on_failure(from, t)).and_then(|t| scene.names.index(&t.value))
    };
    // A straight pipeline has no transitions, and ends; so does what has transitions for failures alone.
    let ends = |from: usize| written(from).is_empty() || transition::leave_success_open(written(from));
    let goes = |from: usize, to: usize| ends(from) || written(from).iter().any(|t| leads(from, t) == Some(to));
    let stuck = scene.paths.stuck(&goes);
    // That nobody answers in time, or that a called workflow finds no more to do, may well be the end that was meant.
    let ends = |at: &usize| {
        workflow.states.get(*at).is_some_and(|state| match &state.kind {
            Some(StateKind::Human(human)) => state.timeout_ms.is_some() && human.default_response.is_none(),
            Some(StateKind::Subworkflow(_)) => true,
            _ => false,
        })
    };
    if stuck.iter().any(ends) {
        return;
    }
    let mut back = stuck.iter().flat_map(|from| {
        written(*from)
            .iter()
            .filter_map(|t| Some((t.target.as_ref()?, leads(*from, t).filter(|to| to <= from && stuck.contains(to))?)))
    });
    let Some((target, to)) = back.next() else { return };
    let message =
        format!("unless something fails, the run loops through `{}` until a limit ends it", scene.names.name(to));
    let d = Diagnostic::warning("endless-loop", scene.reader.at(target.span), message);
    let help = "only a failure leads out, so a limit of visits ends the run; lead on from here when all went well";
    scene.reader.report(d.help(help));
}

/// The states behind each, by their transitions.
fn successors(scene: &Scene<'_, '_>, workflow: &Workflow, state: usize) -> Vec<usize> {
    let written = workflow.states.get(state).and_then(|s| s.transitions.as_deref()).unwrap_or_default();
    written.iter().filter_map(|t| scene.names.index(&t.target.as_ref()?.value)).collect()
}

/// States that never run: those to which only such states lead are told of with the first one.
fn unreachable(scene: &Scene<'_, '_>, workflow: &Workflow, meant: &[bool]) {
    let count = workflow.states.len();
    let mut left: Vec<bool> = (0..count).map(|i| !scene.paths.reachable(i) && meant.get(i) != Some(&true)).collect();
    if !left.contains(&true) {
        return;
    }
    let mut led = vec![false; count];
    for from in (0..count).filter(|i| left.get(*i) == Some(&true)) {
        for to in successors(scene, workflow, from).into_iter().filter(|to| *to != from) {
            led.get_mut(to).into_iter().for_each(|l| *l = true);
        }
    }
    // Where nothing leads to first; what is left goes round in circles.
    let roots = (0..count).filter(|i| led.get(*i) == Some(&false));
    for root in roots.chain(0..count).collect::<Vec<_>>() {
        if left.get(root) != Some(&true) {
            continue;
        }
        let message = format!("no transition leads to `{}`: it never runs", scene.names.name(root));
        let mut d = Diagnostic::warning("unreachable-state", scene.state_at(root), message);
        let mut stack = vec![root];
        while let Some(at) = stack.pop() {
            match left.get_mut(at) {
                Some(place) if *place => *place = false,
                _ => continue,
            }
            if at != root {
                d = d.label(scene.state_at(at), "nor does what only it leads to");
            }
            stack.extend(successors(scene, workflow, at));
        }
        scene.reader.report(d);
    }
}

/// Limits with which no run gets to an end, or no loop to its second round.
fn limits(scene: &Scene<'_, '_>, workflow: &Workflow) {
    let reader = scene.reader;
    if let Some(at) = workflow.max_entries_at
        && let Some(shortest) = shortest(scene, workflow)
        && shortest > workflow.max_entries as usize
    {
        let message = format!("no run gets to an end: the shortest way there has {shortest} states");
        reader.report(Diagnostic::warning("endless-loop", reader.at(at), message).help("allow at least that many"));
    }
    for (i, state) in workflow.states.iter().enumerate() {
        let Some(at) = state.max_visits_at.filter(|_| state.max_visits == 1) else { continue };
        if scene.paths.reachable(i) && scene.paths.before(i, i) != Before::Never {
            let message = format!("transitions lead back to `{}`, and its second visit fails the run", state.name);
            reader.report(Diagnostic::warning("endless-loop", reader.at(at), message).help("allow at least 2 visits"));
        }
    }
}

/// How many states the shortest way from the first one to an end has.
fn shortest(scene: &Scene<'_, '_>, workflow: &Workflow) -> Option<usize> {
    if is_pipeline(workflow) {
        return Some(workflow.states.len());
    }
    let first = workflow.initial.as_ref().map_or(Some(0), |text| scene.names.index(&text.value))?;
    let mut seen = vec![false; workflow.states.len()];
    let (mut here, mut length) = (vec![first], 1);
    while !here.is_empty() {
        let mut next = Vec::new();
        for at in here {
            match seen.get_mut(at) {
                Some(place) if !*place => *place = true,
                _ => continue,
            }
            let state = workflow.states.get(at)?;
            // A way that cannot be told may be shorter.
            let written = state.transitions.as_deref().unwrap_or_default();
            if state.kind.is_none() || written.is_empty() || transition::leave_success_open(written) {
                return Some(length);
            }
            let behind = successors(scene, workflow, at);
            if behind.len() < state.transitions.as_ref().map_or(0, Vec::len) {
                return None;
            }
            next.extend(behind);
        }
        (here, length) = (next, length + 1);
    }
    None
}

/// Per state: whether a run would get there if what is reported about transitions were mended. A target that resembles no
/// state may have been meant to be any.
fn meant(workflow: &Workflow, scene: &Scene<'_, '_>) -> Vec<bool> {
    let names = scene.names;
    let mut seen = vec![false; workflow.states.len()];
    let mut stack: Vec<usize> = (0..seen.len()).filter(|i| scene.paths.reachable(*i)).collect();
    while let Some(at) = stack.pop() {
        match seen.get_mut(at) {
            Some(place) if !*place => *place = true,
            _ => continue,
        }
        let Some(state) = workflow.states.get(at) else { continue };
        let written = state.transitions.iter().flatten().map(|t| t.target.as_ref().map(|t| &t.value));
        for target in written.chain(state.lost.iter().map(Some)) {
            let near = |word: &str| names.index(suggest::near(word, names.state_names())?.name);
            match target.and_then(|name| names.index(name).or_else(|| near(name))) {
                Some(target) => stack.push(target),
                None => return vec![true; workflow.states.len()],
            }
        }
    }
    seen
}

/// Feedback that goes back to a state of a loop, where nothing reads any: the next round is the same as the last one.
fn unread_feedback(scene: &Scene<'_, '_>, workflow: &Workflow) {
    for (from, state) in workflow.states.iter().enumerate().filter(|(i, _)| scene.paths.reachable(*i)) {
        for transition in state.transitions.iter().flatten() {
            let (Some(feedback), Some(target)) = (&transition.feedback, &transition.target) else { continue };
            let Some(to) = scene.names.index(&target.value) else { continue };
            let calls = matches!(scene.names.shape(to), Shape::Agent | Shape::Parallel { .. });
            if !calls
                || scene.varied.borrow().contains(&to)
                || (to != from && scene.paths.before(to, from) == Before::Never)
            {
                continue;
            }
            let message =
                format!("nothing reads `state.feedback`, so `{}` repeats without seeing this feedback", target.value);
            let d = Diagnostic::info("no-effect", scene.reader.at(feedback.span), message);
            scene
                .reader
                .report(d.help(format!("write `{{{{state.feedback}}}}` into the `input` of `{}`", target.value)));
        }
    }
}

/// The answer that a person gives by not answering, when no transition is for it.
fn unanswered(scene: &Scene<'_, '_>, state: &written::State, human: &HumanState) {
    let Some((answer, span)) = human.default_response.as_ref().zip(human.default_span) else { return };
    let Some(transitions) = state.transitions.as_deref().filter(|t| !t.is_empty()) else { return };
    let is_for =
        |t: &manifest::transition::Transition| t.condition.as_ref().is_none_or(|c| transition::answers(c, answer));
    if !transitions.iter().any(is_for) {
        let message =
            format!("no transition of `{}` matches `{answer}`, so the run fails when no answer comes", state.name);
        let d = Diagnostic::warning("unknown-value", scene.reader.at(span), message);
        scene.reader.report(d.help("add a transition for it, or one with `condition: always`"));
    }
}

fn state(
    lowering: &mut Lowering<'_>,
    scene: &Scene<'_, '_>,
    slots: &mut Slots,
    workflow: &Workflow,
    index: usize,
    state: &written::State,
) -> State {
    let step = states::lower(lowering, scene, slots, index, state);
    let step = finish(lowering, step, state, scene, index);
    let transitions = match &state.transitions {
        None if is_pipeline(workflow) && index + 1 < workflow.states.len() => {
            vec![transition::next(scene, index, index + 1)]
        }
        None => Vec::new(),
        Some(written) => {
            let first = transition::scored(written).filter(|_| matches!(state.kind, Some(StateKind::Agent(_))));
            if let Some((first, answer)) =
                first.zip(lowering.answers(state.kind.as_ref().filter(|_| first.is_some())).first())
            {
                transition::check_scale(scene, index, first, answer);
            }
            if matches!(state.kind, Some(StateKind::Agent(_) | StateKind::Parallel(_))) {
                // Several answers come to a verdict of their own.
                let one = matches!(state.kind, Some(StateKind::Agent(_)));
                let answers = if one { lowering.answers(state.kind.as_ref()) } else { Vec::new() };
                transition::check_thresholds(scene, written, answers.first().unwrap_or(&Answer::default()));
            }
            transition::lower(scene, index, written)
        }
    };
    State {
        name: state.name.clone(),
        step,
        failed: Some(failed()),
        max_visits: state.max_visits,
        transitions,
        ends_unmatched: transition::leave_success_open(state.transitions.as_deref().unwrap_or_default()),
        fails_when: states::system::fails_when(scene, index),
    }
}

/// Label, result slot and time limit, the same for every kind.
fn finish(
    lowering: &mut Lowering<'_>,
    step: Step,
    state: &written::State,
    scene: &Scene<'_, '_>,
    index: usize,
) -> StepId {
    let mut step = Step { label: Some(state.name.clone()), out: Some(slot(scene, index)), ..step };
    if let Some(timeout) = state.timeout_ms {
        step.policy.timeout_at = state.timeout_at.map(|at| scene.reader.at(at));
        if !matches!(step.kind, StepKind::Human(_)) {
            step.policy.timeout_ms = Some(timeout);
        }
    }
    lowering.builder.step(step)
}

fn slot(scene: &Scene<'_, '_>, index: usize) -> SlotId {
    scene.names.slot(index)
}

/// The result of a state that failed.
fn failed() -> Expr {
    object([
        ("status", Expr::Const(Value::from("failed"))),
        ("output", Expr::Const(Value::from(""))),
        ("error", Expr::Read(Source::Failure)),
    ])
}
