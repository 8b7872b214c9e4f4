//! The spans of a run: the run, its steps, and their calls, from the picture of the run that all views share. Their ids are made of
//! the numbers of steps, which are the same in every process.

use serde_json::{Value as Json, json};
use trefoil_machine::moment::rfc3339_ms;
use trefoil_runtime::Usage;
use trefoil_store::{Record, Status};
use trefoil_view::run_view::{CallView, RunView, StepState, StepView};

use super::invoke_result::known_cost;
use crate::state::KEY_LABEL;

/// A span.
pub struct TraceSpan {
    /// Its id.
    pub id: String,
    /// What changes when it ends. `None`: it has not ended.
    pub patch: Option<Json>,
    /// The whole span.
    pub json: Json,
}

/// What a span is made of.
struct SpanParts<'s> {
    id: String,
    parent: Option<String>,
    name: &'s str,
    kind: &'static str,
    started: u64,
    ended: Option<u64>,
    status: &'static str,
    error: Option<String>,
    attributes: Json,
    usage: Option<&'s Usage>,
}

/// The spans of one run.
pub struct RunSpans<'r> {
    record: &'r Record,
    view: &'r RunView,
}

/// Who owns a run: the key that has started it.
fn owner_of(record: &Record) -> &str {
    match record.labels.iter().find(|(name, _)| name == KEY_LABEL) {
        Some((_, key)) => key,
        None => "local",
    }
}

/// What traces call the status of a run.
pub fn trace_status(status: Status) -> &'static str {
    match status {
        Status::Completed => "ok",
        Status::Failed => "error",
        Status::Cancelled => "cancelled",
        _ => "running",
    }
}

/// The statuses that a word means; `None`: none.
pub fn statuses_of_trace_word(word: &str) -> Option<Vec<Status>> {
    let mut statuses = Vec::new();
    for status in Status::ALL {
        if trace_status(status) == word {
            statuses.push(status);
        }
    }
    if statuses.is_empty() { None } else { Some(statuses) }
}

impl<'r> RunSpans<'r> {
    /// Those of a run with this picture.
    pub fn new(record: &'r Record, view: &'r RunView) -> Self {
        Self { record, view }
    }

    /// All spans, those around others first.
    pub fn all_spans(&self) -> Vec<TraceSpan> {
        let mut spans = vec![self.root_span()];
        for (number, _) in self.view.numbered_steps() {
            spans.extend(self.step_spans(number));
        }
        spans
    }

    /// How many spans there are.
    fn count_spans(&self) -> usize {
        let mut count = 1;
        for (_, step) in self.view.numbered_steps() {
            count += 1 + step.calls.len();
        }
        count
    }

    /// The summary of the trace.
    pub fn trace_summary(&self) -> Json {
        let record = self.record;
        let duration = record.ended.map(|ended| ended.saturating_sub(record.started));
        json!({
            "traceId": record.run,
            "ownerId": owner_of(record),
            "rootName": record.flow,
            "agentId": record.flow,
            "startedAt": rfc3339_ms(record.started),
            "endedAt": record.ended.map(rfc3339_ms),
            "durationMs": duration,
            "spanCount": self.count_spans(),
            "status": trace_status(record.status),
            "totalTokens": record.spent.usage.total_tokens(),
            "totalCostUsd": known_cost(&record.spent.usage),
        })
    }

    /// The span of the run itself.
    pub fn root_span(&self) -> TraceSpan {
        let record = self.record;
        let error = record.error.as_ref().map(|(_, message)| message.clone());
        self.span(SpanParts {
            id: record.run.clone(),
            parent: None,
            name: &record.flow,
            kind: "run",
            started: record.started,
            ended: record.ended,
            status: trace_status(record.status),
            error,
            attributes: json!({ "agentId": record.flow }),
            usage: None,
        })
    }

