//! What is next: takes a task from the stack, or a completion from the driver, and passes it to the kind of its step.

use trefoil_ir::{StepKind, walk};
use trefoil_template::{Value, limits};

use super::eval::EvalStop;
use super::frame::{Frame, FrameId, FrameOutcome, FrameState, FrameTarget, MachineTask};
use super::progress::{CallTrails, RunningFlow};
use super::turn::{ActivityPurpose, MachineTurn};
use super::{ActivityCompletion, MachineEvent, remaining_needs, steps, trail};
use crate::clock::RunMs;
use crate::error::RunError;
use crate::event::EventKind;
use crate::key::Key;
use crate::provenance::OriginKind;

impl MachineTurn<'_> {
    /// Starts the run.
    pub fn start_run(&mut self, input: Option<Value>) {
        if let Some((step, refused)) = walk::refused_steps(self.program).first() {
            let mut error = RunError::new("REFUSED", format!("{} is not supported yet", refused.feature));
            error.location = Some(self.program.steps[*step].origin);
            return self.finish_run(Err(error.with_help(&*refused.message)));
        }
        if let Some(input) = &input
            && !input.is_within_limits()
        {
            return self.finish_run(Err(RunError::too_large("the input")));
        }
        for verdict in &self.core.flags.input_verdicts {
            let kind = EventKind::Verdict(verdict.clone());
            self.core.output.events.push(MachineEvent { key: None, location: None, kind });
        }
        self.core.made.set(input.as_ref().map_or(0, Value::total_weight));
        let mut trails = None;
        if self.core.traces {
            trails = CallTrails::of_input(trail::from_origin_kind(OriginKind::Input));
        }
        let call = RunningFlow { input, trails, ..Default::default() };
        let spawned = self.spawn_flow(None, 0, self.program.entry, Key("".into()), None, call);
        if let Err(EvalStop::Fail(error)) = spawned {
            self.finish_run(Err(*error));
        }
    }

    /// Runs at most this many tasks.
    pub fn run_tasks(&mut self, most: usize) {
        for _ in 0..most {
            let Some(task) = self.core.tasks.pop() else { return };
            let frame = task.frame();
            if self.core.frames.get(frame).is_none() {
                continue;
            }
            match self.work(&task) {
                Ok(()) => {}
                Err(EvalStop::Ask(question)) => self.ask_driver(frame, *question, task),
                Err(EvalStop::Fail(error)) => self.push_task(MachineTask::Settle(frame, FrameOutcome::Failed(error))),
            }
            if let Some(text) = self.too_heavy() {
                let error = RunError::new("LIMIT_EXCEEDED", text).at_step(self.key_of(frame), self.origin_of(frame));
                self.finish_run(Err(error.with_help("make the values smaller, or split the work into several runs")));
            }
        }
    }

    fn work(&mut self, task: &MachineTask) -> Result<(), EvalStop> {
        match task {
            MachineTask::Begin(f) => self.begin_step(*f),
            MachineTask::Try(f) => self.try_once(*f),
            MachineTask::Settle(f, outcome) => self.settle_try(*f, outcome),
            MachineTask::Completed(f, outcome) => self.complete_effect(*f, outcome),
            MachineTask::Pump(f) => match self.core.frames.get(*f) {
                Some(Frame { doing: FrameState::Parallel(_), .. }) => steps::parallel::start_next_branch(self, *f),
                Some(Frame { doing: FrameState::ForEach(_), .. }) => steps::for_each::start_next_item(self, *f),
                _ => Ok(()),
            },
            MachineTask::Validate(f, from) => steps::attempts::validate_attempt(self, *f, *from),
            MachineTask::Ended(f, child_index, outcome) => self.ended(*f, *child_index, outcome),
        }
    }

    /// Why the run exceeds a limit of size, if it does.
    fn too_heavy(&self) -> Option<String> {
        if self.core.made.get() > limits::RUN_BYTES {
            return Some(format!("the values of this run need more than {} MB", limits::RUN_BYTES >> 20));
        }
        if self.core.carried > limits::PENDING_BYTES {
            let most = limits::PENDING_BYTES >> 20;
            return Some(format!("the prompts of the calls in progress need more than {most} MB"));
        }
        None
    }

    /// A child of a structure has ended.
    fn ended(&mut self, f: FrameId, child_index: u32, outcome: &FrameOutcome) -> Result<(), EvalStop> {
        let Some(frame) = self.core.frames.get(f) else { return Ok(()) };
        let step = match frame.what {
            FrameTarget::Flow(flow) => return steps::flow::end_flow_body(self, f, flow, child_index, outcome),
            FrameTarget::Step(step) => step,
        };
        match &self.program.steps[step].kind {
            StepKind::Sequence(children) => steps::sequence::continue_sequence(self, f, children, outcome),
            StepKind::Parallel(parallel) => steps::parallel::end_branch(self, f, parallel, child_index, outcome),
            StepKind::Loop(repeat) => steps::loops::end_pass(self, f, repeat, outcome),
            StepKind::ForEach(each) => steps::for_each::end_item(self, f, each, child_index, outcome),
            StepKind::Graph(graph) => steps::graph::end_node(self, f, graph, child_index, outcome),
            StepKind::StateMachine(states) => steps::state_machine::end_state(self, f, states, child_index, outcome),
            StepKind::Attempts(attempts) => steps::attempts::end_attempt_child(self, f, attempts, child_index, outcome),
            StepKind::Conversation(it) => {
                steps::conversation::end_conversation_child(self, f, it, child_index, outcome)
            }
            // For an arm of a branch, or a called flow, its end is the step's.
            _ => {
                self.push_task(MachineTask::Settle(f, outcome.clone()));
                Ok(())
            }
        }
    }

    /// Processes a completion.
    pub fn complete_activity(&mut self, completion: ActivityCompletion) {
        self.core.clock.advance_to(RunMs(completion.at_ms));
        let Some(pending) = self.core.pending.swap_remove(&completion.key) else { return };
        let f = pending.frame;
        self.core.carried = self.core.carried.saturating_sub(pending.bytes);
        if let Ok(value) = &completion.result {
            // Counts the whole value, because how much of it is shared depends on observers.
            self.core.made.set(self.core.made.get().saturating_add(value.total_weight()));
        }
        match pending.purpose {
            ActivityPurpose::Effect => {
                if let Some(frame) = self.core.frames.get_mut(f) {
                    frame.effect = false;
                    if completion.repeatable || completion.sent.is_some() || frame.extras.is_some() {
                        let extras = frame.extras.get_or_insert_default();
                        (extras.repeatable, extras.sent) = (completion.repeatable, completion.sent);
                    }
                }
                self.effect_came(f);
                let model = matches!(self.step_of(f), Some((_, step)) if matches!(step.kind, StepKind::Model(_)));
                self.core.answered += u64::from(model && pending.begun && completion.result.is_ok());
                let outcome = match completion.result {
                    Ok(value) => FrameOutcome::Done(value),
                    Err(error) => FrameOutcome::Failed(Box::new(error)),
                };
                // Usage first: an answer that exceeded the budget has no further effect.
                if !self.spend_usage(f, (completion.usage, completion.reused), (pending.reserved, pending.begun)) {
                    return;
                }
                match outcome {
                    // A limit of this run that was reached by a run which a tool started. No policy of the step may
                    // handle it.
                    FrameOutcome::Failed(error) if !model && error.code == "BUDGET_EXCEEDED" => {
                        self.at_limit(f, *error)
                    }
                    outcome => self.push_task(MachineTask::Completed(f, outcome)),
                }
            }
            ActivityPurpose::Timeout => self.timed_out(f),
            ActivityPurpose::Limit => self.effect_late(f),
            ActivityPurpose::Budget => self.out_of_time(f),
            ActivityPurpose::Delay => {
                if let Some(frame) = self.core.frames.get_mut(f) {
                    frame.timer = None;
                }
                self.push_task(MachineTask::Try(f));
            }
            ActivityPurpose::Decide => match completion.result {
                Ok(value) => self.answer_question(f, &completion.key, value == Value::Bool(true)),
                Err(error) => self.fail_question(f, &completion.key, error),
            },
        }
    }

    /// Ends the run at a limit that a step has reached.
    fn at_limit(&mut self, f: FrameId, error: RunError) {
        // The run below said what it needs itself.
        let raise = error
            .raise
            .map(|raise| raise.with_more(remaining_needs::still_needed(self.program, self.core, Some(f), None)));
        self.finish_run(Err(error.with_raise(raise).at_step(self.key_of(f), self.origin_of(f))));
    }
}
