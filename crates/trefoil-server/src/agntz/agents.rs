//! Agents: the flows that are served, with their manifests.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use trefoil_host::catalog::CatalogFlow;
use trefoil_project::{Flow, FoundErrors};
use trefoil_syntax::yaml::{self, YamlLimits, YamlNode};

use super::errors::AgntzResult;
use super::manifests::{load_manifest, remove_manifest};
use super::references::find_agent;
use crate::access::{Caller, KeyScope};
use crate::problem::{Problem, findings_json};
use crate::request_body::JsonBody;
use crate::state::AppState;

/// What the manifest of an agent says of itself.
#[derive(Default)]
struct ManifestTexts {
    name: Option<String>,
    instruction: Option<String>,
    model: Option<(String, String)>,
}

impl ManifestTexts {
    fn of_flow(flow: &Flow) -> Self {
        let loaded = flow.loaded_target();
        let Some(file) = loaded.files.get(loaded.entry) else { return Self::default() };
        let document = yaml::parse(loaded.entry, file, &YamlLimits::default());
        let Some(root) = document.root else { return Self::default() };
        let model = member(&root, "model");
        let part = |name: &str| text(model?, name);
        Self {
            name: text(&root, "name"),
            instruction: text(&root, "instruction"),
            model: part("provider").zip(part("name")),
        }
    }
}

fn member<'n>(node: &'n YamlNode, name: &str) -> Option<&'n YamlNode> {
    Some(&node.as_mapping()?.get(name)?.value)
}

fn text(node: &YamlNode, name: &str) -> Option<String> {
    Some(member(node, name)?.as_string()?.value.to_string())
}

/// An agent in a list.
fn summary(offered: &CatalogFlow, texts: &ManifestTexts) -> Map<String, Json> {
    let mut agent = Map::new();
    agent.insert("id".to_owned(), offered.name.as_str().into());
    agent.insert("name".to_owned(), texts.name.clone().unwrap_or_else(|| offered.name.clone()).into());
    if let Some(description) = offered.flow.manifest_description() {
        agent.insert("description".to_owned(), description.into());
    }
    agent
}

/// Lists the agents that the caller may use.
pub async fn list_agents(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> AgntzResult<JsonResponse<Vec<Map<String, Json>>>> {
    caller.require_scope(KeyScope::Read)?;
    let flows = state.flows();
    let list = move || {
        let mut agents = Vec::new();
        for offered in flows.offered_flows() {
            if caller.may_use_flow(&offered.name) {
                agents.push(summary(offered, &ManifestTexts::of_flow(&offered.flow)));
            }
        }
        agents
    };
    Ok(JsonResponse(state.local.blocking_work().perform_work(list).await?))
}

/// Shows an agent with its manifest.
pub async fn show_agent(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> AgntzResult<JsonResponse<Map<String, Json>>> {
    caller.require_scope(KeyScope::Read)?;
    if id.contains('@') {
        return Err(Problem::bad_request(format!("`{id}` has a version; an agent is shown by its id alone")).into());
    }
    let offered = find_agent(&state, &caller, &id)?;
    let loaded = offered.flow.loaded_target();
    let manifest = loaded.files.get(loaded.entry).map(|file| file.text().to_string()).unwrap_or_default();
    let flow = offered.flow.clone();
    let texts = state.local.blocking_work().perform_work(move || ManifestTexts::of_flow(&flow)).await?;
    let mut agent = summary(&offered, &texts);
    let (provider, name) = texts.model.unwrap_or_else(|| ("trefoil".to_owned(), "manifest".to_owned()));
    agent.insert("systemPrompt".to_owned(), texts.instruction.unwrap_or_default().into());
    agent.insert("model".to_owned(), json!({ "provider": provider, "name": name }));
    agent.insert("metadata".to_owned(), json!({ "manifest": manifest }));
    Ok(JsonResponse(agent))
}

/// Deletes an agent that was imported.
pub async fn delete_agent(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> AgntzResult<StatusCode> {
    caller.require_scope(KeyScope::Admin)?;
    remove_manifest(&state, &id).await.map_err(|problem| match problem.status_code() {
        StatusCode::NOT_FOUND => Problem::not_found("AGENT_NOT_FOUND", format!("Agent \"{id}\" not found")),
        _ => problem,
    })?;
    Ok(StatusCode::NO_CONTENT)
}

/// A manifest to be checked.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValidateBody {
    manifest: Option<String>,
    #[serde(default)]
    strict: bool,
}

/// Checks a manifest. Nothing is stored.
pub async fn validate_manifest(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    JsonBody(body): JsonBody<ValidateBody>,
) -> AgntzResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Read)?;
    let Some(manifest) = body.manifest else {
        return Err(Problem::bad_request("Missing required field: manifest").into());
    };
    let check = move || match load_manifest(&manifest, body.strict) {
        Ok(flow) => CheckedManifest::from_findings(flow.load_warnings()),
        Err(found) => CheckedManifest::from_findings(&found),
    };
    let CheckedManifest { errors, warnings } = state.local.blocking_work().perform_work(check).await?;
    Ok(JsonResponse(json!({ "valid": errors.is_empty(), "errors": errors, "warnings": warnings })))
}

/// The findings in a manifest.
#[derive(Default)]
pub struct CheckedManifest {
    /// What prevents its runs.
    pub errors: Vec<Json>,
    /// The rest.
    pub warnings: Vec<Json>,
}

impl CheckedManifest {
    /// From findings, as `{level, path, message}`, where the path is a line and a column.
    pub fn from_findings(found: &FoundErrors) -> Self {
        let mut checked = Self::default();
        for finding in &findings_json(found) {
            let word = |name: &str| finding.get(name).and_then(Json::as_str).unwrap_or_default();
            let number = |name: &str| finding.get(name).and_then(Json::as_u64);
            let path = match (number("line"), number("column")) {
                (Some(line), Some(column)) => format!("{line}:{column}"),
                _ => String::new(),
            };
            let message = match word("help") {
                "" => word("message").to_owned(),
                help => format!("{} ({help})", word("message")),
            };
            let level = word("severity");
            let one = json!({ "level": level, "path": path, "message": message, "code": word("rule") });
            if level == "error" {
                checked.errors.push(one);
            } else {
                checked.warnings.push(one);
            }
        }
        checked
    }
}
