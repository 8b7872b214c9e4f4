//! Checks whether a question accepts an answer, by asking the question alone.
//!
//! Uses the machine on a program that consists of the question and its state, so the result is the same as in the run.
//! If the transitions depend on anything other than the answer, the result is unknown before the run.

use std::sync::Arc;

use trefoil_ir::{Program, Source, Step, StepId, StepKind, ValueExpression};
use trefoil_machine::{
    Activity, ActivityCompletion, Flags, Machine, MachineCommand, MachineOutput, PreparedProgram, Request,
};
use trefoil_runtime::{HumanRequest, Key};
use trefoil_template::Value;

use super::accepted_word;

/// A question that can be tried.
pub struct QuestionTrial {
    prepared: Arc<PreparedProgram>,
    /// The accepted answers.
    pub accepts: Vec<Arc<str>>,
}

impl QuestionTrial {
    /// For a question; `None`: the program does not determine what it accepts.
    pub fn for_question(program: &Program, question: StepId) -> Option<Self> {
        let prepared = PreparedProgram::new(Arc::new(alone(program, question)?));
        let (_, _, request) = begin(&prepared)?;
        if request.accepts.is_empty() {
            return None;
        }
        Some(Self { prepared, accepts: request.accepts })
    }
    /// Whether an answer is accepted.
    pub fn accepts_answer(&self, answer: &str) -> bool {
        if accepted_word(&self.accepts, answer).is_some() {
            return true;
        }
        let Some((mut machine, key, _)) = begin(&self.prepared) else { return true };
        let result = Ok(Value::from(answer));
        let output = machine.complete_activity(ActivityCompletion::new(key, 0, result));
        match asked_question(output) {
            Some((_, request)) => request.refused.is_none(),
            None => true,
        }
    }
}

fn begin(prepared: &Arc<PreparedProgram>) -> Option<(Machine, Key, HumanRequest)> {
    let mut machine = Machine::from_prepared(prepared.clone(), Flags::default());
    let (key, request) = asked_question(machine.start_run("rehearsal", None))?;
    Some((machine, key, request))
}

fn asked_question(output: MachineOutput) -> Option<(Key, HumanRequest)> {
    for command in output.commands {
        if let MachineCommand::Start(Activity { key, request: Request::Human(request), .. }) = command {
            return Some((key, request));
        }
    }
    None
}

/// A program that starts with this question and needs nothing else; `None`: its transitions depend on more than the
/// answer.
fn alone(program: &Program, question: StepId) -> Option<Program> {
    let out = program.steps[question].out;
    let (at, written, state) = program.steps.entries().find_map(|(at, step)| {
        let StepKind::StateMachine(machine) = &step.kind else { return None };
        let (state, _) = machine.states.entries().find(|(_, state)| state.step == question)?;
        Some((at, machine, state))
    })?;
    let mut alone = true;
    let mut look = |source: &Source| {
        alone &= match source {
            Source::Slot(slot) | Source::Member(slot, _) => Some(*slot) == out,
            Source::Const(_) => true,
            _ => false,
        }
    };
    for transition in &written.states[state].transitions {
        if let Some(when) = &transition.when {
            for source in &when.sources {
                source.visit_alternatives(&mut look);
            }
        }
    }
    if !alone {
        return None;
    }
    let (entry, _) = program.flows.entries().find(|(_, flow)| flow.body == at)?;
    let mut alone = program.clone().into_parts();
    alone.entry = entry;
    let flow = &mut alone.flows[entry];
    flow.init.clear();
    (flow.intake.wrap, flow.intake.schema, flow.intake.raw, flow.intake.closed) = (None, None, None, false);
    flow.intake.fields.clear();
    let StepKind::StateMachine(machine) = &mut alone.steps[at].kind else { return None };
    machine.initial = state;
    let Step { kind: StepKind::Human(call), when, .. } = &mut alone.steps[question] else { return None };
    (call.prompt, *when) = (ValueExpression::Const(Value::from("")), None);
    Program::new(alone).ok()
}
