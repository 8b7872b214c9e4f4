//! Events of a run as a server sends them, read back into those of the engine, so that a run of a server is shown with the same views
//! as one of this process. What only a trace needs (messages, places in files) is left out.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use trefoil_host::stored_runs::parse_moment;
use trefoil_machine::deadline::AnswerDeadline;
use trefoil_machine::event::{AwaitedActivity, QuestionClosure, ReuseOrigin};
use trefoil_machine::receipt::GivenAnswer;
use trefoil_machine::{AnswerMetadata, AnswerReceipt, AnswerSender, PrivateValue};
use trefoil_runtime::{Event, EventKind, Key, RunError};
use trefoil_template::Value;

/// The words of events that the engine has as constants. A word of a newer version is the first one of its list.
const KINDS: &[&str] = &[
    "step",
    "agent",
    "tool",
    "command",
    "human",
    "wait",
    "refused",
    "compute",
    "value",
    "sequence",
    "parallel",
    "branch",
    "graph",
    "loop",
    "attempts",
    "states",
    "for_each",
    "swarm",
    "fan-out",
    "call",
    "llm",
    "sequential",
    "pipeline",
    "workflow",
    "manual",
];
const EFFECTS: &[&str] = &["effect", "tool", "command", "decide", "describe", "timer", "human", "model"];
const HANDLED: &[&str] = &["fail", "skip", "default", "fallback", "retry", "told", "transition", "cancel"];
const SORTS: &[&str] = &["tool", "human", "command", "run"];
const LIMITS: &[&str] = &["limit", "requests_per_minute", "tokens_per_minute", "concurrency", "circuit_breaker"];

/// The same word as a constant.
fn constant_word(known: &'static [&'static str], word: &str) -> &'static str {
    for constant in known {
        if *constant == word {
            return constant;
        }
    }
    known.first().copied().unwrap_or_default()
}

/// The members of a JSON object, read by name.
#[derive(Clone, Copy)]
struct EventMembers<'j>(&'j Map<String, Json>);

impl<'j> EventMembers<'j> {
    fn text(self, name: &str) -> &'j str {
        self.0.get(name).and_then(Json::as_str).unwrap_or_default()
    }
    fn optional_text(self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Json::as_str).map(str::to_owned)
    }
    fn number(self, name: &str) -> u64 {
        self.0.get(name).and_then(Json::as_u64).unwrap_or_default()
    }
    fn small_number(self, name: &str) -> u32 {
        u32::try_from(self.number(name)).unwrap_or(u32::MAX)
    }
    fn is_set(self, name: &str) -> bool {
        self.0.get(name).and_then(Json::as_bool).unwrap_or_default()
    }
    fn optional_value(self, name: &str) -> Option<Value> {
        self.0.get(name).map(|value| Value::from_json(value.clone()))
    }
    fn value(self, name: &str) -> Value {
        self.optional_value(name).unwrap_or(Value::Null)
    }
    /// A member as a type of the engine. Absent, or of another form: none.
    fn typed<T: DeserializeOwned>(self, name: &str) -> Option<T> {
        serde_json::from_value(self.0.get(name)?.clone()).ok()
    }
    fn error(self, name: &str) -> Option<RunError> {
        match self.0.get(name)? {
            Json::Null => None,
            member => Some(read_error(member)),
        }
    }
    /// Members of the whole object as a type of the engine.
    fn flattened<T: DeserializeOwned + Default>(self) -> T {
        serde_json::from_value(Json::Object(self.0.clone())).unwrap_or_default()
    }
    fn texts(self, name: &str) -> Vec<String> {
        self.typed(name).unwrap_or_default()
    }
    /// Who gave an answer.
    fn receipt(self) -> Option<AnswerReceipt> {
        let receipt = EventMembers(self.0.get("given_by")?.as_object()?);
        let sender = AnswerSender::new(receipt.text("name"), receipt.text("origin"));
        Some(AnswerReceipt { sender, at: parse_moment(receipt.text("at"))? })
    }
    fn deadline(self) -> Option<AnswerDeadline> {
        let answer_by = parse_moment(self.text("answer_by"))?;
        Some(AnswerDeadline { answer_by, otherwise: self.optional_text("otherwise") })
    }
}

/// A failure. One that has another form than in this version keeps its code and its message.
pub fn read_error(json: &Json) -> RunError {
    if let Ok(error) = serde_json::from_value(json.clone()) {
        return error;
    }
    let text = |name: &str| json.get(name).and_then(Json::as_str).unwrap_or_default();
    RunError::new(text("code"), text("message"))
}

/// An event. `None`: this version does not know its kind.
pub fn read_event(json: &Json) -> Option<Event> {
    let members = EventMembers(json.as_object()?);
    Some(Event {
        run: members.text("run").into(),
        seq: members.number("seq"),
        at_ms: members.number("at_ms"),
        key: members.typed::<Key>("key"),
        location: None,
        kind: read_kind(members)?,
    })
}

