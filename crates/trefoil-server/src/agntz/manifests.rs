//! Manifests that have arrived over the API. They are documents of the store, never files, and every server of the store offers them.
//! They may do less than files: see [`check_rights`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use trefoil_ir::walk::program_holes;
use trefoil_ir::{StepKind, ToolKind};
use trefoil_project::{Error, Flow, FoundErrors};
use trefoil_store::{Document, StoreResult};
use trefoil_template::{HoleKind, read_json_bytes};

use crate::problem::{ApiResult, Problem};
use crate::state::AppState;

/// The collection with a document for each manifest.
pub const COLLECTION: &str = "manifest";
/// The collection with one document, which changes with each import.
const CHANGES: &str = "manifest-changes";
/// The name of that document.
const LAST: &str = "last";
/// How often other servers look for changes.
const WATCH: Duration = Duration::from_secs(1);
/// The most manifests in one list.
const PAGE: usize = 500;

/// A manifest as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredManifest {
    /// Its text.
    pub manifest: String,
    /// When it was first imported: milliseconds since 1970-01-01 UTC.
    pub created: u64,
    /// When it was last imported.
    pub updated: u64,
}

/// Reads the manifest of a stranger: from this text alone, without any file.
pub fn load_manifest(text: &str, is_strict: bool) -> Result<Flow, FoundErrors> {
    let mut options = Flow::load_options();
    if is_strict {
        options = options.with_strict_levels();
    }
    match options.from_text("manifest.yaml", text) {
        Ok(flow) => Ok(flow),
        Err(Error::Load(found)) => Err(found),
        Err(error) => Err(FoundErrors::of_rule("invalid-manifest", &error.to_string(), "correct the manifest")),
    }
}

/// What a manifest contains that only a file may: it has no commands, no environment, no secrets, and no tools but those of its client.
pub fn check_rights(flow: &Flow) -> Vec<Json> {
    let loaded = flow.loaded_target();
    let program = &loaded.program;
    let mut faults = Vec::new();
    let mut add = |place: String, message: String| {
        let fault = json!({ "level": "error", "path": place, "message": message, "code": "not-allowed" });
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    };
    for (kind, name) in program_holes(program) {
        let what = if kind == HoleKind::Env { "env" } else { "secrets" };
        add(String::new(), format!("a manifest that is imported cannot read `{what}.{name}`"));
    }
    for step in &program.steps {
        let place = loaded.files.get(step.origin.file).map(|file| file.line_column(step.origin.span.start));
        let place = place.map(|at| format!("{}:{}", at.line, at.column)).unwrap_or_default();
        match &step.kind {
            StepKind::Command(_) => add(place, "a manifest that is imported cannot run commands".to_owned()),
            StepKind::Tool(call) => {
                let is_client = program.client_tools.iter().any(|tool| tool.name == call.name);
                if !is_client || call.kind != ToolKind::Local {
                    add(place, format!("a manifest that is imported cannot use the tool `{}`", call.name));
                }
            }
            _ => {}
        }
    }
    if !loaded.env_files.is_empty() || !loaded.texts.is_empty() || loaded.files.len() > 1 {
        add(String::new(), "a manifest that is imported cannot use files".to_owned());
    }
    if !is_agent_id(flow.name()) {
        let message = format!("`{}` is no id: use letters, digits, `-`, `_` and `.`", flow.name());
        add(String::new(), message);
    }
    faults
}

fn is_agent_id(id: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    id.len() <= 128 && id.starts_with(|c: char| c.is_ascii_alphanumeric()) && id.bytes().all(is_known)
}

/// Says to all servers that manifests have changed, and offers them here at once.
///
/// # Errors
///
/// The store.
pub async fn announce_changes(state: &AppState) -> StoreResult<()> {
    let store = state.store();
    loop {
        let before = store.read_document(CHANGES, LAST, store.clock().wall_ms()).await?;
        let document = Document {
            collection: CHANGES.to_owned(),
            name: LAST.to_owned(),
            version: before.map(|document| document.version).unwrap_or_default(),
            value: "{}".to_owned(),
            expires: None,
        };
        if store.write_document(document).await?.is_some() {
            break;
        }
    }
    refresh_manifests(state).await
}