    /// The span of a step, and those of its calls.
    pub fn step_spans(&self, number: usize) -> Vec<TraceSpan> {
        let Some(step) = self.view.step_by_number(number) else { return Vec::new() };
        let id = self.step_id(number);
        let (status, error) = self.step_status(step);
        let ended = step.ended_ms.map(|ms| self.time(ms));
        let item;
        let name = match &step.item {
            _ if !step.label.is_empty() => &*step.label,
            Some(of) => {
                item = format!("item {}", of.number);
                &item
            }
            None => step.kind,
        };
        let mut spans = vec![self.span(SpanParts {
            id: id.clone(),
            parent: Some(self.parent_id(step)),
            name,
            kind: if step.is_agent() || (step.is_inferred && step.kind == "agent") { "invoke" } else { "step" },
            started: self.time(step.started_ms),
            ended,
            status,
            error,
            attributes: json!({ "kind": step.kind, "key": step.key, "tries": step.tries }),
            usage: None,
        })];
        for (index, call) in step.calls.iter().enumerate() {
            spans.push(self.call_span(&id, index, step, call));
        }
        spans
    }

    fn call_span(&self, parent: &str, index: usize, step: &StepView, call: &CallView) -> TraceSpan {
        let kind = match call.effect {
            "model" => "model",
            "tool" | "command" => "tool",
            _ => "step",
        };
        let tool = match &call.detail {
            Some(detail) if kind == "tool" => detail.get("name").map(|name| name.to_text()),
            _ => None,
        };
        let name = match (&tool, &call.model) {
            (Some(tool), _) => tool,
            (None, Some(model)) => model.as_str(),
            (None, None) => call.effect,
        };
        let mut ended = call.duration_ms.map(|ms| self.time(call.started_ms.saturating_add(ms)));
        let status = match (&call.error, ended) {
            (Some(_), _) => "error",
            (None, Some(_)) => "ok",
            // It was cut off with its step.
            (None, None) if step.ended_ms.is_some() => {
                ended = step.ended_ms.map(|ms| self.time(ms));
                "cancelled"
            }
            (None, None) => "running",
        };
        let usage = call.usage.as_ref();
        self.span(SpanParts {
            id: format!("{parent}-c{index}"),
            parent: Some(parent.to_owned()),
            name,
            kind,
            started: self.time(call.started_ms),
            ended,
            status,
            error: call.error.as_ref().map(|error| error.message.clone()),
            attributes: json!({
                "agent": call.agent,
                "model": call.model,
                "inputTokens": usage.map(|usage| usage.input_tokens),
                "outputTokens": usage.map(|usage| usage.output_tokens),
            }),
            usage,
        })
    }

    fn step_status(&self, step: &StepView) -> (&'static str, Option<String>) {
        let error = step.error.as_ref().map(|(error, _)| error.message.clone());
        let status = match step.state {
            StepState::Done | StepState::Partly | StepState::Skipped => "ok",
            StepState::Failed => "error",
            StepState::Cancelled | StepState::Stopped => "cancelled",
            _ => "running",
        };
        (status, error)
    }

    fn step_id(&self, number: usize) -> String {
        format!("{}-s{number}", self.record.run)
    }

    fn parent_id(&self, step: &StepView) -> String {
        match step.parent {
            Some(number) => self.step_id(number),
            None => self.record.run.clone(),
        }
    }

    /// A time of the picture, in milliseconds since 1970-01-01 UTC.
    fn time(&self, ms: u64) -> u64 {
        self.view.started_at.unwrap_or(self.record.started).saturating_add(ms)
    }

    fn span(&self, parts: SpanParts<'_>) -> TraceSpan {
        let duration = parts.ended.map(|ended| ended.saturating_sub(parts.started));
        let cost = parts.usage.and_then(known_cost);
        let mut json = json!({
            "spanId": parts.id,
            "traceId": self.record.run,
            "parentId": parts.parent,
            "ownerId": owner_of(self.record),
            "runId": self.record.run,
            "sessionId": null,
            "name": parts.name,
            "kind": parts.kind,
            "startedAt": rfc3339_ms(parts.started),
            "endedAt": parts.ended.map(rfc3339_ms),
            "durationMs": duration,
            "status": parts.status,
            "attributes": parts.attributes,
            "events": [],
            "scores": {},
        });
        let mut patch = json!({
            "endedAt": parts.ended.map(rfc3339_ms),
            "durationMs": duration,
            "status": parts.status,
            "attributes": parts.attributes,
        });
        for members in [json.as_object_mut(), patch.as_object_mut()].into_iter().flatten() {
            if let Some(error) = &parts.error {
                members.insert("error".to_owned(), error.as_str().into());
            }
            if let Some(cost) = cost {
                members.insert("costUsd".to_owned(), json!(cost));
            }
        }
        TraceSpan { id: parts.id, patch: parts.ended.map(|_| patch), json }
    }
}
