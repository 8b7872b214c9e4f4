//! One turn of the machine: runs the tasks on a stack until it can only wait.

use std::cell::Cell;
use std::sync::Arc;

use trefoil_ir::{Program, Step, StepId, StepKind, walk};
use trefoil_syntax::Location;
use trefoil_template::{Value, limits};

use super::activation::Activation;
use super::arena::Arena;
use super::eval::{Context, EvalStop};
use super::frame::{Doing, Frame, FrameId, Outcome, Task, What};
use super::prepared::Prepared;
use super::trail::{self, Trail};
use super::{Command, Completion, Noted, Output, steps};
use crate::clock::{Due, RunClock, RunMs, WorkMs};
use crate::error::RunError;
use crate::event::{EventKind, Tally};
use crate::journal::Flags;
use crate::key::{Key, KeyMap};
use crate::provenance::From;
use crate::request::{Request, Usage};

/// The maximum number of steps in one run. A program with more is considered endless.
const MAX_STEPS: u64 = 20_000_000;

/// The state of a run.
#[derive(Debug, Default)]
pub struct Core {
    /// The run's id.
    pub run: Arc<str>,
    /// The other settings of the run.
    pub flags: Flags,
    /// Active steps and flow calls.
    pub frames: Arena<Frame>,
    /// Their slots.
    pub activations: Arena<Activation>,
    /// Activities in progress.
    pub pending: KeyMap<Pending>,
    /// The stack of tasks; the next one is on top.
    pub tasks: Vec<Task>,
    /// The output of this turn.
    pub output: Output,
    /// Builds keys.
    pub keys: crate::key::KeyBuilder,
    /// The usage of the whole run.
    pub usage: Usage,
    /// The assumed cost, in micro-dollars, of calls of unknown cost, if there is a cost limit.
    pub assumed: u64,
    /// The items of the fan-outs in which some failed, and the run went on.
    pub failed_items: Tally,
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
pub struct Pending {
    /// Its frame.
    pub frame: FrameId,
    /// Its purpose.
    pub purpose: Purpose,
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
pub enum Purpose {
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

impl Core {
    /// Sets the usage of the run to what it was before.
    pub fn spent_before(&mut self, before: &Self) {
        (self.usage, self.assumed) = (before.usage, before.assumed);
        (self.calls, self.answered) = (before.calls, before.answered);
    }

    /// Model calls started, including those of runs that tools started.
    pub fn all_calls(&self) -> u64 {
        self.calls.saturating_add(self.usage.calls_beneath)
    }

    /// The state before the start.
    pub fn new(flags: Flags) -> Self {
        Self { flags, ..Self::default() }
    }
}

/// A turn: the program, its prepared data, and the run's state.
pub struct Turn<'p> {
    /// The prepared data of the program.
    pub prepared: &'p Prepared,
    /// The program.
    pub program: &'p Program,
    /// The run's state.
    pub core: &'p mut Core,
}

impl<'p> Turn<'p> {
    /// Starts the run.
    pub fn start(&mut self, input: Option<Value>) {
        if let Some((step, refused)) = walk::refusals(self.program).first() {
            let mut error = RunError::new("REFUSED", format!("{} is not supported yet", refused.feature));
            error.location = self.program.step(*step).map(|s| s.origin);
            return self.finish(Err(error.help(&*refused.message)));
        }
        if input.as_ref().is_some_and(|input| !input.is_within_limits()) {
            return self.finish(Err(RunError::too_large("the input")));
        }
        let found = self.core.flags.input_verdicts.iter().cloned();
        let found = found.map(|verdict| Noted { key: None, location: None, kind: EventKind::Verdict(verdict) });
        self.core.output.events.extend(found);
        self.core.made.set(input.as_ref().map_or(0, Value::weight));
        let trails = self.core.traces.then(|| steps::flow::CallTrails::of_input(trail::whole(From::Input)));
        let call = steps::flow::FlowCall { input, trails: trails.flatten(), ..Default::default() };
        let spawned = self.spawn_flow(None, 0, self.program.entry, Key("".into()), None, call);
        if let Err(EvalStop::Fail(error)) = spawned {
            self.finish(Err(*error));
        }
    }

    /// Runs at most this many tasks.
    pub fn run(&mut self, most: usize) {
        for _ in 0..most {
            let Some(task) = self.core.tasks.pop() else { return };
            let frame = task.frame();
            if self.core.frames.get(frame).is_none() {
                continue;
            }
            match self.work(&task) {
                Ok(()) => {}
                Err(EvalStop::Ask(question)) => self.ask(frame, *question, task),
                Err(EvalStop::Fail(error)) => self.push(Task::Settle(frame, Outcome::Failed(error))),
            }
            if let Some(text) = self.too_heavy() {
                let key = self.core.frames.get(frame).map(|f| f.key.clone());
                let location = self.step_of(frame).map(|(_, step)| step.origin);
                let error = RunError::new("LIMIT_EXCEEDED", text).at_step(key, location);
                self.finish(Err(error.help("make the values smaller, or split the work into several runs")));
            }
        }
    }

