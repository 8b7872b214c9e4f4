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
use super::{JsonlEventWriter, RunDisplay, SignalStop, TerminalInbox, TraceRecording, report, suggestions};
use crate::args::{EventFormat, HostArgs, ShowArgs};
use crate::output::StdoutReader;
use crate::refusal::{cannot_start, did_not_start};
use crate::runs::run_history;
use crate::store::block_on;
use crate::terminal_text::{TerminalText, escape_line};
use crate::{exit, output};
use trefoil_host::command::{PrintedCommand, RunOptions, models_of_run};
use trefoil_host::durable::called_failure;
use trefoil_host::waiting_messages::{EditableTarget, StoppedRun, other_model_of, waiting_lines};

/// How long to wait for other threads after the run has ended.
const CLOSING: Duration = Duration::from_millis(200);

/// The terminal session of a run.
pub struct TerminalSession<'s> {
    show: &'s ShowArgs,
    loaded: &'s LoadedTarget,
    shown: Arc<RunDisplay>,
    tracer: Arc<TraceSink>,
    lines: Option<Arc<JsonlEventWriter>>,
    /// The script with the answers.
    script: OnceLock<Arc<Scripted>>,
}

impl<'s> TerminalSession<'s> {
    /// Creates a session for a flow.
    pub fn new(show: &'s ShowArgs, loaded: &'s LoadedTarget) -> Self {
        // Events on a terminal and a live picture would disturb each other.
        let events_shown = show.events.is_some() && output::is_result_shown();
        let shown = Arc::new(RunDisplay::new(show.quiet || events_shown));
        let lines = show.events.map(|EventFormat::Jsonl| Arc::new(JsonlEventWriter::new(loaded.files.clone())));
        Self { show, loaded, shown, tracer: Arc::new(TraceSink::default()), lines, script: OnceLock::new() }
    }

    /// The engine of a run with these permissions: this session shows its events, and asks the user at the terminal. `is_kept`:
    /// whether the run is stored, so that a question can be answered later.
    pub fn build_engine(&self, host: &HostArgs, settings: &Settings, is_kept: bool) -> Engine {
        let engine = host.without_people(self.watch(Engine::new()), settings);
        if output::is_interactive() { engine.humans(TerminalInbox::new(self.shown.clone(), is_kept)) } else { engine }
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
    pub fn announce_start(&self, ready: &ReadyRun, seed: Option<u64>, run: Option<&str>) {
        if let Some(script) = ready.script() {
            self.warn(script.unknown_names(&self.loaded.program));
            let _ = self.script.set(script.clone());
        }
        if let Some(run) = run
            && !self.show.quiet
        {
            output::print_line(format!("run {run}"));
        }
        self.shown.show_start(self.loaded, &ready.answers_from().to_string(), seed);
    }

    /// Warnings that no step of the run gives: shown, and part of its trace.
    fn warn(&self, warnings: Vec<String>) {
        if !self.show.quiet {
            warnings.iter().for_each(output::print_warning);
        }
        self.tracer.add_warnings(warnings);
    }

    /// The run reuses results of an earlier one.
    pub fn set_reused_run(&self, base: &str) {
        self.tracer.set_reused_run(Some(base));
    }

    /// The run is resumed: its first events have happened before.
    pub fn set_resumed(&self) {
        self.shown.set_resumed();
    }

    /// Runs it, and releases the run in the store. `kept`: how commands about the run are written, if it is kept.
    pub fn run_to_end(
        self,
        engine: &Engine,
        answers_from: &AnswersFrom,
        kept: Option<KeptRun<'_>>,
        start: impl AsyncFnOnce() -> Result<Run, Error>,
    ) -> Result<FinishedRun<'s>, u8> {
        let recording = match &self.show.trace {
            Some(path) => {
                let about = trefoil_host::run_about(self.loaded, answers_from);
                Some(Arc::new(TraceRecording::new(path.clone(), about, self.tracer.clone())?))
            }
            None => None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| cannot_start(&error))?;
        let started = runtime.block_on(start()).map_err(|error| did_not_start(&error))?;
        // For a run that is stopped and does not end in time, for example because its store does not respond.
        let again = kept.map(|kept| kept.options.to_continue(started.id(), &[]));
        let stop = SignalStop::start_listening(started.cancel_switch(), recording, again)
            .map_err(|error| cannot_start(&error))?;
        let outcome = runtime.block_on(started.wait_outcome());
        self.tracer.record_outcome(&outcome);
        let unused = match self.script.get() {
            Some(script) if outcome.result.is_ok() => script.unused_answers(),
            _ => Vec::new(),
        };
        self.tracer.add_warnings(unused.clone());
        let error = outcome.result.as_ref().err();
        let called = async {
            let (Some(owner), Some(error)) = (engine.owner(), error) else { return None };
            called_failure(owner.store(), &outcome.run, error).await
        };
        let called = runtime.block_on(called);
        let model = match error {
            Some(error) => other_model_of(&self.loaded.program, error, called.as_ref()),
            None => None,
        };
        self.tracer.failed_in(called.clone());
        let models = async {
            let (Some(owner), Some(_)) = (engine.owner(), error) else { return None };
            let called = called.as_ref().map(|called| called.run.as_str());
            Some(models_of_run(&**owner.store(), &outcome.run, called).await)
        };
        let models = runtime.block_on(models).unwrap_or_default();
        // The first entry could not be written.
        let is_lost = !outcome.continues && matches!(&outcome.result, Err(error) if error.code == "JOURNAL_ERROR");
        let next = match kept {
            Some(kept) if !is_lost => {
                let stopped = StoppedRun::of_outcome(&outcome, model.as_deref(), kept.edited);
                let stopped = StoppedRun { called: called.as_ref(), ..stopped };
                stopped.next_commands(&kept.options.clone().with_models(models))
            }
            _ => Vec::new(),
        };
        self.tracer.set_suggestions(next.clone());
        let released = runtime.block_on(engine.release_runs());
        // Waits for pending reads of the store, because the last connection to close moves the log into the database.
        runtime.shutdown_timeout(CLOSING);
        // Saves the trace first, because printing may block on a slow reader.
        let saved = stop.save_trace();
        self.shown.show_end(&outcome);
        let placeholders = *answers_from == AnswersFrom::Embedded;
        let mut code = exit::OK;
        if let Err(error) = released {
            code = output::report_failure(&error.to_string(), None);
        }
        if let Err(message) = saved {
            code = output::report_failure(&message, None);
        }
        let store = engine.owner().map(|owner| owner.store().clone());
        Ok(FinishedRun { session: self, placeholders, outcome, called, next, unused, store, code })
    }
}

