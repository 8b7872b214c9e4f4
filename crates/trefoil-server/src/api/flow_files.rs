//! The files of flows and of runs, so that a page can edit them. Paths are never those of this machine.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, State};
use serde::Serialize;
use trefoil_host::catalog::UsedFiles;
use trefoil_host::durable::StoredRun;
use trefoil_project::bundle::{StoredFile, read_stored_files};
use trefoil_project::folder_files::DiskState;
use trefoil_store::{Record, Store};
use utoipa::ToSchema;

use crate::access::{Caller, KeyScope};
use crate::problem::{ApiResult, Problem};
use crate::state::AppState;

/// How many edits of edits are followed to the files that were edited first.
const MOST_EDITS: usize = 64;

/// A file of a flow.
#[derive(Debug, Serialize, ToSchema)]
pub struct FlowFileText {
    /// Its path below the folder that is served.
    pub path: String,
    /// Its text on the disk. If it is not there any more, that of the version that runs.
    pub text: String,
    /// Whether it is the manifest of the flow.
    pub entry: bool,
    /// The SHA-256 of the text on the disk, with which it can be saved; absent: it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The files of a flow.
#[derive(Debug, Serialize, ToSchema)]
pub struct FlowFileList {
    /// The files, by path.
    pub files: Vec<FlowFileText>,
}

/// What has become of a file with which a run started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileOnDisk {
    /// It has the same text.
    Same,
    /// It has another text.
    Changed,
    /// It does not exist any more.
    Gone,
    /// It is not below the folder that is served, or no flow uses it.
    Elsewhere,
}

/// A file with which a run started.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunFileText {
    /// Its path among the files of the run: what `files` of `POST /runs/ID/fork` accepts.
    pub path: String,
    /// Its text when the run started.
    pub text: String,
    /// Whether it is the manifest of the flow.
    pub entry: bool,
    /// What has become of it.
    pub on_disk: FileOnDisk,
    /// Its path below the folder that is served, with which it can be saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_path: Option<String>,
    /// The SHA-256 of its text now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its text now, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_text: Option<String>,
}

/// The files with which a run started.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunFileList {
    /// The files, by path.
    pub files: Vec<RunFileText>,
}

/// The files of a flow as they are on the disk now, so that it can be edited. Files outside the folder that is served are not listed.
#[utoipa::path(get, path = "/api/v1/flows/{flow}/files", tag = "files", params(("flow" = String, Path)), responses((status = 200, body = FlowFileList)))]
pub async fn flow_files(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(flow): Path<String>,
) -> ApiResult<JsonResponse<FlowFileList>> {
    caller.require_scope(KeyScope::Read)?;
    let offered = state.find_flow(&caller, &flow)?;
    let shared = state.clone();
    let read = move || {
        let mut files = Vec::new();
        for file in offered.read_flow_files(&shared.served_files()?) {
            files.push(FlowFileText { path: file.path, text: file.text, entry: file.is_entry, version: file.version });
        }
        Ok::<_, Problem>(FlowFileList { files })
    };
    Ok(JsonResponse(state.local.blocking_work().perform_work(read).await??))
}

/// The files with which a run started, and what has become of them on the disk.
#[utoipa::path(get, path = "/api/v1/runs/{run}/files", tag = "files", params(("run" = String, Path)), responses((status = 200, body = RunFileList), (status = 410, body = Problem, description = "The store has removed the content of the run")))]
pub async fn run_files(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
) -> ApiResult<JsonResponse<RunFileList>> {
    caller.require_scope(KeyScope::Read)?;
    let record = state.find_run(&caller, &run).await?;
    let mut flows = Vec::new();
    for offered in state.flows().offered_flows() {
        if caller.may_use_flow(&offered.name) {
            flows.push(offered.clone());
        }
    }
    let shared = state.clone();
    let read = move || async move {
        let files = read_placed_files(&**shared.store(), &record).await?;
        let used = UsedFiles::of_flows(shared.served_files()?, &flows);
        let files = files.into_iter().map(|file| run_file(file, &used)).collect();
        Ok::<_, Problem>(RunFileList { files })
    };
    Ok(JsonResponse(state.local.blocking_work().perform_reading(read).await??))
}

/// The files of a run. Those of an edit are in the places of the files that were edited.
async fn read_placed_files(store: &dyn Store, record: &Record) -> ApiResult<Vec<StoredFile>> {
    let mut files = read_files(store, &record.run).await?;
    let mut base = record.base.clone();
    for _ in 0..MOST_EDITS {
        let Some(earlier) = base else { break };
        if files.iter().all(|file| file.place.is_some()) {
            break;
        }
        // An earlier run that was deleted says nothing.
        let Ok(before) = read_files(store, &earlier).await else { break };
        for file in &mut files {
            if file.place.is_none()
                && let Some(known) = before.iter().find(|known| known.path == file.path)
            {
                file.place = known.place.clone();
            }
        }
        base = store.record(&earlier).await.map_or(None, |earlier| earlier.base);
    }
    Ok(files)
}

async fn read_files(store: &dyn Store, run: &str) -> ApiResult<Vec<StoredFile>> {
    let stored = StoredRun::read_run(store, run).await?;
    let (program, loaded) = (&stored.started.program, stored.flow.loaded_target());
    Ok(read_stored_files(store, &stored.started.run, program, loaded).await?)
}

fn run_file(file: StoredFile, used: &UsedFiles) -> RunFileText {
    let (disk_path, state) = used.compare_with_disk(file.place.as_deref(), &file.text);
    let (on_disk, now) = match state {
        DiskState::Same(now) => (FileOnDisk::Same, Some(now)),
        DiskState::Changed(now) => (FileOnDisk::Changed, Some(now)),
        DiskState::Gone => (FileOnDisk::Gone, None),
        DiskState::Elsewhere => (FileOnDisk::Elsewhere, None),
    };
    let (mut version, mut current_text) = (None, None);
    if let Some(now) = now {
        version = Some(now.version);
        current_text = if on_disk == FileOnDisk::Changed { now.text } else { None };
    }
    RunFileText { path: file.path, text: file.text, entry: file.is_entry, on_disk, disk_path, version, current_text }
}
