//! What a stored run waits for, according to its journal, its inbox and the clock. If its tools have started other runs, their
//! waiting steps are included.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::key::own_step;
use trefoil_machine::{Key, UsedAmounts};
use trefoil_runtime::ports::NoEvents;
use trefoil_runtime::{Event, EventSink};
use trefoil_store::{InboxMessage, Record, Status, Store};
use trefoil_view::run_view::{OpenCallView, RunView, ViewDetail};

use super::UnreadableRun;
use super::wait_cache::WaitCache;
use crate::durable::{StoredRun, last_call_run, last_state, send_history, suspension_reason};
use crate::engine::all_sinks;
use trefoil_runtime::locks::lock;

/// Sends a run's events to a sink. Returns the tools and commands in progress; if no process works on the run, their outcome is
/// unknown.
///
/// # Errors
///
/// If its journal cannot be read.
pub async fn send_run_events(
    store: &Arc<dyn Store>,
    stored: &StoredRun,
    events: Arc<dyn EventSink>,
) -> Result<Vec<AwaitedActivity>, UnreadableRun> {
    let in_progress = send_history(store.clone(), stored, events).await;
    in_progress.map_err(|error| UnreadableRun::of_journal(error, stored))
}

/// What a run waits for, according to its journal and its inbox. Empty if it does not wait.
///
/// # Errors
///
/// If the run cannot be read.
pub async fn waiting_steps(store: &Arc<dyn Store>, record: &Record) -> Result<Vec<AwaitedActivity>, UnreadableRun> {
    waiting_steps_with_events(store, record, Arc::new(NoEvents)).await
}

/// The same. A run whose journal has not grown since it was last read is not read again.
///
/// # Errors
///
/// If the run cannot be read.
pub(super) async fn known_waiting_steps(
    store: &Arc<dyn Store>,
    record: &Record,
    cache: &WaitCache,
) -> Result<Vec<AwaitedActivity>, UnreadableRun> {
    let waiting = match cache.find_steps(record) {
        Some(known) => known,
        None => {
            let stored = StoredRun::read_with_flow(&**store, &record.run, Some(cache.known_flows())).await?;
            let read = own_waiting_steps(store, record, &stored, Arc::new(NoEvents)).await?;
            cache.keep_steps(record, &read);
            read
        }
    };
    with_other_state(store, record, waiting, Some(cache)).await
}

/// The same, and sends the run's events to a sink.
///
/// # Errors
///
/// If the run cannot be read.
pub async fn waiting_steps_with_events(
    store: &Arc<dyn Store>,
    record: &Record,
    events: Arc<dyn EventSink>,
) -> Result<Vec<AwaitedActivity>, UnreadableRun> {
    let stored = StoredRun::read_run(&**store, &record.run).await?;
    let waiting = own_waiting_steps(store, record, &stored, events).await?;
    with_other_state(store, record, waiting, None).await
}

/// The own waiting steps of a run, with what its journal does not tell: the answers in its inbox, the time, and what the runs wait for
/// that its tool calls have started.
async fn with_other_state(
    store: &Arc<dyn Store>,
    record: &Record,
    waiting: Vec<AwaitedActivity>,
    cache: Option<&WaitCache>,
) -> Result<Vec<AwaitedActivity>, UnreadableRun> {
    let messages = if waiting.is_empty() { Vec::new() } else { store.read_inbox(&record.run).await? };
    let now_ms = store.clock().wall_ms();
    let mut all = Vec::new();
    // The steps of runs that tool calls have started, each with the key of its call.
    let mut called_steps = Vec::new();
    for step in waiting {
        if let Some(called_run) = &step.run {
            match Box::pin(called_run_steps(store, called_run, &step, cache)).await? {
                Some(steps) => called_steps.extend(steps.into_iter().map(|called| (step.key.clone(), called))),
                None => all.push(step),
            }
            continue;
        }
        let mut messages = messages.iter().map(|posted| &posted.message);
        let answer = messages.find(|message| message.is_answer() && message.key == step.key.as_str());
        all.push(step.with_inbox_answer(answer.map(InboxMessage::given_answer), now_ms));
    }
    // If a called run has reached a limit that can be raised, the new limit must also be enough for what this run does afterwards.
    let mut needed_afterwards = UsedAmounts::default();
    if called_steps.iter().any(|(_, step)| has_limit_to_raise(step)) {
        let stored = StoredRun::read_run(&**store, &record.run).await?;
        let state = last_state(store.clone(), &stored).await;
        let state = state.map_err(|error| UnreadableRun::of_journal(error, &stored))?;
        needed_afterwards = state.machine.still_needed(None);
    }
    for (call, step) in called_steps {
        all.push(step.for_caller(&call, needed_afterwards));
    }
    Ok(all)
}

