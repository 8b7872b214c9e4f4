//! What a stored run waits for: by its journal, its inbox and the clock.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::key::own_step;
use trefoil_machine::{Key, UsedAmounts};
use trefoil_runtime::ports::NoEvents;
use trefoil_runtime::{Event, EventSink};
use trefoil_store::{Record, Status, Store};
use trefoil_view::run_view::{OpenCallView, RunView, ViewDetail};

use super::UnreadableRun;
use crate::durable::{StoredRun, last_call_run, last_state, send_history, suspension_reason};
use crate::engine::all_sinks;
use crate::lock::lock;

/// Sends a run's events to a sink. Returns the tools and commands in progress; if no process works on the run, their outcome is
/// unknown.
///
/// # Errors
///
/// If its journal cannot be read.
pub async fn tell_events(
    store: &Arc<dyn Store>,
    stored: &StoredRun,
    events: Arc<dyn EventSink>,
) -> Result<Vec<AwaitedActivity>, UnreadableRun> {
    let told = send_history(store.clone(), stored, events).await;
    told.map_err(|error| UnreadableRun::of_journal(error, stored))
}

/// What a run waits for, according to its journal and its inbox. Empty if it does not wait.
///
/// # Errors
///
/// If the run cannot be read.
pub async fn waiting_steps(store: &Arc<dyn Store>, record: &Record) -> Result<Vec<AwaitedActivity>, UnreadableRun> {
    waiting_and_events(store, record, Arc::new(NoEvents)).await
}

/// The same, and sends the run's events to a sink.
///
/// # Errors
///
/// If the run cannot be read.
pub async fn waiting_and_events(
    store: &Arc<dyn Store>,
    record: &Record,
    also: Arc<dyn EventSink>,
) -> Result<Vec<AwaitedActivity>, UnreadableRun> {
    let sink = Arc::new(ViewSink(Mutex::new(RunView::new(ViewDetail::Rows))));
    let stored = StoredRun::read_run(&**store, &record.run).await?;
    let unknown = tell_events(store, &stored, all_sinks(&[also, sink.clone()])).await?;
    let view = std::mem::take(&mut *lock(&sink.0));
    let mut waiting = view.open.waiting;
    // A suspended run has said what it waits for. A called run may ask something while a process works on both.
    if record.status != Status::Waiting {
        let mut tools = BTreeSet::new();
        for (key, call) in view.open_calls {
            if matches!(call, OpenCallView::Tool(_)) {
                tools.insert(key);
            }
        }
        waiting.extend(calls_in_progress(store, &record.run, tools).await);
    }
    // If a process works on the run, the outcome of its activities is not unknown.
    if record.owner.is_none() {
        for item in unknown {
            if waiting.iter().all(|known| known.key != item.key) {
                waiting.push(item);
            }
        }
    }
    let letters = if waiting.is_empty() { Vec::new() } else { store.read_inbox(&record.run).await? };
    let at = store.clock().wall_ms();
    let (mut all, mut of_called) = (Vec::new(), Vec::new());
    for item in waiting {
        match &item.run {
            Some(called) => match Box::pin(steps_of_called(store, called, &item)).await? {
                Some(below) => of_called.extend(below.into_iter().map(|step| (item.key.clone(), step))),
                None => all.push(item),
            },
            None => {
                let mut letters = letters.iter().map(|posted| &posted.letter);
                let answer = letters.find(|letter| letter.is_answer() && letter.key == item.key.as_str());
                all.push(item.with_inbox_answer(answer.map(|letter| letter.value.to_text().to_string()), at));
            }
        }
    }
    let is_raised = |step: &AwaitedActivity| matches!(&step.why, Some(why) if why.raise.is_some());
    let more = match of_called.iter().any(|(_, step)| is_raised(step)) {
        true => {
            let state = last_state(store.clone(), &stored).await;
            state.map_err(|error| UnreadableRun::of_journal(error, &stored))?.machine.still_needed(None)
        }
        false => UsedAmounts::default(),
    };
    for (call, step) in of_called {
        all.push(step.for_caller(&call, more));
    }
    Ok(all)
}

/// The runs that the calls in progress of a run have started.
async fn calls_in_progress(store: &Arc<dyn Store>, run: &str, calls: BTreeSet<Key>) -> Vec<AwaitedActivity> {
    let mut all = Vec::new();
    for key in calls {
        if let Some(called) = last_call_run(&**store, run, &key).await {
            let step = own_step(key.as_str()).to_owned();
            all.push(AwaitedActivity { key, step, sort: "run", run: Some(called), ..AwaitedActivity::default() });
        }
    }
    all
}

/// What a run started by a tool call waits for. Empty if that run needs nobody, for example because it has ended. `None` if nothing is
/// known of it.
async fn steps_of_called(
    store: &Arc<dyn Store>,
    run: &str,
    call: &AwaitedActivity,
) -> Result<Option<Vec<AwaitedActivity>>, UnreadableRun> {
    let record = match store.record(run).await {
        Ok(record) if record.status.is_end() => return Ok(Some(Vec::new())),
        Ok(record) => record,
        Err(_) => return Ok(None),
    };
    let mut all = waiting_steps(store, &record).await?;
    if all.is_empty()
        && let Some(why) = suspension_reason(&**store, &record).await?
    {
        all.push(AwaitedActivity { why: Some(Box::new(why)), ..call.clone() });
    }
    for item in &mut all {
        item.run.get_or_insert_with(|| run.to_owned());
    }
    Ok(Some(all))
}

/// A sink that follows the picture of a run.
struct ViewSink(Mutex<RunView>);

impl EventSink for ViewSink {
    fn receive_event(&self, event: &Event) {
        lock(&self.0).apply_event(event);
    }
}
