//! A run in the terminal, from its start or resume to its end.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use trefoil::store::{Content, Store};
use trefoil::{AnswersFrom, Error, Run};
use trefoil_host::engine::{Engine, ReadyRun};
use trefoil_models::Scripted;
use trefoil_project::load::LoadedTarget;
use trefoil_project::settings::Settings;
use trefoil_runtime::RunOutcome;
use trefoil_view::trace::{CalledFailure, SuggestedCommand, TraceSink};

use super::result::print_result;
use super::{Jsonl, Recording, Shown, SignalStop, Terminal, next, report};
use crate::args::{EventFormat, HostArgs, ShowArgs};
use crate::harmless::{TerminalText, safe};
use crate::output::Reader;
use crate::refusal::{cannot_start, did_not_start};
use crate::runs::past;
use crate::store::block_on;
use crate::{exit, output};
use trefoil_host::command::{PrintedCommand, RunOptions, models_of_run};
use trefoil_host::durable::called_failure;
use trefoil_host::waiting::{StoppedRun, other_model_of, waiting_lines};

/// How long to wait for other threads after the run has ended.
const CLOSING: Duration = Duration::from_millis(200);

/// The terminal session of a run.
pub struct Session<'s> {
    show: &'s ShowArgs,
    loaded: &'s LoadedTarget,
    shown: Arc<Shown>,
    tracer: Arc<TraceSink>,
    lines: Option<Arc<Jsonl>>,
    /// The script with the answers.
    script: OnceLock<Arc<Scripted>>,
}

impl<'s> Session<'s> {
    /// Creates a session for a flow.
    pub fn new(show: &'s ShowArgs, loaded: &'s LoadedTarget) -> Self {
        // Events on a terminal and a live picture would disturb each other.
        let events_shown = show.events.is_some() && output::is_result_shown();
        let shown = Arc::new(Shown::new(show.quiet || events_shown));
        let lines = show.events.map(|EventFormat::Jsonl| Arc::new(Jsonl::new(loaded.files.clone())));
        Self { show, loaded, shown, tracer: Arc::new(TraceSink::default()), lines, script: OnceLock::new() }
    }

    /// The engine of a run with these permissions: this session shows its events, and asks the user at the terminal. `is_kept`:
    /// whether the run is stored, so that a question can be answered later.
    pub fn engine(&self, host: &HostArgs, settings: &Settings, is_kept: bool) -> Engine {
        let engine = host.without_people(self.watch(Engine::new()), settings);
        if output::interactive() { engine.humans(Terminal::new(self.shown.clone(), is_kept)) } else { engine }
    }

    /// Connects an engine's events to this session.
    fn watch(&self, engine: Engine) -> Engine {
        let mut engine = engine.events(self.shown.clone());
        if self.show.trace.is_some() {
            engine = engine.events(self.tracer.clone());
        }
        if let Some(lines) = &self.lines {
            engine = engine.events(lines.clone());
        }
        engine
    }

    /// Called before the start: shows which model answers, and the id of a stored run.
    pub fn begin(&self, ready: &ReadyRun, seed: Option<u64>, run: Option<&str>) {
        if let Some(script) = ready.script() {
            self.warn(script.unknown_names(&self.loaded.program));
            let _ = self.script.set(script.clone());
        }
        if let Some(run) = run.filter(|_| !self.show.quiet) {
            output::say(format!("run {run}"));
        }
        self.shown.begin(self.loaded, &ready.answers_from().to_string(), seed);
    }

    /// Warnings that no step of the run gives: shown, and part of its trace.
    fn warn(&self, warnings: Vec<String>) {
        if !self.show.quiet {
            warnings.iter().for_each(output::warning);
        }
        self.tracer.warns(warnings);
    }

    /// The run reuses results of an earlier one.
    pub fn reuses(&self, base: &str) {
        self.tracer.reuses(Some(base));
    }

    /// The run is resumed: its first events have happened before.
    pub fn resumes(&self) {
        self.shown.resumes();
    }

