//! One turn of the loop: reads and checks the target, and brings the last run up to date.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinHandle;
use trefoil::internals::door::is_there;
use trefoil::internals::engine::{Engine, PRICE, Ready};
use trefoil::internals::settings::{FoundSettings, Settings};
use trefoil::internals::trace::{About, Tracer};
use trefoil::internals::{Checks, LoadOptions, Loaded, Report, cancel, stopped};
use trefoil::runs::{Edit, Lines, Stored};
use trefoil::store::StoreError;
use trefoil::{Cancel, Error, Flow, Outcome, Run};
use trefoil_machine::event::Waiting;
use trefoil_runtime::RunError;
use trefoil_runtime::ports::NoEvents;
use trefoil_syntax::{Diagnostic, FileId, Files, Severity, SourceFile};
use trefoil_template::Value;

use super::seen::{Seen, Told};
use super::{Happening, Loop, said, watch};
use crate::commands::run::{cannot_start, did_not_start, followed, label};
use crate::exit;
use crate::run::{Shown, based, input, report};
use crate::runs::past;
use crate::store::block_on;
use crate::{output, run};

/// The default cost limit, in micro-dollars.
const MAX_COST: u64 = 1_000_000;

/// What a turn should do.
#[derive(Debug, Default, Clone)]
pub struct Asked {
    /// Repeat this step and everything after it.
    pub from: Option<String>,
    /// Repeat everything.
    pub all: bool,
    /// The steps that may be repeated although that may not be safe.
    pub rerun: Vec<String>,
    /// Another input. `Some(None)`: no input.
    pub input: Option<Option<Value>>,
    /// Continue the same run, because it has been answered.
    pub resume: bool,
    /// Run even if nothing has changed, because the user pressed a key.
    pub anyway: bool,
}

/// What was read for a turn.
pub struct Read {
    /// The target's files and their findings.
    pub report: Report,
    /// The texts of the settings and of the flows that the target calls as tools, by file.
    others: BTreeMap<String, Arc<str>>,
}

impl Read {
    /// Whether the texts and the findings are the same.
    fn is_same(&self, now: &Self) -> bool {
        let (before, now_files) = (self.report.files.iter(), now.report.files.iter());
        let text = |(_, file): (FileId, &SourceFile)| (file.name().to_owned(), file.text().clone());
        before.map(text).eq(now_files.map(text))
            && self.report.diagnostics == now.report.diagnostics
            && self.others == now.others
    }
}

fn texts(files: &Files) -> BTreeMap<String, Arc<str>> {
    files.iter().map(|(_, file)| (file.name().to_owned(), file.text().clone())).collect()
}

/// An answer that was typed while the files were saved.
pub struct Given {
    /// The question.
    pub to: Waiting,
    /// The typed line.
    pub line: String,
}

/// Where an answer went.
pub enum Taken {
    /// To the run.
    Posted,
    /// It is for the run that replaces that run.
    Later(Given),
}

/// The result of a turn.
pub enum Turn {
    /// Nothing has changed, and nothing was printed.
    Nothing,
    /// The turn has ended, and its result was printed.
    Done,
    /// The turn has ended, because of a save or an answer that was passed on. This turn is next.
    Next(Asked),
}

/// The result of reading the target.
enum ReadTurn {
    /// It has not changed.
    Same,
    /// It cannot be run.
    Faulty,
    /// It can be run.
    Ready(Flow, Box<Settings>),
}

/// The run to bring up to date next.
pub struct Last {
    /// Its id.
    pub run: String,
    /// What ran.
    pub flow: Flow,
    /// Its input.
    pub input: Option<Value>,
    /// Its recorded steps.
    pub told: Told,
    /// Its result, if it has one.
    pub result: Option<Value>,
    /// What it waits for.
    pub waiting: Vec<Waiting>,
    /// If it stopped because a step would be repeated: the turn that allows this.
    pub repeats: Option<Asked>,
    /// Whether it has not ended.
    pub is_open: bool,
    /// Its trace.
    pub trace: Option<(Arc<Tracer>, About)>,
}

/// A run in progress.
struct UnderWay {
    since: Instant,
    task: JoinHandle<Outcome>,
    cancel: Cancel,
    run: String,
    seen: Arc<Seen>,
    shown: Arc<Shown>,
    flow: Flow,
    input: Option<Value>,
    trace: (Arc<Tracer>, About),
}

