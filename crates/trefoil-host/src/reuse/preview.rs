//! A preview of a run of an edited flow: what would be kept and what repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_ir::printer::step_definition;
use trefoil_ir::{FlowCallee, Program, StepKind, walk};
use trefoil_machine::key::{own_label, own_step};
use trefoil_machine::request::Activity;
use trefoil_machine::step_path::{RunPath, StepPath as _, step_places};
use trefoil_machine::{ContentKey, Entry, EntryKind, Key, PreparedProgram, Request, RunStart};
use trefoil_models::Registry;
use trefoil_models::plan::models_used;
use trefoil_runtime::RunError;
use trefoil_runtime::driver::memo::{Memo, MemoDecision, ReuseOutcome};
use trefoil_runtime::driver::{self, DriverOptions, HiddenValues, ToolDescriptions};
use trefoil_runtime::ports::{NoEvents, NoTools, Secrets, ToolHost};
use trefoil_runtime::{EventSink, RunOutcome};
use trefoil_store::Store;
use trefoil_template::Value;

use super::called_step::CalledStep;
use super::earlier_calls::{CalledBefore, EarlierCalls, NewCall};
use super::memo::load_memo as memo_of;
use super::request::ReuseRequest;
use super::results::results_for;
use super::step_decisions::StepDecisions;
use crate::durable::{StoredRun, each_entry, prepared_program, reading_ports};
use crate::engine::{AnswersFrom, Engine};
use trefoil_project::error::{Error, FoundErrors, Result};
use trefoil_project::flow::Flow;
use trefoil_runtime::locks::lock;
use trefoil_view::change_reasons::{ActivityDecision, ChangeReason, ReuseDecision};

/// The maximum number of earlier runs whose tool descriptions are used.
const BEFORE: usize = 64;

/// What a run of an edited flow would do.
#[derive(Debug, Clone)]
pub struct EditPreview {
    /// The decisions for the steps that the run reaches before its first call: kept or repeated, and why.
    pub lines: Vec<ActivityDecision>,
    /// Steps of the earlier run that this one has not reached ([`ReuseDecision::Later`]); the decision depends on calls that would come first.
    pub later: Vec<ActivityDecision>,
    /// Results of the earlier run that this one does not use, if it would end without any call.
    pub unused: Vec<ActivityDecision>,
    /// Why the run would fail there.
    pub error: Option<RunError>,
    /// The request with what was decided: with the names of steps in the earlier run, and with whether the step at which that one failed is
    /// repeated. A run with this request decides nothing once more.
    pub request: ReuseRequest,
    /// Whether it would succeed without any call.
    is_done: bool,
    /// Whether nothing would be called, and nobody asked.
    calls_nothing: bool,
    /// What it would request first: the contents of its requests.
    asks: BTreeSet<ContentKey>,
}

impl EditPreview {
    /// Whether nothing would be called, because the edit changes no request.
    pub fn is_up_to_date(&self) -> bool {
        self.is_done && self.lines.iter().all(|line| line.fate.is_kept())
    }
}

/// What [`Engine::edit_run`](crate::Engine::edit_run) of this engine with these arguments would do first. Calls nothing and
/// needs no keys.
///
/// # Errors
///
/// As [`Engine::edit_run`](crate::Engine::edit_run).
pub async fn preview_edit(
    engine: &Engine,
    store: Arc<dyn Store>,
    flow: &Flow,
    request: &ReuseRequest,
) -> Result<EditPreview> {
    let stored = StoredRun::read_run(&*store, &request.of).await?;
    let request = &in_old_names(engine, &store, &stored, flow, request).await?;
    let (program, from) = choose_program(engine, flow, &stored.current_start());
    run_preview(engine, store, &stored, flow, request, (program, &from?)).await
}

/// What [`Engine::fork_run`](crate::Engine::fork_run) of this engine with these arguments would do first. Calls nothing and needs no keys.
///
/// # Errors
///
/// As [`Engine::fork_run`](crate::Engine::fork_run).
pub async fn preview_fork(engine: &Engine, store: Arc<dyn Store>, request: &ReuseRequest) -> Result<EditPreview> {
    let stored = StoredRun::read_run(&*store, &request.of).await?;
    let (engine, flow) = (&engine.clone().with_models_of(&stored.current_start()), &stored.flow);
    let (program, from) = choose_program(engine, flow, &stored.current_start());
    let request = ReuseRequest { failed: true, forked: true, ..request.clone() };
    run_preview(engine, store, &stored, flow, &request, (program, &from?)).await
}