/// What happened. reason: a table, one arm for each kind of event.
fn read_kind(m: EventMembers<'_>) -> Option<EventKind> {
    Some(match m.text("event") {
        "run_started" => EventKind::RunStarted {
            flow: m.text("flow").to_owned(),
            at: 0,
            input: m.optional_value("input"),
            effective_input: None,
            answers_from: m.optional_text("answers_from"),
            placeholder: m.is_set("placeholder"),
        },
        "step_started" => {
            EventKind::StepStarted { label: m.text("label").into(), kind: constant_word(KINDS, m.text("kind")) }
        }
        "step_skipped" => {
            EventKind::StepSkipped { label: m.text("label").to_owned(), reason: m.text("reason").to_owned() }
        }
        "step_finished" => EventKind::StepFinished { output: m.value("output"), items: m.typed("items") },
        "item_started" => EventKind::ItemStarted {
            index: m.small_number("index"),
            total: m.small_number("total"),
            item: m.optional_value("item"),
        },
        "item_finished" => EventKind::ItemFinished { error: m.error("error") },
        "step_failed" => {
            EventKind::StepFailed { error: m.error("error")?, handled_as: constant_word(HANDLED, m.text("handled_as")) }
        }
        "model_started" => EventKind::ModelStarted {
            agent: m.text("agent").into(),
            model: m.text("model").to_owned(),
            messages: Vec::new(),
            parameters: Value::Null,
            again: m.is_set("again"),
        },
        "model_waiting" => EventKind::ModelWaiting {
            agent: m.text("agent").to_owned(),
            provider: m.text("provider").to_owned(),
            limit: constant_word(LIMITS, m.text("limit")),
            delay_ms: m.typed("delay_ms"),
            why: m.optional_text("why"),
        },
        "text_delta" => EventKind::TextDelta { text: m.text("text").to_owned(), provisional: m.is_set("provisional") },
        "model_finished" => EventKind::ModelFinished {
            answer: m.value("answer"),
            usage: m.typed("usage").unwrap_or_default(),
            duration_ms: m.number("duration_ms"),
            answer_metadata: Box::new(m.flattened::<AnswerMetadata>()),
            reused_from: read_origin(m),
        },
        "model_stopped" => EventKind::ModelStopped {
            usage: m.typed("usage").unwrap_or_default(),
            partial: m.optional_text("partial"),
            answer_metadata: Box::new(m.flattened::<AnswerMetadata>()),
        },
        "effect_started" => {
            let effect = constant_word(EFFECTS, m.text("effect"));
            EventKind::EffectStarted { effect, detail: m.value("detail"), given_by: m.receipt().map(Box::new) }
        }
        "effect_finished" => EventKind::EffectFinished {
            value: m.value("value"),
            duration_ms: m.number("duration_ms"),
            reused_from: read_origin(m),
            called: m.optional_text("called"),
            given_by: m.receipt().map(Box::new),
        },
        "effect_failed" => EventKind::EffectFailed {
            error: m.error("error")?,
            duration_ms: m.number("duration_ms"),
            usage: m.typed("usage"),
            partial: m.optional_text("partial"),
            answer_metadata: Box::new(m.flattened::<AnswerMetadata>()),
            called: m.optional_text("called"),
            given_by: m.receipt().map(Box::new),
        },
        "retry_scheduled" => EventKind::RetryScheduled {
            attempt: m.small_number("attempt"),
            delay_ms: m.number("delay_ms"),
            error: m.error("error")?,
        },
        "validation_failed" => {
            EventKind::ValidationFailed { iteration: m.small_number("iteration"), reason: m.text("reason").to_owned() }
        }
        "verdict" => EventKind::Verdict(serde_json::from_value(Json::Object(m.0.clone())).ok()?),
        "signal_wanted" => EventKind::SignalWanted {
            label: m.text("label").to_owned(),
            prompt: m.text("prompt").to_owned(),
            accepts: m.texts("accepts"),
            choices: m.texts("choices"),
            refused: m.optional_text("refused"),
            deadline: m.deadline(),
        },
        "warning" => EventKind::Warning { message: m.text("message").to_owned() },
        "run_suspended" => EventKind::RunSuspended {
            waiting: read_waiting(m.0.get("waiting")),
            wake_at: parse_moment(m.text("wake_at")),
            why: m.error("why"),
        },
        "run_resumed" => EventKind::RunResumed { execution: m.small_number("execution") },
        "run_finished" => EventKind::RunFinished {
            output: m.optional_value("output").map(PrivateValue::without_hidden),
            error: m.error("error"),
            items: m.typed("items"),
            usage: m.typed("usage").unwrap_or_default(),
            calls: m.number("calls"),
            duration_ms: m.number("duration_ms"),
        },
        _ => return None,
    })
}

fn read_origin(m: EventMembers<'_>) -> Option<Box<ReuseOrigin>> {
    let origin = EventMembers(m.0.get("reused_from")?.as_object()?);
    Some(Box::new(ReuseOrigin {
        run: origin.text("run").to_owned(),
        key: origin.typed("key"),
        usage: origin.typed("usage"),
    }))
}

