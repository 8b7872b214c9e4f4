//! What a stored run has done, and what it waits for.

use std::sync::{Arc, Mutex, PoisonError};

use trefoil::internals::{Stored, history};
use trefoil::store::{SqliteStore, Store};
use trefoil_machine::event::Waiting;
use trefoil_runtime::{Event, EventKind, EventSink};

use crate::commands::run::did_not_start;
use crate::{exit, output};

/// Reads how a run began, and tells its events to somebody.
pub fn tell(
    store: &Arc<SqliteStore>,
    run: &str,
    begin: impl FnOnce(&Stored) -> Arc<dyn EventSink>,
) -> Result<Stored, u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| crate::commands::run::cannot_start(&error))?;
    runtime.block_on(async {
        let stored = Stored::read(&**store, run).await.map_err(|error| did_not_start(&error))?;
        let events = begin(&stored);
        let store: Arc<dyn Store> = store.clone();
        history(store, &stored, events).await.map_err(|error| {
            output::refuse(&format!("{}: {}", error.code, error.message), error.help.as_deref());
            exit::FAILED
        })?;
        Ok(stored)
    })
}

/// What a run waits for, by its journal; empty: for nobody.
pub fn waiting(store: &Arc<SqliteStore>, run: &str) -> Result<Vec<Waiting>, u8> {
    let last = Arc::new(Last::default());
    let events = last.clone();
    tell(store, run, move |_| events)?;
    let waiting = last.0.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(waiting.clone())
}

/// What was asked last and has not been answered.
#[derive(Default)]
struct Last(Mutex<Vec<Waiting>>);

impl EventSink for Last {
    fn event(&self, event: &Event) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.kind {
            EventKind::RunSuspended { waiting: now, .. } => waiting.clone_from(now),
            EventKind::RunResumed { .. } | EventKind::RunFinished { .. } => waiting.clear(),
            EventKind::SignalWanted { label, prompt, accepts, .. } => {
                if let Some(key) = &event.key {
                    waiting.retain(|one| one.key != *key);
                    let (step, prompt) = (label.clone(), Some(prompt.clone()));
                    waiting.push(Waiting { key: key.clone(), step, sort: "human", prompt, accepts: accepts.clone() });
                }
            }
            EventKind::EffectFinished { .. } | EventKind::EffectFailed { .. } => {
                waiting.retain(|one| event.key.as_ref() != Some(&one.key));
            }
            _ => {}
        }
    }
}