/// The model calls in progress of a run that a run of the edited flow would make, too, with the same requests. Their results will be
/// kept.
///
/// # Errors
///
/// As [`preview_edit`].
pub async fn asked_again(
    engine: &Engine,
    store: Arc<dyn Store>,
    flow: &Flow,
    request: &ReuseRequest,
) -> Result<BTreeSet<Key>> {
    let asks = preview_edit(engine, store.clone(), flow, request).await?.asks;
    let mut open = BTreeMap::new();
    let each = |entry: Entry| match entry.kind {
        EntryKind::Scheduled { key, sort, content, .. } if sort == "model" => drop(open.insert(key, content)),
        EntryKind::Completed { key, .. } | EntryKind::Failed { key, .. } => drop(open.remove(&key)),
        _ => {}
    };
    each_entry(&*store, &request.of, each).await?;
    open.retain(|_, content| asks.contains(content));
    Ok(open.into_keys().collect())
}

/// What [`preview_edit`] says if no models are chosen: models that this engine does not know are those of the run.
///
/// # Errors
///
/// As [`preview_edit`].
pub async fn preview_with_its_models(
    engine: &Engine,
    store: Arc<dyn Store>,
    flow: &Flow,
    request: &ReuseRequest,
) -> Result<EditPreview> {
    let stored = StoredRun::read_run(&*store, &request.of).await?;
    let request = &in_old_names(engine, &store, &stored, flow, request).await?;
    let now = stored.current_start();
    let own = &flow.loaded_target().program;
    let (program, from) = match now.answers.as_str() {
        "host" | "" => (own.clone(), AnswersFrom::Provider),
        _ => match choose_program(engine, flow, &now) {
            (program, Ok(from)) => (program, from),
            (left, Err(_)) => (with_models_of(engine, own, &left, &now), AnswersFrom::AsWritten),
        },
    };
    run_preview(engine, store, &stored, flow, request, (program, &from)).await
}

/// The edit with the name that its step has in the earlier run: a step that was renamed keeps its result, and that says what it was. A
/// step of a called flow may be renamed itself, or be one of a call that was.
pub(super) async fn in_old_names(
    engine: &Engine,
    store: &Arc<dyn Store>,
    stored: &StoredRun,
    flow: &Flow,
    request: &ReuseRequest,
) -> Result<ReuseRequest> {
    let Some(from) = request.from.as_deref() else { return Ok(request.clone()) };
    let known = memo_of(store.clone(), engine.earlier_runs(), stored, &ReuseRequest::default()).await?;
    if known.has_step(from) {
        return Ok(request.clone());
    }
    let mut from = from.to_owned();
    if CalledStep::find_step(&from, &known).is_none() {
        let Some(name) = longest_new_name(&from, &flow.loaded_target().program, &known) else {
            return Ok(request.clone());
        };
        let unnamed = ReuseRequest { from: None, ..request.clone() };
        // Boxed, because a preview needs the name itself.
        let seen = preview_with_its_models(engine, store.clone(), flow, &unnamed);
        let seen = Box::pin(seen).await?;
        let Some(was) = earlier_key(name, &seen.lines) else { return Ok(request.clone()) };
        let old = format!("{}{}", was.without_try(), from.get(name.len()..).unwrap_or_default());
        // What is unknown keeps the name that the user wrote.
        if !known.has_step(&old) && CalledStep::find_step(&old, &known).is_none() {
            return Ok(request.clone());
        }
        from = old;
    }
    if let Some(inside) = CalledStep::find_step(&from, &known)
        && let Some(inner) = inner_name(engine, store, &inside).await
    {
        let call = from.strip_suffix(&inside.step).unwrap_or_default();
        from = format!("{call}{inner}");
    }
    Ok(ReuseRequest { from: Some(from), ..request.clone() })
}