/// What a run waits for: the member `waiting` of an event or of a run.
pub fn read_waiting(json: Option<&Json>) -> Vec<AwaitedActivity> {
    let mut waiting = Vec::new();
    for one in json.and_then(Json::as_array).into_iter().flatten() {
        if let Some(members) = one.as_object() {
            waiting.push(read_awaited(EventMembers(members)));
        }
    }
    waiting
}

fn read_awaited(m: EventMembers<'_>) -> AwaitedActivity {
    let settled = match (m.optional_text("answered"), m.is_set("late")) {
        (Some(text), _) => Some(QuestionClosure::Answered(GivenAnswer { text, receipt: m.receipt() })),
        (None, true) => Some(QuestionClosure::Late),
        (None, false) => None,
    };
    let mut why = m.error("why").map(Box::new);
    if let Some(why) = &mut why {
        // A server does not raise limits, so no command says with which one the run could go on.
        why.raise = None;
    }
    AwaitedActivity {
        key: m.typed("key").unwrap_or_default(),
        step: m.text("step").to_owned(),
        sort: constant_word(SORTS, m.text("sort")),
        run: m.optional_text("run"),
        prompt: m.optional_text("prompt"),
        call: m.optional_value("call"),
        accepts: m.texts("accepts"),
        choices: m.texts("choices"),
        deadline: m.deadline(),
        why,
        calls: m.typed("calls").unwrap_or_default(),
        settled,
    }
}

/// Where an error or an event is in the manifest: `flow.yaml:3:5`.
pub fn display_place(json: &Json) -> Option<String> {
    let at = json.get("location").unwrap_or(json);
    let file = at.get("file")?.as_str()?;
    let (line, column) = (at.get("line")?.as_u64()?, at.get("column")?.as_u64()?);
    Some(format!("{file}:{line}:{column}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use trefoil_syntax::SourceFiles;
    use trefoil_view::trace::event_json;

    fn event(kind: EventKind) -> Event {
        Event { run: "r1".into(), seq: 4, at_ms: 20, key: Some("a/b".into()), location: None, kind }
    }

    /// What is written and read again is the same event.
    #[test]
    fn events_survive_the_way_through_json() {
        let failed = || RunError::new("TOOL_ERROR", "no").with_help("try").at_step(Some("a/b".into()), None);
        let waits = AwaitedActivity {
            key: "a/ask".into(),
            step: "ask".to_owned(),
            sort: "human",
            prompt: Some("Go on?".to_owned()),
            accepts: vec!["yes".to_owned()],
            deadline: Some(AnswerDeadline { answer_by: 1_772_355_900_250, otherwise: Some("no".to_owned()) }),
            ..AwaitedActivity::default()
        };
        let all = [
            EventKind::StepStarted { label: "b".into(), kind: "agent" },
            EventKind::StepFinished { output: Value::from("x"), items: None },
            EventKind::StepFailed { error: failed(), handled_as: "told" },
            EventKind::RetryScheduled { attempt: 2, delay_ms: 9, error: failed() },
            EventKind::EffectFinished {
                value: Value::Null,
                duration_ms: 3,
                reused_from: None,
                called: Some("r2".into()),
                given_by: Some(Box::new(AnswerReceipt {
                    sender: AnswerSender::new("ada", "terminal"),
                    at: 1_772_355_900_250,
                })),
            },
            EventKind::RunSuspended { waiting: vec![waits], wake_at: Some(1_772_355_900_250), why: Some(failed()) },
            EventKind::RunResumed { execution: 2 },
            EventKind::RunFinished {
                output: None,
                error: Some(failed()),
                items: None,
                usage: trefoil_runtime::Usage { input_tokens: 3, unpriced_calls: 1, ..Default::default() },
                calls: 1,
                duration_ms: 7,
            },
        ];
        for kind in all {
            let event = event(kind);
            assert_eq!(read_event(&event_json(&event, &SourceFiles::default())), Some(event));
        }
    }

    #[test]
    fn what_a_newer_server_says_is_no_error() {
        let newer = json!({"run": "r1", "seq": 1, "at_ms": 2, "event": "something_new", "x": 1});
        assert_eq!(read_event(&newer), None);
        let kind = json!({"run": "r1", "seq": 1, "at_ms": 2, "event": "step_started", "label": "a", "kind": "novel"});
        let kind = read_event(&kind).unwrap().kind;
        assert_eq!(kind, EventKind::StepStarted { label: "a".into(), kind: "step" });
        for odd in [json!(null), json!([]), json!({"event": 3}), json!({"event": "step_failed"})] {
            assert_eq!(read_event(&odd), None, "{odd}");
        }
        let error = read_error(&json!({"code": "X", "message": "m", "cause": "novel"}));
        assert_eq!((error.code.as_str(), error.message.as_str()), ("X", "m"));
    }
}
