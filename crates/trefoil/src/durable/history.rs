//! What a stored run has done so far, told without doing anything.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_ir::Program;
use trefoil_machine::event::Waiting;
use trefoil_machine::{Entry, Prepared, Started};
use trefoil_models::Registry;
use trefoil_runtime::driver::{Options, retell};
use trefoil_runtime::ports::{CallSite, JournalError, MapSecrets, NoHumans, NoTools, SeededRandom, SystemClock};
use trefoil_runtime::{
    EventSink, Journal, ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest, Ports, RunError,
};
use trefoil_store::Store;

use super::Stored;
use crate::engine::Engine;

/// Tells every event of a run's journal, with the numbers that they had. Values of the environment are not known here and are
/// shown as unset. Returns what nobody knows whether it was done, if no process works on the run.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if this version would not do the same.
pub async fn history(
    store: Arc<dyn Store>,
    stored: &Stored,
    events: Arc<dyn EventSink>,
) -> Result<Vec<Waiting>, RunError> {
    let started = &stored.started;
    let options = Options { placeholder: started.answers == "embedded", ..Options::default() };
    retell(prepared(stored), &started.run, reading(store, started, events), &options).await
}

/// Ports of a journal that is read: nothing is done.
pub(super) fn reading(store: Arc<dyn Store>, started: &Started, events: Arc<dyn EventSink>) -> Ports {
    Ports {
        models: Arc::new(Labels(started.answers.clone())),
        tools: Arc::new(NoTools),
        commands: None,
        humans: Arc::new(NoHumans),
        journal: Arc::new(Stays(store)),
        clock: Arc::new(SystemClock::new()),
        random: Arc::new(SeededRandom::new(0)),
        secrets: Arc::new(MapSecrets::new()),
        events,
    }
}

/// The program as the run has it, with the models that were chosen for it. No key is needed to know them.
pub(super) fn prepared(stored: &Stored) -> Arc<Prepared> {
    let own = &stored.flow.loaded().program;
    if own.fingerprint().to_string() == stored.started.program.fingerprint {
        return stored.flow.prepared();
    }
    Prepared::new(program_of(own, &stored.started))
}

/// A program with the models that were chosen for a run of it.
pub(crate) fn program_of(own: &Arc<Program>, run: &Started) -> Arc<Program> {
    let mut program = own.clone();
    let engine = Engine::new().registry(Registry::to_read()).with_models_of(run);
    let _ = engine.aim(&mut program);
    program
}

/// Names models and answers nothing.
struct Labels(String);

#[async_trait]
impl ModelProvider for Labels {
    async fn call(
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

/// A journal that is read.
pub(super) struct Stays(pub Arc<dyn Store>);

#[async_trait]
impl Journal for Stays {
    async fn append(&self, _run: &str, _entries: &[Entry]) -> Result<(), JournalError> {
        Err(JournalError::new("nothing is added to a journal that is read"))
    }
    async fn read(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        Ok(self.0.entries(run, from).await?)
    }
}
