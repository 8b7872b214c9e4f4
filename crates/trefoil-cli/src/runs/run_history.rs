//! Reads stored runs: their events, and what they wait for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value as Json};
use trefoil::AnswersFrom;
use trefoil::runs::target_of;
use trefoil::store::{Record, RunFilter, Status, Store};
use trefoil_host::durable::{
    StoredProject, StoredRun, called_failure, can_continue, send_history, stop_reason, suspension_reason,
    with_called_usage,
};
use trefoil_host::stored_runs::{UnreadableRun, send_run_events, waiting_steps, waiting_steps_with_events};
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::journal::GivenPermissions;
use trefoil_project::settings::Settings;
use trefoil_project::target::LoadTarget;
use trefoil_runtime::ports::NoEvents;
use trefoil_runtime::{Event, EventKind, EventSink, RunError};
use trefoil_view::run_view::RunView;
use trefoil_view::trace::{CalledFailure, OpenWait, SuggestedCommand, TraceSink, TraceSubject};

use crate::loading::accept_settings;
use crate::output;
use crate::refusal::did_not_start;
use crate::store::{await_run, await_store, block_on};
use trefoil_host::command::{RunOptions, models_of_run};
use trefoil_host::waiting_messages::{EditableTarget, StoppedRun, other_model_of, question_lines};
use trefoil_runtime::locks::lock;

/// Reads the start of a run.
pub fn read_run(store: &dyn Store, run: &str) -> Result<StoredRun, u8> {
    await_run(StoredRun::read_run(store, run))
}

/// A target as it is named in commands in this folder.
pub fn local_target_name(target: &LoadTarget) -> String {
    let mut path = target.path.clone();
    if let Ok(here) = std::env::current_dir()
        && let Ok(inside) = target.path.strip_prefix(here)
        && !inside.as_os_str().is_empty()
    {
        path = inside.to_path_buf();
    }
    LoadTarget { path, ..target.clone() }.to_string()
}

/// The options of commands about a run: those that its last process had, as far as they can be read.
pub fn run_options(store: &dyn Store, run: &str, named: String) -> RunOptions {
    match block_on(StoredRun::read_run(store, run)) {
        Ok(Ok(stored)) => RunOptions::of_stored(named, &stored),
        _ => RunOptions::new(named, &GivenPermissions::default()),
    }
}

/// The run to resume: the outermost calling run that has not ended, or the run itself.
pub fn outermost_run(store: &Arc<dyn Store>, mut record: Record) -> Result<Record, u8> {
    while let Some(caller) = &record.parent {
        match block_on(store.record(caller))? {
            Ok(above) if !above.status.is_end() => record = above,
            _ => break,
        }
    }
    Ok(record)
}

/// Says how a run goes on after something has happened to it, or to a run that it has called.
pub fn note_continues(store: &Arc<dyn Store>, record: &Record, named: String, after: &str) {
    let run = &record.run;
    output::print_note(match record.owner {
        Some(_) => format!("{after}; the process that is running {run} continues with it"),
        None => format!("{after}; {}", run_options(&**store, run, named).to_continue(run, &[])),
    });
}

/// The settings with which a stored run may continue here. If those of a project do not apply, because its files are not those
/// of the run, that is reported.
pub fn permitted_settings(store: &dyn Store, stored: &StoredRun, no_config: bool, quiet: bool) -> Result<Settings, u8> {
    let project = await_run(StoredProject::compare_files(store, stored))?;
    if let Some(why) = project.why_not()
        && !no_config
        && !quiet
    {
        output::print_note(without_project(why));
    }
    accept_settings(project.settings(no_config))
}

/// Why a stored run continues without the settings of a project.
pub fn without_project(why: &str) -> String {
    format!("only your own settings and options apply to the original files, not those of a project: {why}")
}

/// Sends a run's events to a sink. Returns the tools and commands in progress; if no process works on the run, their outcome is
/// unknown.
pub fn send_events(
    store: &Arc<dyn Store>,
    stored: &StoredRun,
    events: Arc<dyn EventSink>,
) -> Result<Vec<AwaitedActivity>, u8> {
    block_on(send_run_events(store, stored, events))?.map_err(|why| refuse_unreadable(&why))
}

