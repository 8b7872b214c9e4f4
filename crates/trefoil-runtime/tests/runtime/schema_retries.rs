//! Answers that do not match their schema: requested again with the reason, by a call like any other.

use expect_test::expect;
use std::sync::{Arc, Mutex};

use trefoil_ir::{AnswerFormat, Budget, OnExceeded, Program, RetryOn, StepId, StepKind};
use trefoil_runtime::ports::{CallSite, FnModel};
use trefoil_runtime::{
    EventKind, Key, MessageRole, ModelAnswer, ModelError, ModelProvider, ModelRequest, RunError, Usage, driver,
};
use trefoil_template::Value;

use crate::world::{World, block_on, json, status};
use testbed::build::{Build, retry};

/// The requests: key and messages with roles.
type Sent = Arc<Mutex<Vec<(String, Vec<(MessageRole, String)>)>>>;

/// A model that returns these answers in turn.
fn answers(all: Vec<Result<&'static str, u16>>) -> (World, Sent) {
    let sent = Sent::default();
    let seen = sent.clone();
    let model = move |key: &Key, request: &ModelRequest| -> Result<String, ModelError> {
        let mut seen = seen.lock().unwrap();
        let texts = request.messages.iter().map(|m| (m.role, m.content.to_text().to_string()));
        seen.push((key.0.to_string(), texts.collect()));
        all[seen.len() - 1].map(str::to_owned).map_err(status)
    };
    (World::new(FnModel(model)), sent)
}

/// A call whose answer must contain a number.
fn build() -> (Build, StepId) {
    let mut b = Build::new();
    let say = b.model("say", "x");
    let schema =
        b.schema(serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}));
    if let StepKind::Model(call) = &mut b.at(say).kind {
        call.format = AnswerFormat::Json(schema);
    }
    (b, say)
}

fn program((mut b, say): (Build, StepId), budget: Option<Budget>) -> Arc<Program> {
    let main = b.flow("main", say, None);
    b.flow_mut(main).budget = budget;
    b.program(main)
}

fn plain() -> Arc<Program> {
    program(build(), None)
}

/// The same with a retry policy of two tries in the manifest.
fn retried(on: RetryOn) -> Arc<Program> {
    let (mut b, say) = build();
    b.at(say).policy.retry = Some(retry(2, &[on]));
    program((b, say), None)
}

