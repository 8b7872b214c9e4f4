//! One turn of the machine: runs the tasks on a stack until it can only wait.

use std::cell::Cell;
use std::sync::Arc;

use trefoil_ir::{Program, Step, StepId};
use trefoil_syntax::Location;
use trefoil_template::Value;

use super::activation::{Activation, ActivationId};
use super::arena::GenerationalArena;
use super::eval::{EvalContext, EvalStop};
use super::frame::{Frame, FrameExtras, FrameId, FrameOutcome, FrameTarget, MachineTask};
use super::prepared_program::PreparedProgram;
use super::trail::OriginTrail;
use super::{MachineCommand, MachineEvent, MachineOutput};
use crate::clock::{DueTime, RunClock, WorkMs};
use crate::error::RunError;
use crate::event::{EventKind, ItemTally};
use crate::journal::Flags;
use crate::key::{Key, KeyMap};
use crate::request::{Request, Usage};
use crate::run_limits::UsedAmounts;

/// The maximum number of steps in one run. A program with more is considered endless.
const MAX_STEPS: u64 = 20_000_000;

/// The state of a run.
#[derive(Debug, Default)]
pub struct RunState {
    /// The run's id.
    pub run: Arc<str>,
    /// The other settings of the run.
    pub flags: Flags,
    /// Active steps and flow calls.
    pub frames: GenerationalArena<Frame>,
    /// Their slots.
    pub activations: GenerationalArena<Activation>,
    /// Activities in progress.
    pub pending: KeyMap<PendingActivity>,
    /// The stack of tasks; the next one is on top.
    pub tasks: Vec<MachineTask>,
    /// The output of this turn.
    pub output: MachineOutput,
    /// Builds keys.
    pub keys: crate::key::KeyBuilder,
    /// The usage of the whole run.
    pub usage: Usage,
    /// The assumed cost, in micro-dollars, of calls of unknown cost, if there is a cost limit.
    pub assumed: u64,
    /// The items of the fan-outs in which some failed, and the run went on.
    pub failed_items: ItemTally,
    /// Model calls started.
    pub calls: u64,
    /// Those of them that were answered.
    pub answered: u64,
    /// The time, at the last completion.
    pub clock: RunClock,
    /// Steps started.
    pub begun: u64,
    /// The total bytes of the values created so far, each counted once. Never decreases, because results stay with the
    /// run.
    pub made: Cell<u64>,
    /// The bytes in the requests of activities in progress.
    pub carried: u64,
    /// The run has ended.
    pub finished: bool,
    /// Whether the origins of values are recorded.
    pub traces: bool,
    /// The child that ended last: its parent, its index and its key. Only set if provenance is recorded.
    pub ended: Option<(FrameId, u32, Key)>,
}

/// An activity in progress.
#[derive(Debug)]
pub struct PendingActivity {
    /// Its frame.
    pub frame: FrameId,
    /// Its purpose.
    pub purpose: ActivityPurpose,
    /// When it was requested.
    pub asked: WorkMs,
    /// Bytes of its request.
    pub bytes: u64,
    /// Micro-dollars that are reserved for it.
    pub reserved: u64,
    /// Whether it is known to be begun: else an earlier run may have its result, and it counts for nothing so far.
    pub begun: bool,
}

/// The purpose of an activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivityPurpose {
    /// A step's effect.
    Effect,
    /// A time limit.
    Timeout,
    /// The time limit of a flow's budget.
    Budget,
    /// The wait before a retry.
    Delay,
    /// The time limit of an effect: a person's answer, a model's.
    Limit,
    /// A question that only the driver can answer.
    Decide,
}

impl RunState {
    /// Sets the usage of the run to what it was before.
    pub fn spent_before(&mut self, before: &Self) {
        (self.usage, self.assumed) = (before.usage, before.assumed);
        (self.calls, self.answered) = (before.calls, before.answered);
    }

    /// What counts towards the limits of the run.
    pub fn used_amounts(&self) -> UsedAmounts {
        let own = UsedAmounts { calls: self.calls, tokens: 0, cost_micro: self.assumed };
        self.usage.used_amounts().sum_with(own)
    }

    /// Micro-dollars that are reserved for some of the calls in progress.
    pub fn reserved_cost(&self, counts: impl Fn(&PendingActivity) -> bool) -> u64 {
        let mut reserved: u64 = 0;
        for pending in self.pending.values() {
            if pending.reserved > 0 && counts(pending) {
                reserved = reserved.saturating_add(pending.reserved);
            }
        }
        reserved
    }

    /// The state before the start.
    pub fn new(flags: Flags) -> Self {
        Self { flags, ..Self::default() }
    }
}

/// A turn: the program, its prepared data, and the run's state.
pub struct MachineTurn<'p> {
    /// The prepared data of the program.
    pub prepared: &'p PreparedProgram,
    /// The program.
    pub program: &'p Program,
    /// The run's state.
    pub core: &'p mut RunState,
}

impl<'p> MachineTurn<'p> {
    /// Ends the run.
    pub fn finish_run(&mut self, result: Result<Value, RunError>) {
        if self.core.finished {
            return;
        }
        self.core.finished = true;
        self.core.tasks.clear();
        for (key, _) in std::mem::take(&mut self.core.pending) {
            self.core.output.commands.push(MachineCommand::Cancel(key));
        }
        self.core.frames.clear();
        self.core.activations.clear();
        self.core.output.commands.push(MachineCommand::Finish(result));
    }