/// The longest part of a name, from its beginning, that names a step of the edited program and none of the earlier runs.
fn longest_new_name<'n>(name: &'n str, program: &Program, known: &Memo) -> Option<&'n str> {
    let places = step_places(program, |_| true);
    let mut part = name;
    loop {
        if !known.has_step(part) && places.iter().any(|place| place.is_named(part)) {
            return Some(part);
        }
        part = part.rsplit_once('/')?.0;
    }
}

/// The key that the step of this name has in the earlier run, if that was another one.
fn earlier_key<'d>(name: &str, decisions: &'d [ActivityDecision]) -> Option<&'d Key> {
    for decision in decisions {
        if !RunPath::from_key(&decision.key).is_named(name) {
            continue;
        }
        let was = match &decision.fate {
            ReuseDecision::Kept { was, .. } => was,
            _ => &decision.was,
        };
        if was.is_some() {
            return was.as_ref();
        }
    }
    None
}

/// The name that a step of a called flow has in the run of the call. `None`: that run or its flow cannot be read.
async fn inner_name(engine: &Engine, store: &Arc<dyn Store>, inside: &CalledStep) -> Option<String> {
    let Request::Tool(request) = &inside.call.activity.request else { return None };
    let (flow, engine) = engine.flow_tools()?.run_of(&request.name, false)?;
    let stored = StoredRun::read_run(&**store, &inside.find_run(&**store).await?).await.ok()?;
    let request = ReuseRequest { from: Some(inside.step.clone()), ..ReuseRequest::for_whole_run(&stored.started.run) };
    // Boxed, because a flow may call itself.
    Box::pin(in_old_names(&engine, store, &stored, &flow, &request)).await.ok()?.from
}

/// The flow with the models that the engine chooses for it, as far as they are known, and the source of answers.
pub(super) fn choose_program(engine: &Engine, flow: &Flow, now: &RunStart) -> (Arc<Program>, Result<AnswersFrom>) {
    let engine = engine.clone().registry(Registry::to_read());
    // The manifest's choice of models may be what was edited.
    let engine = if now.answers == "manifest" { engine } else { engine.with_models_of(now) };
    let mut program = flow.loaded_target().program.clone();
    let from = match engine.choose_models(&mut program) {
        Ok(answering) => Ok(answering.from),
        Err(missing) => Err(Error::NotStarted(FoundErrors::new(flow.loaded_target().files.clone(), missing))),
    };
    (program, from)
}

/// A program with the models of the run for those that are unknown. `left`: the program with the known models.
fn with_models_of(engine: &Engine, own: &Arc<Program>, left: &Program, now: &RunStart) -> Arc<Program> {
    let mut unknown = Vec::new();
    for (agent, model) in models_used(left) {
        if model.provider.is_none() {
            unknown.push(agent.to_string());
        }
    }
    let of_run = now.models.iter().filter(|(agent, model)| model.contains(':') && unknown.contains(agent));
    let mut program = own.clone();
    let _ = engine.clone().registry(Registry::to_read()).with_models_of_run(of_run).choose_models(&mut program);
    program
}

/// A preview. If the run would end as the earlier one did, without any call, the step at which that one failed is repeated, as when it is
/// resumed without an edit.
async fn run_preview(
    engine: &Engine,
    store: Arc<dyn Store>,
    stored: &StoredRun,
    flow: &Flow,
    request: &ReuseRequest,
    (program, from): (Arc<Program>, &AnswersFrom),
) -> Result<EditPreview> {
    let program = at_once(program);
    let decided = ReuseRequest { failed_if_stuck: false, ..request.clone() };
    let seen = look_once(engine, store.clone(), stored, flow, &decided, (program.clone(), from)).await?;
    if !request.failed_if_stuck || request.failed || request.forked || !seen.calls_nothing {
        return Ok(seen);
    }
    let Some((code, _)) = store.record(&stored.started.run).await?.error else { return Ok(seen) };
    if !matches!(&seen.error, Some(error) if error.code == code) {
        return Ok(seen);
    }
    look_once(engine, store, stored, flow, &ReuseRequest { failed: true, ..decided }, (program, from)).await
}