/// How commands about a run that is kept are written.
#[derive(Debug, Clone, Copy)]
pub struct KeptRun<'k> {
    /// Their options.
    pub options: &'k RunOptions,
    /// The target of its files.
    pub edited: Option<EditableTarget<'k>>,
}

/// A run that has ended in this process.
pub struct FinishedRun<'s> {
    session: TerminalSession<'s>,
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
pub struct RunEndOptions<'e> {
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

impl FinishedRun<'_> {
    /// Whether the run succeeded.
    pub fn is_success(&self) -> bool {
        self.outcome.result.is_ok()
    }

    /// Prints the result or the failure, and suggests what to do next. Returns the exit code.
    pub fn print_end(self, end: &RunEndOptions<'_>) -> u8 {
        let Self { session, placeholders, outcome, called, next, unused, store, code } = self;
        let TerminalSession { show, loaded, shown, lines, .. } = session;
        if !show.quiet {
            unused.iter().for_each(output::print_warning);
        }
        let is_stopped = matches!(&outcome.result, Err(error) if error.code == "INTERRUPTED");
        let asked = match &store {
            Some(store) if is_stopped && end.is_kept => {
                run_history::stored_questions(store, &outcome.run, &end.options)
            }
            _ => Vec::new(),
        };
        let ended = (&outcome, called.as_ref(), &*asked, &*next);
        if !show.quiet && end.is_kept && (outcome.result.is_err() || end.keeps_prompts) {
            for step in shown.more_failed() {
                let trace = end.options.render_command(PrintedCommand::TraceStep { run: &outcome.run, step: &step });
                output::print_line(format!("all failed items of `{}`: {trace}", escape_line(&step)));
            }
        }
        let mut code = code.max(print_outcome(show, loaded, &shown, placeholders, ended, end));
        if let Some(lines) = lines {
            code = code.max(output::write_exit_code(lines.write_outcome()));
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
    let reader = output::stdout_reader();
    if reader == StdoutReader::Somebody {
        return forgotten(store, run);
    }
    let is_last = async { matches!(store.record(run).await, Ok(record) if record.content == Content::Result) };
    if block_on(is_last) != Ok(true) {
        return exit::OK;
    }
    let help = format!("it stays in the store for a day; `{}` prints it", options.resume_command(run, &[]));
    match reader {
        StdoutReader::Closed => {
            output::report_failure("the result was not printed: standard output is closed", Some(&help))
        }
        _ => {
            output::print_note(format!("nobody has read the result; {help}"));
            exit::OK
        }
    }
}

fn forgotten(store: &dyn Store, run: &str) -> u8 {
    match block_on(store.forget_result(run)) {
        Ok(Ok(())) => exit::OK,
        Ok(Err(error)) => {
            output::print_warning(format!("the result of run {run} stays in the store for a day: {error}"));
            exit::OK
        }
        Err(code) => code,
    }
}

/// Prints the result or the error of a run, and what can be done next. Returns the exit code.
fn print_outcome(
    show: &ShowArgs,
    loaded: &LoadedTarget,
    shown: &RunDisplay,
    placeholders: bool,
    (outcome, called, asked, next): (&RunOutcome, Option<&CalledFailure>, &[String], &[SuggestedCommand]),
    end: &RunEndOptions<'_>,
) -> u8 {
    // If the user sees both streams, separate the result with an empty line and suggest what to do next.
    let person = !show.quiet && show.events.is_none() && shown.is_live() && output::is_result_shown();
    let trace = show.trace.as_ref().map(|path| path.display().to_string());
    // Also with `--quiet`: a program would take the result as it is.
    outcome.warnings.iter().for_each(output::print_warning);
    let error = match &outcome.result {
        Ok(_) if show.events.is_some() => return exit::OK,
        Ok(value) => {
            if person {
                output::print_line("");
            }
            let code = print_result(show, value);
            if let Some(target) = end.target
                && (person || (placeholders && code == exit::OK && !show.quiet))
            {
                let stored = if end.keeps_prompts { Some(&*outcome.run) } else { None };
                suggestions::after_success(target, (trace.as_deref(), stored), placeholders, &end.options);
            }
            suggestions::after_stop(next);
            return code;
        }
        Err(error) => error,
    };
    if !outcome.waiting.is_empty() {
        // Also with `--quiet`, because nothing else says how to continue.
        let lines = waiting_lines(&outcome.run, &outcome.waiting, &end.options);
        lines.iter().for_each(|line| output::print_line(TerminalText::from_line(line)));
        return exit::WAITING;
    }
    let cancelled = ["CANCELLED", "INTERRUPTED"].contains(&error.code.as_str());
    match error.code.as_str() {
        "CANCELLED" => output::print_note("cancelled"),
        "INTERRUPTED" => output::print_note("interrupted"),
        // A permission or a limit. What would be repeated is shown at its place in the file.
        _ if outcome.suspended && error.code != "WOULD_REPEAT" => {
            output::print_line(format!("waiting: {}", error.stopped_before()))
        }
        _ => output::print_line(report::format_failure(loaded, error, called, end.answers, end.is_kept).trim_end()),
    }
    if !show.quiet {
        let answer = match &error.key {
            Some(key) if !cancelled => shown.last_answer(&key.0),
            _ => None,
        };
        report::usage_lines(outcome, answer.as_deref()).iter().for_each(output::print_line);
    }
    // The first entry could not be written.
    let lost = end.target.is_some() && error.code == "JOURNAL_ERROR" && !outcome.continues;
    let is_clear = cancelled || outcome.suspended;
    if end.is_kept && error.code != "CANCELLED" {
        match outcome.continues || outcome.suspended {
            _ if lost => suggestions::say_not_kept(),
            true => {}
            false => suggestions::say_stored_as(&outcome.run, &end.options),
        }
    }
    asked.iter().for_each(|line| output::print_line(TerminalText::from_line(line)));
    suggestions::after_stop(next);
    // A user who stopped the run knows how to run it again, and what a waiting run needs is already shown.
    if !show.quiet && (!is_clear || trace.is_some()) {
        let stored = if end.is_kept && !lost { Some(&*outcome.run) } else { None };
        let code = if is_clear { None } else { Some(error.code.as_str()) };
        suggestions::after_failure(trace.as_deref(), stored, code, &end.options);
    }
    match cancelled {
        true => exit::CANCELLED,
        // It has not ended: somebody has to allow what comes next.
        false if outcome.suspended => exit::WAITING,
        false => exit::FAILED,
    }
}
