//! `POST /agents/import`: manifests of a client, all or none of them.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use trefoil_store::Document;
use trefoil_template::read_json_bytes;

use super::agents::CheckedManifest;
use super::errors::{AgntzFailure, AgntzResult};
use super::manifests::{COLLECTION, StoredManifest, announce_changes, check_rights, load_manifest};
use crate::access::{Caller, KeyScope};
use crate::problem::Problem;
use crate::request_body::JsonBody;
use crate::state::AppState;

/// The most manifests in one import.
const MOST: usize = 1_000;

/// The body.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportBody {
    agents: Option<Vec<ImportedAgent>>,
    #[serde(default)]
    on_conflict: OnConflict,
    #[serde(default)]
    dry_run: bool,
    #[serde(default = "yes")]
    strict: bool,
}

fn yes() -> bool {
    true
}

/// A manifest.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ImportedAgent {
    manifest: String,
    id: Option<String>,
    source_path: Option<String>,
}

/// What becomes of a manifest whose id exists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OnConflict {
    /// It replaces the earlier one.
    #[default]
    Version,
    /// The earlier one stays.
    Skip,
    /// The import is refused.
    Fail,
}

/// A manifest that was found to be right.
struct AcceptedManifest {
    id: String,
    text: String,
    source_path: Option<String>,
    warnings: Vec<Json>,
    /// What is stored under its id.
    before: Option<Document>,
}

impl AcceptedManifest {
    fn action(&self, on_conflict: OnConflict) -> &'static str {
        match (&self.before, on_conflict) {
            (None, _) => "create",
            (Some(_), OnConflict::Skip) => "skip",
            (Some(_), _) => "version",
        }
    }
}

fn result_of(id: Option<&str>, source_path: Option<&str>) -> Map<String, Json> {
    let mut result = Map::new();
    result.insert("id".to_owned(), id.into());
    if let Some(path) = source_path {
        result.insert("sourcePath".to_owned(), path.into());
    }
    result
}

/// Imports manifests.
pub async fn import_agents(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    JsonBody(body): JsonBody<ImportBody>,
) -> AgntzResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Admin)?;
    let Some(agents) = body.agents else {
        return Err(Problem::bad_request("Missing required field: agents").into());
    };
    if agents.len() > MOST {
        return Err(Problem::bad_request("an import has at most 1,000 manifests").into());
    }
    let accepted = check_agents(&state, agents, body.strict).await?;
    check_conflicts(&state, &accepted, body.on_conflict)?;
    let (mut results, mut counts) = (Vec::new(), Map::new());
    for manifest in &accepted {
        let action = manifest.action(body.on_conflict);
        let mut result = result_of(Some(&manifest.id), manifest.source_path.as_deref());
        result.insert("action".to_owned(), action.into());
        result.insert("warnings".to_owned(), Json::Array(manifest.warnings.clone()));
        results.push(Json::Object(result));
        let count = counts.get(action).and_then(Json::as_u64).unwrap_or_default();
        counts.insert(action.to_owned(), json!(count + 1));
    }
    if !body.dry_run {
        store_manifests(&state, &accepted, body.on_conflict).await?;
    }
    Ok(JsonResponse(json!({ "dryRun": body.dry_run, "results": results, "counts": counts })))
}

/// Checks all manifests, and reports all faults.
async fn check_agents(
    state: &AppState,
    agents: Vec<ImportedAgent>,
    is_strict: bool,
) -> AgntzResult<Vec<AcceptedManifest>> {
    let now = state.store().clock().wall_ms();
    let (mut accepted, mut faulty): (Vec<AcceptedManifest>, Vec<Json>) = (Vec::new(), Vec::new());
    for agent in agents {
        let ImportedAgent { manifest: text, id, source_path } = agent;
        let check = move || {
            let (checked, name) = check_text(&text, is_strict);
            (text, checked, name)
        };
        let (text, mut checked, name) = state.local.blocking_work().perform_work(check).await?;
        let mut add = |message: String| {
            checked.errors.push(json!({ "level": "error", "path": "", "message": message, "code": "invalid-id" }));
        };
        if let (Some(id), Some(name)) = (&id, &name)
            && id != name
        {
            add(format!("the id of the manifest is `{name}`, and not `{id}`"));
        }
        if let Some(name) = &name
            && accepted.iter().any(|other| other.id == *name)
        {
            add(format!("`{name}` is imported twice"));
        }
        match name {
            Some(name) if checked.errors.is_empty() => {
                let before = state.store().read_document(COLLECTION, &name, now).await?;
                accepted.push(AcceptedManifest { id: name, text, source_path, warnings: checked.warnings, before });
            }
            name => {
                let mut result = result_of(id.as_deref().or(name.as_deref()), source_path.as_deref());
                result.insert("errors".to_owned(), Json::Array(checked.errors));
                result.insert("warnings".to_owned(), Json::Array(checked.warnings));
                faulty.push(Json::Object(result));
            }
        }
    }
    if faulty.is_empty() {
        return Ok(accepted);
    }
    let failure = AgntzFailure::new(StatusCode::BAD_REQUEST, "VALIDATION_ERROR", "Invalid manifest");
    Err(failure.with_member("results", faulty))
}

/// The findings in a manifest, and its name.
fn check_text(text: &str, is_strict: bool) -> (CheckedManifest, Option<String>) {
    match load_manifest(text, is_strict) {
        Ok(flow) => {
            let mut checked = CheckedManifest::from_findings(flow.load_warnings());
            checked.errors.extend(check_rights(&flow));
            (checked, Some(flow.name().to_owned()))
        }
        Err(found) => (CheckedManifest::from_findings(&found), None),
    }
}

/// Files are never replaced, and other manifests only if the client wants it.
fn check_conflicts(state: &AppState, accepted: &[AcceptedManifest], on_conflict: OnConflict) -> AgntzResult<()> {
    for AcceptedManifest { id, before, .. } in accepted {
        if state.catalog.has_file(id) {
            let error = format!("`{id}` is the id of a file that is served, and is not replaced by an import");
            return Err(AgntzFailure::new(StatusCode::CONFLICT, "CONFLICT", error));
        }
        if before.is_some() && on_conflict == OnConflict::Fail {
            return Err(AgntzFailure::new(StatusCode::CONFLICT, "CONFLICT", format!("`{id}` exists already")));
        }
    }
    Ok(())
}

async fn store_manifests(state: &AppState, accepted: &[AcceptedManifest], on_conflict: OnConflict) -> AgntzResult<()> {
    let now = state.store().clock().wall_ms();
    for AcceptedManifest { id, text, before, .. } in accepted {
        if before.is_some() && on_conflict == OnConflict::Skip {
            continue;
        }
        let earlier = before.as_ref().map(|before| read_json_bytes::<StoredManifest>(before.value.as_bytes()));
        let created = match earlier {
            Some(Ok(earlier)) => earlier.created,
            _ => now,
        };
        let stored = StoredManifest { manifest: text.clone(), created, updated: now };
        let document = Document {
            collection: COLLECTION.to_owned(),
            name: id.clone(),
            version: before.as_ref().map(|before| before.version).unwrap_or_default(),
            value: serde_json::to_string(&stored).unwrap_or_default(),
            expires: None,
        };
        if state.store().write_document(document).await?.is_none() {
            let error = format!("somebody else has imported `{id}` at the same time; import it again");
            return Err(AgntzFailure::new(StatusCode::CONFLICT, "CONFLICT", error));
        }
    }
    Ok(announce_changes(state).await?)
}
