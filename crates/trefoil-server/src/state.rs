//! What all handlers share.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use trefoil_host::Runs;
use trefoil_host::catalog::{CatalogFlow, CatalogSnapshot, FlowCatalog};
use trefoil_host::service::LocalRuns;
use trefoil_host::worker::WorkerEngines;
use trefoil_project::folder_files::FolderFiles;
use trefoil_project::secrets::SecretVault;
use trefoil_store::{Owner, Record, Store, StoreError};

use crate::access::{AllowedOrigins, Caller, KeyRing, UsageGate};
use crate::client_tool_board::ClientToolBoard;
use crate::editor_slots::EditorSlots;
use crate::metrics::ServerMetrics;
use crate::problem::{ApiResult, Problem};
use crate::request_log::RequestLog;
use crate::serving_phase::PhaseWatch;
use crate::stored_manifests::StoredManifests;

pub use crate::access::KEY_LABEL;

/// The most entries of a run that is replayed at once.
const SHORT_RUN: u64 = 1_000;

/// How a server is set up.
#[derive(Debug, Clone)]
pub struct ServingOptions {
    /// Whether every request needs a key.
    pub needs_key: bool,
    /// The hosts and origins from which requests are accepted.
    pub origins: AllowedOrigins,
    /// The most bytes of a request.
    pub body_limit: usize,
    /// How long a client may take to send the body of a request.
    pub body_timeout: Duration,
    /// Whether files of the flows may be written.
    pub writes_files: bool,
}

/// What all handlers share.
pub struct ServerState {
    /// The flows.
    pub catalog: Arc<FlowCatalog>,
    /// The runs of the store.
    pub runs: Runs,
    /// Those that this process has started.
    pub local: Arc<LocalRuns>,
    /// The holder of leases.
    pub owner: Arc<Owner>,
    /// What runs that are continued here may use.
    pub engines: WorkerEngines,
    /// How the server is set up.
    pub options: ServingOptions,
    /// The keys.
    pub keys: KeyRing,
    /// What keys and flows may still use.
    pub gate: UsageGate,
    /// Where the operator's secrets are; `None`: there is no folder for them.
    pub vault: Option<SecretVault>,
    /// Manifests that have arrived over the API.
    pub manifests: StoredManifests,
    /// The editors that are open.
    pub editors: EditorSlots,
    /// What runs ask of their clients.
    pub client_tools: ClientToolBoard,
    /// What it counts.
    pub metrics: ServerMetrics,
    /// Gets what it writes about requests.
    pub log: Arc<dyn RequestLog>,
    /// How far it has come with stopping.
    pub phase: PhaseWatch,
}

/// The state, shared.
pub type AppState = Arc<ServerState>;

impl ServerState {
    /// The store of the runs.
    pub fn store(&self) -> &Arc<dyn Store> {
        self.runs.store()
    }

    /// The flows now.
    pub fn flows(&self) -> Arc<CatalogSnapshot> {
        self.catalog.last_snapshot()
    }

    /// The files of the folder that is served. Reads the disk.
    ///
    /// # Errors
    ///
    /// 503 if the folder is not there, such as while it is replaced.
    pub fn served_files(&self) -> ApiResult<FolderFiles> {
        let Some(files) = FolderFiles::below_folder(&self.engines.folder) else {
            let detail = "the folder of the flows cannot be read at the moment";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "FOLDER_UNAVAILABLE", detail).with_retry_after(2));
        };
        Ok(files)
    }

    /// A flow that the caller may use.
    ///
    /// # Errors
    ///
    /// 404, also if the caller may not use it.
    pub fn find_flow(&self, caller: &Caller, name: &str) -> ApiResult<Arc<CatalogFlow>> {
        if let Some(flow) = self.flows().find_flow(name)
            && caller.may_use_flow(name)
        {
            return Ok(flow.clone());
        }
        Err(self.unknown_flow(caller, name))
    }

    /// The flow does not exist, or is not for this caller: both look the same.
    fn unknown_flow(&self, caller: &Caller, name: &str) -> Problem {
        let flows = self.flows();
        let mut known: Vec<&str> = flows.flow_names();
        known.retain(|name| caller.may_use_flow(name));
        let help = if known.is_empty() {
            "no flow is served".to_owned()
        } else {
            format!("the flows are `{}`", known.join("`, `"))
        };
        Problem::not_found("FLOW_NOT_FOUND", format!("there is no flow `{name}`")).with_help(help)
    }

    /// The record of a run that the caller may see, with what called runs have used.
    ///
    /// # Errors
    ///
    /// 404, also if the run is that of another key.
    pub async fn find_run(&self, caller: &Caller, run: &str) -> ApiResult<Record> {
        if !is_run_id(run) {
            return Err(Problem::unknown_run(run));
        }
        let record = self.runs.record(run).await?;
        if self.may_see(caller, &record).await? { Ok(record) } else { Err(Problem::unknown_run(run)) }
    }

    /// The record of a run that the caller may see, and whose own flow it may use: for whatever makes a new run of it, or continues it. A
    /// flow that another one calls is not for those who may only use the other one.
    ///
    /// # Errors
    ///
    /// 404, as for a flow that does not exist.
    pub async fn find_startable_run(&self, caller: &Caller, run: &str) -> ApiResult<Record> {
        let record = self.find_run(caller, run).await?;
        if caller.may_use_flow(&record.flow) { Ok(record) } else { Err(self.unknown_flow(caller, &record.flow)) }
    }

    /// Reads what the events of a run add up to. Replaying a long journal keeps a thread busy, so it is done beside the requests.
    ///
    /// # Errors
    ///
    /// Those of the work, and 500 if the process stops.
    pub async fn replay_run<T, F>(&self, record: &Record, work: impl FnOnce() -> F + Send + 'static) -> ApiResult<T>
    where
        T: Send + 'static,
        F: Future<Output = ApiResult<T>> + Send,
    {
        if record.entries <= SHORT_RUN {
            return work().await;
        }
        self.local.blocking_work().perform_reading(work).await?
    }

    /// Whether the caller may see a run: its key, or that of the run that called it, has started it.
    pub async fn may_see(&self, caller: &Caller, record: &Record) -> ApiResult<bool> {
        let mut top = record.clone();
        while let Some(parent) = &top.parent {
            match self.store().record(parent).await {
                Ok(above) => top = above,
                // It was deleted since.
                Err(StoreError::NoRun { .. }) => break,
                Err(error) => return Err(error.into()),
            }
        }
        if !caller.may_use_flow(&top.flow) {
            return Ok(false);
        }
        if caller.sees_all_runs() {
            return Ok(true);
        }
        let Some(key) = &caller.key else { return Ok(false) };
        Ok(top.labels.iter().any(|(name, value)| name == KEY_LABEL && **value == **key))
    }
}

/// Whether a text can be the id of a run.
pub fn is_run_id(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
