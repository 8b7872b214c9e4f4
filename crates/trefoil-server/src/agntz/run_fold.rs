//! What agntz shows of a run: a fold of its events. Each agent inside a run is a run of its own there, with an id that is derived from
//! that of the run and the key of the step.
//!
//! The fold depends on nothing but the events of the journal, so every process computes the same ids and the same numbers of the
//! [frames](FeedFrame), also after a restart. Streamed text is not in the journal. The text of an answer is one frame, when the answer
//! is complete.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};
use trefoil_machine::Key;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::key::parent_key;
use trefoil_project::Flow;
use trefoil_runtime::{Event, EventKind, RunError, RunStatus, Usage};
use trefoil_syntax::Location;
use trefoil_template::Value;

use super::flow_shape::{FlowShape, agent_of_label, model_text};
use super::invoke_result::invoke_result;
use super::run_part::{PartEnd, RunPart};

/// An event of a feed.
pub struct FeedFrame {
    /// Its number, from 1.
    pub seq: u64,
    /// Its type.
    pub kind: &'static str,
    /// The part that it is about.
    pub part: usize,
    members: Json,
}

/// A tool call that has not ended.
struct OpenTool {
    part: usize,
    name: String,
    input: Json,
}

/// The fold.
pub struct RunFold {
    shape: FlowShape,
    /// The run and the agents inside it, in the order in which they started. The first one is the run.
    pub parts: Vec<RunPart>,
    by_key: HashMap<Arc<str>, usize>,
    tools: HashMap<Key, OpenTool>,
    /// The input.
    pub input: Option<Json>,
    /// The state: the members of the input, and the results of the steps.
    pub state: Map<String, Json>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// What the run waits for, if it can do nothing else.
    pub waiting: Vec<AwaitedActivity>,
    /// Why it does nothing until somebody allows it.
    pub stopped: Option<RunError>,
    /// Where steps have failed. The places of failures are not in the journal, but those of steps are known.
    failed_at: Vec<(Key, Location)>,
    started_at: u64,
    /// When the last event before the end happened. The end itself has another time in each process that tells of it.
    last_at: u64,
    seq: u64,
}

/// The id of a tool call, or of an agent inside a run: letters, digits and `_-`, whatever is in the key.
pub fn key_id(prefix: &str, key: &str) -> String {
    let mut id = prefix.to_owned();
    for byte in Sha256::digest(key).iter().take(8) {
        id.push_str(&format!("{byte:02x}"));
    }
    id
}

/// The id of a tool call with this key.
pub fn tool_call_id(key: &Key) -> String {
    key_id("call_", key.without_try())
}

impl RunFold {
    /// The fold of a run before its first event.
    pub fn new(run: &str, flow: &Flow) -> Self {
        let root = RunPart { id: run.to_owned(), agent: flow.name().to_owned(), ..RunPart::default() };
        Self {
            shape: FlowShape::of_flow(flow),
            parts: vec![root],
            by_key: HashMap::new(),
            tools: HashMap::new(),
            input: None,
            state: Map::new(),
            warnings: Vec::new(),
            waiting: Vec::new(),
            stopped: None,
            failed_at: Vec::new(),
            started_at: 0,
            last_at: 0,
            seq: 0,
        }
    }

    /// The run itself.
    pub fn root_part(&self) -> Option<&RunPart> {
        self.parts.first()
    }

    /// The `InvokeResult` of a part.
    pub fn result_of_part(&self, index: usize) -> Json {
        let Some(part) = self.parts.get(index) else { return Json::Null };
        let warnings: &[String] = if index == 0 { &self.warnings } else { &[] };
        invoke_result(part, warnings)
    }

    /// The part with this id.
    pub fn find_part(&self, id: &str) -> Option<usize> {
        self.parts.iter().position(|part| part.id == id)
    }

    /// The innermost part around a key.
    pub fn part_around(&self, key: Option<&Key>) -> usize {
        let mut left = key.map(|key| &*key.0);
        while let Some(key) = left {
            if let Some(part) = self.by_key.get(key) {
                return *part;
            }
            left = parent_key(key);
        }
        0
    }

