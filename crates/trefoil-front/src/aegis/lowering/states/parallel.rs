//! A ParallelAgents state: all agents run concurrently, then the consensus of their verdicts is computed, or that of
//! judges who read all answers.

use std::sync::Arc;

use trefoil_ir::{
    FlowCallee, OnItemFailure, ParallelSteps, SlotId, Source, Step, StepId, StepKind, StepPolicy, SubflowCall,
    ValueExpression, WeightedVerdict,
};

use super::callee;
use trefoil_syntax::Span;

use crate::aegis::lowering::AegisLowering;
use crate::aegis::lowering::expressions::{compute_step, constant_text, current_result, object_expression};
use crate::aegis::lowering::judge::{self, JudgeInput};
use crate::aegis::lowering::lowering_context::LoweringContext;
use crate::aegis::manifest::states::parallel::ParallelState;
use crate::aegis::names::{FlowSlots, RenderMoment, name_path};
use crate::program_builder::plain_step;

/// Lowers a ParallelAgents state.
pub fn lower_parallel_state(
    lowering: &mut AegisLowering<'_>,
    scene: &LoweringContext<'_>,
    slots: &mut FlowSlots,
    index: usize,
    state: &ParallelState,
) -> Step {
    let origin = scene.state_at(index);
    if state.cut {
        return super::unknown(origin);
    }
    let name = scene.names.state_name(index).clone();
    let mut answers: Vec<AgentAnswer> = Vec::new();
    let mut branches = Vec::new();
    for (i, agent) in state.agents.iter().enumerate() {
        let moment = RenderMoment::Entering(index);
        let call = callee::agent_call(lowering, scene, moment, &agent.agent, agent.input.as_ref(), None, |input| input);
        let Some(call) = call else { continue };
        let slot = slots.add_slot(format!("{name}.agents.{i}"));
        answers.push(AgentAnswer { by: agent.agent.value.clone(), slot, weight: agent.weight });
        branches.push(branch(
            lowering,
            call,
            format!("agents.{i}").into(),
            slot,
            (agent.timeout_ms, agent.timeout_at),
            scene,
            index,
        ));
    }
    let mut steps = vec![at_once(lowering, branches, scene, index)];

    let verdicts = if state.judges.is_empty() {
        answers.clone()
    } else {
        judged(lowering, scene, slots, index, state, &answers, &mut steps)
    };
    let consensus = slots.add_slot(format!("{name}.consensus"));
    if let Some(spec) = &state.consensus {
        let ballot = |answer: &AgentAnswer| {
            let AgentAnswer { by, slot, weight } = answer;
            WeightedVerdict { by: by.clone(), value: ValueExpression::Read(Source::Slot(*slot)), weight: *weight }
        };
        let verdicts = verdicts.iter().map(ballot).collect();
        let value = ValueExpression::Consensus { verdicts, consensus: spec.consensus.clone() };
        steps.push(compute_step(&mut lowering.builder, value, consensus, origin));
    }
    let each = |AgentAnswer { slot, .. }: &AgentAnswer| {
        object_expression([
            ("output", ValueExpression::Read(Source::Slot(*slot))),
            ("score", ValueExpression::Read(Source::Member(*slot, name_path(&["score"])))),
            ("confidence", ValueExpression::Read(Source::Member(*slot, name_path(&["confidence"])))),
        ])
    };
    let outcome = object_expression([
        ("status", constant_text("success")),
        ("consensus", ValueExpression::Read(Source::Slot(consensus))),
        ("score", ValueExpression::Read(Source::Member(consensus, name_path(&["score"])))),
        ("confidence", ValueExpression::Read(Source::Member(consensus, name_path(&["confidence"])))),
        ("agents", ValueExpression::List(answers.iter().map(each).collect())),
        (
            "output",
            ValueExpression::List(answers.iter().map(|a| ValueExpression::Read(Source::Slot(a.slot))).collect()),
        ),
    ]);
    steps.push(lowering.builder.add_step(plain_step(StepKind::Compute(outcome), origin)));
    plain_step(StepKind::Sequence(steps), origin)
}

/// An agent's answer.
#[derive(Clone)]
struct AgentAnswer {
    by: Arc<str>,
    slot: SlotId,
    weight: f64,
}

/// One agent. If it fails, it has no verdict; the consensus decides whether too few are left.
fn branch(
    lowering: &mut AegisLowering<'_>,
    call: SubflowCall,
    label: Arc<str>,
    out: SlotId,
    (timeout_ms, timeout_at): (u64, Option<Span>),
    scene: &LoweringContext<'_>,
    index: usize,
) -> StepId {
    lowering.builder.add_step(Step {
        label: Some(label),
        out: Some(out),
        shape: Some(ValueExpression::Structured(Box::new(current_result()))),
        policy: StepPolicy {
            timeout_ms: Some(timeout_ms),
            timeout_at: timeout_at.map(|at| scene.location_of(at)),
            ..StepPolicy::default()
        },
        ..plain_step(StepKind::Call(Box::new(call)), scene.state_at(index))
    })
}

fn at_once(
    lowering: &mut AegisLowering<'_>,
    branches: Vec<StepId>,
    scene: &LoweringContext<'_>,
    index: usize,
) -> StepId {
    let parallel = ParallelSteps { branches, concurrency: None, on_failure: OnItemFailure::Continue };
    lowering.builder.add_step(plain_step(StepKind::Parallel(parallel), scene.state_at(index)))
}

/// `judges_for_parallel`: each judge reads all answers together.
fn judged(
    lowering: &mut AegisLowering<'_>,
    scene: &LoweringContext<'_>,
    slots: &mut FlowSlots,
    index: usize,
    state: &ParallelState,
    answers: &[AgentAnswer],
    steps: &mut Vec<StepId>,
) -> Vec<AgentAnswer> {
    let name = scene.names.state_name(index).clone();
    let joined = slots.add_slot(format!("{name}.joined"));
    let all = ValueExpression::Join {
        parts: answers.iter().map(|a| Source::Slot(a.slot)).collect(),
        separator: "\n\n".into(),
        otherwise: Box::new(constant_text("")),
    };
    steps.push(compute_step(&mut lowering.builder, all, joined, scene.state_at(index)));
    let output = ValueExpression::Read(Source::Slot(joined));
    let case = JudgeInput {
        task: ValueExpression::AsText(Box::new(ValueExpression::Read(Source::Slot(scene.names.fixed.raw)))),
        criteria: None,
        record: false,
    };
    let mut verdicts = Vec::new();
    let mut branches = Vec::new();
    for (i, entry) in state.judges.iter().enumerate() {
        let (flow, input) = judge::judge_call(lowering, scene.file, &entry.agent, &case, &output);
        let call = SubflowCall { callee: FlowCallee::Flow(flow), input: Some(input), exports: None, span: None };
        let slot = slots.add_slot(format!("{name}.judges.{i}"));
        verdicts.push(AgentAnswer { by: entry.agent.value.clone(), slot, weight: entry.weight });
        branches.push(branch(lowering, call, format!("judges.{i}").into(), slot, (300_000, None), scene, index));
    }
    steps.push(at_once(lowering, branches, scene, index));
    verdicts
}