/// A run that is ready to start.
struct Prepared {
    ready: Ready,
    /// Collects which steps are reused and which are repeated.
    lines: Option<Lines>,
    input: Option<Value>,
}

impl Loop<'_> {
    /// Performs a turn.
    pub(super) fn turn(&mut self, asked: &Asked) -> Result<Turn, u8> {
        let since = Instant::now();
        let (flow, settings) = match self.load(asked)? {
            ReadTurn::Same => return Ok(Turn::Nothing),
            ReadTurn::Faulty => return Ok(Turn::Done),
            ReadTurn::Ready(flow, settings) => (flow, settings),
        };
        // A run of older files does not continue: a run of the current files replaces it, without the permissions given for the old
        // one.
        let again = Asked { anyway: true, ..Asked::default() };
        let asked = if asked.resume && !self.is_current { &again } else { asked };
        let started = match asked.resume {
            true => self.resume(since, &settings, asked),
            false => self.start(since, &flow, &settings, asked),
        };
        // The next save may fix whatever prevents the start.
        match started {
            Ok((under_way, lines)) => self.follow(under_way, lines.as_ref(), asked),
            Err(_) => Ok(Turn::Done),
        }
    }

    /// Reads and checks the target. Returns what was read, and the target if it can be run.
    pub(super) fn look(&self, operator: &FoundSettings) -> (Read, Option<Loaded>) {
        let (args, settings) = (self.args, &operator.settings);
        let options = LoadOptions {
            context: args.texts.context.clone(),
            skills: args.texts.skills.clone(),
            checks: Some(Checks::default()),
            ..args.target.options_with(settings)
        };
        let mut others = texts(&operator.files);
        match trefoil::internals::load(&args.target.target(), &options) {
            Ok(loaded) => {
                let engine = self.args.host.without_people(self.engine.clone(), settings);
                for flow in engine.called(&loaded.program) {
                    others.extend(texts(&flow.files));
                }
                let Loaded { files, diagnostics, .. } = &loaded;
                let report = Report { files: files.clone(), diagnostics: diagnostics.clone(), ..Report::default() };
                (Read { report, others }, Some(loaded))
            }
            Err(report) => (Read { report, others }, None),
        }
    }

    /// Whether the target has changed since it was read last.
    pub(super) fn has_changed(&self) -> bool {
        let now = self.look(&self.args.target.settings()).0;
        !self.read.as_ref().is_some_and(|before| before.is_same(&now))
    }

    /// Reads the target, and prints its findings.
    fn load(&mut self, asked: &Asked) -> Result<ReadTurn, u8> {
        let operator = self.args.target.settings();
        let (read, loaded) = self.look(&operator);
        // A called flow that does not load is watched, too.
        let called = operator.settings.flows.iter().map(|tool| tool.flow.path.clone());
        let files = loaded.iter().flat_map(watch::files).chain(read.others.keys().map(PathBuf::from)).chain(called);
        let files = files.filter(|path| is_there(path));
        self.watch.also(files).map_err(|error| cannot_start(&error))?;
        let Ok(settings) = followed(operator) else { return Ok(ReadTurn::Faulty) };
        let same = self.read.as_ref().is_some_and(|before| before.is_same(&read));
        let first = self.read.is_none();
        if !same || (asked.anyway && loaded.is_none()) {
            let before = self.read.as_ref().map(|before| &before.report);
            said::findings(before, &read.report, loaded.is_none(), first);
        }
        self.read = Some(read);
        self.is_current &= same;
        // The save did not concern the target.
        if same && !asked.anyway && !first {
            return Ok(ReadTurn::Same);
        }
        Ok(loaded.map_or(ReadTurn::Faulty, |loaded| ReadTurn::Ready(Flow::from(loaded), Box::new(settings))))
    }

    /// Starts a run that reuses the results of the last one, if there is one.
    fn start(
        &mut self,
        since: Instant,
        flow: &Flow,
        settings: &Settings,
        asked: &Asked,
    ) -> Result<(UnderWay, Option<Lines>), u8> {
        let loaded = flow.loaded();
        let (seen, tracer) = (Arc::new(Seen::default()), Arc::new(Tracer::default()));
        let shown = Arc::new(Shown::new(false));
        let mut engine = self.args.host.without_people(self.engine.clone(), settings);
        engine = engine.events(shown.clone()).events(seen.clone()).events(tracer.clone());
        engine = self.args.seed.into_iter().fold(engine, Engine::seed).max_calls(self.args.max_calls);
        let prepared = self.prepare(&engine, flow, asked)?;
        let ready = &prepared.ready;
        ready.check_input(&prepared.input).map_err(|error| did_not_start(&error))?;
        if self.answers_from.as_ref() != Some(ready.answers_from()) {
            label(self.args.host.models.embedded(), ready);
            self.answers_from = Some(ready.answers_from().clone());
        }
        let (run, answers_from) = (ready.run().to_owned(), ready.answers_from().clone());
        shown.begin(loaded, &answers_from.to_string(), self.args.seed);
        let Prepared { ready, lines, input } = prepared;
        let started = self.runtime.block_on(async { ready.start(&input) }).map_err(|error| did_not_start(&error))?;
        self.give_up_last();
        self.started.insert(run.clone());
        self.is_current = true;
        let trace = (tracer, About::new(loaded, &answers_from));
        Ok((self.under_way(since, started, run, (seen, shown), (flow.clone(), input), trace), lines))
    }

    /// Prepares a run with the results of the last one.
    fn prepare(&mut self, engine: &Engine, flow: &Flow, asked: &Asked) -> Result<Prepared, u8> {
        let given = self.args.max_cost;
        let limited = engine.clone().max_cost_micro(given.unwrap_or(MAX_COST));
        let first = self.try_prepare(&limited, flow, asked)?;
        let unpriced = |d: &Diagnostic| d.rule == PRICE;
        match first {
            // The user did not set a cost limit, so the run starts even if the default cannot be enforced.
            Err(Error::NotStarted(why)) if given.is_none() && why.diagnostics().iter().all(unpriced) => {
                if !std::mem::replace(&mut self.is_unpriced, true) {
                    let calls = run::words::calls(self.args.max_calls);
                    output::note(&format!(
                        "not all models have a known price, so only calls are limited: {calls} after each save"
                    ));
                }
                self.try_prepare(engine, flow, asked)?.map_err(|error| did_not_start(&error))
            }
            other => other.map_err(|error| did_not_start(&error)),
        }
    }

    fn try_prepare(&mut self, engine: &Engine, flow: &Flow, asked: &Asked) -> Result<Result<Prepared, Error>, u8> {
        let Some(last) = &self.last else {
            let loaded = flow.loaded();
            let read = input::read(loaded, &self.args.inputs, self.args.input_json.as_deref());
            let given = asked.input.clone().map_or_else(|| read.map_err(|why| input::refuse(loaded, why)), Ok)?;
            let given = self.complete(loaded, given)?;
            return Ok(engine.ready(flow).map(|ready| Prepared { ready, lines: None, input: given }));
        };
        let first = || last.told.steps.keys().next().cloned();
        let from = asked.from.clone().or_else(|| if asked.all { first() } else { None });
        let edit = Edit { from, rerun: asked.rerun.clone(), ..Edit::default() };
        let edited = self.runtime.block_on(engine.edit(&last.run, flow, &edit));
        if let Err(Error::Store(StoreError::NoContent { .. })) = &edited {
            output::note("all steps run again: the last run was completed or cancelled without stored content");
            let input = asked.input.clone().unwrap_or_else(|| last.input.clone());
            return Ok(engine.ready(flow).map(|ready| Prepared { ready, lines: None, input }));
        }
        Ok(edited.map(|edited| {
            let lines = edited.lines();
            let input = asked.input.clone().unwrap_or_else(|| edited.started.input.clone());
            Prepared { ready: edited.ready, lines: Some(lines), input }
        }))
    }

    /// Continues the last run.
    fn resume(&mut self, since: Instant, settings: &Settings, asked: &Asked) -> Result<(UnderWay, Option<Lines>), u8> {
        let Some(last) = &self.last else { return Err(exit::NOT_STARTED) };
        let run = last.run.clone();
        let stored = block_on(Stored::read(&self.store, &run))?.map_err(|error| did_not_start(&error))?;
        let flow = stored.flow.clone();
        let (seen, tracer) = (Arc::new(Seen::default()), Arc::new(Tracer::default()));
        let shown = Arc::new(Shown::new(false));
        let engine = self.args.host.without_people(self.engine.clone(), settings);
        let engine = engine.events(shown.clone()).events(seen.clone()).events(tracer.clone()).as_begun(&stored);
        let ready =
            self.runtime.block_on(engine.ready_again(&stored, &asked.rerun)).map_err(|error| did_not_start(&error))?;
        let answers_from = ready.answers_from().clone();
        shown.resumes();
        shown.begin(flow.loaded(), &answers_from.to_string(), None);
        let started = self.runtime.block_on(ready.resume(&run)).map_err(|error| did_not_start(&error))?;
        let trace = (tracer, About::new(flow.loaded(), &answers_from));
        let input = stored.started.input.clone();
        Ok((self.under_way(since, started, run, (seen, shown), (flow, input), trace), None))
    }

    fn under_way(
        &self,
        since: Instant,
        started: Run,
        run: String,
        (seen, shown): (Arc<Seen>, Arc<Shown>),
        (flow, input): (Flow, Option<Value>),
        trace: (Arc<Tracer>, About),
    ) -> UnderWay {
        let cancel = started.canceller();
        let task = self.runtime.spawn(started.outcome());
        UnderWay { since, task, cancel, run, seen, shown, flow, input, trace }
    }

    /// Cancels the last run, because another one replaces it. A run that was not started here is left unchanged.
    fn give_up_last(&mut self) {
        let started = &self.started;
        if let Some(last) = self.last.as_mut().filter(|last| last.is_open && started.contains(&last.run)) {
            last.is_open = false;
            let _ = self.runtime.block_on(cancel(self.store.clone(), &last.run));
        }
    }

    /// Stops a run. A run that was not started here is only interrupted, and can be resumed.
    fn stop(&self, run: &UnderWay) {
        match self.started.contains(&run.run) {
            true => run.cancel.cancel(),
            false => run.cancel.interrupt(),
        }
    }

    /// Waits for the end of a run, and prints the result.
    fn follow(&mut self, mut run: UnderWay, lines: Option<&Lines>, asked: &Asked) -> Result<Turn, u8> {
        let (mut next, mut quits) = (None, false);
        let outcome = loop {
            self.keyboard.want_key();
            match self.happening_beside(&mut run.task) {
                Ok(outcome) => break outcome,
                Err(Happening::Saved) => {
                    self.settle();
                    if self.has_changed() {
                        self.stop(&run);
                        next = Some(Asked::default());
                    }
                }
                Err(Happening::Stop) => {
                    run.cancel.interrupt();
                    self.later.push_back(Happening::Stop);
                    quits = true;
                    break self.runtime.block_on(&mut run.task).map_err(|error| cannot_start(&error))?;
                }
                Err(Happening::Key('q')) => {
                    run.cancel.interrupt();
                    self.later.push_back(Happening::Key('q'));
                    quits = true;
                    break self.runtime.block_on(&mut run.task).map_err(|error| cannot_start(&error))?;
                }
                Err(Happening::Key('x')) => self.stop(&run),
                Err(Happening::Key('a')) => {
                    let asks = run.seen.so_far().asks;
                    let _paused = run.shown.pause();
                    if let Some(Taken::Later(given)) = self.take_answer(&run.run, &asks) {
                        self.given = Some(given);
                        self.stop(&run);
                        next = Some(Asked::default());
                    }
                }
                Err(_) => {}
            }
        };
        run.shown.end(&outcome);
        self.say(&run, &outcome, (lines, !asked.all), next.is_some());
        self.replace_last(run, outcome);
        let next = match (quits, next) {
            (true, _) => None,
            (false, None) => self.pass_on(),
            (false, next) => next,
        };
        Ok(next.map_or(Turn::Done, Turn::Next))
    }

    /// Waits for the next event or for the end of a run.
    fn happening_beside(&mut self, task: &mut JoinHandle<Outcome>) -> Result<Outcome, Happening> {
        // Events that arrived while a line was typed are handled now, not after the end of the run.
        if let Some(one) = self.later.pop_front() {
            if matches!(one, Happening::Key(_) | Happening::Line(_)) {
                self.keyboard.came();
            }
            return Err(one);
        }
        let (happenings, signals) = (&mut self.happenings, &mut self.signals);
        let one = self.runtime.block_on(async {
            tokio::select! {
                biased;
                ended = task => Ok(ended),
                one = super::next(happenings, signals) => Err(one),
            }
        });
        match one {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            Err(one) => {
                if matches!(one, Happening::Key(_) | Happening::Line(_)) {
                    self.keyboard.came();
                }
                Err(one)
            }
        }
    }

    /// Prints the result of a run, and the differences from the previous one.
    fn say(&self, run: &UnderWay, outcome: &Outcome, (lines, explain): (Option<&Lines>, bool), replaced: bool) {
        let all = lines.map(Lines::all).unwrap_or_default();
        let made = lines.map(Lines::made).unwrap_or_default();
        said::reuse((&all, made), explain, outcome, run.since.elapsed());
        if let Some(lines) = lines {
            based::by_name(lines, "press `f` and name a step");
        }
        if let Some(last) = &self.last {
            said::differences(&last.told, &run.seen.so_far());
        }
        match &outcome.result {
            Ok(value) => said::result(value, self.last.as_ref().and_then(|last| last.result.as_ref())),
            Err(_) if replaced || !outcome.waiting.is_empty() => {}
            Err(error) if ["CANCELLED", "INTERRUPTED"].contains(&error.code.as_str()) => output::note("stopped"),
            Err(error) => {
                let error = &with_keys(error);
                output::say(report::failure(run.flow.loaded(), error, &self.args.host.answers).trim_end());
                report::spent(outcome, None).iter().for_each(|line| output::say(line));
            }
        }
        said::waiting(&outcome.run, &outcome.waiting, &self.args.store.option());
    }

    /// Makes this run the last one.
    fn replace_last(&mut self, run: UnderWay, outcome: Outcome) {
        let error = outcome.result.as_ref().err();
        let repeats = error.and_then(allowing);
        let is_open = outcome.suspended || error.is_some_and(|error| error.code == "INTERRUPTED");
        let mut told = run.seen.so_far();
        // Steps that did not run this time keep their previous output, so that the next run is compared with it.
        if let Some(last) = self.last.take() {
            for (key, step) in last.told.steps {
                if step.output.is_some() {
                    let known = told.steps.entry(key).or_insert_with(|| step.clone());
                    known.output = known.output.take().or(step.output);
                }
            }
        }
        let (result, waiting) = (outcome.result.ok(), outcome.waiting);
        let UnderWay { run, flow, input, trace, .. } = run;
        self.last = Some(Last { run, flow, input, told, result, waiting, repeats, is_open, trace: Some(trace) });
    }

    /// Reads a stored run.
    pub(super) fn last_of(&self, run: &str) -> Result<Last, u8> {
        let stored = past::read(&self.store, run)?;
        let seen = Arc::new(Seen::default());
        let _ = past::tell(&self.store, &stored, seen.clone())?;
        let record = crate::store::wait(self.store.record(run))?;
        let waiting = past::seen(&self.store, &record, Arc::new(NoEvents))?;
        let stopped = self.runtime.block_on(stopped(&*self.store, &record)).map_err(|error| did_not_start(&error))?;
        let end = past::end(&self.store, &stored)?;
        let result = end.and_then(|event| match event.kind {
            trefoil_runtime::EventKind::RunFinished { output, .. } => output,
            _ => None,
        });
        Ok(Last {
            run: run.to_owned(),
            flow: stored.flow.clone(),
            input: stored.started.input.clone(),
            told: seen.so_far(),
            result,
            waiting,
            repeats: stopped.as_ref().and_then(allowing),
            is_open: !record.status.is_end(),
            trace: None,
        })
    }
}

/// What lets a run repeat the step that it stopped before.
fn allowing(error: &RunError) -> Option<Asked> {
    let step = error.key.as_ref().filter(|_| error.code == "WOULD_REPEAT")?.to_string();
    Some(Asked { rerun: vec![step], resume: true, anyway: true, ..Asked::default() })
}

/// Whether a finding is printed here.
pub fn worth(found: &Diagnostic) -> bool {
    found.severity > Severity::Info
}

/// Replaces the command-line option in an error's help by the key to press.
fn with_keys(error: &RunError) -> RunError {
    let is_option = error.help.as_ref().is_some_and(|help| help.contains("--rerun"));
    match error.code == "WOULD_REPEAT" && error.key.is_some() && is_option {
        true => error.clone().help("to allow it, press `y`"),
        false => error.clone(),
    }
}