#[test]
fn it_is_asked_for_once_more_with_the_answer_and_what_does_not_fit() {
    let (world, sent) = answers(vec![Ok("{\"n\": \"x\"}"), Ok("{\"n\": 2}")]);
    let outcome = world.run(&plain(), "x");
    assert_eq!(json(&outcome.result.unwrap()), serde_json::json!({"n": 2}));
    assert_eq!(outcome.calls, 2);
    let sent = sent.lock().unwrap();
    assert_eq!((&*sent[0].0, &*sent[1].0), ("say", "say!2"));
    let (first, second) = (&sent[0].1, &sent[1].1);
    assert_eq!(second[..first.len()], first[..]);
    let more = &second[first.len()..];
    assert_eq!(more.len(), 2);
    assert_eq!(more[0], (MessageRole::Assistant, "{\"n\": \"x\"}".to_owned()));
    assert_eq!(more[1].0, MessageRole::User);
    expect![[r#"the answer does not match the schema: at `/n`: "x" is not of type "integer". Answer again, with only JSON that matches the schema."#]].assert_eq(&more[1].1);
    assert!(world.kinds().iter().any(|k| matches!(k, EventKind::RetryScheduled { attempt: 2, delay_ms: 0, .. })));
}

#[test]
fn a_second_misfit_fails_the_step() {
    let (world, sent) = answers(vec![Ok("no"), Ok("{}")]);
    let error = world.run(&plain(), "x").result.unwrap_err();
    assert_eq!(error.code, "STRUCTURED_OUTPUT_INVALID");
    expect![[r#"the answer does not match the schema: "n" is a required property; the model was called twice"#]]
        .assert_eq(&error.message);
    assert_eq!(sent.lock().unwrap().len(), 2);
}

#[test]
fn a_limit_on_calls_holds_for_it() {
    let mut world = answers(vec![Ok("no")]).0;
    world.options.spec.limits.calls = Some(1);
    assert_eq!(world.run(&plain(), "x").result.unwrap_err().code, "BUDGET_EXCEEDED");

    let budget = Budget {
        max_tokens: None,
        max_duration_ms: None,
        max_calls: Some(1),
        calls_at: None,
        max_cost_micro: None,
        on_exceeded: OnExceeded::Abort,
    };
    let (world, sent) = answers(vec![Ok("no")]);
    let limited = program(build(), Some(budget));
    assert_eq!(world.run(&limited, "x").result.unwrap_err().code, "BUDGET_EXCEEDED");
    assert_eq!(sent.lock().unwrap().len(), 1);
}

#[test]
fn it_uses_up_no_try_of_the_manifest_and_a_busy_provider_changes_nothing_in_it() {
    let (world, sent) = answers(vec![Ok("no"), Err(429), Ok("{\"n\": 1}")]);
    assert!(world.run(&retried(RetryOn::Status(429)), "x").result.is_ok());
    let sent = sent.lock().unwrap();
    let keys: Vec<&str> = sent.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["say", "say!2", "say!3"]);
    assert_eq!(sent[1].1, sent[2].1);
}

#[test]
fn where_the_manifest_retries_that_failure_itself_nothing_is_added() {
    let (world, sent) = answers(vec![Ok("no"), Ok("no")]);
    assert!(world.run(&retried(RetryOn::Code("STRUCTURED_OUTPUT_INVALID".into())), "x").result.is_err());
    let sent = sent.lock().unwrap();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].1, sent[1].1);
}

#[test]
fn json_in_one_fence_or_in_prose_is_taken() {
    for text in [
        "```json\n{\"n\": 1}\n```",
        "Here it is:\n\n```json\n{\"n\": 1}\n```\n\nAnything else?",
        "Sure! {\"n\": 1} is what {you} wanted [as asked].",
        "See [1] and [2]: {\"n\": 1}",
    ] {
        let (world, sent) = answers(vec![Ok(text)]);
        let value = world.run(&plain(), "x").result.unwrap_or_else(|e| panic!("{text}: {}", e.message));
        assert_eq!(value.get("n"), Some(&Value::from(1)), "{text}");
        assert_eq!(sent.lock().unwrap().len(), 1);
    }
    let (world, _) = answers(vec![Ok("{\"n\": 1} or {\"n\": 2}"), Ok("{\"n\": 1} or {\"n\": 2}")]);
    let error = world.run(&plain(), "x").result.unwrap_err();
    expect!["the answer has several pieces of JSON that match the schema; the model was called twice"]
        .assert_eq(&error.message);
}

/// A model whose answers match no schema, and that says what was sent.
struct Prose;

#[async_trait::async_trait]
impl ModelProvider for Prose {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let sent = Some(format!("POST for {}", at.key.0));
        Ok(ModelAnswer { sent, ..ModelAnswer::new("no", Usage::default()) })
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "prose".to_owned()
    }
}

#[test]
fn the_failure_says_what_was_sent_and_so_does_a_replay_of_its_journal() {
    let world = World::new(Prose);
    let error = world.run(&plain(), "x").result.unwrap_err();
    let sent = |error: &RunError| error.sent.as_ref().map(|sent| sent.to_string());
    assert_eq!((&*error.code, sent(&error).as_deref()), ("STRUCTURED_OUTPUT_INVALID", Some("POST for say!2")));
    // The run has ended, so its journal is replayed before the call is made again.
    let events = world.events.collected_events().len();
    let again = block_on(driver::resume_run(plain(), "r1", world.ports.clone(), world.options.clone()));
    assert_eq!(sent(&again.result.unwrap_err()).as_deref(), Some("POST for say!2"));
    let failures = world.events.collected_events().into_iter().skip(events).filter_map(|event| match event.kind {
        EventKind::StepFailed { error, .. } => sent(&error),
        _ => None,
    });
    // As in the journal, and again after the call was repeated.
    let failures: Vec<String> = failures.collect();
    assert!(!failures.is_empty() && failures.iter().all(|sent| sent == "POST for say!2"), "{failures:?}");
}