/// The trace of a run so far, from its journal: with what it waits for, and the commands that answer and continue it. `named`: the
/// option that names the store.
pub fn trace_run(
    store: &Arc<dyn Store>,
    stored: &StoredRun,
    named: String,
) -> Result<(Arc<TraceSink>, TraceSubject), u8> {
    let tracer = Arc::new(TraceSink::default());
    let record = await_store(async { with_called_usage(&**store, store.record(&stored.started.run).await?).await })?;
    let wait = match record.status.is_end() {
        true => {
            send_events(store, stored, tracer.clone())?;
            OpenWait::default()
        }
        false => open_wait(store, &record, tracer.clone())?,
    };
    let options = RunOptions::of_stored(named, stored);
    tracer.set_reused_run(record.base.as_deref());
    let called = find_called_failure(store, &record)?;
    tracer.set_suggestions(next_commands(store, &record, &wait.waiting, called.as_ref(), &options)?);
    tracer.failed_in(called);
    if !record.status.is_end() {
        tracer.set_standing(record.status, wait, record.spent.usage, record.spent.calls);
    }
    let about =
        trefoil_host::run_about(stored.flow.loaded_target(), &AnswersFrom::of_stored(&stored.current_start().answers));
    Ok((tracer, about))
}

/// The failure of a called run that made a run fail.
pub fn find_called_failure(store: &Arc<dyn Store>, record: &Record) -> Result<Option<CalledFailure>, u8> {
    let called = async {
        if record.status != Status::Failed {
            return None;
        }
        let why = stop_reason(&**store, record).await.ok()??;
        called_failure(store, &record.run, &why).await
    };
    block_on(called)
}

/// What can be done with a run next. `waiting`: what it waits for. `called`: the failure of a called run that made it fail.
pub fn next_commands(
    store: &Arc<dyn Store>,
    record: &Record,
    waiting: &[AwaitedActivity],
    called: Option<&CalledFailure>,
    options: &RunOptions,
) -> Result<Vec<SuggestedCommand>, u8> {
    let why = await_run(stop_reason(&**store, record))?;
    let why = why.as_ref();
    let failed = record.status == Status::Failed;
    let is_open = !record.status.is_end() && record.owner.is_none();
    let is_asked = failed || is_open || (record.items.is_some() && record.content.keeps_prompts());
    let stored = async { if is_asked { StoredRun::read_run(&**store, &record.run).await.ok() } else { None } };
    let stored = block_on(stored)?;
    // Whether the run can continue with its own files, and whether those on the disk are others.
    let continues = async {
        let Some(stored) = &stored else { return (is_open, false, false) };
        // Tools of a project are for the files that are there.
        let lacks = match StoredProject::compare_files(&**store, stored).await {
            Ok(project) if project.why_not().is_some() => project.is_needed(stored),
            _ => false,
        };
        match failed {
            true => (!lacks && can_continue(store.clone(), stored).await, stored.note.is_some(), lacks),
            false => (is_open && !lacks, lacks, lacks),
        }
    };
    let (open, is_changed, needs_project) = block_on(continues)?;
    let target = if failed || is_changed { block_on(target_of(&**store, &record.run))? } else { None };
    let target = target.map(|target| local_target_name(&target));
    let (run, has_failed_items) = (record.run.as_str(), record.items.is_some() && record.content.keeps_prompts());
    let edited = target.as_deref().map(|target| EditableTarget { target, has_changed: is_changed });
    let model = match (&stored, why) {
        (Some(stored), Some(why)) => other_model_of(&stored.flow.loaded_target().program, why, called),
        _ => None,
    };
    let model = model.as_deref();
    let chosen = async { models_of_run(&**store, &record.run, called.map(|called| called.run.as_str())).await };
    let options = options.clone().with_models(if stored.is_some() { block_on(chosen)? } else { Vec::new() });
    let again = if failed || has_failed_items { reused_by(store, record)? } else { None };
    let again = again.as_deref();
    Ok(StoppedRun { run, waiting, why, called, open, has_failed_items, edited, needs_project, model, again }
        .next_commands(&options))
}

/// The last run that started with the results of a run that has ended.
fn reused_by(store: &Arc<dyn Store>, record: &Record) -> Result<Option<String>, u8> {
    let filter = RunFilter { base: Some(record.run.clone()), since: record.ended, ..RunFilter::default() };
    Ok(await_store(store.list_runs(&filter, None, 1))?.runs.pop().map(|newer| newer.run))
}

/// Prints why a stored run cannot be read.
pub fn refuse_unreadable(why: &UnreadableRun) -> u8 {
    match why {
        UnreadableRun::Error(error) => did_not_start(error),
        UnreadableRun::Journal(error, _) => report_unreadable(error),
    }
}

/// Prints why a journal cannot be replayed.
pub fn report_unreadable(error: &RunError) -> u8 {
    output::report_failure(&format!("{}: {}", error.code, error.message), error.help.as_deref())
}

/// What a run waits for, according to its journal and its inbox. Empty if it does not wait.
pub fn list_waiting(store: &Arc<dyn Store>, record: &Record) -> Result<Vec<AwaitedActivity>, u8> {
    waiting_with_events(store, record, Arc::new(NoEvents))
}

