//! The shapes of runs: `Run`, `RunResult`, `InvokeResult`.

use serde_json::{Map, Value as Json, json};
use trefoil_store::{Record, Status};

use super::flow_shape::common_model;
use super::invoke_result::{add_answer, text_of};
use super::run_fold::RunFold;
use super::run_part::PartEnd;

/// The place of a run among those that have called it.
#[derive(Debug, Clone)]
pub struct RunLineage {
    /// The run at the top.
    pub root: String,
    /// How many are above it.
    pub depth: u32,
}

/// What clients of agntz call the status of a run.
pub fn status_word(status: Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
        _ => "running",
    }
}

/// The statuses that a word means; `None`: none.
pub fn statuses_of_word(word: &str) -> Option<Vec<Status>> {
    match word {
        "completed" => Some(vec![Status::Completed]),
        "failed" | "error" => Some(vec![Status::Failed]),
        "cancelled" => Some(vec![Status::Cancelled]),
        "running" => {
            let mut open = Vec::new();
            for status in Status::ALL {
                if !status.is_end() {
                    open.push(status);
                }
            }
            Some(open)
        }
        _ => None,
    }
}

/// A run, from its record. Times are whole milliseconds since 1970-01-01 UTC.
pub fn run_json(record: &Record, lineage: &RunLineage, input: Option<&Json>, fold: Option<&RunFold>) -> Json {
    let mut run = Map::new();
    run.insert("id".to_owned(), record.run.as_str().into());
    run.insert("rootId".to_owned(), lineage.root.as_str().into());
    if let Some(parent) = &record.parent {
        run.insert("parentId".to_owned(), parent.as_str().into());
    }
    run.insert("agentId".to_owned(), record.flow.as_str().into());
    run.insert("status".to_owned(), status_word(record.status).into());
    run.insert("depth".to_owned(), lineage.depth.into());
    run.insert("startedAt".to_owned(), record.started.into());
    run.insert("retentionMode".to_owned(), "result".into());
    if let Some(ended) = record.ended {
        run.insert("endedAt".to_owned(), ended.into());
    }
    if let Some(input) = input {
        run.insert("input".to_owned(), text_of(input).into());
    }
    match (record.status, &record.error) {
        (Status::Cancelled, _) => drop(run.insert("error".to_owned(), "Run cancelled".into())),
        (Status::Failed, Some((_, message))) => drop(run.insert("error".to_owned(), message.as_str().into())),
        _ => {}
    }
    if let Some(fold) = fold
        && record.status == Status::Completed
    {
        run.insert("result".to_owned(), fold.result_of_part(0));
    }
    Json::Object(run)
}

/// An agent inside a run. `record`: that of the run.
pub fn part_json(record: &Record, lineage: &RunLineage, fold: &RunFold, index: usize) -> Json {
    let Some(part) = fold.parts.get(index) else { return Json::Null };
    let parent = part.parent.and_then(|parent| fold.parts.get(parent));
    let (status, error) = match &part.end {
        Some(PartEnd::Completed(_)) => ("completed", None),
        Some(PartEnd::Failed(error)) => ("failed", Some(error.message.clone())),
        Some(PartEnd::Cancelled) => ("cancelled", None),
        None => ("running", None),
    };
    let mut run = json!({
        "id": part.id,
        "rootId": lineage.root,
        "parentId": parent.map(|parent| parent.id.as_str()),
        "agentId": part.agent,
        "status": status,
        "depth": lineage.depth + part.depth,
        "startedAt": part.started.max(record.started),
        "retentionMode": "result",
    });
    if let Some(members) = run.as_object_mut() {
        if let Some(ended) = part.ended {
            members.insert("endedAt".to_owned(), ended.into());
        }
        if let Some(error) = error {
            members.insert("error".to_owned(), error.into());
        }
        if status == "completed" {
            members.insert("result".to_owned(), fold.result_of_part(index));
        }
    }
    run
}

/// What `POST /run` answers.
pub fn run_result(fold: &RunFold, version: Option<&str>) -> Json {
    let Some(root) = fold.root_part() else { return Json::Null };
    let output = match &root.end {
        Some(PartEnd::Completed(output)) => output.clone(),
        _ => Json::Null,
    };
    let mut result = json!({
        "output": output,
        "state": fold.state,
        "runId": root.id,
        "traceId": root.id,
        "status": "completed",
        "model": common_model(&root.models),
        "usage": {
            "inputTokens": root.usage.input_tokens,
            "outputTokens": root.usage.output_tokens,
            "totalTokens": root.usage.total_tokens(),
        },
        "retention": { "mode": "result" },
    });
    if let Some(members) = result.as_object_mut() {
        add_answer(members, root);
        if !fold.warnings.is_empty() {
            members.insert("warnings".to_owned(), json!(fold.warnings));
        }
        if let Some(version) = version {
            members.insert("requestedAgentVersion".to_owned(), version.into());
        }
    }
    result
}
