//! The list of runs, newest first.

use std::cmp::Reverse;
use std::collections::HashMap;

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Query, State};
use serde_json::{Map, Value as Json};
use trefoil_store::{Record, RunCursor, RunFilter, Status, StoreError};

use super::errors::AgntzResult;
use super::run_shapes::{RunLineage, part_json, run_json, statuses_of_word};
use super::runs::{find_lineage, read_fold, read_input};
use crate::access::{Caller, KeyScope};
use crate::api::parse_time;
use crate::problem::{ApiResult, Problem};
use crate::state::{AppState, KEY_LABEL};

/// The rows of a page without a limit.
const DEFAULT_ROWS: usize = 50;
/// The most rows of a page.
const MOST_ROWS: usize = 200;
/// The most runs that a page with the agents inside runs looks at.
const MOST_SCANNED: usize = 500;

/// The query of a list of runs or traces.
pub type ListParameters = HashMap<String, String>;

/// What a list of runs or traces asks for.
pub struct ListRequest {
    /// The agent.
    pub agent: Option<String>,
    /// Which runs. `None`: the status matches nothing.
    pub filter: Option<RunFilter>,
    /// The most rows.
    pub limit: usize,
    /// Where the page begins.
    pub cursor: ListCursor,
}

/// Where a page begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListCursor {
    /// After this run.
    pub after: Option<RunCursor>,
    /// After so many rows of the next run.
    pub skip: usize,
}

impl ListCursor {
    fn parse(text: &str) -> ApiResult<Self> {
        let wrong = || Problem::bad_request(StoreError::Cursor { cursor: text.chars().take(40).collect() }.to_string());
        let (after, skip) = match text.split_once(':') {
            Some((after, skip)) => (after, skip.parse().map_err(|_| wrong())?),
            None => (text, 0),
        };
        let after = if after == "0" && skip > 0 { None } else { Some(RunCursor::parse(after).map_err(|_| wrong())?) };
        Ok(Self { after, skip })
    }

    fn to_text(self) -> String {
        let after = match self.after {
            Some(after) => after.to_string(),
            None => "0".to_owned(),
        };
        if self.skip == 0 { after } else { format!("{after}:{}", self.skip) }
    }
}

impl ListRequest {
    /// From a query. `statuses`: what a word for a status means.
    ///
    /// # Errors
    ///
    /// 400 for what is wrong.
    pub fn from_query(
        query: &ListParameters,
        caller: &Caller,
        statuses: fn(&str) -> Option<Vec<Status>>,
    ) -> ApiResult<Self> {
        let mut filter = RunFilter::default();
        if let Some(from) = query.get("startedAfter") {
            filter.since = Some(parse_time("startedAfter", from)?);
        }
        if let Some(until) = query.get("startedBefore") {
            // This limit is inclusive.
            filter.until = Some(parse_time("startedBefore", until)?.saturating_add(1));
        }
        if let (false, Some(key)) = (caller.sees_all_runs(), &caller.key) {
            filter.labels.push((KEY_LABEL.to_owned(), key.to_string()));
        }
        let limit = match query.get("limit").map(|text| text.parse::<usize>()) {
            None => DEFAULT_ROWS,
            Some(Ok(limit)) if limit > 0 => limit.min(MOST_ROWS),
            Some(_) => return Err(Problem::bad_request("`limit` is a number from 1 on")),
        };
        let cursor = match query.get("cursor") {
            Some(cursor) => ListCursor::parse(cursor)?,
            None => ListCursor::default(),
        };
        let mut filter = Some(filter);
        if let Some(word) = query.get("status") {
            match (statuses(word), &mut filter) {
                (Some(statuses), Some(filter)) => filter.status = statuses,
                _ => filter = None,
            }
        }
        Ok(Self { agent: query.get("agentId").cloned(), filter, limit, cursor })
    }
}

/// Runs that nobody has called, newest first; those that started in the same millisecond by id. Returns where the next page begins.
pub async fn list_roots(
    state: &AppState,
    caller: &Caller,
    request: &ListRequest,
) -> ApiResult<(Vec<Record>, Option<RunCursor>)> {
    let Some(filter) = &request.filter else { return Ok((Vec::new(), None)) };
    let filter = RunFilter { flow: request.agent.clone(), ..filter.clone() };
    let (mut rows, mut after): (Vec<Record>, _) = (Vec::new(), request.cursor.after);
    loop {
        let page = state.store().list_runs(&filter, after, request.limit - rows.len()).await?;
        for record in page.runs {
            if record.parent.is_none() && caller.may_use_flow(&record.flow) {
                rows.push(record);
            }
        }
        after = page.next;
        if after.is_none() || rows.len() >= request.limit {
            break;
        }
    }
    rows.sort_by_key(|record| Reverse((record.started, record.run.clone())));
    Ok((rows, after))
}