/// The steps of the run itself that wait. A tool call that has started a run is one of them, if that run may wait for something.
async fn own_waiting_steps(
    store: &Arc<dyn Store>,
    record: &Record,
    stored: &StoredRun,
    events: Arc<dyn EventSink>,
) -> Result<Vec<AwaitedActivity>, UnreadableRun> {
    let sink = Arc::new(ViewSink(Mutex::new(RunView::new(ViewDetail::Rows))));
    let in_progress = send_run_events(store, stored, all_sinks(&[events, sink.clone()])).await?;
    let view = std::mem::take(&mut *lock(&sink.0));
    let mut waiting = view.open.waiting;
    // The journal of a suspended run lists everything that it waits for. If the run is not suspended, a run that one of its tool calls
    // started may still ask something.
    if record.status != Status::Waiting {
        let mut tool_calls = BTreeSet::new();
        for (key, call) in view.open_calls {
            if matches!(call, OpenCallView::Tool(_)) {
                tool_calls.insert(key);
            }
        }
        waiting.extend(calls_with_runs(store, &record.run, tool_calls).await);
    }
    // Without a process that works on the run, the outcome of the activities in progress is unknown, so somebody has to decide.
    if record.owner.is_none() {
        for activity in in_progress {
            if waiting.iter().all(|known| known.key != activity.key) {
                waiting.push(activity);
            }
        }
    }
    Ok(waiting)
}

/// Whether the step belongs to a run that stopped at a limit that can be raised.
fn has_limit_to_raise(step: &AwaitedActivity) -> bool {
    matches!(&step.why, Some(why) if why.raise.is_some())
}

/// Those of the tool calls that have started a run, each with its last run.
async fn calls_with_runs(store: &Arc<dyn Store>, run: &str, calls: BTreeSet<Key>) -> Vec<AwaitedActivity> {
    let mut all = Vec::new();
    for key in calls {
        if let Some(called_run) = last_call_run(&**store, run, &key).await {
            let step = own_step(key.as_str()).to_owned();
            all.push(AwaitedActivity { key, step, sort: "run", run: Some(called_run), ..AwaitedActivity::default() });
        }
    }
    all
}

/// What a run started by a tool call waits for. Empty if it waits for nothing, for example because it has ended. `None` if the store
/// does not have it.
async fn called_run_steps(
    store: &Arc<dyn Store>,
    run: &str,
    call: &AwaitedActivity,
    cache: Option<&WaitCache>,
) -> Result<Option<Vec<AwaitedActivity>>, UnreadableRun> {
    let Ok(record) = store.record(run).await else { return Ok(None) };
    if record.status.is_end() {
        return Ok(Some(Vec::new()));
    }
    let mut steps = match cache {
        Some(cache) => known_waiting_steps(store, &record, cache).await?,
        None => waiting_steps(store, &record).await?,
    };
    // It waits, but asks nothing: it stopped, for example at a limit.
    if steps.is_empty()
        && let Some(why) = suspension_reason(&**store, &record).await?
    {
        steps.push(AwaitedActivity { why: Some(Box::new(why)), ..call.clone() });
    }
    for step in &mut steps {
        step.run.get_or_insert_with(|| run.to_owned());
    }
    Ok(Some(steps))
}

/// A sink that keeps a view of a run up to date.
struct ViewSink(Mutex<RunView>);

impl EventSink for ViewSink {
    fn receive_event(&self, event: &Event) {
        lock(&self.0).apply_event(event);
    }
}
