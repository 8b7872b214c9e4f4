//! A Human state: a question, and what happens without an answer.

use trefoil_ir::{HumanCall, OnTimeout, Step, StepKind, ValueExpression};

use crate::aegis::lowering::expressions::{constant_text, current_result, object_expression};
use crate::aegis::lowering::lowering_context::LoweringContext;
use crate::aegis::manifest::states::human::HumanState;
use crate::aegis::names::RenderMoment;
use crate::program_builder::{self, plain_step};

/// One hour.
const DEFAULT_TIMEOUT_MS: u64 = 3_600_000;

/// Lowers a Human state. An answer that is a JSON object may contain `response` and `feedback`.
pub fn lower_human_state(
    scene: &LoweringContext<'_>,
    index: usize,
    state: &HumanState,
    timeout_ms: Option<u64>,
) -> Step {
    let moment = RenderMoment::Entering(index);
    let prompt = state.prompt.as_ref().and_then(|prompt| scene.texts.template_text(moment, prompt));
    let call = HumanCall {
        prompt: match prompt {
            Some(text) => program_builder::as_text(text),
            None => constant_text(""),
        },
        timeout_ms: Some(timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS)),
        on_timeout: match &state.default_response {
            Some(answer) => OnTimeout::Answer(answer.clone()),
            None => OnTimeout::Fail,
        },
        answer_at: state.default_span.map(|span| scene.location_of(span)),
    };
    let shape = object_expression([
        ("status", constant_text("success")),
        ("response", current_result()),
        ("output", ValueExpression::Structured(Box::new(current_result()))),
    ]);
    Step { shape: Some(shape), ..plain_step(StepKind::Human(Box::new(call)), scene.state_at(index)) }
}