    /// A wait that starts now. It goes on while no process has the run.
    pub fn wait_timer(&self, ms: u64) -> Request {
        Request::Timer { ms, due: DueTime::Run(self.core.clock.run_now().plus_ms(ms)) }
    }

    /// A time limit that starts now. Only the time in which a process has the run counts.
    pub fn limit_timer(&self, ms: u64) -> Request {
        Request::Timer { ms, due: DueTime::Work(self.core.clock.work_now().plus_ms(ms)) }
    }

    /// Pushes a task on the stack.
    pub fn push_task(&mut self, task: MachineTask) {
        self.core.tasks.push(task);
    }

    /// A try of a frame has succeeded.
    pub fn succeed_try(&mut self, f: FrameId, value: Value) {
        self.push_task(MachineTask::Settle(f, FrameOutcome::Done(value)));
    }

    /// The step of a step's frame.
    pub fn step_of(&self, f: FrameId) -> Option<(StepId, &'p Step)> {
        match self.core.frames.get(f)?.what {
            FrameTarget::Step(id) => Some((id, &self.program.steps[id])),
            FrameTarget::Flow(_) => None,
        }
    }

    /// The frame that a frame belongs to.
    pub fn parent_of(&self, f: FrameId) -> Option<FrameId> {
        self.core.frames.get(f)?.parent
    }

    /// The step of that frame.
    pub fn parent_step(&self, f: FrameId) -> Option<&'p Step> {
        let (_, step) = self.step_of(self.parent_of(f)?)?;
        Some(step)
    }

    /// The activation of a frame.
    pub fn activation_of(&self, f: FrameId) -> Option<ActivationId> {
        Some(self.core.frames.get(f)?.activation)
    }

    /// The extras of a frame, if it has any.
    pub fn extras_of(&self, f: FrameId) -> Option<&FrameExtras> {
        self.core.frames.get(f)?.extras.as_deref()
    }

    /// The same, mutable.
    pub fn extras_of_mut(&mut self, f: FrameId) -> Option<&mut FrameExtras> {
        self.core.frames.get_mut(f)?.extras.as_deref_mut()
    }

    /// The evaluation context of a frame.
    pub fn eval_context<'t>(
        &'t self,
        f: FrameId,
        result: Option<&'t Value>,
        failure: Option<&'t str>,
    ) -> EvalContext<'t> {
        let mut context = EvalContext {
            activations: &self.core.activations,
            activation: ActivationId::NONE,
            result,
            failure,
            run: &self.core.run,
            answered_questions: &[],
            by: None,
            made: &self.core.made,
            trails: true,
        };
        if let Some(frame) = self.core.frames.get(f) {
            context.activation = frame.activation;
            context.by = Some(&frame.base);
            if let Some(extras) = &frame.extras {
                context.answered_questions = &extras.answered_questions;
            }
        }
        context
    }

    /// The same, for an expression about the child of a structure that has just ended.
    pub fn context_of<'t>(
        &'t self,
        f: FrameId,
        child_index: u32,
        result: Option<&'t Value>,
        failure: Option<&'t str>,
    ) -> EvalContext<'t> {
        EvalContext { by: self.ended_child(f, child_index), ..self.eval_context(f, result, failure) }
    }

    /// The key of the child that has just ended.
    pub fn ended_child(&self, f: FrameId, child_index: u32) -> Option<&Key> {
        match &self.core.ended {
            Some((parent, at, key)) if (*parent, *at) == (f, child_index) => Some(key),
            _ => None,
        }
    }

    /// Records the origin of the value just written to a slot of a frame's activation. Costs nothing if the run does
    /// not record provenance.
    pub fn set_slot_trail(&mut self, f: FrameId, slot: trefoil_ir::SlotId, trail: impl FnOnce(&Self) -> OriginTrail) {
        if !self.core.traces {
            return;
        }
        let trail = trail(self);
        if let Some(frame) = self.core.frames.get(f) {
            self.core.activations.set_trail(frame.activation, slot, trail);
        }
    }

    /// Sets a slot of a frame's activation.
    pub fn write_slot(&mut self, f: FrameId, slot: trefoil_ir::SlotId, value: Option<Value>) {
        if let Some(frame) = self.core.frames.get(f) {
            self.core.activations.write_slot(frame.activation, slot, value);
        }
    }

    /// Reads a slot of a frame's activation.
    pub fn read_slot(&self, f: FrameId, slot: trefoil_ir::SlotId) -> Option<Value> {
        let frame = self.core.frames.get(f)?;
        self.core.activations.read_slot(frame.activation, slot).cloned()
    }

    /// Emits an event.
    pub fn emit_event(&mut self, key: &Key, location: Location, kind: EventKind) {
        self.core.output.events.push(MachineEvent { key: Some(key.clone()), location: Some(location), kind });
    }

    /// Emits the verdict about a frame's text.
    pub fn emit_verdict(&mut self, f: FrameId, verdict: crate::guard::Verdict) {
        if let (Some((_, step)), Some(frame)) = (self.step_of(f), self.core.frames.get(f)) {
            let key = frame.base.clone();
            self.emit_event(&key, step.origin, EventKind::Verdict(verdict));
        }
    }

    /// Counts a step that starts.
    pub fn count_step(&mut self) -> Result<(), EvalStop> {
        self.core.begun += 1;
        if self.core.begun > MAX_STEPS {
            return Err(RunError::new("LIMIT_EXCEEDED", format!("more than {MAX_STEPS} steps in one run")).into());
        }
        Ok(())
    }
}
