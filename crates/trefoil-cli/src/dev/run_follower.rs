//! Follows a run to its end, with saves and keys in the meantime, and prints what it did.

use std::collections::BTreeSet;

use tokio::task::JoinHandle;
use trefoil::runs::{ReuseDecision, ReuseRequest, asked_again};
use trefoil::{Flow, Outcome};
use trefoil_host::durable::called_failure;
use trefoil_machine::Key;
use trefoil_project::settings::Settings;
use trefoil_runtime::RunError;
use trefoil_view::run_view::OpenCallView;

use super::digest::TurnDigest;
use super::run_start::RunInProgress;
use super::step_outputs::collect_step_outputs;
use super::stop_reasons::reached_limit;
use super::turn::{AnswerDestination, PreviousRun, TargetSnapshot, TurnRequest, TurnResult, has_step, repeat_request};
use super::turn_output::FileFreshness;
use super::{DevEvent, DevLoop, turn_output};
use crate::output;
use crate::refusal::cannot_start;
use crate::run::{report, reuse};

/// What comes after a run in progress.
#[derive(Default)]
struct RunReplacement {
    /// The turn that replaces it, as soon as it can be stopped.
    next: Option<TurnRequest>,
    /// The model calls whose results that turn will keep.
    keeps: BTreeSet<Key>,
    /// The step whose end is awaited, as far as the user knows.
    awaited: Option<Key>,
}

