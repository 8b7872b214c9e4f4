//! What a stored run waits for: by its journal, its inbox and the clock.

use std::sync::{Arc, Mutex, PoisonError};

use trefoil_machine::event::Waiting;
use trefoil_runtime::ports::NoEvents;
use trefoil_runtime::{Event, EventKind, EventSink};
use trefoil_store::{Record, Store};

use super::UnreadableRun;
use crate::durable::{StoredRun, history, stopped};

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
) -> Result<Vec<Waiting>, UnreadableRun> {
    let told = history(store.clone(), stored, events).await;
    told.map_err(|error| UnreadableRun::of_journal(error, stored))
}

/// What a run waits for, according to its journal and its inbox. Empty if it does not wait.
///
/// # Errors
///
/// If the run cannot be read.
pub async fn waiting_steps(store: &Arc<dyn Store>, record: &Record) -> Result<Vec<Waiting>, UnreadableRun> {
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
) -> Result<Vec<Waiting>, UnreadableRun> {
    let last = Arc::new(LastWaiting { waiting: Mutex::default(), also });
    let stored = StoredRun::read(&**store, &record.run).await?;
    let mut unknown = tell_events(store, &stored, last.clone()).await?;
    let mut waiting = last.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // If a process works on the run, the outcome of its activities is not unknown.
    unknown.retain(|one| record.owner.is_none() && waiting.iter().all(|known| known.key != one.key));
    waiting.extend(unknown);
    let letters = if waiting.is_empty() { Vec::new() } else { store.inbox(&record.run).await? };
    let at = store.clock().wall_ms();
    let mut all = Vec::new();
    for one in waiting {
        match &one.run {
            Some(called) => all.extend(Box::pin(steps_of_called(store, called, &one)).await?),
            None => {
                let mut letters = letters.iter().map(|posted| &posted.letter);
                let answer = letters.find(|letter| letter.answers() && letter.key == one.key.as_str());
                all.push(one.standing(answer.map(|letter| letter.value.to_text().to_string()), at));
            }
        }
    }
    Ok(all)
}

/// What a run started by a tool call waits for. Empty if that run has ended; the call itself if nothing more is known.
async fn steps_of_called(store: &Arc<dyn Store>, run: &str, call: &Waiting) -> Result<Vec<Waiting>, UnreadableRun> {
    let record = match store.record(run).await {
        Ok(record) if record.status.is_end() => return Ok(Vec::new()),
        Ok(record) => record,
        Err(_) => return Ok(vec![call.clone()]),
    };
    let mut all = waiting_steps(store, &record).await?;
    if all.is_empty() {
        let why = stopped(&**store, &record).await?;
        all.push(Waiting { why: why.map(Box::new), ..call.clone() });
    }
    for one in &mut all {
        one.run.get_or_insert_with(|| run.to_owned());
        one.calls.insert(0, call.key.clone());
    }
    Ok(all)
}

/// A sink that records what the run waits for according to its last event.
struct LastWaiting {
    waiting: Mutex<Vec<Waiting>>,
    also: Arc<dyn EventSink>,
}

impl EventSink for LastWaiting {
    fn wants_provenance(&self) -> bool {
        self.also.wants_provenance()
    }
    fn event(&self, event: &Event) {
        self.also.event(event);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.kind {
            EventKind::RunSuspended { waiting: now, .. } => waiting.clone_from(now),
            EventKind::RunResumed { .. } | EventKind::RunFinished { .. } => waiting.clear(),
            EventKind::SignalWanted { .. } => {
                waiting.retain(|one| event.key.as_ref() != Some(&one.key));
                waiting.extend(Waiting::for_person(event));
            }
            EventKind::EffectFinished { .. } | EventKind::EffectFailed { .. } => {
                waiting.retain(|one| event.key.as_ref() != Some(&one.key));
            }
            _ => {}
        }
    }
}