    /// Runs it, and releases the run in the store. `kept`: how commands about the run are written, if it is kept.
    pub fn run(
        self,
        engine: &Engine,
        answers_from: &AnswersFrom,
        kept: Option<KeptRun<'_>>,
        start: impl AsyncFnOnce() -> Result<Run, Error>,
    ) -> Result<Ended<'s>, u8> {
        let record =
            |path| Recording::new(path, trefoil_host::run_about(self.loaded, answers_from), self.tracer.clone());
        let recording = self.show.trace.clone().map(record).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| cannot_start(&error))?;
        let started = runtime.block_on(start()).map_err(|error| did_not_start(&error))?;
        // For a run that is stopped and does not end in time, for example because its store does not respond.
        let again = kept.map(|kept| kept.options.to_continue(started.id(), &[]));
        let stop = SignalStop::listen(started.canceller(), recording.map(Arc::new), again)
            .map_err(|error| cannot_start(&error))?;
        let outcome = runtime.block_on(started.outcome());
        self.tracer.ended(&outcome);
        let unused = self.script.get().filter(|_| outcome.result.is_ok()).map(|script| script.unused());
        self.tracer.warns(unused.clone().unwrap_or_default());
        let error = outcome.result.as_ref().err();
        let called = async {
            let (owner, error) = engine.owner().zip(error)?;
            called_failure(owner.store(), &outcome.run, error).await
        };
        let called = runtime.block_on(called);
        let model = error.and_then(|error| other_model_of(&self.loaded.program, error, called.as_ref()));
        self.tracer.failed_in(called.clone());
        let models = async {
            let (owner, _) = engine.owner().zip(error)?;
            let called = called.as_ref().map(|called| called.run.as_str());
            Some(models_of_run(&**owner.store(), &outcome.run, called).await)
        };
        let models = runtime.block_on(models).unwrap_or_default();
        let next = |kept: KeptRun<'_>| {
            let stopped = StoppedRun::of_outcome(&outcome, model.as_deref(), kept.edited);
            let stopped = StoppedRun { called: called.as_ref(), ..stopped };
            // The first entry could not be written.
            let is_lost =
                !outcome.continues && outcome.result.as_ref().is_err_and(|error| error.code == "JOURNAL_ERROR");
            if is_lost { Vec::new() } else { stopped.next(&kept.options.clone().choosing(models)) }
        };
        let next = kept.map(next).unwrap_or_default();
        self.tracer.suggests(next.clone());
        let released = runtime.block_on(engine.release());
        // Waits for pending reads of the store, because the last connection to close moves the log into the database.
        runtime.shutdown_timeout(CLOSING);
        // Saves the trace first, because printing may block on a slow reader.
        let saved = stop.save();
        self.shown.end(&outcome);
        let placeholders = *answers_from == AnswersFrom::Embedded;
        let mut code = exit::OK;
        if let Err(error) = released {
            code = output::failed(&error.to_string(), None);
        }
        if let Err(message) = saved {
            code = output::failed(&message, None);
        }
        let store = engine.owner().map(|owner| owner.store().clone());
        let unused = unused.unwrap_or_default();
        Ok(Ended { session: self, placeholders, outcome, called, next, unused, store, code })
    }
}

/// How commands about a run that is kept are written.
#[derive(Debug, Clone, Copy)]
pub struct KeptRun<'k> {
    /// Their options.
    pub options: &'k RunOptions,
    /// The target of its files, and whether they have changed since.
    pub edited: Option<(&'k str, bool)>,
}

/// A run that has ended in this process.
pub struct Ended<'s> {
    session: Session<'s>,
    placeholders: bool,
    outcome: RunOutcome,
    /// The failure of a called run that made it fail.
    called: Option<CalledFailure>,
    /// What can be done next.
    next: Vec<SuggestedCommand>,
    /// The warnings about answers of a script that were not used.
    unused: Vec<String>,
    /// The store of the run.
    store: Option<Arc<dyn Store>>,
    /// The exit code of problems other than the run's own.
    code: u8,
}

/// The parameters for the end of a run.
pub struct End<'e> {
    /// The target from the command line; `None` if a run was resumed.
    pub target: Option<&'e str>,
    /// The answers from the command line.
    pub answers: &'e [String],
    /// Whether the run is kept.
    pub is_kept: bool,
    /// Whether its prompts and answers are, also when it has succeeded.
    pub keeps_prompts: bool,
    /// The options of commands about the run.
    pub options: RunOptions,
}

impl Ended<'_> {
    /// Whether the run succeeded.
    pub fn went_well(&self) -> bool {
        self.outcome.result.is_ok()
    }

    /// Prints the result or the failure, and suggests what to do next. Returns the exit code.
    pub fn finish(self, end: &End<'_>) -> u8 {
        let Self { session, placeholders, outcome, called, next, unused, store, code } = self;
        let Session { show, loaded, shown, lines, .. } = session;
        if !show.quiet {
            unused.iter().for_each(output::warning);
        }
        let is_stopped = outcome.result.as_ref().is_err_and(|error| error.code == "INTERRUPTED");
        let asked = store.as_ref().filter(|_| is_stopped && end.is_kept);
        let asked = asked.map(|store| past::questions(store, &outcome.run, &end.options)).unwrap_or_default();
        let ended = (&outcome, called.as_ref(), &*asked, &*next);
        if !show.quiet && end.is_kept && (outcome.result.is_err() || end.keeps_prompts) {
            for step in shown.more_failed() {
                let trace = end.options.text(PrintedCommand::TraceStep { run: &outcome.run, step: &step });
                output::say(format!("all failed items of `{}`: {trace}", safe(&step)));
            }
        }
        let mut code = code.max(told(show, loaded, &shown, placeholders, ended, end));
        if let Some(lines) = lines {
            code = code.max(output::written(lines.written()));
        }
        match store {
            Some(store) if outcome.result.is_ok() && code == exit::OK => {
                code.max(seen(&*store, &outcome.run, &end.options))
            }
            _ => code,
        }
    }
}

