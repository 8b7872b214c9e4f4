//! The program and the ports with which the journal of a stored run is read, without side effects.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trefoil_machine::{Entry, NoObserver, PreparedProgram, ReplayedRun, RunStart};
use trefoil_runtime::driver::{self, VerificationReport};
use trefoil_runtime::ports::{
    CallSite, InboxMessageId, JournalError, MapSecrets, NoHumans, NoTools, SeededRandom, SystemClock,
};
use trefoil_runtime::{
    EventSink, Journal, ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest, Ports, RunError,
};
use trefoil_store::Store;

use super::StoredRun;
use crate::engine::program_of;

/// Time between looks at a journal to which nothing was added.
const PAUSE: Duration = Duration::from_millis(100);

/// Ports for reading a journal, without side effects.
pub(crate) fn reading_ports(store: Arc<dyn Store>, started: &RunStart, events: Arc<dyn EventSink>) -> Ports {
    Ports {
        models: Arc::new(LabelModels(started.answers.clone())),
        tools: Arc::new(NoTools),
        commands: None,
        humans: Arc::new(NoHumans),
        journal: Arc::new(StoredJournal::from_store(store)),
        clock: Arc::new(SystemClock::new()),
        random: Arc::new(SeededRandom::new(0)),
        secrets: Arc::new(MapSecrets::new()),
        events,
    }
}

/// The program of the run, with the models chosen for it. Needs no keys.
pub(crate) fn prepared_program(stored: &StoredRun) -> Arc<PreparedProgram> {
    let own = &stored.flow.loaded_target().program;
    if own.fingerprint().to_string() == stored.started.program.fingerprint {
        return stored.flow.prepared_program();
    }
    PreparedProgram::new(program_of(own, &stored.started))
}

/// Replays the program of a run against the results in its journal, without calling anything, and compares every
/// request and the outcome. Results taken from other runs are looked up there.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read; `NONDETERMINISM` if a later version has written it.
pub async fn verify_run(store: Arc<dyn Store>, stored: &StoredRun) -> Result<VerificationReport, RunError> {
    driver::verify_journal(prepared_program(stored), &stored.started.run, &StoredJournal::from_store(store)).await
}

/// The machine of a run after the last entry of its journal.
///
/// # Errors
///
/// As [`verify_run`].
pub(crate) async fn last_state(store: Arc<dyn Store>, stored: &StoredRun) -> Result<ReplayedRun, RunError> {
    let replay =
        driver::replay_journal(prepared_program(stored), &stored.started.run, &StoredJournal::from_store(store))
            .await?;
    replay.finish_replay(&mut NoObserver)
}

/// Names models and answers no calls.
struct LabelModels(String);

#[async_trait]
impl ModelProvider for LabelModels {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        Err(ModelError::new(ModelErrorKind::Setup, "nothing is called while a journal is read"))
    }
    fn label(&self, request: &ModelRequest) -> String {
        match (self.0.as_str(), &request.provider) {
            ("embedded", _) => "embedded".to_owned(),
            (script, _) if script.starts_with("scripted=") => "scripted".to_owned(),
            (_, Some(provider)) => format!("{provider}:{}", request.model),
            (_, None) => request.model.to_string(),
        }
    }
}

/// A read-only journal.
pub(super) struct StoredJournal {
    pub store: Arc<dyn Store>,
    /// Whether it ends only when its run has.
    pub grows: bool,
}

impl StoredJournal {
    pub fn from_store(store: Arc<dyn Store>) -> Self {
        Self { store, grows: false }
    }
}

#[async_trait]
impl Journal for StoredJournal {
    async fn append_entries(
        &self,
        _run: &str,
        _entries: &[Entry],
        _letters: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        Err(JournalError::new("nothing is added to a journal that is read"))
    }
    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        if !self.grows {
            return Ok(self.store.read_entries(run, from).await?);
        }
        loop {
            // The record is read first: what is added after that is found by the next look.
            let record = self.store.record(run).await?;
            let page = self.store.read_entries(run, from).await?;
            if !page.is_empty() || record.status.is_end() && record.entries <= from {
                return Ok(page);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
