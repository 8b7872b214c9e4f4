//! Incomplete answers fail their call. The received text is kept.

use async_trait::async_trait;
use trefoil_ir::prices::{ModelPrice, TokenRates};
use trefoil_ir::{Guard, PiiAction, PiiEntity, StepKind};
use trefoil_machine::FailedModelCall;
use trefoil_runtime::ports::{CallSite, SubstituteModel};
use trefoil_runtime::{
    AnswerDoubt, CancelSwitch, EventKind, FinishReason, ModelAnswer, ModelError, ModelErrorKind, ModelProvider,
    ModelRequest, Usage,
};
use trefoil_syntax::{Location, Span};

use crate::world::World;
use testbed::build::{Build, nowhere};

/// A model whose answer ends like this.
struct Doubtful(AnswerDoubt);

#[async_trait]
impl ModelProvider for Doubtful {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        Ok(ModelAnswer { doubts: vec![self.0.clone()], ..ModelAnswer::new("All of it", Usage::default()) })
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "vendor:m".to_owned()
    }
}

#[test]
fn an_answer_that_may_be_incomplete_is_used_with_a_warning() {
    for (doubt, said) in [
        (
            AnswerDoubt::UnknownFinish("something_new".to_owned()),
            "ended its answer with the unknown finish reason `something_new`, so the answer may be incomplete",
        ),
        (AnswerDoubt::MissingFinish, "ended its answer without a finish reason, so the answer may be incomplete"),
        (
            AnswerDoubt::LeftOut("a part of the type `image`".to_owned()),
            "sent a part of the type `image`, which is not in the answer",
        ),
        (
            AnswerDoubt::Replaced,
            "sent another text at the end of its answer than in the pieces before; the text at the end is used",
        ),
    ] {
        let mut b = Build::new();
        let say = b.model("writer", "x");
        let main = b.flow("main", say, None);
        let world = World::new(Doubtful(doubt));
        assert_eq!(&*world.run(&b.program(main), "x").result.unwrap().to_text(), "All of it");
        let warnings = world.kinds().into_iter().filter_map(|kind| match kind {
            EventKind::Warning { message } => Some(message),
            _ => None,
        });
        assert_eq!(warnings.collect::<Vec<_>>(), [format!("`vendor:m` {said}")]);
    }
}

/// A model that returns half an answer.
struct Half(FinishReason);

#[async_trait]
impl ModelProvider for Half {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let usage = Usage { input_tokens: 9, output_tokens: 4, ..Usage::default() };
        let sent = Some("POST somewhere".to_owned());
        Ok(ModelAnswer { finish: Some(self.0), sent, ..ModelAnswer::new("Half of it", usage) })
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "half".to_owned()
    }
}

#[test]
fn each_reason_has_its_code_and_the_text_and_the_usage_are_kept() {
    let codes = [
        (FinishReason::Length, "ANSWER_TRUNCATED"),
        (FinishReason::Refused, "ANSWER_REFUSED"),
        (FinishReason::Filtered, "ANSWER_FILTERED"),
    ];
    for (finish, code) in codes {
        let mut b = Build::new();
        let say = b.model("writer", "x");
        let main = b.flow("main", say, None);
        let world = World::new(Half(finish));
        let outcome = world.run(&b.program(main), "x");
        let error = outcome.result.unwrap_err();
        assert_eq!((&*error.code, error.sent.as_deref()), (code, Some("POST somewhere")));
        assert_eq!((outcome.usage.total_tokens(), outcome.usage.is_known()), (13, true), "a failed call was paid for");
        let kept = world.kinds().into_iter().find_map(|kind| match kind {
            EventKind::EffectFailed { partial, usage, answer_metadata, .. } => {
                Some((partial, usage.map(|u| u.total_tokens()), answer_metadata.finish))
            }
            _ => None,
        });
        assert_eq!(kept, Some((Some("Half of it".to_owned()), Some(13), Some(finish))));
    }
}

/// A fallback that is called after the answer of `test` was cut off. The flag says whether its own answer is cut off as well.
struct Second(bool);

#[async_trait]
impl ModelProvider for Second {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let tokens = |input_tokens| Usage { input_tokens, ..Usage::default() };
        let (model, why) = ("test".to_owned(), "`test` broke off".to_owned());
        let before = vec![FailedModelCall { model, why, usage: Some(tokens(100)) }];
        let instead = SubstituteModel { by: "other:x".to_owned(), before };
        let answer = ModelAnswer { instead: Some(Box::new(instead)), ..ModelAnswer::new("Said", tokens(10)) };
        match self.0 {
            false => Ok(answer),
            true => Err(ModelError {
                came: Some(Box::new(answer)),
                ..ModelError::new(ModelErrorKind::Protocol, "it broke off")
            }),
        }
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "test".to_owned()
    }
}

