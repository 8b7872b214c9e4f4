//! A ParallelAgents state: all agents run concurrently, then the consensus of their verdicts is computed, or that of
//! judges who read all answers.

use std::sync::Arc;

use trefoil_ir::{
    Ballot, Call, Callee, Expr, OnItemFailure, Parallel, SlotId, Source, Step, StepId, StepKind, StepPolicy,
};

use super::callee;
use trefoil_syntax::Span;

use crate::aegis::lower::Lowering;
use crate::aegis::lower::judge::{self, Case};
use crate::aegis::lower::pieces::{compute, constant, object, result};
use crate::aegis::lower::scene::Scene;
use crate::aegis::manifest::states::parallel::ParallelState;
use crate::aegis::names::{FlowSlots, Moment, path};
use crate::build::plain;

/// Lowers a ParallelAgents state.
pub fn lower(
    lowering: &mut Lowering<'_>,
    scene: &Scene<'_>,
    slots: &mut FlowSlots,
    index: usize,
    state: &ParallelState,
) -> Step {
    let origin = scene.state_at(index);
    if state.cut {
        return super::unknown(origin);
    }
    let name = scene.names.name(index).clone();
    let mut answers: Vec<AgentAnswer> = Vec::new();
    let mut branches = Vec::new();
    for (i, agent) in state.agents.iter().enumerate() {
        let moment = Moment::Entering(index);
        let call = callee::agent(lowering, scene, moment, &agent.agent, agent.input.as_ref(), None, |input| input);
        let Some(call) = call else { continue };
        let slot = slots.add(format!("{name}.agents.{i}"));
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
    let consensus = slots.add(format!("{name}.consensus"));
    if let Some(spec) = &state.consensus {
        let ballot = |answer: &AgentAnswer| {
            let AgentAnswer { by, slot, weight } = answer;
            Ballot { by: by.clone(), value: Expr::Read(Source::Slot(*slot)), weight: *weight }
        };
        let verdicts = verdicts.iter().map(ballot).collect();
        let value = Expr::Consensus { verdicts, consensus: spec.consensus.clone() };
        steps.push(compute(&mut lowering.builder, value, consensus, origin));
    }
    let each = |AgentAnswer { slot, .. }: &AgentAnswer| {
        object([
            ("output", Expr::Read(Source::Slot(*slot))),
            ("score", Expr::Read(Source::Member(*slot, path(&["score"])))),
            ("confidence", Expr::Read(Source::Member(*slot, path(&["confidence"])))),
        ])
    };
    let outcome = object([
        ("status", constant("success")),
        ("consensus", Expr::Read(Source::Slot(consensus))),
        ("score", Expr::Read(Source::Member(consensus, path(&["score"])))),
        ("confidence", Expr::Read(Source::Member(consensus, path(&["confidence"])))),
        ("agents", Expr::List(answers.iter().map(each).collect())),
        ("output", Expr::List(answers.iter().map(|a| Expr::Read(Source::Slot(a.slot))).collect())),
    ]);
    steps.push(lowering.builder.step(plain(StepKind::Compute(outcome), origin)));
    plain(StepKind::Sequence(steps), origin)
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
    lowering: &mut Lowering<'_>,
    call: Call,
    label: Arc<str>,
    out: SlotId,
    (timeout_ms, timeout_at): (u64, Option<Span>),
    scene: &Scene<'_>,
    index: usize,
) -> StepId {
    lowering.builder.step(Step {
        label: Some(label),
        out: Some(out),
        shape: Some(Expr::Structured(Box::new(result()))),
        policy: StepPolicy {
            timeout_ms: Some(timeout_ms),
            timeout_at: timeout_at.map(|at| scene.at(at)),
            ..StepPolicy::default()
        },
        ..plain(StepKind::Call(Box::new(call)), scene.state_at(index))
    })
}

fn at_once(lowering: &mut Lowering<'_>, branches: Vec<StepId>, scene: &Scene<'_>, index: usize) -> StepId {
    let parallel = Parallel { branches, concurrency: None, on_failure: OnItemFailure::Continue };
    lowering.builder.step(plain(StepKind::Parallel(parallel), scene.state_at(index)))
}

/// `judges_for_parallel`: each judge reads all answers together.
fn judged(
    lowering: &mut Lowering<'_>,
    scene: &Scene<'_>,
    slots: &mut FlowSlots,
    index: usize,
    state: &ParallelState,
    answers: &[AgentAnswer],
    steps: &mut Vec<StepId>,
) -> Vec<AgentAnswer> {
    let name = scene.names.name(index).clone();
    let joined = slots.add(format!("{name}.joined"));
    let all = Expr::Join {
        parts: answers.iter().map(|a| Source::Slot(a.slot)).collect(),
        separator: "\n\n".into(),
        otherwise: Box::new(constant("")),
    };
    steps.push(compute(&mut lowering.builder, all, joined, scene.state_at(index)));
    let output = Expr::Read(Source::Slot(joined));
    let case = Case {
        task: Expr::AsText(Box::new(Expr::Read(Source::Slot(scene.names.fixed.raw)))),
        criteria: None,
        record: false,
    };
    let mut verdicts = Vec::new();
    let mut branches = Vec::new();
    for (i, entry) in state.judges.iter().enumerate() {
        let (flow, input) = judge::call(lowering, scene.file, &entry.agent, &case, &output);
        let call = Call { callee: Callee::Flow(flow), input: Some(input), exports: None, span: None };
        let slot = slots.add(format!("{name}.judges.{i}"));
        verdicts.push(AgentAnswer { by: entry.agent.value.clone(), slot, weight: entry.weight });
        branches.push(branch(lowering, call, format!("judges.{i}").into(), slot, (300_000, None), scene, index));
    }
    steps.push(at_once(lowering, branches, scene, index));
    verdicts
}
