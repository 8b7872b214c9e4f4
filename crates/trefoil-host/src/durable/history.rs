//! The events of a stored run so far, without side effects.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_machine::event::Waiting;
use trefoil_runtime::driver::{self, Options, retell};
use trefoil_runtime::ports::{CallSite, NoEvents, Secret, Secrets};
use trefoil_runtime::{EventSink, Ports, RunError, ToolError, ToolHost, ToolRequest};
use trefoil_store::Store;
use trefoil_template::{HoleKind, Value};

use super::replay::{ReadJournal, prepared, reading};
use super::stored::StoredRun;
use crate::engine::{AnswersFrom, Engine};
use trefoil_project::settings::{self, Settings};

/// Emits every event of a run's journal, with its original number. Environment values and secrets are not known here;
/// all of them are shown as `***`. Returns the activities with an unknown outcome, if no process is working on the run.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if this version would not do the same.
pub async fn history(
    store: Arc<dyn Store>,
    stored: &StoredRun,
    events: Arc<dyn EventSink>,
) -> Result<Vec<Waiting>, RunError> {
    history_of(store, stored, events, false).await
}

/// The same. `follows`: to the end of the run, as its journal grows.
///
/// # Errors
///
/// As [`history`].
pub async fn history_of(
    store: Arc<dyn Store>,
    stored: &StoredRun,
    events: Arc<dyn EventSink>,
    follows: bool,
) -> Result<Vec<Waiting>, RunError> {
    let started = &stored.started;
    let journal = Arc::new(ReadJournal { store: store.clone(), grows: follows });
    let options = Options { placeholder: started.answers == "embedded", ..Options::default() };
    let tools = Arc::new(ToolsOfSettings::for_run(stored));
    let ports = Ports { tools, secrets: Arc::new(MaskedHoles), journal, ..reading(store, started, events) };
    retell(prepared(stored), &started.run, ports, &options).await
}

/// Whether a failed run can continue without a change of its files.
pub async fn can_continue(store: Arc<dyn Store>, stored: &StoredRun) -> bool {
    let ports = reading(store, &stored.started, Arc::new(NoEvents));
    driver::can_continue(prepared(stored), &stored.started.run, ports).await
}

/// Every hole has a value that is masked. Whether the run had a value or used the default is not stored.
struct MaskedHoles;

impl Secrets for MaskedHoles {
    fn get(&self, _kind: HoleKind, _name: &str) -> Option<Secret> {
        Secret::new("***")
    }
}

/// The tools of a run as the settings declare them that hold for its files now: which of them are called again unasked, as far as that
/// is known here. Nothing is called, and nothing is read before somebody asks.
struct ToolsOfSettings {
    file: PathBuf,
    from: AnswersFrom,
    tools: OnceLock<Arc<dyn ToolHost>>,
}

impl ToolsOfSettings {
    fn for_run(stored: &StoredRun) -> Self {
        let from = AnswersFrom::of_stored(&stored.now().answers);
        Self { file: stored.path().to_owned(), from, tools: OnceLock::new() }
    }

    fn tools(&self) -> &dyn ToolHost {
        let read = || tools_of(settings::find(&self.file, false).settings, &self.from);
        &**self.tools.get_or_init(read)
    }
}

#[async_trait]
impl ToolHost for ToolsOfSettings {
    fn offers(&self, name: &str, kind: &ToolKind) -> bool {
        self.tools().offers(name, kind)
    }
    async fn call(&self, _at: CallSite<'_>, _request: &ToolRequest) -> Result<Value, ToolError> {
        Err(ToolError::Failed("nothing is called while a journal is read".to_owned()))
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        self.tools().is_idempotent(request)
    }
}

/// The tools that settings declare, to be asked about only.
pub(super) fn tools_of(settings: Settings, from: &AnswersFrom) -> Arc<dyn ToolHost> {
    Engine::new().http(settings.http.clone()).settings(settings).tools_to_ask_about(from)
}