/// Checks that a step that is to run alone would run at all.
pub(super) async fn check_reached(
    engine: &Engine,
    store: &Arc<dyn Store>,
    stored: &StoredRun,
    flow: &Flow,
    request: &ReuseRequest,
) -> Result<()> {
    let Some(only) = request.only.as_deref() else { return Ok(()) };
    let (program, from) = choose_program(engine, flow, &stored.current_start());
    let seen = run_preview(engine, store.clone(), stored, flow, request, (program, &from?)).await?;
    let mut needed: Vec<String> = Vec::new();
    for line in &seen.lines {
        if line.fate.is_kept() {
            continue;
        }
        let path = RunPath::from_key(&line.key);
        if path.find_named(only).is_some() {
            return Ok(());
        }
        needed.push(path.label_path().into_owned());
    }
    needed.dedup();
    let message = format!("`{only}` cannot run alone: it needs results that the earlier run does not have");
    let help = match needed.is_empty() {
        true => "the flow does not come to it with this input".to_owned(),
        false => format!("run `{}` first, or run all that the edit changes", needed.join("`, `")),
    };
    Err(Error::NotStarted(FoundErrors::of_rule("step-not-reached", &message, help)))
}

/// The program without limits on what runs at the same time, so that a preview reaches all that does not need the results of calls.
pub(super) fn at_once(mut program: Arc<Program>) -> Arc<Program> {
    for limit in Arc::make_mut(&mut program).concurrency_limits() {
        *limit = None;
    }
    program
}

/// Drives a preview to its end. reason: the order of its steps is what it decides, and each needs the ones before.
async fn look_once(
    engine: &Engine,
    store: Arc<dyn Store>,
    stored: &StoredRun,
    flow: &Flow,
    request: &ReuseRequest,
    (program, from): (Arc<Program>, &AnswersFrom),
) -> Result<EditPreview> {
    let prepared = PreparedProgram::new(program);
    let memo = results_for(engine, &store, stored, flow, request).await?;
    // The results to be repeated are also results of the earlier run.
    let had = match request.from.is_some() || request.all {
        true => {
            let all = memo_of(store.clone(), engine.earlier_runs(), stored, &ReuseRequest::default()).await?;
            all.activities_with_result()
        }
        false => memo.activities_with_result(),
    };
    let known = memo.all_results();
    let basis = request.to_basis(Some(stored.started.execution_id()));
    let before = EarlierCalls::for_run(&memo, &basis, &prepared);
    let memo = memo.without_made_up(made_up_by(from));
    let decisions = memo.reuse_decisions();
    let seen = Arc::new(HiddenValues::default());
    for value in memo.result_values() {
        seen.hide_parts_of(value);
    }
    let acts = keys_that_need_permission(engine, &known);
    let lines = |had| {
        StepDecisions::for_run(flow.clone(), prepared.program.clone(), decisions.clone(), seen.clone())
            .with_earlier(had)
    };
    // If the earlier run ended early, what comes later is known from the runs before it.
    let (later, lines) = (lines(known), lines(had));
    let events = Arc::new(NoEvents);
    let outcome = drive_preview(engine, &store, (stored, flow, request), (prepared, memo), events).await;
    let (is_done, mut error) = match outcome {
        Some(outcome) => (outcome.result.is_ok(), outcome.result.err()),
        None => (false, None),
    };
    // A step that the flow does not have any more comes no later.
    let places = places_of(&flow.loaded_target().program);
    let is_later = |line: &ActivityDecision| !is_done && places.contains(&*RunPath::from_key(&line.key).label_path());
    let mut unused = lines.unused_results();
    unused.retain(|line| !is_later(line));
    let mut coming = Vec::new();
    for line in later.unused_results() {
        if is_later(&line) {
            coming.push(comes_later(line, &acts));
        }
    }
    let mut lines = lines.activity_decisions();
    if !is_done {
        coming.extend(new_steps(stored, flow, lines.iter().chain(&coming)));
    }
    let decisions = lock(&decisions).clone();
    for decision in &decisions {
        let Some(beneath) = look_beneath(engine, &store, &before, decision).await else { continue };
        error = error.or(beneath.error);
        for line in &mut lines {
            if line.key == decision.asked.key {
                line.called = [&*beneath.lines, &*beneath.later].concat();
            }
        }
    }
    let (calls_nothing, asks) = first_requests(&decisions);
    Ok(EditPreview { lines, later: coming, unused, error, request: request.clone(), is_done, calls_nothing, asks })
}