    fn work(&mut self, task: &Task) -> Result<(), EvalStop> {
        match task {
            Task::Begin(f) => self.begin(*f),
            Task::Try(f) => self.try_once(*f),
            Task::Settle(f, outcome) => self.settle(*f, outcome),
            Task::Completed(f, outcome) => self.completed(*f, outcome),
            Task::Pump(f) => match self.core.frames.get(*f).map(|f| &f.doing) {
                Some(Doing::Parallel(_)) => steps::parallel::pump(self, *f),
                Some(Doing::ForEach(_)) => steps::for_each::pump(self, *f),
                _ => Ok(()),
            },
            Task::Validate(f, from) => steps::attempts::validate(self, *f, *from),
            Task::Ended(f, place, outcome) => self.ended(*f, *place, outcome),
        }
    }

    /// Why the run exceeds a limit of size, if it does.
    fn too_heavy(&self) -> Option<String> {
        if self.core.made.get() > limits::RUN_BYTES {
            return Some(format!("the values of this run need more than {} MB", limits::RUN_BYTES >> 20));
        }
        let text = || format!("the prompts of the calls in progress need more than {} MB", limits::PENDING_BYTES >> 20);
        (self.core.carried > limits::PENDING_BYTES).then(text)
    }

    /// A child of a structure has ended.
    fn ended(&mut self, f: FrameId, place: u32, outcome: &Outcome) -> Result<(), EvalStop> {
        let Some(frame) = self.core.frames.get(f) else { return Ok(()) };
        let step = match frame.what {
            What::Flow(flow) => return steps::flow::ended(self, f, flow, place, outcome),
            What::Step(step) => step,
        };
        match self.program.step(step).map(|s| &s.kind) {
            Some(StepKind::Sequence(children)) => steps::sequence::ended(self, f, children, outcome),
            Some(StepKind::Parallel(parallel)) => steps::parallel::ended(self, f, parallel, place, outcome),
            Some(StepKind::Loop(repeat)) => steps::repeat::ended(self, f, repeat, outcome),
            Some(StepKind::ForEach(each)) => steps::for_each::ended(self, f, each, place, outcome),
            Some(StepKind::Graph(graph)) => steps::graph::ended(self, f, graph, place, outcome),
            Some(StepKind::StateMachine(states)) => steps::state_machine::ended(self, f, states, place, outcome),
            Some(StepKind::Attempts(attempts)) => steps::attempts::ended(self, f, attempts, place, outcome),
            Some(StepKind::Conversation(it)) => steps::conversation::ended(self, f, it, place, outcome),
            // For an arm of a branch, or a called flow, its end is the step's.
            _ => {
                self.push(Task::Settle(f, outcome.clone()));
                Ok(())
            }
        }
    }

    /// Processes a completion.
    pub fn complete(&mut self, completion: Completion) {
        self.core.clock.reach(RunMs(completion.at_ms));
        let Some(pending) = self.core.pending.swap_remove(&completion.key) else { return };
        let f = pending.frame;
        self.core.carried = self.core.carried.saturating_sub(pending.bytes);
        if let Ok(value) = &completion.result {
            // Counts the whole value, because how much of it is shared depends on observers.
            self.core.made.set(self.core.made.get().saturating_add(value.weight()));
        }
        match pending.purpose {
            Purpose::Effect => {
                if let Some(frame) = self.core.frames.get_mut(f) {
                    frame.effect = false;
                    if completion.repeatable || completion.sent.is_some() || frame.aside.is_some() {
                        let aside = frame.aside.get_or_insert_default();
                        (aside.repeatable, aside.sent) = (completion.repeatable, completion.sent);
                    }
                }
                self.effect_came(f);
                let model = matches!(self.step_of(f), Some((_, step)) if matches!(step.kind, StepKind::Model(_)));
                self.core.answered += u64::from(model && pending.begun && completion.result.is_ok());
                let outcome = match completion.result {
                    Ok(value) => Outcome::Done(value),
                    Err(error) => Outcome::Failed(Box::new(error)),
                };
                // Usage first: an answer that exceeded the budget has no further effect.
                if !self.spend(f, (completion.usage, completion.reused), (pending.reserved, pending.begun)) {
                    return;
                }
                match outcome {
                    // A limit of this run that was reached by a run which a tool started. No policy of the step may
                    // handle it.
                    Outcome::Failed(error) if !model && error.code == "BUDGET_EXCEEDED" => self.at_limit(f, *error),
                    outcome => self.push(Task::Completed(f, outcome)),
                }
            }
            Purpose::Timeout => self.timed_out(f),
            Purpose::Limit => self.effect_late(f),
            Purpose::Budget => self.out_of_time(f),
            Purpose::Delay => {
                if let Some(frame) = self.core.frames.get_mut(f) {
                    frame.timer = None;
                }
                self.push(Task::Try(f));
            }
            Purpose::Decide => match completion.result {
                Ok(value) => self.decided(f, &completion.key, value == Value::Bool(true)),
                Err(error) => self.undecided(f, &completion.key, error),
            },
        }
    }