    /// The data of a frame.
    pub fn frame_json(&self, frame: &FeedFrame) -> Json {
        let mut data = Map::new();
        data.insert("type".to_owned(), frame.kind.into());
        data.insert("runId".to_owned(), self.parts.get(frame.part).map(|part| part.id.as_str()).into());
        data.insert("seq".to_owned(), frame.seq.into());
        if let Json::Object(members) = &frame.members {
            data.extend(members.clone());
        }
        Json::Object(data)
    }

    /// Adds an event. Returns the frames that it causes.
    pub fn apply_event(&mut self, event: &Event) -> Vec<FeedFrame> {
        let mut out = Vec::new();
        let now = match &event.kind {
            EventKind::RunFinished { .. } => self.last_at,
            _ => self.started_at.saturating_add(event.at_ms),
        };
        let key = event.key.as_ref();
        match &event.kind {
            EventKind::RunStarted { at, input, .. } => self.begin_run(*at, input.as_ref(), &mut out),
            EventKind::RunResumed { .. } => self.resume_run(),
            EventKind::RunSuspended { waiting, why, .. } => {
                (self.waiting, self.stopped) = (waiting.clone(), why.clone());
            }
            EventKind::StepStarted { label, kind } => {
                if let Some(key) = key
                    && self.shape.is_part(&key.0, label, kind)
                {
                    self.begin_part(key, label, now, &mut out);
                }
            }
            EventKind::StepFinished { output, .. } => {
                self.last_at = now;
                self.note_result(key, output);
                if let Some(part) = self.part_of_step(key) {
                    self.end_part(part, PartEnd::Completed(output.to_json()), now, &mut out);
                }
            }
            EventKind::StepFailed { error, handled_as } => {
                self.last_at = now;
                if let (Some(key), Some(location)) = (key, error.location.or(event.location)) {
                    self.failed_at.push((key.clone(), location));
                }
                if let Some(part) = self.part_of_step(key) {
                    let is_cancelled = *handled_as == "cancel" || error.code == "CANCELLED";
                    let end = if is_cancelled { PartEnd::Cancelled } else { PartEnd::Failed(Box::new(error.clone())) };
                    self.end_part(part, end, now, &mut out);
                }
            }
            EventKind::ModelStarted { model, .. } => self.begin_turn(self.part_around(key), model, &mut out),
            EventKind::ModelFinished { answer, usage, answer_metadata, .. } => {
                let part = self.part_around(key);
                self.add_usage(part, *usage);
                if let Some(instead) = &answer_metadata.instead {
                    self.note_model(part, instead);
                }
                let finish = answer_metadata.finish.map(|finish| json!(finish).as_str().unwrap_or("other").to_owned());
                self.end_turn(part, answer, (finish, answer_metadata.request_id.clone()), &mut out);
            }
            EventKind::ModelStopped { usage, .. } => self.add_usage(self.part_around(key), *usage),
            EventKind::EffectStarted { effect: "tool", detail, given_by: _ } => self.begin_tool(key, detail, &mut out),
            EventKind::EffectFinished { value, duration_ms, .. } => {
                self.end_tool(key, Ok(value.to_json()), *duration_ms, &mut out);
            }
            EventKind::EffectFailed { error, duration_ms, usage, .. } => {
                self.add_usage(self.part_around(key), usage.unwrap_or_default());
                self.end_tool(key, Err(&error.message), *duration_ms, &mut out);
            }
            EventKind::Warning { message } => self.warnings.push(message.clone()),
            EventKind::RunFinished { output, error, usage, .. } => {
                let end = match RunStatus::of_end(error.as_ref()) {
                    // It goes on in another process.
                    RunStatus::Interrupted => return out,
                    RunStatus::Cancelled => PartEnd::Cancelled,
                    _ => match (output, error) {
                        (_, Some(error)) => PartEnd::Failed(Box::new(self.located(error.clone()))),
                        // Whoever takes the result gets it as it is.
                        (Some(output), None) => PartEnd::Completed(output.exact_value().to_json()),
                        (None, None) => PartEnd::Completed(Json::Null),
                    },
                };
                self.end_run(end, *usage, now, &mut out);
            }
            _ => {}
        }
        out
    }