/// Removes a manifest that was imported. It is not offered any more, on all servers; its runs go on with it.
///
/// # Errors
///
/// 404 if there is none, 409 for the flow of a file, and the store.
pub async fn remove_manifest(state: &AppState, id: &str) -> ApiResult<()> {
    if state.store().delete_document(COLLECTION, id).await? {
        return Ok(announce_changes(state).await?);
    }
    if state.catalog.has_file(id) {
        let detail = format!("`{id}` is the flow of a file, and not one that was imported");
        return Err(
            Problem::new_conflict("FLOW_OF_FILE", detail).with_help("remove the file from the folder that is served")
        );
    }
    Err(Problem::not_found("FLOW_NOT_FOUND", format!("there is no flow `{id}`")))
}

/// Offers the manifests that other servers have received, from now on.
pub async fn watch_manifests(state: AppState) {
    loop {
        // A store that cannot be read now is read later, and until then the last manifests are offered.
        let _ = refresh_manifests(&state).await;
        tokio::time::sleep(WATCH).await;
    }
}

/// Reads the manifests, if they have changed.
async fn refresh_manifests(state: &AppState) -> StoreResult<()> {
    let store = state.store();
    let now = store.clock().wall_ms();
    let changes = store.read_document(CHANGES, LAST, now).await?.map(|document| document.version);
    if changes.is_none() || state.manifests.last_changes() == changes {
        return Ok(());
    }
    let work = state.local.blocking_work();
    let mut known = state.manifests.known_flows();
    let mut flows = HashMap::new();
    let mut after: Option<String> = None;
    loop {
        let page = store.list_documents(COLLECTION, after.as_deref(), PAGE, now).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.name.clone());
        for document in page {
            let flow = match known.remove(&document.name) {
                Some((version, flow)) if version == document.version => Some(flow),
                _ => {
                    let document = document.clone();
                    work.perform_work(move || read_manifest(&document)).await.ok().flatten()
                }
            };
            if let Some(flow) = flow {
                flows.insert(document.name, (document.version, flow));
            }
        }
    }
    let mut offered: Vec<Flow> = flows.values().map(|(_, flow)| flow.clone()).collect();
    offered.sort_by(|one, other| one.name().cmp(other.name()));
    let (catalog, engine) = (state.catalog.clone(), Arc::new(state.engines.of_project.clone()));
    let _ = work.perform_work(move || catalog.offer_others(offered, &engine)).await;
    state.manifests.replace_flows(changes, flows);
    Ok(())
}

/// The flow of a stored manifest. One that this version cannot load, or that may not be here, is not offered.
fn read_manifest(document: &Document) -> Option<Flow> {
    let stored: StoredManifest = read_json_bytes(document.value.as_bytes()).ok()?;
    let flow = load_manifest(&stored.manifest, false).ok()?;
    if flow.name() == document.name && check_rights(&flow).is_empty() { Some(flow) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "kind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: Answer.\n";

    #[test]
    fn a_manifest_that_is_imported_has_no_environment_tools_and_odd_ids() {
        let faults = |text: &str| check_rights(&load_manifest(text, true).unwrap()).len();
        assert_eq!(faults(&format!("id: a\n{MODEL}")), 0);
        assert_eq!(faults(&format!("id: a\n{MODEL}prompt: '{{{{env.HOME}}}}'\n")), 1);
        assert_eq!(faults(&format!("id: a\n{MODEL}tools:\n  - {{ kind: local, tools: [shell] }}\n")), 1);
        assert!(!is_agent_id("../../a") && !is_agent_id("") && is_agent_id("a-b_c.2"));
    }
}