/// What each run of a list waits for that waits or was interrupted. Empty for a run whose journal this version cannot read.
pub fn open_waits(store: &Arc<dyn Store>, runs: &[Record]) -> Result<BTreeMap<String, OpenWait>, u8> {
    let mut all = BTreeMap::new();
    for record in runs {
        if !matches!(record.status, Status::Waiting | Status::Interrupted) {
            continue;
        }
        let stopped = await_run(suspension_reason(&**store, record))?;
        let waiting = block_on(waiting_steps(store, record))?.unwrap_or_default();
        all.insert(record.run.clone(), OpenWait { waiting, stopped });
    }
    Ok(all)
}

/// What a run that was stopped had asked, with the commands that answer it, on lines.
pub fn stored_questions(store: &Arc<dyn Store>, run: &str, options: &RunOptions) -> Vec<String> {
    let lines = async {
        let record = store.record(run).await.ok()?;
        Some(question_lines(run, &waiting_steps(store, &record).await.ok()?, options))
    };
    block_on(lines).ok().flatten().unwrap_or_default()
}

/// The same, with what it stopped before, and sends the run's events to a sink.
pub fn open_wait(store: &Arc<dyn Store>, record: &Record, by: Arc<dyn EventSink>) -> Result<OpenWait, u8> {
    let stopped = await_run(suspension_reason(&**store, record))?;
    Ok(OpenWait { waiting: waiting_with_events(store, record, by)?, stopped })
}

/// What a run asks, and sends the run's events to a sink.
pub fn waiting_with_events(
    store: &Arc<dyn Store>,
    record: &Record,
    by: Arc<dyn EventSink>,
) -> Result<Vec<AwaitedActivity>, u8> {
    block_on(waiting_steps_with_events(store, record, by))?.map_err(|why| refuse_unreadable(&why))
}

/// Sends the events of a run, if this version can read them.
pub fn send_events_if_readable(
    store: &Arc<dyn Store>,
    record: &Record,
    events: Arc<dyn EventSink>,
) -> Option<StoredRun> {
    let sent = async {
        let stored = StoredRun::read_run(&**store, &record.run).await.ok()?;
        send_history(store.clone(), &stored, events).await.ok()?;
        Some(stored)
    };
    block_on(sent).ok().flatten()
}

/// The members of a step in the JSON of a run: those of a trace, without its calls.
const STEP: &str = "key label kind file line status started_ms duration_ms tries items item kept error output given_by";

/// The `steps` of a run, and its `error` with its place, as far as this version can read its journal. `called`: the failure of a called
/// run that made it fail.
pub fn stored_steps(
    store: &Arc<dyn Store>,
    record: &Record,
    wait: &OpenWait,
    called: Option<CalledFailure>,
) -> Map<String, Json> {
    let tracer = Arc::new(TraceSink::default());
    let mut all = Map::new();
    let Some(stored) = send_events_if_readable(store, record, tracer.clone()) else { return all };
    let about =
        trefoil_host::run_about(stored.flow.loaded_target(), &AnswersFrom::of_stored(&stored.current_start().answers));
    if !record.status.is_end() {
        tracer.set_standing(record.status, wait.clone(), record.spent.usage, record.spent.calls);
    }
    tracer.failed_in(called);
    let mut trace = tracer.trace().to_json(&about);
    if record.status == Status::Failed
        && let Some(error) = trace.get_mut("error")
    {
        all.insert("error".to_owned(), error.take());
    }
    let mut steps = trace.get_mut("steps").map(Json::take).unwrap_or_default();
    keep_step_members(&mut steps);
    all.insert("steps".to_owned(), steps);
    all
}

/// Takes from the steps of a trace what the JSON of a run does not have.
pub fn keep_step_members(steps: &mut Json) {
    let Some(steps) = steps.as_array_mut() else { return };
    for step in steps {
        if let Some(members) = step.as_object_mut() {
            members.retain(|name, _| STEP.split(' ').any(|known| known == name));
        }
    }
}

/// The event that ended a run, if it has ended. An error has its place.
pub fn end_event(store: &Arc<dyn Store>, stored: &StoredRun) -> Result<Option<Event>, u8> {
    let end = Arc::new(RunEndCollector::default());
    send_events(store, stored, end.clone())?;
    Ok(lock(&end.0).1.take())
}

/// The picture of the run, and the event that ended it.
#[derive(Default)]
struct RunEndCollector(Mutex<(RunView, Option<Event>)>);

impl EventSink for RunEndCollector {
    fn receive_event(&self, event: &Event) {
        let (view, end) = &mut *lock(&self.0);
        view.apply_event(event);
        let mut event = event.clone();
        if let EventKind::RunFinished { error, .. } = &mut event.kind {
            *error = view.end.as_ref().and_then(|end| end.error.clone());
            *end = Some(event);
        }
    }
}
