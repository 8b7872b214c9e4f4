//! One file for each step kind: how it starts, and what it does when a child ends.

pub mod attempts;
pub mod branch;
pub mod call;
pub mod conversation;
pub mod effects;
pub mod flow;
pub mod for_each;
pub mod graph;
pub mod model;
pub mod offers;
pub mod parallel;
pub mod person;
pub mod pins;
pub mod repeat;
pub mod sequence;
pub mod state_machine;

use trefoil_ir::{Step, StepId, StepKind};

use super::eval::EvalStop;
use super::frame::{FrameId, Started};
use super::turn::Turn;
use crate::error::RunError;

/// Starts a step.
pub fn start(turn: &mut Turn<'_>, f: FrameId, id: StepId, step: &Step) -> Result<Started, EvalStop> {
    match &step.kind {
        StepKind::Model(call) => model::start(turn, f, call),
        StepKind::Tool(call) => effects::tool(turn, f, call),
        StepKind::Command(call) => effects::command(turn, f, call),
        StepKind::Human(call) => person::start(turn, f, call),
        StepKind::Wait { ms } => effects::wait(turn, f, *ms),
        StepKind::Compute(expr) => {
            let held = conversation::held(turn, f);
            Ok(Started::Done(turn.context(f, held.as_ref(), None).expr(expr)?))
        }
        StepKind::Sequence(steps) => sequence::start(turn, f, steps),
        StepKind::Parallel(parallel) => parallel::start(turn, f, parallel),
        StepKind::Branch { arms, otherwise } => branch::start(turn, f, arms, *otherwise),
        StepKind::Loop(repeat) => repeat::start(turn, f, repeat),
        StepKind::ForEach(each) => for_each::start(turn, f, each),
        StepKind::Graph(_) => graph::start(turn, f, id),
        StepKind::StateMachine(machine) => state_machine::start(turn, f, machine),
        StepKind::Attempts(attempts) => attempts::start(turn, f, attempts),
        StepKind::Conversation(it) => conversation::start(turn, f, it),
        StepKind::Call(call) => call::start(turn, f, call),
        StepKind::Refused(refused) => {
            let error = RunError::new("REFUSED", format!("{} is not supported yet", refused.feature));
            Err(error.help(&*refused.message).into())
        }
    }
}
