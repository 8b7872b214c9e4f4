//! What people are asked, over all runs.

use std::collections::BTreeMap;

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use trefoil_host::stored_runs::QuestionFilter;
use trefoil_store::RunCursor;
use trefoil_view::run_view::OpenWait;
use utoipa::{IntoParams, ToSchema};

use super::published_schemas::OpenQuestion;
use super::url_query::{LabelParam, LabelledQuery};
use crate::access::{Caller, KeyScope};
use crate::problem::{ApiResult, Problem};
use crate::state::{AppState, KEY_LABEL};

/// Which questions.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct QuestionQuery {
    /// Only those of runs of this flow.
    pub flow: Option<String>,
    /// Only those of this run.
    pub run: Option<String>,
    /// The most questions (default 50, at most 200).
    pub limit: Option<usize>,
    /// Where an earlier page ended.
    pub after: Option<String>,
}

/// An open question.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedQuestion {
    /// The run that asks.
    pub run: String,
    /// The flow of the run.
    pub flow: String,
    /// The labels of the run.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The question, as `waiting` of a run has it.
    #[serde(flatten)]
    #[schema(value_type = OpenQuestion)]
    pub question: Map<String, Json>,
}

/// Open questions, those of the newest runs first.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuestionList {
    /// The questions.
    pub questions: Vec<ListedQuestion>,
    /// What `after` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Lists the open questions of all runs that the caller may see.
#[utoipa::path(get, path = "/api/v1/questions", tag = "questions", params(QuestionQuery, LabelParam), responses((status = 200, body = QuestionList), (status = 404, body = Problem, description = "There is nothing with this name for the caller")))]
pub async fn list_questions(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    LabelledQuery { query, labels }: LabelledQuery<QuestionQuery>,
) -> ApiResult<JsonResponse<QuestionList>> {
    caller.require_scope(KeyScope::Read)?;
    let mut filter = QuestionFilter { flow: query.flow.clone(), labels, ..QuestionFilter::default() };
    if let Some(run) = &query.run {
        filter.run = Some(state.find_run(&caller, run).await?.run);
    }
    if let (false, Some(key)) = (caller.sees_all_runs(), &caller.key) {
        filter.labels.push((KEY_LABEL.to_owned(), key.to_string()));
    }
    let after = query.after.as_deref().map(RunCursor::parse).transpose()?;
    let page = state.runs.open_questions(&filter, after, query.limit.unwrap_or(50).clamp(1, 200)).await?;
    let mut questions = Vec::new();
    for open in page.questions {
        let record = &open.record;
        if !caller.may_use_flow(&record.flow) {
            continue;
        }
        let mut members = Map::new();
        OpenWait { waiting: vec![open.question], stopped: None }.add_to(&mut members);
        let Some(Json::Array(mut all)) = members.remove("waiting") else { continue };
        let Some(Json::Object(mut question)) = all.pop() else { continue };
        let run = match question.remove("run") {
            // That of a flow that is used as a tool.
            Some(Json::String(called)) => called,
            _ => record.run.clone(),
        };
        let labels = record.labels.iter().cloned().collect();
        questions.push(ListedQuestion { run, flow: record.flow.clone(), labels, question });
    }
    Ok(JsonResponse(QuestionList { questions, next: page.next.map(|cursor| cursor.to_string()) }))
}
