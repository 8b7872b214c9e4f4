//! What a stored run has done, and what it waits for.

use std::sync::{Arc, Mutex, PoisonError};

use trefoil::internals::{Stored, history};
use trefoil::store::{Record, Store};
use trefoil_machine::event::Waiting;
use trefoil_runtime::ports::NoEvents;
use trefoil_runtime::{Event, EventKind, EventSink, RunError};

use crate::commands::run::did_not_start;
use crate::store::block_on;
use crate::{exit, output};

/// Reads how a run began.
pub fn read(store: &dyn Store, run: &str) -> Result<Stored, u8> {
    block_on(Stored::read(store, run))?.map_err(|error| did_not_start(&error))
}

/// Tells a run's events to somebody. Returns what nobody knows whether it was done, if no process works on the run.
pub fn tell(store: &Arc<dyn Store>, stored: &Stored, events: Arc<dyn EventSink>) -> Result<Vec<Waiting>, u8> {
    block_on(history(store.clone(), stored, events))?.map_err(|error| unreadable(&error))
}

/// Says why a journal cannot be followed.
pub fn unreadable(error: &RunError) -> u8 {
    output::refuse(&format!("{}: {}", error.code, error.message), error.help.as_deref().map(|help| &**help));
    exit::FAILED
}

/// What a run waits for, by its journal; empty: for nobody.
pub fn waiting(store: &Arc<dyn Store>, record: &Record) -> Result<Vec<Waiting>, u8> {
    seen(store, record, Arc::new(NoEvents))
}

/// The same, and whoever else wants to know is told what has happened.
pub fn seen(store: &Arc<dyn Store>, record: &Record, by: Arc<dyn EventSink>) -> Result<Vec<Waiting>, u8> {
    let last = Arc::new(Last { waiting: Mutex::default(), also: by });
    let mut unknown = tell(store, &read(&**store, &record.run)?, last.clone())?;
    let mut waiting = last.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // A process that works on the run knows what it has begun.
    unknown.retain(|one| record.owner.is_none() && waiting.iter().all(|known| known.key != one.key));
    waiting.extend(unknown);
    Ok(waiting)
}

/// Tells the events of a run that has ended, as far as this version can.
pub fn tell_if_known(store: &Arc<dyn Store>, record: &Record, events: Arc<dyn EventSink>) {
    let _ = block_on(async {
        let stored = Stored::read(&**store, &record.run).await.ok()?;
        history(store.clone(), &stored, events).await.ok()
    });
}

/// How a run ended, if it has.
pub fn end(store: &Arc<dyn Store>, stored: &Stored) -> Result<Option<Event>, u8> {
    let end = Arc::new(Finish::default());
    tell(store, stored, end.clone())?;
    Ok(end.0.lock().unwrap_or_else(PoisonError::into_inner).take())
}

#[derive(Default)]
struct Finish(Mutex<Option<Event>>);

impl EventSink for Finish {
    fn event(&self, event: &Event) {
        if matches!(event.kind, EventKind::RunFinished { .. }) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(event.clone());
        }
    }
}

/// What was asked last and has not been answered.
struct Last {
    waiting: Mutex<Vec<Waiting>>,
    also: Arc<dyn EventSink>,
}

impl EventSink for Last {
    fn event(&self, event: &Event) {
        self.also.event(event);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.kind {
            EventKind::RunSuspended { waiting: now, .. } => waiting.clone_from(now),
            EventKind::RunResumed { .. } | EventKind::RunFinished { .. } => waiting.clear(),
            EventKind::SignalWanted { label, prompt, accepts, .. } => {
                if let Some(key) = &event.key {
                    waiting.retain(|one| one.key != *key);
                    let (step, prompt) = (label.clone(), Some(prompt.clone()));
                    let (key, accepts) = (key.clone(), accepts.clone());
                    waiting.push(Waiting { key, step, sort: "human", prompt, call: None, accepts });
                }
            }
            EventKind::EffectFinished { .. } | EventKind::EffectFailed { .. } => {
                waiting.retain(|one| event.key.as_ref() != Some(&one.key));
            }
            _ => {}
        }
    }
}
