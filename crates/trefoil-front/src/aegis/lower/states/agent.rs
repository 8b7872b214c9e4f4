//! An Agent state: a call, repeated in rounds if it has judges.

use trefoil_ir::{Attempts, Expr, SlotId, Source, Step, StepKind, Strategy, Validator, ValidatorKind};

use super::callee;
use crate::aegis::lower::Lowering;
use crate::aegis::lower::judge::{self, Case};
use crate::aegis::lower::pieces::{compute, constant, object, result};
use crate::aegis::lower::scene::Scene;
use crate::aegis::manifest::consensus;
use crate::aegis::manifest::states::agent::AgentState;
use crate::aegis::names::{FlowSlots, Moment};
use crate::build::plain;

/// `{status, output}` from an agent's answer, where `output` is an object or a list if the answer is one. `scored`: also if it only
/// contains a verdict, because transitions need its score.
fn shape(scored: bool) -> Expr {
    let answer = if scored { Expr::Verdict(Box::new(result())) } else { result() };
    object([("status", constant("success")), ("output", Expr::Structured(Box::new(answer)))])
}

/// Lowers an Agent state.
pub fn lower(
    lowering: &mut Lowering<'_>,
    scene: &Scene<'_>,
    slots: &mut FlowSlots,
    index: usize,
    state: &AgentState,
    scored: bool,
) -> Step {
    let origin = scene.state_at(index);
    let nothing = || super::unknown(origin);
    let Some(name) = &state.agent else { return nothing() };
    let rounds = scene.names.states.get(index).and_then(|s| s.rounds);
    let moment = Moment::Entering(index);
    let (input, intent) = (state.input.as_ref(), state.intent.as_ref());
    let Some((round, error)) = rounds else {
        let call = callee::agent(lowering, scene, moment, name, input, intent, |input| input);
        return call.map_or_else(nothing, |call| Step {
            shape: Some(shape(scored)),
            ..plain(StepKind::Call(Box::new(call)), origin)
        });
    };

    // In a round, `previous_error` is the judges' reason; in the first one, that of the last failed state.
    let judged_error = slots.add("judged");
    let task = slots.add("task");
    let Some(call) =
        callee::agent(lowering, scene, moment, name, input, intent, |input| with_reason(input, judged_error))
    else {
        return nothing();
    };
    let task_text = match &call.input {
        Some(input) => Expr::AsText(Box::new(input.clone())),
        None => constant(""),
    };
    let steps = vec![
        compute(&mut lowering.builder, error_so_far(scene, judged_error), error, origin),
        compute(&mut lowering.builder, task_text, task, origin),
        lowering.builder.step(plain(StepKind::Call(Box::new(call)), origin)),
    ];
    let body = lowering.builder.step(plain(StepKind::Sequence(steps), origin));
    let case = Case { task: Expr::Read(Source::Slot(task)), criteria: None, record: false };
    let judges = state
        .judges
        .iter()
        .map(|j| judge::judge(lowering, scene.file, &j.agent, &case, j.weight, (300_000, None)))
        .collect();
    let validator = Validator {
        kind: ValidatorKind::Judges { judges, consensus: consensus::plain(Strategy::WeightedAverage) },
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
    Step { shape: Some(shape(scored)), ..plain(StepKind::Attempts(attempts), origin) }
}

fn error_so_far(scene: &Scene<'_>, judged: SlotId) -> Expr {
    Expr::If {
        source: Source::Slot(judged),
        then: Box::new(Expr::Read(Source::Slot(judged))),
        otherwise: Box::new(Expr::AsText(Box::new(Expr::Read(Source::Slot(scene.names.fixed.previous_error))))),
    }
}

/// The input of a later round ends with the reason why the round before it failed.
fn with_reason(input: Expr, judged: SlotId) -> Expr {
    Expr::If {
        source: Source::Slot(judged),
        then: Box::new(Expr::Concat(vec![
            Expr::AsText(Box::new(input.clone())),
            constant("\n\n"),
            Expr::Read(Source::Slot(judged)),
            constant("\nPlease refine your response."),
        ])),
        otherwise: Box::new(input),
    }
}