/// The result of a run without content goes as well, now that it was shown. If it was not, it stays, and that is said.
fn seen(store: &dyn Store, run: &str, options: &RunOptions) -> u8 {
    let reader = output::reader();
    if reader == Reader::Somebody {
        return forgotten(store, run);
    }
    let is_last = async { store.record(run).await.is_ok_and(|record| record.content == Content::Result) };
    if block_on(is_last) != Ok(true) {
        return exit::OK;
    }
    let help = format!("it stays in the store for a day; `{}` prints it", options.resume(run, &[]));
    match reader {
        Reader::Closed => output::failed("the result was not printed: standard output is closed", Some(&help)),
        _ => {
            output::note(format!("nobody has read the result; {help}"));
            exit::OK
        }
    }
}

fn forgotten(store: &dyn Store, run: &str) -> u8 {
    match block_on(store.forget_result(run)) {
        Ok(Ok(())) => exit::OK,
        Ok(Err(error)) => {
            output::warning(format!("the result of run {run} stays in the store for a day: {error}"));
            exit::OK
        }
        Err(code) => code,
    }
}

fn told(
    show: &ShowArgs,
    loaded: &LoadedTarget,
    shown: &Shown,
    placeholders: bool,
    (outcome, called, asked, next): (&RunOutcome, Option<&CalledFailure>, &[String], &[SuggestedCommand]),
    end: &End<'_>,
) -> u8 {
    // If the user sees both streams, separate the result with an empty line and suggest what to do next.
    let person = !show.quiet && show.events.is_none() && shown.live() && output::is_result_shown();
    let trace = show.trace.as_ref().map(|path| path.display().to_string());
    // Also with `--quiet`: a program would take the result as it is.
    outcome.warnings.iter().for_each(output::warning);
    let error = match &outcome.result {
        Ok(_) if show.events.is_some() => return exit::OK,
        Ok(value) => {
            if person {
                output::say("");
            }
            let code = print_result(show, value);
            if let Some(target) = end.target
                && (person || (placeholders && code == exit::OK && !show.quiet))
            {
                let stored = end.keeps_prompts.then_some(&*outcome.run);
                next::after_success(target, (trace.as_deref(), stored), placeholders, &end.options);
            }
            next::after_stop(next);
            return code;
        }
        Err(error) => error,
    };
    if !outcome.waiting.is_empty() {
        // Also with `--quiet`, because nothing else says how to continue.
        let lines = waiting_lines(&outcome.run, &outcome.waiting, &end.options);
        lines.iter().for_each(|line| output::say(TerminalText::line(line)));
        return exit::WAITING;
    }
    let cancelled = ["CANCELLED", "INTERRUPTED"].contains(&error.code.as_str());
    match error.code.as_str() {
        "CANCELLED" => output::note("cancelled"),
        "INTERRUPTED" => output::note("interrupted"),
        // A permission or a limit. What would be repeated is shown at its place in the file.
        _ if outcome.suspended && error.code != "WOULD_REPEAT" => {
            output::say(format!("waiting: {}", error.stopped_before()))
        }
        _ => output::say(report::failure(loaded, error, called, end.answers, end.is_kept).trim_end()),
    }
    if !show.quiet {
        let key = error.key.as_ref().filter(|_| !cancelled);
        let answer = key.and_then(|key| shown.answer(&key.0));
        report::spent(outcome, answer.as_deref()).iter().for_each(output::say);
    }
    // The first entry could not be written.
    let lost = end.target.is_some() && error.code == "JOURNAL_ERROR" && !outcome.continues;
    let is_clear = cancelled || outcome.suspended;
    if end.is_kept && error.code != "CANCELLED" {
        match outcome.continues || outcome.suspended {
            _ if lost => next::not_kept(),
            true => {}
            false => next::stored_as(&outcome.run, &end.options),
        }
    }
    asked.iter().for_each(|line| output::say(TerminalText::line(line)));
    next::after_stop(next);
    // A user who stopped the run knows how to run it again, and what a waiting run needs is already shown.
    if !show.quiet && (!is_clear || trace.is_some()) {
        let stored = (end.is_kept && !lost).then_some(&*outcome.run);
        next::after_failure(trace.as_deref(), stored, (!is_clear).then_some(error.code.as_str()), &end.options);
    }
    match cancelled {
        true => exit::CANCELLED,
        // It has not ended: somebody has to allow what comes next.
        false if outcome.suspended => exit::WAITING,
        false => exit::FAILED,
    }
}
