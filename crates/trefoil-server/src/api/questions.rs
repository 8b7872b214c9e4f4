//! What people are asked, over all runs.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use trefoil_host::stored_runs::QuestionFilter;
use trefoil_store::RunCursor;
use trefoil_view::run_view::OpenWait;
use utoipa::{IntoParams, ToSchema};

use super::run_list::parse_filter_label;
use crate::access::{Caller, KeyScope};
use crate::problem::ApiResult;
use crate::state::{AppState, KEY_LABEL};

/// Which questions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct QuestionQuery {
    /// Only those of runs of this flow.
    pub flow: Option<String>,
    /// Only those of this run.
    pub run: Option<String>,
    /// Only those of runs with these labels: `KEY:VALUE`, separated by commas. A label names the person who is to answer.
    pub label: Option<String>,
    /// The most questions (default 50, at most 200).
    pub limit: Option<usize>,
    /// Where an earlier page ended.
    pub after: Option<String>,
}

/// Open questions, those of the newest runs first.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuestionList {
    /// Each with its run and flow, as `waiting` of a run has it.
    #[schema(value_type = Vec<Object>)]
    pub questions: Vec<Json>,
    /// What `after` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Lists the open questions of all runs that the caller may see.
#[utoipa::path(get, path = "/api/v1/questions", tag = "questions", params(QuestionQuery), responses((status = 200, body = QuestionList), (status = "4XX", body = crate::problem::Problem)))]
pub async fn list_questions(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<QuestionQuery>,
) -> ApiResult<JsonResponse<QuestionList>> {
    caller.require_scope(KeyScope::Read)?;
    let mut filter = QuestionFilter { flow: query.flow.clone(), ..QuestionFilter::default() };
    if let Some(run) = &query.run {
        filter.run = Some(state.find_run(&caller, run).await?.run);
    }
    for label in query.label.iter().flat_map(|labels| labels.split(',')) {
        filter.labels.push(parse_filter_label(label)?);
    }
    if let (false, Some(key)) = (caller.sees_all_runs(), &caller.key) {
        filter.labels.push((KEY_LABEL.to_owned(), key.to_string()));
    }
    let after = query.after.as_deref().map(RunCursor::parse).transpose()?;
    let page = state.runs.open_questions(&filter, after, query.limit.unwrap_or(50).clamp(1, 200)).await?;
    let mut questions = Vec::new();
    for open in page.questions {
        if !caller.may_use_flow(&open.record.flow) {
            continue;
        }
        let mut members = Map::new();
        OpenWait { waiting: vec![open.question], stopped: None }.add_to(&mut members);
        let Some(Json::Array(mut all)) = members.remove("waiting") else { continue };
        let Some(mut question) = all.pop() else { continue };
        if let Some(members) = question.as_object_mut() {
            members.entry("run").or_insert(json!(open.record.run));
            members.insert("flow".to_owned(), json!(open.record.flow));
        }
        questions.push(question);
    }
    Ok(JsonResponse(QuestionList { questions, next: page.next.map(|cursor| cursor.to_string()) }))
}