/// Drives a program with results until it would have to call something. `None`: it would.
pub(super) async fn drive_preview(
    engine: &Engine,
    store: &Arc<dyn Store>,
    (stored, flow, request): (&StoredRun, &Flow, &ReuseRequest),
    (prepared, memo): (Arc<PreparedProgram>, Memo),
    events: Arc<dyn EventSink>,
) -> Option<RunOutcome> {
    let seed = Some(stored.started.flags.seed);
    let basis = Some(request.to_basis(Some(stored.started.execution_id())));
    let options = DriverOptions { seed, memo: Some(memo), basis, ..DriverOptions::default() };
    // A run without one of these files does not start: that is said when it is to start.
    let environment = engine.preview_environment(flow.loaded_target());
    // A flow that is called again continues from its own results, so it may be called.
    let tools: Arc<dyn ToolHost> = match engine.flow_tools() {
        Some(flows) => flows.tool_host(),
        None => Arc::new(NoTools),
    };
    let hosts: (Arc<dyn ToolHost>, Arc<dyn Secrets>) = (tools, Arc::new(environment));
    let described = described(store.clone(), stored).await;
    driver::preview_run(prepared, input_of_run(stored, request), hosts, described, events, options)
}

/// What makes up the answers, if no provider is asked.
fn made_up_by(from: &AnswersFrom) -> Option<&'static str> {
    match from {
        AnswersFrom::Embedded => Some("embedded"),
        AnswersFrom::Script(_) => Some("scripted"),
        _ => None,
    }
}

/// The input of the run: that of the request, or else that of the earlier run.
fn input_of_run(stored: &StoredRun, request: &ReuseRequest) -> Option<Value> {
    let input = match &request.input {
        Some(input) => input.clone(),
        None => stored.started.input.clone()?.into_exact(),
    };
    if input.is_null() { None } else { Some(input) }
}

/// Whether a run with these decisions calls nothing and asks nobody, and the contents of what it requests.
fn first_requests(decisions: &[MemoDecision]) -> (bool, BTreeSet<ContentKey>) {
    use Request::{Command, Human, Model, Tool};
    let (mut calls_nothing, mut asks) = (true, BTreeSet::new());
    for MemoDecision { asked, is } in decisions {
        if !matches!(is, ReuseOutcome::New | ReuseOutcome::Again { .. }) {
            continue;
        }
        if matches!(asked.request, Model(_) | Tool(_) | Command(_) | Human(_)) {
            calls_nothing = false;
        }
        asks.insert(asked.content);
    }
    (calls_nothing, asks)
}

/// The keys of the activities that may need permission to be repeated.
fn keys_that_need_permission(engine: &Engine, activities: &[Arc<Activity>]) -> BTreeSet<Key> {
    let mut keys = BTreeSet::new();
    for activity in activities {
        if may_need_permission(engine, activity) {
            keys.insert(activity.key.clone());
        }
    }
    keys
}

/// Whether an activity may need permission to be repeated with another request. A called flow asks for it by itself.
fn may_need_permission(engine: &Engine, had: &Activity) -> bool {
    match &had.request {
        Request::Command(_) => true,
        Request::Tool(request) => match engine.flow_tools() {
            Some(flows) => flows.flow(&request.name).is_none(),
            None => true,
        },
        _ => false,
    }
}

/// What may happen to a tool or command.
const STOPS: &str = "if its request changes, the run may stop before it until `--rerun` allows it";

/// A step whose decision depends on calls that come first.
fn comes_later(line: ActivityDecision, acts: &BTreeSet<Key>) -> ActivityDecision {
    let reasons = if acts.contains(&line.key) { vec![ChangeReason::Other(STOPS)] } else { Vec::new() };
    ActivityDecision { fate: ReuseDecision::Later, reasons, ..line }
}

