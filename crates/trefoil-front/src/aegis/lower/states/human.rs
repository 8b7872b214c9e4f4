//! A Human state: a question, and what happens without an answer.

use trefoil_ir::{Expr, HumanCall, OnTimeout, Step, StepKind};

use crate::aegis::lower::pieces::{constant, object, result};
use crate::aegis::lower::scene::Scene;
use crate::aegis::manifest::states::human::HumanState;
use crate::aegis::names::Moment;
use crate::build::{self, plain};

/// One hour.
const DEFAULT_TIMEOUT_MS: u64 = 3_600_000;

/// Lowers a Human state. An answer that is a JSON object may contain `response` and `feedback`.
pub fn lower(scene: &Scene<'_>, index: usize, state: &HumanState, timeout_ms: Option<u64>) -> Step {
    let prompt = state.prompt.as_ref().and_then(|p| scene.texts.text(Moment::Entering(index), p)).map(build::as_text);
    let call = HumanCall {
        prompt: prompt.unwrap_or_else(|| constant("")),
        timeout_ms: Some(timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS)),
        on_timeout: state.default_response.clone().map_or(OnTimeout::Fail, OnTimeout::Answer),
        answer_at: state.default_span.map(|span| scene.at(span)),
    };
    let shape = object([
        ("status", constant("success")),
        ("response", result()),
        ("output", Expr::Structured(Box::new(result()))),
    ]);
    Step { shape: Some(shape), ..plain(StepKind::Human(Box::new(call)), scene.state_at(index)) }
}
