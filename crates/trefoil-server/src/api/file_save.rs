//! Saves a file of a flow, if the operator has allowed that, and never over a change that its writer has not seen.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use trefoil_host::served_folder::ServedFolder;
use trefoil_project::folder_files::{FileVersion, FolderFiles, SaveRefusal};
use utoipa::ToSchema;

use super::flows::FlowChecks;
use crate::access::{Caller, KeyScope};
use crate::problem::{ApiResult, CurrentFile, Problem};
use crate::request_body::JsonBody;
use crate::state::{AppState, ServerState};

/// A new text of a file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveBody {
    /// The text.
    pub text: String,
    /// The version of the text that it replaces: the SHA-256 that `GET /flows/NAME/files` has.
    pub version: String,
}

/// A file that was saved.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileSaveResult {
    /// Its path below the folder that is served.
    pub path: String,
    /// The version of the new text.
    pub version: String,
    /// What is found in the flows that use it.
    pub flows: Vec<SavedFlowChecks>,
}

/// What is found in a flow after a file was saved.
#[derive(Debug, Serialize, ToSchema)]
pub struct SavedFlowChecks {
    /// The name of the flow.
    pub flow: String,
    /// Its findings.
    #[serde(flatten)]
    pub checks: FlowChecks,
}

/// Replaces the text of a file of a flow. The server must have been started with `--edit`. If the file has changed since it was read,
/// nothing is written, and the answer has its text now (`current`).
#[utoipa::path(put, path = "/api/v1/files/{path}", tag = "files", request_body = SaveBody,
    params(("path" = String, Path, description = "The path below the folder that is served; it may have `/`")),
    responses((status = 200, body = FileSaveResult), (status = 409, body = Problem, description = "The file has changed since it was read, or cannot be written")))]
pub async fn save_file(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(path): Path<String>,
    JsonBody(body): JsonBody<SaveBody>,
) -> ApiResult<JsonResponse<FileSaveResult>> {
    caller.require_scope(KeyScope::Admin)?;
    if !state.options.writes_files {
        let detail = "this server does not write files";
        let problem = Problem::new(StatusCode::FORBIDDEN, "EDIT_NOT_ALLOWED", detail);
        return Err(problem.with_help("the operator allows it with `trefoil serve DIR --edit`"));
    }
    if !caller.rights.flows.is_empty() {
        // A manifest says the name of its flow, and rules and budgets go by that.
        let detail = "a key for some flows cannot save their files";
        let problem = Problem::new(StatusCode::FORBIDDEN, "KEY_RESTRICTED", detail);
        return Err(problem.with_help("use a key for all flows"));
    }
    let (shared, caller) = (state.clone(), caller.clone());
    let save = move || save_text(&shared, &caller, path, &body);
    Ok(JsonResponse(state.local.blocking_work().perform_work(save).await??))
}

fn save_text(state: &ServerState, caller: &Caller, path: String, body: &SaveBody) -> ApiResult<FileSaveResult> {
    let folder = state.served_files()?;
    let mut users = find_users(state, caller, &folder, &path);
    if users.is_empty() {
        let help = "`/api/v1/flows/NAME/files` lists the files of a flow; new files are made on the server's machine";
        return Err(Problem::not_found("FILE_NOT_FOUND", format!("no flow uses a file `{path}`")).with_help(help));
    }
    let version = folder.replace_text(&path, &body.version, &body.text).map_err(|why| refuse_save(&path, why))?;
    let snapshot = state.catalog.current_snapshot();
    // The edit may have another name for its flow.
    for user in find_users(state, caller, &folder, &path) {
        if !users.contains(&user) {
            users.push(user);
        }
    }
    let served = ServedFolder::from_path(&state.engines.folder);
    let mut flows = Vec::new();
    for flow in users {
        if let Some(offered) = snapshot.find_flow(&flow) {
            flows.push(SavedFlowChecks { flow, checks: FlowChecks::from_flow(offered, &served) });
        }
    }
    Ok(FileSaveResult { path, version, flows })
}

/// The names of the flows that use a file, and that the caller may use.
fn find_users(state: &ServerState, caller: &Caller, folder: &FolderFiles, path: &str) -> Vec<String> {
    let snapshot = state.flows();
    let mut users = Vec::new();
    for offered in snapshot.flows_with_file(folder, path) {
        if caller.may_use_flow(&offered.name) {
            users.push(offered.name.clone());
        }
    }
    users
}

fn refuse_save(path: &str, why: SaveRefusal) -> Problem {
    match why {
        SaveRefusal::Changed(Some(FileVersion { text, version })) => {
            let detail = format!("`{path}` has changed since it was read, so nothing was written");
            let problem =
                Problem::new_conflict("FILE_CHANGED", detail).with_current(Some(CurrentFile { version, text }));
            problem.with_help("merge your text with the current one, and save it with the current version")
        }
        SaveRefusal::Changed(None) => {
            let detail = format!("`{path}` was deleted since it was read, so nothing was written");
            Problem::new_conflict("FILE_CHANGED", detail)
        }
        SaveRefusal::NoAccess(refusal) => {
            let detail = format!("`{path}` cannot be written: {}", refusal.reason_text());
            Problem::new_conflict("FILE_NOT_WRITABLE", detail).with_help("use a file of the folder that is served")
        }
        SaveRefusal::TooLong(limit) => {
            let detail = format!("the text is longer than {limit} bytes, which is the limit of a file");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", detail)
        }
        SaveRefusal::NotWritten(why) => {
            let detail = format!("`{path}` cannot be written: {why}");
            Problem::new_conflict("FILE_NOT_WRITABLE", detail).with_help("ask the operator to check its permissions")
        }
    }
}