    /// Ends the run at a limit that a step has reached.
    fn at_limit(&mut self, f: FrameId, error: RunError) {
        let key = self.core.frames.get(f).map(|f| f.key.clone());
        let location = self.step_of(f).map(|(_, step)| step.origin);
        self.finish(Err(error.at_step(key, location)));
    }

    /// Ends the run.
    pub fn finish(&mut self, result: Result<Value, RunError>) {
        if self.core.finished {
            return;
        }
        self.core.finished = true;
        self.core.tasks.clear();
        for (key, _) in std::mem::take(&mut self.core.pending) {
            self.core.output.commands.push(Command::Cancel(key));
        }
        self.core.frames.clear();
        self.core.activations.clear();
        self.core.output.commands.push(Command::Finish(result));
    }

    /// A wait that starts now. It goes on while no process has the run.
    pub fn waiting(&self, ms: u64) -> Request {
        Request::Timer { ms, due: Due::Run(self.core.clock.now().plus(ms)) }
    }

    /// A time limit that starts now. Only the time in which a process has the run counts.
    pub fn limiting(&self, ms: u64) -> Request {
        Request::Timer { ms, due: Due::Work(self.core.clock.work_now().plus(ms)) }
    }

    /// Pushes a task on the stack.
    pub fn push(&mut self, task: Task) {
        self.core.tasks.push(task);
    }

    /// A try of a frame has succeeded.
    pub fn done(&mut self, f: FrameId, value: Value) {
        self.push(Task::Settle(f, Outcome::Done(value)));
    }

    /// The step of a step's frame.
    pub fn step_of(&self, f: FrameId) -> Option<(StepId, &'p Step)> {
        match self.core.frames.get(f)?.what {
            What::Step(id) => Some((id, self.program.step(id)?)),
            What::Flow(_) => None,
        }
    }

    /// The evaluation context of a frame.
    pub fn context<'t>(&'t self, f: FrameId, result: Option<&'t Value>, failure: Option<&'t str>) -> Context<'t> {
        let frame = self.core.frames.get(f);
        Context {
            activations: &self.core.activations,
            activation: frame.map_or(super::arena::Id::NONE, |f| f.activation),
            result,
            failure,
            run: &self.core.run,
            decided: frame.and_then(|f| f.aside.as_deref()).map_or(&[], |a| &a.decided),
            by: frame.map(|f| &f.base),
            made: &self.core.made,
            trails: true,
        }
    }

    /// The same, for an expression about the child of a structure that has just ended.
    pub fn context_of<'t>(
        &'t self,
        f: FrameId,
        place: u32,
        result: Option<&'t Value>,
        failure: Option<&'t str>,
    ) -> Context<'t> {
        Context { by: self.ended_child(f, place), ..self.context(f, result, failure) }
    }

    /// The key of the child that has just ended.
    pub fn ended_child(&self, f: FrameId, place: u32) -> Option<&Key> {
        self.core.ended.as_ref().filter(|(parent, at, _)| (*parent, *at) == (f, place)).map(|(_, _, key)| key)
    }

    /// Records the origin of the value just written to a slot of a frame's activation. Costs nothing if the run does
    /// not record provenance.
    pub fn mark(&mut self, f: FrameId, slot: trefoil_ir::SlotId, trail: impl FnOnce(&Self) -> Trail) {
        if !self.core.traces {
            return;
        }
        let trail = trail(self);
        if let Some(frame) = self.core.frames.get(f) {
            self.core.activations.mark(frame.activation, slot, trail);
        }
    }

    /// Sets a slot of a frame's activation.
    pub fn write(&mut self, f: FrameId, slot: trefoil_ir::SlotId, value: Option<Value>) {
        if let Some(frame) = self.core.frames.get(f) {
            self.core.activations.write(frame.activation, slot, value);
        }
    }

    /// Reads a slot of a frame's activation.
    pub fn read(&self, f: FrameId, slot: trefoil_ir::SlotId) -> Option<Value> {
        let frame = self.core.frames.get(f)?;
        self.core.activations.read(frame.activation, slot).cloned()
    }

    /// Emits an event.
    pub fn note(&mut self, key: &Key, location: Location, kind: EventKind) {
        self.core.output.events.push(Noted { key: Some(key.clone()), location: Some(location), kind });
    }

    /// Emits the verdict about a frame's text.
    pub fn tell(&mut self, f: FrameId, verdict: crate::guard::Verdict) {
        if let (Some((_, step)), Some(key)) = (self.step_of(f), self.core.frames.get(f).map(|f| f.base.clone())) {
            self.note(&key, step.origin, EventKind::Verdict(verdict));
        }
    }

    /// Counts a step that starts.
    pub fn count(&mut self) -> Result<(), EvalStop> {
        self.core.begun += 1;
        if self.core.begun > MAX_STEPS {
            return Err(RunError::new("LIMIT_EXCEEDED", format!("more than {MAX_STEPS} steps in one run")).into());
        }
        Ok(())
    }
}