/// The steps that the edit has added or changed, if no decision is known about them: the earlier run did not come to them.
fn new_steps<'l>(
    stored: &StoredRun,
    flow: &Flow,
    shown: impl Iterator<Item = &'l ActivityDecision>,
) -> Vec<ActivityDecision> {
    let program = &flow.loaded_target().program;
    let before = definitions(&stored.flow.loaded_target().program);
    let now = definitions(program);
    let shown: BTreeSet<&str> = shown.filter_map(|line| own_label(own_step(&line.key.0))).collect();
    let mut lines = Vec::new();
    for (_, id) in walk::reachable_steps(program, program.entry) {
        use StepKind::{Call, Command, Human, Model, Tool};
        let step = &program.steps[id];
        // The name of an agent is that of its call.
        if !matches!(step.kind, Model(_) | Tool(_) | Command(_) | Human(_) | Call(_)) {
            continue;
        }
        let Some(name) = step.label.as_deref() else { continue };
        if shown.contains(name) {
            continue;
        }
        let reason = match before.get(name) {
            None => "it is new",
            Some(before) if now.get(name) != Some(before) => "it was changed",
            Some(_) => continue,
        };
        let (fate, reasons) = (ReuseDecision::Later, vec![ChangeReason::Other(reason)]);
        lines.push(ActivityDecision { key: Key::from(name), fate, was: None, reasons, called: Vec::new() });
    }
    lines
}

/// What the steps of each name do, with those of the flows that they call.
fn definitions(program: &Program) -> BTreeMap<&str, Vec<String>> {
    let mut all: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (flow, id) in walk::reachable_steps(program, program.entry) {
        let step = &program.steps[id];
        let Some(label) = step.label.as_deref() else { continue };
        let mut steps = vec![(flow, id)];
        if let StepKind::Call(call) = &step.kind
            && let FlowCallee::Flow(called) = call.callee
        {
            steps.extend(walk::reachable_steps(program, called));
        }
        let texts = all.entry(label).or_default();
        for (flow, id) in steps {
            texts.push(unnumbered(&step_definition(program, flow, id)));
        }
    }
    all
}

/// A definition without the numbers of flows and schemas, which an edit elsewhere may change.
fn unnumbered(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let is_counted = matches!(words.last(), Some(&("flow" | "schema")));
        if !(is_counted && word.bytes().all(|byte| byte.is_ascii_digit())) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// The keys of a program's steps, without marks.
fn places_of(program: &Program) -> BTreeSet<String> {
    step_places(program, |_| true).into_iter().map(|place| place.key).collect()
}

/// What the run of a call would do that is made again, or for the first time under its name.
async fn look_beneath(
    engine: &Engine,
    store: &Arc<dyn Store>,
    before: &EarlierCalls,
    decision: &MemoDecision,
) -> Option<EditPreview> {
    let (ReuseOutcome::Again { .. } | ReuseOutcome::New, Request::Tool(request)) =
        (&decision.is, &decision.asked.request)
    else {
        return None;
    };
    let flows = engine.flow_tools()?;
    let (flow, engine) = flows.run_of(&request.name, false)?;
    let given = flows.input_of(request)?;
    let input = if given.is_null() { None } else { Some(given.clone()) };
    let call = NewCall { run: "", key: &decision.asked.key, flow: &flow.loaded_target().program.name, input };
    let CalledBefore::As(request) = before.run_of(&call, &**store).await else { return None };
    let request = ReuseRequest { input: Some(given), ..*request };
    // Boxed, because a flow may call itself.
    Box::pin(preview_with_its_models(&engine, store.clone(), &flow, &request)).await.ok()
}

/// The tool descriptions in a run and in those that it reused itself. Runs that cannot be read are ignored.
async fn described(store: Arc<dyn Store>, stored: &StoredRun) -> ToolDescriptions {
    let mut all = and_of(ToolDescriptions::default(), &store, stored).await;
    let mut basis = stored.started.basis.clone();
    for _ in 0..BEFORE {
        let Some(before) = basis else { break };
        if before.earlier_run().is_none() {
            break;
        }
        let Ok(earlier) = StoredRun::read_run(&*store, &before.run).await else { break };
        all = and_of(all, &store, &earlier).await;
        basis = earlier.started.basis;
    }
    all
}

async fn and_of(all: ToolDescriptions, store: &Arc<dyn Store>, stored: &StoredRun) -> ToolDescriptions {
    let ports = reading_ports(store.clone(), &stored.started, Arc::new(NoEvents));
    all.clone().and_of(prepared_program(stored), &stored.started.run, ports).await.unwrap_or(all)
}
