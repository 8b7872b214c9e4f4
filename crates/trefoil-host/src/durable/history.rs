//! The events of a stored run so far, without side effects.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_machine::event::AwaitedActivity;
use trefoil_runtime::driver::{self, DriverOptions, retell_events};
use trefoil_runtime::ports::{CallSite, NoEvents, Secret, Secrets};
use trefoil_runtime::{EventSink, Ports, RunError, ToolError, ToolHost, ToolRequest};
use trefoil_store::Store;
use trefoil_template::{HoleKind, Value};

use super::replay::{StoredJournal, prepared_program, reading_ports};
use super::stored_run::StoredRun;
use crate::engine::{AnswersFrom, Engine};
use trefoil_project::settings::{self, Settings};

/// Emits every event of a run's journal, with its original number. Environment values and secrets are not known here;
/// all of them are shown as `***`. Returns the activities with an unknown outcome, if no process is working on the run.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if this version would not do the same.
pub async fn send_history(
    store: Arc<dyn Store>,
    stored: &StoredRun,
    events: Arc<dyn EventSink>,
) -> Result<Vec<AwaitedActivity>, RunError> {
    history_of(store, stored, events, false).await
}

/// The same. `follows`: to the end of the run, as its journal grows.
///
/// # Errors
///
/// As [`send_history`].
pub async fn history_of(
    store: Arc<dyn Store>,
    stored: &StoredRun,
    events: Arc<dyn EventSink>,
    follows: bool,
) -> Result<Vec<AwaitedActivity>, RunError> {
    let started = &stored.started;
    let journal = Arc::new(StoredJournal { store: store.clone(), grows: follows });
    let options = DriverOptions { placeholder: started.answers == "embedded", ..DriverOptions::default() };
    let tools = Arc::new(ToolsOfSettings::for_run(stored));
    let ports = Ports { tools, secrets: Arc::new(MaskedHoles), journal, ..reading_ports(store, started, events) };
    retell_events(prepared_program(stored), &started.run, ports, &options).await
}

/// Whether a failed run can continue without a change of its files.
pub async fn can_continue(store: Arc<dyn Store>, stored: &StoredRun) -> bool {
    let ports = reading_ports(store, &stored.started, Arc::new(NoEvents));
    driver::can_continue(prepared_program(stored), &stored.started.run, ports).await
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
        let from = AnswersFrom::of_stored(&stored.current_start().answers);
        Self { file: stored.entry_path().to_owned(), from, tools: OnceLock::new() }
    }

    fn tools(&self) -> &dyn ToolHost {
        let read = || tools_of(settings::find_settings(&self.file, false).settings, &self.from);
        &**self.tools.get_or_init(read)
    }
}

#[async_trait]
impl ToolHost for ToolsOfSettings {
    fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool {
        self.tools().offers_tool(name, kind)
    }
    async fn call_tool(&self, _at: CallSite<'_>, _request: &ToolRequest) -> Result<Value, ToolError> {
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
