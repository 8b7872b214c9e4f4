//! Starts the run of a turn: a new one that reuses results of the last one, or the last one again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinHandle;
use trefoil::runs::{ActivityDecision, NewResults, ReuseRequest, StepDecisions, StoredRun};
use trefoil::store::StoreError;
use trefoil::{AnswersFrom, CancelSwitch, Error, Flow, Outcome, Run};
use trefoil_host::durable::cancel_idle_run;
use trefoil_host::engine::{Engine, PRICE, ReadyRun};
use trefoil_machine::PrivateValue;
use trefoil_project::input as inputs;
use trefoil_project::input::MissingInput;
use trefoil_project::load::LoadedTarget;
use trefoil_project::settings::Settings;
use trefoil_syntax::Diagnostic;
use trefoil_template::{Value, ValueObject};
use trefoil_view::run_view::RunView;
use trefoil_view::trace::{TraceSink, TraceSubject};

use super::DevLoop;
use super::step_outputs::CallEndSink;
use super::turn::TurnRequest;
use crate::refusal::did_not_start;
use crate::run::{RunDisplay, announce_source, input, missing_inputs};
use crate::runs::run_history;
use crate::store::await_run;
use crate::terminal_text::TerminalText;
use crate::{exit, output, words};

/// The default cost limit, in micro-dollars.
const MAX_COST: u64 = 1_000_000;

/// A run in progress.
pub struct RunInProgress {
    pub since: Instant,
    pub task: JoinHandle<Outcome>,
    pub cancel: CancelSwitch,
    pub run: String,
    pub shown: Arc<RunDisplay>,
    pub flow: Flow,
    pub input: Option<Value>,
    pub trace: (Arc<TraceSink>, TraceSubject),
    /// The tools that are flows: they keep their results if they are stopped.
    pub flows: BTreeSet<String>,
    /// Collects what happens to each activity, if results can be reused.
    pub lines: Option<StepDecisions>,
    /// For a run that continues: the same of before.
    pub earlier: (Vec<ActivityDecision>, NewResults),
}

impl RunInProgress {
    /// The picture of the run.
    pub fn current_view(&self) -> RunView {
        self.trace.0.trace().view
    }

    /// What happened to each activity so far, and what was made.
    pub fn reuse_decisions(&self) -> (Vec<ActivityDecision>, NewResults) {
        let (mut all, mut made) = self.earlier.clone();
        if let Some(lines) = &self.lines {
            renew(&mut all, lines.activity_decisions());
            for (key, called) in lines.called_decisions() {
                for line in &mut all {
                    if line.key == key {
                        renew(&mut line.called, called.clone());
                    }
                }
            }
            made = made.add_results(lines.count_new());
        }
        (all, made)
    }
}

/// Replaces what was decided before about activities that are decided again, also in called runs.
fn renew(all: &mut Vec<ActivityDecision>, new: Vec<ActivityDecision>) {
    for line in new {
        match all.iter_mut().find(|known| known.key == line.key) {
            Some(known) => {
                let mut called = std::mem::take(&mut known.called);
                renew(&mut called, line.called.clone());
                *known = ActivityDecision { called, ..line };
            }
            None => all.push(line),
        }
    }
}

/// A run that is ready to start, and what collects which steps are reused and which are repeated.
type ReadyDevRun = (ReadyRun, Option<StepDecisions>);

/// What watches a run.
struct RunEventSinks {
    shown: Arc<RunDisplay>,
    tracer: Arc<TraceSink>,
    ended: Arc<CallEndSink>,
}

impl RunEventSinks {
    fn watch(&self, engine: Engine) -> Engine {
        // A call has ended as soon as the picture says so.
        engine.events(self.shown.clone()).events(self.tracer.clone()).events(self.ended.clone())
    }
}