    /// A failure with the place of its step.
    fn located(&self, mut error: RunError) -> RunError {
        if let (None, Some(key)) = (error.location, &error.key) {
            let same = |(failed, _): &&(Key, Location)| failed.without_try() == key.without_try();
            error.location = self.failed_at.iter().rev().find(same).map(|(_, location)| *location);
        }
        error
    }

    fn push_frame(&mut self, kind: &'static str, part: usize, members: Json, out: &mut Vec<FeedFrame>) {
        self.seq += 1;
        out.push(FeedFrame { seq: self.seq, kind, part, members });
    }

    fn begin_run(&mut self, at: u64, input: Option<&Value>, out: &mut Vec<FeedFrame>) {
        (self.started_at, self.last_at) = (at, at);
        self.input = input.map(Value::to_json);
        match &self.input {
            Some(Json::Object(members)) => self.state = members.clone(),
            Some(other) => drop(self.state.insert("userQuery".to_owned(), other.clone())),
            None => {}
        }
        let mut agent = String::new();
        if let Some(root) = self.parts.first_mut() {
            root.started = at;
            agent.clone_from(&root.agent);
        }
        self.push_frame("run-spawn", 0, json!({ "agentId": agent }), out);
    }

    /// It was reopened, or its process has ended: what has failed or was stopped goes on.
    fn resume_run(&mut self) {
        (self.waiting, self.stopped) = (Vec::new(), None);
        for part in &mut self.parts {
            if !matches!(part.end, Some(PartEnd::Completed(_))) {
                (part.end, part.ended) = (None, None);
            }
        }
    }

    fn begin_part(&mut self, key: &Key, label: &str, now: u64, out: &mut Vec<FeedFrame>) {
        if let Some(known) = self.by_key.get(&key.0)
            && let Some(part) = self.parts.get_mut(*known)
        {
            (part.end, part.ended) = (None, None);
            return;
        }
        let parent = self.part_around(Some(key));
        let Some(around) = self.parts.get(parent) else { return };
        let root = self.parts.first().map(|root| root.id.as_str()).unwrap_or_default();
        let agent = agent_of_label(&key.0, label);
        let members = json!({ "parentId": around.id, "agentId": agent });
        let part = RunPart {
            id: key_id(&format!("{root}-"), &key.0),
            agent: agent.to_owned(),
            parent: Some(parent),
            depth: around.depth + 1,
            started: now,
            ..RunPart::default()
        };
        let index = self.parts.len();
        self.parts.push(part);
        self.by_key.insert(key.0.clone(), index);
        self.push_frame("run-spawn", index, members, out);
    }

    fn part_of_step(&self, key: Option<&Key>) -> Option<usize> {
        self.by_key.get(&key?.0).copied()
    }

    fn end_part(&mut self, index: usize, end: PartEnd, now: u64, out: &mut Vec<FeedFrame>) {
        self.close_turn(index, out);
        let Some(part) = self.parts.get_mut(index) else { return };
        if part.end.is_some() {
            return;
        }
        part.ended = Some(now);
        let (kind, members) = match &end {
            PartEnd::Completed(_) => ("run-complete", Json::Null),
            PartEnd::Failed(error) => ("run-error", json!({ "error": error.message, "code": error.code })),
            PartEnd::Cancelled => ("run-cancelled", Json::Null),
        };
        part.end = Some(end);
        let members = if kind == "run-complete" { json!({ "result": self.result_of_part(index) }) } else { members };
        self.push_frame(kind, index, members, out);
    }

    fn end_run(&mut self, end: PartEnd, usage: Usage, now: u64, out: &mut Vec<FeedFrame>) {
        (self.waiting, self.stopped) = (Vec::new(), None);
        for index in (1..self.parts.len()).rev() {
            self.end_part(index, PartEnd::Cancelled, now, out);
        }
        if let Some(root) = self.parts.first_mut() {
            root.usage = usage;
        }
        self.end_part(0, end, now, out);
    }