#[test]
fn what_each_model_of_a_call_used_has_its_own_price() {
    for breaks in [false, true] {
        let mut b = Build::new();
        let say = b.model("writer", "x");
        let main = b.flow("main", say, None);
        let mut world = World::new(Second(breaks));
        // Micro-dollars per token.
        let rates = |input: u64| TokenRates { input: input * 1_000_000, ..TokenRates::default() };
        let price = |input| ModelPrice { rates: rates(input), ..ModelPrice::default() };
        world.options.prices = vec![("test".to_owned(), price(1)), ("other:x".to_owned(), price(20))];
        world.options.fallbacks = vec![("test".to_owned(), vec!["other:x".to_owned()])];
        let outcome = world.run(&b.program(main), "x");
        assert_eq!(outcome.result.is_err(), breaks);
        let used = Usage { input_tokens: 110, cost_micro: 100 + 10 * 20, ..Usage::default() };
        assert_eq!(outcome.usage, used);
        let answer_metadata = world.kinds().into_iter().find_map(|kind| match kind {
            EventKind::ModelFinished { answer_metadata, .. } | EventKind::EffectFailed { answer_metadata, .. } => {
                Some(answer_metadata)
            }
            _ => None,
        });
        let answer_metadata = answer_metadata.unwrap();
        assert_eq!(answer_metadata.instead.as_deref(), Some("other:x"));
        let before = answer_metadata.before.iter().map(|one| (&*one.model, one.usage.unwrap().cost_micro));
        assert_eq!(before.collect::<Vec<_>>(), [("test", 100)], "each at its own price");
        let warned = world.kinds().iter().any(|kind| matches!(kind, EventKind::Warning { .. }));
        assert_eq!(warned, !breaks, "a failure names the models itself");
    }
}

/// Its first model has broken off, and the second never answers: the run is cancelled.
struct Hanging(CancelSwitch);

#[async_trait]
impl ModelProvider for Hanging {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let tokens = |input_tokens| Usage { input_tokens, ..Usage::default() };
        at.meter.report_usage(tokens(100));
        let before =
            vec![FailedModelCall { model: "test".to_owned(), why: "broke off".to_owned(), usage: Some(tokens(100)) }];
        at.meter.turn_to(SubstituteModel { by: "other:x".to_owned(), before }, request).await;
        assert_eq!(at.meter.reported_usage(), None, "what the first one used is not what the second one uses");
        at.meter.report_usage(tokens(10));
        self.0.cancel_runs();
        std::future::pending().await
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "test".to_owned()
    }
}

#[test]
fn a_call_that_is_stopped_is_priced_as_the_models_that_were_called() {
    let mut b = Build::new();
    let say = b.model("writer", "x");
    let main = b.flow("main", say, None);
    let cancel = CancelSwitch::new();
    let mut world = World::new(Hanging(cancel.clone()));
    let price = |input: u64| ModelPrice {
        rates: TokenRates { input: input * 1_000_000, ..TokenRates::default() },
        ..ModelPrice::default()
    };
    world.options.cancel = cancel;
    world.options.prices = vec![("test".to_owned(), price(1)), ("other:x".to_owned(), price(20))];
    world.options.fallbacks = vec![("test".to_owned(), vec!["other:x".to_owned()])];
    let outcome = world.run(&b.program(main), "x");
    assert_eq!(outcome.result.unwrap_err().code, "CANCELLED");
    assert_eq!(outcome.usage, Usage { input_tokens: 110, cost_micro: 100 + 10 * 20, ..Usage::default() });
    let answer_metadata = world.kinds().into_iter().find_map(|kind| match kind {
        EventKind::ModelStopped { answer_metadata, .. } => Some(answer_metadata),
        _ => None,
    });
    let answer_metadata = answer_metadata.unwrap();
    assert_eq!((answer_metadata.instead.as_deref(), answer_metadata.before.len()), (Some("other:x"), 1));
}

#[test]
fn an_answer_that_a_guardrail_refuses_is_kept_without_what_the_guardrails_hide() {
    let mut b = Build::new();
    let say = b.model("writer", "x");
    if let StepKind::Model(call) = &mut b.at(say).kind {
        let hide =
            Guard::Pii { entities: vec![PiiEntity::Email], action: PiiAction::Block, replacement: "[REDACTED]".into() };
        call.guards = vec![Guard::Length { max_chars: 10, refuse: true }, hide];
    }
    let main = b.flow("main", say, None);
    let world = World::model(|_, _| Ok("Write to ann@example.org about it".to_owned()));
    let error = world.run(&b.program(main), "x").result.unwrap_err();
    let shown = "Write to [REDACTED] about it";
    assert_eq!((&*error.code, error.answer_excerpt()), ("GUARDRAIL_VIOLATION", Some(shown)));
    let kept = world.kinds().into_iter().find_map(|kind| match kind {
        EventKind::EffectFailed { partial, .. } => partial,
        _ => None,
    });
    assert_eq!(kept.as_deref(), Some(shown));
}

#[test]
fn an_answer_that_is_cut_off_is_told_at_its_limit_and_with_its_beginning() {
    let mut b = Build::new();
    let say = b.model("writer", "x");
    let at = Location { span: Span::new(7, 9), ..nowhere() };
    if let StepKind::Model(call) = &mut b.at(say).kind {
        call.places = vec![("max_tokens", at)];
    }
    let main = b.flow("main", say, None);
    let error = World::new(Half(FinishReason::Length)).run(&b.program(main), "x").result.unwrap_err();
    assert_eq!((error.answer_excerpt(), error.location), (Some("Half of it"), Some(at)));
}
