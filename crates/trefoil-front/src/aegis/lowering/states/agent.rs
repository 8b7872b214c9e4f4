//! An Agent state: a call, repeated in rounds if it has judges.

use trefoil_ir::{
    Attempts, ConsensusStrategy, SlotId, Source, Step, StepKind, Validator, ValidatorKind, ValueExpression,
};

use super::callee;
use crate::aegis::lowering::AegisLowering;
use crate::aegis::lowering::expressions::{compute_step, constant_text, current_result, object_expression};
use crate::aegis::lowering::judge::{self, JudgeInput};
use crate::aegis::lowering::lowering_context::LoweringContext;
use crate::aegis::manifest::consensus;
use crate::aegis::manifest::states::agent::AgentState;
use crate::aegis::names::{FlowSlots, RenderMoment, RoundSlots};
use crate::program_builder::plain_step;

/// `{status, output}` from an agent's answer, where `output` is an object or a list if the answer is one. `scored`: also if it only
/// contains a verdict, because transitions need its score.
fn shape(scored: bool) -> ValueExpression {
    let answer = if scored { ValueExpression::Verdict(Box::new(current_result())) } else { current_result() };
    object_expression([("status", constant_text("success")), ("output", ValueExpression::Structured(Box::new(answer)))])
}

/// Lowers an Agent state.
pub fn lower_agent_state(
    lowering: &mut AegisLowering<'_>,
    scene: &LoweringContext<'_>,
    slots: &mut FlowSlots,
    index: usize,
    state: &AgentState,
    scored: bool,
) -> Step {
    let origin = scene.state_at(index);
    let nothing = || super::unknown(origin);
    let Some(name) = &state.agent else { return nothing() };
    let rounds = scene.names.states.get(index).and_then(|named| named.rounds);
    let moment = RenderMoment::Entering(index);
    let (input, intent) = (state.input.as_ref(), state.intent.as_ref());
    let Some(RoundSlots { number: round, previous_error: error }) = rounds else {
        let call = callee::agent_call(lowering, scene, moment, name, input, intent, |input| input);
        return match call {
            Some(call) => Step { shape: Some(shape(scored)), ..plain_step(StepKind::Call(Box::new(call)), origin) },
            None => nothing(),
        };
    };

    // In a round, `previous_error` is the judges' reason; in the first one, that of the last failed state.
    let judged_error = slots.add_slot("judged");
    let task = slots.add_slot("task");
    let Some(call) =
        callee::agent_call(lowering, scene, moment, name, input, intent, |input| with_reason(input, judged_error))
    else {
        return nothing();
    };
    let task_text = match &call.input {
        Some(input) => ValueExpression::AsText(Box::new(input.clone())),
        None => constant_text(""),
    };
    let steps = vec![
        compute_step(&mut lowering.builder, error_so_far(scene, judged_error), error, origin),
        compute_step(&mut lowering.builder, task_text, task, origin),
        lowering.builder.add_step(plain_step(StepKind::Call(Box::new(call)), origin)),
    ];
    let body = lowering.builder.add_step(plain_step(StepKind::Sequence(steps), origin));
    let case = JudgeInput { task: ValueExpression::Read(Source::Slot(task)), criteria: None, record: false };
    let judges = state
        .judges
        .iter()
        .map(|judge| judge::lower_judge(lowering, scene.file, &judge.agent, &case, judge.weight, (300_000, None)))
        .collect();
    let validator = Validator {
        kind: ValidatorKind::Judges {
            judges,
            consensus: consensus::default_consensus(ConsensusStrategy::WeightedAverage),
        },
        min_score: 0.8,
        min_confidence: 0.0,
        origin,
        name: "judges".into(),
    };
    let attempts = Attempts {
        body,
        max: state.max_iterations,
        validators: vec![validator],
        iteration: round,
        previous_error: judged_error,
        retry_failures: false,
    };
    Step { shape: Some(shape(scored)), ..plain_step(StepKind::Attempts(attempts), origin) }
}

fn error_so_far(scene: &LoweringContext<'_>, judged: SlotId) -> ValueExpression {
    ValueExpression::If {
        source: Source::Slot(judged),
        then: Box::new(ValueExpression::Read(Source::Slot(judged))),
        otherwise: Box::new(ValueExpression::AsText(Box::new(ValueExpression::Read(Source::Slot(
            scene.names.fixed.previous_error,
        ))))),
    }
}

/// The input of a later round ends with the reason why the round before it failed.
fn with_reason(input: ValueExpression, judged: SlotId) -> ValueExpression {
    ValueExpression::If {
        source: Source::Slot(judged),
        then: Box::new(ValueExpression::Concat(vec![
            ValueExpression::AsText(Box::new(input.clone())),
            constant_text("\n\n"),
            ValueExpression::Read(Source::Slot(judged)),
            constant_text("\nPlease refine your response."),
        ])),
        otherwise: Box::new(input),
    }
}