    /// The result of a step of the run itself becomes part of its state.
    fn note_result(&mut self, key: Option<&Key>, output: &Value) {
        if let Some(key) = key
            && let Some(name) = self.shape.state_name(&key.0)
        {
            self.state.insert(name.to_owned(), output.to_json());
        }
    }

    fn add_usage(&mut self, part: usize, usage: Usage) {
        let mut left = Some(part);
        while let Some(index) = left {
            let Some(part) = self.parts.get_mut(index) else { return };
            part.usage.add_usage(usage);
            left = part.parent;
        }
    }

    fn note_model(&mut self, part: usize, model: &str) {
        let name = model_text(model);
        let mut left = Some(part);
        while let Some(index) = left {
            let Some(part) = self.parts.get_mut(index) else { return };
            if !part.models.contains(&name) {
                part.models.push(name.clone());
            }
            left = part.parent;
        }
    }

    fn begin_turn(&mut self, part: usize, model: &str, out: &mut Vec<FeedFrame>) {
        self.close_turn(part, out);
        self.note_model(part, model);
    }

    fn end_turn(
        &mut self,
        index: usize,
        answer: &Value,
        last_answer: (Option<String>, Option<String>),
        out: &mut Vec<FeedFrame>,
    ) {
        // An answer with tool calls has its text beside them.
        let text = match (answer.get("text"), answer.get("calls")) {
            (Some(text), Some(Value::List(_))) => text.to_text(),
            _ => answer.to_text(),
        };
        let has_calls = matches!(answer.get("calls"), Some(Value::List(_)));
        if !text.is_empty() {
            self.push_frame("text-delta", index, json!({ "text": &*text }), out);
        } else if !has_calls && let Some(part) = self.parts.get(index) {
            self.warnings.push(format!("the answer of the model of `{}` is empty", part.agent));
        }
        if let Some(part) = self.parts.get_mut(index) {
            part.turn += 1;
            part.open_turn = Some(Vec::new());
            part.last_answer = last_answer;
        }
    }

    /// A turn ends with the tool calls in it: when the next one begins, or the agent has ended.
    fn close_turn(&mut self, index: usize, out: &mut Vec<FeedFrame>) {
        let Some(part) = self.parts.get_mut(index) else { return };
        let Some(calls) = part.open_turn.take() else { return };
        let members = json!({ "step": part.turn, "toolCalls": calls });
        self.push_frame("step-complete", index, members, out);
    }

    fn begin_tool(&mut self, key: Option<&Key>, detail: &Value, out: &mut Vec<FeedFrame>) {
        let Some(key) = key else { return };
        let name = detail.get("name").map(|name| name.to_text().to_string()).unwrap_or_default();
        let input = detail.get("arguments").map(Value::to_json).unwrap_or_default();
        let part = self.part_around(Some(key));
        let members = json!({ "toolCall": { "id": tool_call_id(key), "name": name } });
        self.tools.insert(key.clone(), OpenTool { part, name, input });
        self.push_frame("tool-call-start", part, members, out);
    }

    fn end_tool(&mut self, key: Option<&Key>, result: Result<Json, &str>, duration_ms: u64, out: &mut Vec<FeedFrame>) {
        let Some(key) = key else { return };
        let Some(OpenTool { part: index, name, input }) = self.tools.remove(key) else { return };
        let id = tool_call_id(key);
        let call = match result {
            Ok(output) => {
                json!({ "id": id, "name": name, "input": input, "output": output, "duration": duration_ms })
            }
            Err(error) => json!({
                "id": id, "name": name, "input": input, "output": null, "duration": duration_ms, "error": error,
            }),
        };
        if let Some(part) = self.parts.get_mut(index) {
            part.tool_calls.push(call.clone());
            if let Some(turn) = &mut part.open_turn {
                turn.push(call.clone());
            }
        }
        self.push_frame("tool-call-end", index, json!({ "toolCall": call }), out);
    }
}