/// The answer to a list.
pub fn list_body(rows: Vec<Json>, cursor: Option<String>) -> JsonResponse<Json> {
    let mut body = Map::new();
    body.insert("rows".to_owned(), Json::Array(rows));
    if let Some(cursor) = cursor {
        body.insert("cursor".to_owned(), cursor.into());
    }
    JsonResponse(Json::Object(body))
}

/// Lists runs. Without `rootsOnly=false`, only those that nobody has called. Rows have no results.
pub async fn list_runs(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<ListParameters>,
) -> AgntzResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Read)?;
    let roots_only = match query.get("rootsOnly").map(String::as_str) {
        None | Some("true") => true,
        Some("false") => false,
        Some(_) => return Err(Problem::bad_request("`rootsOnly` is `true` or `false`").into()),
    };
    let request = ListRequest::from_query(&query, &caller, statuses_of_word)?;
    if !roots_only {
        return list_with_parts(&state, &caller, &request).await;
    }
    let (records, next) = list_roots(&state, &caller, &request).await?;
    let mut rows = Vec::new();
    for record in &records {
        let lineage = RunLineage { root: record.run.clone(), depth: 0 };
        let input = read_input(&state, record).await?;
        rows.push(run_json(record, &lineage, input.as_ref(), None));
    }
    Ok(list_body(rows, next.map(|next| next.to_string())))
}

/// Lists runs with the agents inside them: those of a run come before it, the newest first. The times of the query are those of runs.
async fn list_with_parts(state: &AppState, caller: &Caller, request: &ListRequest) -> AgntzResult<JsonResponse<Json>> {
    let Some(filter) = &request.filter else { return Ok(list_body(Vec::new(), None)) };
    let wanted = filter.status.clone();
    let filter = RunFilter { status: Vec::new(), ..filter.clone() };
    let (mut rows, mut cursor, mut scanned) = (Vec::new(), request.cursor, 0);
    loop {
        let page = state.store().list_runs(&filter, cursor.after, 1).await?;
        for record in &page.runs {
            let mut own = Vec::new();
            if caller.may_use_flow(&record.flow) {
                own = rows_of_run(state, record).await?;
            }
            own.retain(|row| is_wanted(row, request.agent.as_deref(), &wanted));
            let room = request.limit - rows.len();
            let rest = own.len().saturating_sub(cursor.skip);
            rows.extend(own.into_iter().skip(cursor.skip).take(room));
            if rest > room {
                cursor.skip += room;
                return Ok(list_body(rows, Some(cursor.to_text())));
            }
        }
        scanned += 1;
        let Some(next) = page.next else { return Ok(list_body(rows, None)) };
        cursor = ListCursor { after: Some(next), skip: 0 };
        if rows.len() >= request.limit || scanned >= MOST_SCANNED {
            return Ok(list_body(rows, Some(cursor.to_text())));
        }
    }
}

/// The agents inside a run, the newest first, and then the run.
async fn rows_of_run(state: &AppState, record: &Record) -> AgntzResult<Vec<Json>> {
    let lineage = find_lineage(state, record).await;
    let Some(fold) = read_fold(state, record).await? else {
        return Ok(vec![run_json(record, &lineage, None, None)]);
    };
    let mut rows = Vec::new();
    for index in (1..fold.parts.len()).rev() {
        rows.push(part_json(record, &lineage, &fold, index));
    }
    rows.push(run_json(record, &lineage, fold.input.as_ref(), Some(&fold)));
    Ok(rows)
}

fn is_wanted(row: &Json, agent: Option<&str>, statuses: &[Status]) -> bool {
    let text = |name: &str| row.get(name).and_then(Json::as_str).unwrap_or_default();
    let is_status = |status: &Status| super::run_shapes::status_word(*status) == text("status");
    (agent.is_none() || agent == Some(text("agentId"))) && (statuses.is_empty() || statuses.iter().any(is_status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_what_it_was() {
        let after = Some(RunCursor { started: 5, no: 7 });
        for cursor in
            [ListCursor { after, skip: 0 }, ListCursor { after, skip: 3 }, ListCursor { after: None, skip: 2 }]
        {
            assert_eq!(ListCursor::parse(&cursor.to_text()).unwrap(), cursor);
        }
        for wrong in ["x", "e30", "", ":1", "5.7:x"] {
            assert!(ListCursor::parse(wrong).is_err(), "{wrong}");
        }
    }
}