impl DevLoop<'_> {
    fn sinks(&self) -> RunEventSinks {
        let ended = Arc::new(CallEndSink(self.event_sender.clone()));
        RunEventSinks { shown: Arc::new(RunDisplay::new(false)), tracer: Arc::new(TraceSink::default()), ended }
    }

    /// Starts a run that reuses the results of the last one, if there is one.
    pub(super) fn start_run(
        &mut self,
        since: Instant,
        flow: &Flow,
        settings: &Settings,
        request: &TurnRequest,
    ) -> Result<RunInProgress, u8> {
        let loaded = flow.loaded_target();
        // The input is completed first, because prices may require a second preparation.
        let (input, passed) = self.input(loaded, request)?;
        let sinks = self.sinks();
        let mut engine = sinks.watch(self.args.host.without_people(self.engine.clone(), settings));
        if let Some(seed) = self.args.seed {
            engine = engine.random_seed(seed);
        }
        let engine = engine.max_calls(self.args.max_calls);
        let (ready, lines) = self.prepare(&engine, flow, request)?;
        if let Err(error) = ready.check_input(&input) {
            let code = did_not_start(&error);
            output::print_note("to change the input, press `i`");
            return Err(code);
        }
        if self.answers_from.as_ref() != Some(ready.answers_from()) {
            announce_source(self.args.host.models.is_embedded(), &ready);
            self.answers_from = Some(ready.answers_from().clone());
        }
        let (run, answers_from) = (ready.run_id().to_owned(), ready.answers_from().clone());
        sinks.shown.show_start(loaded, &answers_from.to_string(), self.args.seed);
        let started =
            self.runtime.block_on(async { ready.start_run(&input) }).map_err(|error| did_not_start(&error))?;
        self.give_up_last();
        self.started_runs.insert(run);
        self.is_current = true;
        self.argument_input = passed;
        let under_way = self.track_run(since, started, sinks, input, &answers_from);
        Ok(RunInProgress { flows: flow_names(settings), lines, ..under_way })
    }

    /// The input of the next run, and the input of the command line. The latter is used first, and when its file was edited.
    fn input(
        &mut self,
        loaded: &LoadedTarget,
        request: &TurnRequest,
    ) -> Result<(Option<Value>, Option<Option<Value>>), u8> {
        let (args, before) = (self.args, self.argument_input.clone());
        let is_stdin = args.input_json.as_deref() == Some("-");
        let passed = match &before {
            Some(passed) if is_stdin => passed.clone(),
            _ => {
                let read = input::read_input(loaded, &args.inputs, args.input_json.as_deref());
                // Pairs are read by the schema. If that has changed, the input of the last run is adapted to it instead.
                match (read, &before, &self.last_run) {
                    (Ok(passed), ..) => passed,
                    (Err(_), Some(passed), Some(_)) if args.input_json.is_none() => passed.clone(),
                    (Err(why), ..) => return Err(input::reject_input(loaded, why)),
                }
            }
        };
        let has_arguments = !args.inputs.is_empty() || args.input_json.is_some();
        // A file was saved, or a changed schema reads the same pairs as other values, unless another input was typed since.
        let is_used = match (&before, &self.last_run) {
            (Some(before), Some(last)) => args.input_json.is_some() || last.input == *before,
            _ => true,
        };
        let is_new = has_arguments && is_used && before.as_ref() != Some(&passed);
        let (given, is_first) = match (&request.input, &self.last_run) {
            (Some(typed), _) => (typed.clone(), false),
            (None, Some(last)) if !is_new => (last.input.clone(), false),
            _ => (passed.clone(), true),
        };
        let given = if is_first { given } else { without_unknown(loaded, given) };
        Ok((self.complete(loaded, given, is_first)?, Some(passed)))
    }

    /// Completes an input with the properties that it lacks. If it is not the first one, only with those that are required, or new.
    fn complete(&mut self, loaded: &LoadedTarget, given: Option<Value>, is_first: bool) -> Result<Option<Value>, u8> {
        if !self.keyboard.keys && is_first {
            missing_inputs::refuse_missing(loaded, given.as_ref())?;
            missing_inputs::input_warnings(loaded, given.as_ref())
                .iter()
                .for_each(|warning| output::print_warning(TerminalText::from_line(warning)));
            return Ok(given);
        }
        let lacked = match &self.last_run {
            Some(last) if !is_first => {
                inputs::find_missing_inputs(&last.flow.loaded_target().program, last.input.as_ref())
            }
            _ => Vec::new(),
        };
        let is_known = |one: &MissingInput| one.may_be_empty() && lacked.iter().any(|other| other.name == one.name);
        let mut given = given;
        for one in &inputs::find_missing_inputs(&loaded.program, given.as_ref()) {
            if is_known(one) {
                continue;
            }
            if !self.keyboard.keys {
                return Err(report_missing_input(one));
            }
            let Some(value) = self.one_input(one)? else { continue };
            one.add_to_input(&mut given, value);
        }
        Ok(given)
    }

    /// Prepares a run with the results of the last one.
    fn prepare(&mut self, engine: &Engine, flow: &Flow, request: &TurnRequest) -> Result<ReadyDevRun, u8> {
        let given = self.args.max_cost;
        let limited = engine.clone().max_cost_micro(given.unwrap_or(MAX_COST));
        let first = self.try_prepare(&limited, flow, request);
        let unpriced = |d: &Diagnostic| d.rule == PRICE;
        match first {
            // The user did not set a cost limit, so the run starts even if the default cannot be enforced.
            Err(Error::NotStarted(why)) if given.is_none() && why.found_diagnostics().iter().all(unpriced) => {
                if !std::mem::replace(&mut self.is_price_note_printed, true) {
                    let calls = words::format_calls(self.args.max_calls);
                    output::print_note(format!(
                        "not all models have a known price, so only calls are limited: {calls} after each save"
                    ));
                }
                self.try_prepare(engine, flow, request).map_err(|error| did_not_start(&error))
            }
            other => other.map_err(|error| did_not_start(&error)),
        }
    }

    fn try_prepare(&self, engine: &Engine, flow: &Flow, request: &TurnRequest) -> Result<ReadyDevRun, Error> {
        let Some(last) = &self.last_run else { return Ok((engine.prepare_run(flow)?, None)) };
        let from = match &request.from {
            Some(from) => Some(from.clone()),
            None if request.all => last.steps.keys().next().cloned(),
            None => None,
        };
        // After a save, a failure whose cause was not changed stays as it is. A key tries again.
        let (rerun, failed) = (request.rerun.clone(), request.anyway);
        let whole = ReuseRequest::for_whole_run(&last.run);
        let reuse = ReuseRequest { from, rerun, failed, own_settings: true, ..whole };
        match self.runtime.block_on(engine.edit_run(flow, &reuse)) {
            Err(Error::Store(StoreError::NoContent { .. })) => {
                output::print_note(
                    "all steps run again: the last run was completed or cancelled without stored content",
                );
                Ok((engine.prepare_run(flow)?, None))
            }
            Ok(edited) => {
                let lines = edited.step_decisions();
                Ok((edited.ready, Some(lines)))
            }
            Err(error) => Err(error),
        }
    }

    /// Continues the last run.
    pub(super) fn resume_run(
        &mut self,
        since: Instant,
        settings: &Settings,
        request: &TurnRequest,
    ) -> Result<RunInProgress, u8> {
        let Some(last) = &self.last_run else { return Err(exit::NOT_STARTED) };
        let (run, earlier) = (last.run.clone(), last.reuse.clone());
        let stored = await_run(StoredRun::read_run(&self.store, &run))?;
        // The last run may be one of another process, with other files.
        let permitted;
        let settings = match self.started_runs.contains(&run) {
            true => settings,
            false => {
                permitted =
                    run_history::permitted_settings(&*self.store, &stored, self.args.target.read.no_config, false)?;
                &permitted
            }
        };
        let flow = stored.flow.clone();
        let sinks = self.sinks();
        let engine = sinks.watch(self.args.host.without_people(self.engine.clone(), settings)).as_begun(&stored);
        let ready = self
            .runtime
            .block_on(engine.ready_again(&stored, &request.rerun))
            .map_err(|error| did_not_start(&error))?;
        let (answers_from, lines) = (ready.answers_from().clone(), ready.step_decisions());
        sinks.shown.set_resumed();
        sinks.shown.show_start(flow.loaded_target(), &answers_from.to_string(), None);
        let started = self.runtime.block_on(ready.resume_run(&run)).map_err(|error| did_not_start(&error))?;
        let input = stored.started.input.clone().map(PrivateValue::into_exact);
        let under_way = self.track_run(since, started, sinks, input, &answers_from);
        Ok(RunInProgress { flows: flow_names(settings), lines: Some(lines), earlier, ..under_way })
    }

    fn track_run(
        &self,
        since: Instant,
        started: Run,
        RunEventSinks { shown, tracer, .. }: RunEventSinks,
        input: Option<Value>,
        answers_from: &AnswersFrom,
    ) -> RunInProgress {
        // What the user typed first is no part of the work.
        let since = since + self.prompt_time;
        let (run, flow, cancel) = (started.id().to_owned(), started.flow().clone(), started.cancel_switch());
        let trace = (tracer, trefoil_host::run_about(flow.loaded_target(), answers_from));
        let task = self.runtime.spawn(started.wait_outcome());
        let (flows, lines, earlier) = (BTreeSet::new(), None, Default::default());
        RunInProgress { since, task, cancel, run, shown, flow, input, trace, flows, lines, earlier }
    }

    /// Cancels the last run, because another one replaces it. A run that was not started here is left unchanged.
    fn give_up_last(&mut self) {
        if let Some(last) = &mut self.last_run
            && last.is_open
            && self.started_runs.contains(&last.run)
        {
            last.is_open = false;
            let _ = self.runtime.block_on(cancel_idle_run(self.store.clone(), &last.run));
        }
    }
}

/// The flows that are tools.
fn flow_names(settings: &Settings) -> BTreeSet<String> {
    settings.flows.iter().map(|tool| tool.name.clone()).collect()
}

/// Removes the properties that the schema of the input does not have any more.
fn without_unknown(loaded: &LoadedTarget, given: Option<Value>) -> Option<Value> {
    let intake = &loaded.program.entry_flow().intake;
    let Some(Value::Object(members)) = &given else { return given };
    let is_known = |name: &str| {
        intake.fields.iter().any(|field| *field.name == *name)
            || intake.wrap.as_deref() == Some(name)
            || intake.tolerated.contains(&name)
    };
    if !intake.closed && intake.fields.is_empty() {
        return given;
    }
    let mut kept: ValueObject = (**members).clone();
    for name in members.keys() {
        if is_known(name) {
            continue;
        }
        kept.shift_remove(name);
        output::print_note(format!("the input has no property `{name}` any more, so its value is not used"));
    }
    Some(Value::from(kept))
}

/// Reports a property of the input that is missing.
pub fn report_missing_input(one: &MissingInput) -> u8 {
    let message = format!("the input `{}` is not set", one.name);
    output::report_not_started(&message, Some(&format!("press `i`, and type `{}=VALUE`", one.name)))
}