impl DevLoop<'_> {
    /// Stops a run. A run that was not started here is only interrupted, and can be resumed.
    fn stop(&self, run: &RunInProgress) {
        match self.started_runs.contains(&run.run) {
            true => run.cancel.cancel_runs(),
            false => run.cancel.interrupt_runs(),
        }
    }

    /// Stops a run that another one replaces, unless a step is in progress that must not be cut off, or whose result the other run
    /// keeps: then its end is awaited, and nothing else is started.
    fn hand_over(&self, run: &RunInProgress, after: &mut RunReplacement) {
        if after.next.is_none() {
            return run.cancel.release_runs();
        }
        let view = run.current_view();
        // A flow keeps its results if it is stopped.
        let must_end = |(_, call): &(&Key, &OpenCallView)| match call {
            OpenCallView::Model { .. } => false,
            OpenCallView::Tool(tool) => !run.flows.contains(tool),
            OpenCallView::Command => true,
        };
        let is_kept = |(key, _): &(&Key, &OpenCallView)| after.keeps.contains(*key);
        let must = view.open_calls.iter().find(must_end);
        let Some((key, _)) = must.or_else(|| view.open_calls.iter().find(is_kept)) else {
            return self.stop(run);
        };
        run.cancel.hold_runs();
        if after.awaited.as_ref() != Some(key) {
            let name = match view.step_with_key(key.without_try()) {
                Some(step) => &step.label,
                None => key.without_try(),
            };
            let _paused = run.shown.pause_drawing();
            output::print_note(match must {
                Some(_) => {
                    format!("`{name}` must not be cut off, so the next run starts when it has ended; `x` stops it now")
                }
                None => format!("`{name}` is the same in the saved files, so its answer is awaited; `x` stops it now"),
            });
            after.awaited = Some(key.clone());
        }
    }

    /// The model calls in progress that a run of these files would make, too. None if it has another input.
    fn kept_by(&self, run: &RunInProgress, flow: &Flow, settings: &Settings, read: &TargetSnapshot) -> BTreeSet<Key> {
        if matches!(&self.snapshot, Some(before) if !before.has_same_input(read, self.args.input_json.as_deref())) {
            return BTreeSet::new();
        }
        let engine = self.args.host.without_people(self.engine.clone(), settings);
        let request = ReuseRequest { own_settings: true, ..ReuseRequest::for_whole_run(&run.run) };
        let kept = self.runtime.block_on(asked_again(&engine, self.store.clone(), flow, &request));
        // If that is unknown, nothing is awaited.
        kept.unwrap_or_default()
    }

    /// A save during a run. Only files that can be run replace it.
    fn saved_during(&mut self, run: &RunInProgress, after: &mut RunReplacement) {
        self.wait_until_saved();
        if !self.has_changed() {
            return;
        }
        let operator = self.args.target.find_settings();
        let (read, loaded) = self.read_target(&operator);
        if let Some(loaded) = loaded
            && operator.findings.is_empty()
        {
            after.next = Some(TurnRequest::default());
            after.keeps = self.kept_by(run, &Flow::from(loaded), &operator.settings, &read);
            return self.hand_over(run, after);
        }
        after.next = None;
        self.hand_over(run, after);
        let _paused = run.shown.pause_drawing();
        turn_output::print_saved(&self.changed_files(&read));
        let before = self.snapshot.as_ref().map(|before| &before.report);
        turn_output::print_findings(before, &read.report, true);
        output::print_error("the run continues with the earlier files until this is corrected", None);
        self.snapshot = Some(read);
        self.is_current = false;
    }

    /// Waits for the end of a run, and prints the result.
    pub(super) fn follow_run(&mut self, mut run: RunInProgress, request: &TurnRequest) -> Result<TurnResult, u8> {
        let (mut after, mut quits) = (RunReplacement::default(), false);
        let outcome = loop {
            self.keyboard.want_key();
            match self.next_event_or_end(&mut run.task) {
                Ok(outcome) => break outcome,
                Err(DevEvent::Saved) => self.saved_during(&run, &mut after),
                Err(DevEvent::Ended) => self.hand_over(&run, &mut after),
                Err(quit @ (DevEvent::Stop | DevEvent::Key('q'))) => {
                    run.cancel.interrupt_runs();
                    self.pending_events.push_back(quit);
                    quits = true;
                    break self.runtime.block_on(&mut run.task).map_err(|error| cannot_start(&error))?;
                }
                Err(DevEvent::Key('x')) => self.stop(&run),
                Err(DevEvent::Key('r')) => {
                    after.next = Some(TurnRequest { all: true, anyway: true, ..TurnRequest::default() });
                    after.keeps.clear();
                    self.hand_over(&run, &mut after);
                }
                Err(DevEvent::Key('a')) => {
                    let asks = run.current_view().open.waiting;
                    let _paused = run.shown.pause_drawing();
                    if let Some(AnswerDestination::Later(given)) = self.take_answer(&run.run, &asks) {
                        self.pending_answer = Some(*given);
                        after.next = Some(TurnRequest::default());
                        self.hand_over(&run, &mut after);
                    }
                }
                Err(DevEvent::Key('t')) => {
                    let _paused = run.shown.pause_drawing();
                    super::prompts::show_trace_page(Some(&run.trace));
                }
                Err(DevEvent::Key(key)) if !key.is_control() || key == '\n' => {
                    let _paused = run.shown.pause_drawing();
                    output::print_dimmed("during a run: a answer · r all again · t trace so far · x stop · q quit");
                }
                Err(_) => {}
            }
        };
        run.shown.show_end(&outcome);
        self.say(&run, &outcome, request, after.next.is_some());
        // The result of a run without content was shown. If the store fails, it stays for a day.
        let _ = self.runtime.block_on(self.store.forget_result(&run.run));
        self.replace_last(run, outcome);
        let next = match (quits, after.next) {
            (true, _) => return Ok(TurnResult::Nothing),
            (false, None) => self.pass_on(),
            (false, next) => next,
        };
        Ok(match next {
            Some(next) => TurnResult::Next(next),
            None => TurnResult::Done,
        })
    }

    /// Waits for the next event or for the end of a run.
    fn next_event_or_end(&mut self, task: &mut JoinHandle<Outcome>) -> Result<Outcome, DevEvent> {
        // Events that arrived while a line was typed are handled now, not after the end of the run.
        let one = match self.pending_events.pop_front() {
            Some(event) => Err(event),
            None => {
                let (receiver, signals) = (&mut self.event_receiver, &mut self.signals);
                self.runtime.block_on(async {
                    tokio::select! {
                        biased;
                        ended = task => Ok(ended),
                        one = super::receive_event(receiver, signals) => Err(one),
                    }
                })
            }
        };
        if matches!(one, Err(DevEvent::Key(_) | DevEvent::Line(_))) {
            self.keyboard.finish_request();
        }
        match one {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            Err(event) => Err(event),
        }
    }

    /// Prints the result of a run, and the differences from the previous one.
    fn say(&mut self, run: &RunInProgress, outcome: &Outcome, request: &TurnRequest, replaced: bool) {
        let (lines, made) = run.reuse_decisions();
        self.session.add_run(outcome, &lines);
        let files = match (replaced, self.is_current) {
            (true, _) => FileFreshness::Replaced,
            (false, true) => FileFreshness::Same,
            (false, false) => FileFreshness::Faulty,
        };
        turn_output::print_reuse((&lines, made), outcome, run.since.elapsed(), files);
        if let Some(decisions) = &run.lines
            && !lines.is_empty()
        {
            reuse::note_uncompared_variables(decisions, "press `f` and name a step");
        }
        let now = collect_step_outputs(&run.current_view());
        let (before, earlier) = match &self.last_run {
            Some(last) => (last.steps.clone(), last.result.clone()),
            None => Default::default(),
        };
        let results = outcome.visible_output().map(|now| (earlier, now));
        // If everything was to run again, that is the reason of every step.
        let lines = if request.all { Vec::new() } else { lines };
        let digest = TurnDigest { lines, before, now, results, edited: self.edited_files.clone() };
        self.show_digest(&digest, false);
        self.digest = Some(digest);
        match &outcome.result {
            Ok(_) => {}
            Err(_) if replaced || !outcome.waiting.is_empty() => {}
            Err(error) if turn_output::is_stop(&error.code) => output::print_note("stopped"),
            Err(error) if error.repeated_steps().next().is_some() => {
                let key = match &error.key {
                    Some(key) => key.without_try(),
                    None => "",
                };
                let view = run.current_view();
                let name = match view.step_with_key(key) {
                    Some(step) => &step.label,
                    None => key,
                };
                turn_output::would_repeat(name, error);
            }
            Err(error) => {
                let error = &self.with_keys(error);
                let called = self.runtime.block_on(called_failure(&self.store, &outcome.run, error));
                let answers = &self.args.host.answers;
                output::print_line(
                    report::format_failure(run.flow.loaded_target(), error, called.as_ref(), answers, true).trim_end(),
                );
                // What it used has been said.
                report::request_lines(outcome, None).iter().for_each(output::print_line);
            }
        }
        let options = self.args.host.run_options(&self.args.store, self.args.target.read.no_config);
        turn_output::print_waiting(&outcome.run, &outcome.waiting, &options);
    }

    /// In an error's help, replaces what is for the command line by the key to press.
    fn with_keys(&self, error: &RunError) -> RunError {
        match error.raise.is_some() {
            true => error.clone().with_help(turn_output::AT_LIMIT),
            false => error.clone(),
        }
    }

    /// Makes this run the last one.
    fn replace_last(&mut self, run: RunInProgress, outcome: Outcome) {
        let error = outcome.result.as_ref().err();
        let (repeats, limit) = (repeat_request(error, &outcome.waiting), reached_limit(error, &outcome.waiting));
        let is_open = outcome.suspended || matches!(error, Some(error) if error.code == "INTERRUPTED");
        let (mut steps, reuse) = (collect_step_outputs(&run.current_view()), run.reuse_decisions());
        let (mut result, waiting) = (outcome.visible_output(), outcome.waiting);
        // Steps that did not run this time keep their previous output, so that the next run is compared with it. So does the result.
        if let Some(last) = self.last_run.take() {
            let is_renamed = |key: &str| {
                reuse.0.iter().any(|line| match &line.fate {
                    ReuseDecision::Kept { was: Some(was), .. } => was.without_try() == key,
                    _ => false,
                })
            };
            for (key, step) in last.steps {
                if step.output.is_some() && has_step(&run.flow, &step.label) && !is_renamed(&key) {
                    let known = steps.entry(key).or_insert_with(|| step.clone());
                    known.output = known.output.take().or(step.output);
                }
            }
            result = result.or(last.result);
        }
        let RunInProgress { run, flow, input, trace, .. } = run;
        let trace = Some(trace);
        self.last_run =
            Some(PreviousRun { run, flow, input, steps, result, reuse, waiting, repeats, limit, is_open, trace });
    }
}
