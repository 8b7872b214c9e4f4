//! One file for each step kind: how it starts, and what it does when a child ends.

pub mod attempts;
pub mod branch;
pub mod call;
pub mod conversation;
pub mod effects;
pub mod flow;
pub mod for_each;
pub mod graph;
pub mod loops;
pub mod model;
pub mod offers;
pub mod parallel;
pub mod person;
pub mod pins;
pub mod sequence;
pub mod state_machine;

use trefoil_ir::{Step, StepId, StepKind};

use super::eval::EvalStop;
use super::frame::{FrameId, StepStart};
use super::turn::MachineTurn;
use crate::error::RunError;

/// Starts a step.
pub fn start_step(turn: &mut MachineTurn<'_>, f: FrameId, id: StepId, step: &Step) -> Result<StepStart, EvalStop> {
    match &step.kind {
        StepKind::Model(call) => model::start_model_call(turn, f, call),
        StepKind::Tool(call) => effects::request_tool(turn, f, call),
        StepKind::Command(call) => effects::request_command(turn, f, call),
        StepKind::Human(call) => person::start_question(turn, f, call),
        StepKind::Wait { ms } => effects::request_wait(turn, f, *ms),
        StepKind::Compute(expr) => {
            let held = conversation::held_call(turn, f);
            Ok(StepStart::Done(turn.eval_context(f, held.as_ref(), None).eval_expr(expr)?))
        }
        StepKind::Sequence(steps) => sequence::start_sequence(turn, f, steps),
        StepKind::Parallel(parallel) => parallel::start_parallel(turn, f, parallel),
        StepKind::Branch { arms, otherwise } => branch::start_branch(turn, f, arms, *otherwise),
        StepKind::Loop(repeat) => loops::start_loop(turn, f, repeat),
        StepKind::ForEach(each) => for_each::start_fan_out(turn, f, each),
        StepKind::Graph(_) => graph::start_graph(turn, f, id),
        StepKind::StateMachine(machine) => state_machine::start_state_machine(turn, f, machine),
        StepKind::Attempts(attempts) => attempts::start_attempts(turn, f, attempts),
        StepKind::Conversation(it) => conversation::start_conversation(turn, f, it),
        StepKind::Call(call) => call::start_call(turn, f, call),
        StepKind::Refused(refused) => {
            let error = RunError::new("REFUSED", format!("{} is not supported yet", refused.feature));
            Err(error.with_help(&*refused.message).into())
        }
    }
}
