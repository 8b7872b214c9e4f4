//! One turn of the machine: a stack of tasks worked off until nothing is left but waiting.

use std::cell::Cell;
use std::sync::Arc;

use indexmap::IndexMap;
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
use crate::error::RunError;
use crate::event::EventKind;
use crate::journal::Flags;
use crate::key::Key;
use crate::provenance::From;
use crate::request::{Request, Usage};

/// Steps begun in one run. A program that begins more is taken for one that never ends.
const MAX_STEPS: u64 = 20_000_000;

/// The state of a run.
#[derive(Debug)]
pub struct Core {
    /// The run's id.
    pub run: Arc<str>,
    /// What else it depends on.
    pub flags: Flags,
    /// Active steps and flow calls.
    pub frames: Arena<Frame>,
    /// Their slots.
    pub activations: Arena<Activation>,
    /// Activities in progress.
    pub pending: IndexMap<Key, Pending>,
    /// Work to do, the next on top.
    pub tasks: Vec<Task>,
    /// What this turn gives.
    pub output: Output,
    /// Builds keys.
    pub keys: crate::key::KeyBuilder,
    /// Spent by the whole run.
    pub usage: Usage,
    /// Micro-dollars that calls of unknown cost are taken to have cost, where a limit asks for it.
    pub assumed: u64,
    /// Model calls begun.
    pub calls: u64,
    /// Those of them that were answered.
    pub answered: u64,
    /// The last completion's time stamp.
    pub now_ms: u64,
    /// Steps begun.
    pub begun: u64,
    /// Bytes of the values made so far, each counted once. Never less: results stay with the run.
    pub made: Cell<u64>,
    /// Bytes that the activities in progress take with them.
    pub carried: u64,
    /// The run has ended.
    pub finished: bool,
    /// Where values come from is noted.
    pub traces: bool,
    /// The child that ended last: its parent, its place and its key. Only where the run is traced.
    pub ended: Option<(FrameId, u32, Key)>,
}

/// An activity in progress.
#[derive(Debug)]
pub struct Pending {
    /// Whose it is.
    pub frame: FrameId,
    /// What for.
    pub purpose: Purpose,
    /// Bytes of its request.
    pub bytes: u64,
    /// Micro-dollars that are reserved for it.
    pub reserved: u64,
}

/// What an activity is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// A step's effect.
    Effect,
    /// A time limit.
    Timeout,
    /// The time that a flow's budget allows.
    Budget,
    /// The wait before a retry.
    Delay,
    /// The time that an effect may take: a person's answer, a model's.
    Limit,
    /// An answer that only the driver knows.
    Decide,
}

impl Core {
    /// What the run has used is what it had used in the time before.
    pub fn spent_before(&mut self, before: &Self) {
        (self.usage, self.assumed) = (before.usage, before.assumed);
        (self.calls, self.answered) = (before.calls, before.answered);
    }

    /// Model calls begun, those of runs that tools started included.
    pub fn all_calls(&self) -> u64 {
        self.calls.saturating_add(self.usage.calls_beneath)
    }

    /// Before the start.
    pub fn new(flags: Flags) -> Self {
        Self {
            run: "".into(),
            flags,
            frames: Arena::default(),
            activations: Arena::default(),
            pending: IndexMap::new(),
            tasks: Vec::new(),
            output: Output::default(),
            keys: crate::key::KeyBuilder::default(),
            usage: Usage::default(),
            assumed: 0,
            calls: 0,
            answered: 0,
            now_ms: 0,
            begun: 0,
            made: Cell::new(0),
            carried: 0,
            finished: false,
            traces: false,
            ended: None,
        }
    }
}

/// A turn: the program, what was worked out about it, and the run's state.
pub struct Turn<'p> {
    /// What was worked out about the program.
    pub prepared: &'p Prepared,
    /// The program.
    pub program: &'p Program,
    /// The run's state.
    pub core: &'p mut Core,
}

impl<'p> Turn<'p> {
    /// Begins the run.
    pub fn start(&mut self, input: Option<Value>) {
        if let Some((step, refused)) = walk::refusals(self.program).first() {
            let mut error = RunError::new("REFUSED", format!("{} is not supported yet", refused.feature));
            error.location = self.program.step(*step).map(|s| s.origin);
            return self.finish(Err(error.help(&*refused.message)));
        }
        if input.as_ref().is_some_and(|input| !input.is_within_limits()) {
            return self.finish(Err(RunError::too_large("the input")));
        }
        self.core.made.set(input.as_ref().map_or(0, Value::weight));
        let trails = self.core.traces.then(|| steps::flow::CallTrails::of_input(trail::whole(From::Input)));
        let call = steps::flow::FlowCall { input, trails: trails.flatten(), ..Default::default() };
        let spawned = self.spawn_flow(None, 0, self.program.entry, Key("".into()), None, call);
        if let Err(EvalStop::Fail(error)) = spawned {
            self.finish(Err(*error));
        }
    }

    /// Works off tasks, at most so many.
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
                let error = RunError { key, location, ..RunError::new("LIMIT_EXCEEDED", text) };
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

    /// Why the run holds more than a run may, if it does.
    fn too_heavy(&self) -> Option<String> {
        if self.core.made.get() > limits::RUN_BYTES {
            return Some(format!("the values of this run need more than {} MB", limits::RUN_BYTES >> 20));
        }
        let text = || format!("the prompts of the calls in progress need more than {} MB", limits::PENDING_BYTES >> 20);
        (self.core.carried > limits::PENDING_BYTES).then(text)
    }

    /// A child of a structure ended.
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
            // A branch's arm, a called flow: its end is the step's.
            _ => {
                self.push(Task::Settle(f, outcome.clone()));
                Ok(())
            }
        }
    }

    /// Takes in what came of an activity.
    pub fn complete(&mut self, completion: Completion) {
        self.core.now_ms = self.core.now_ms.max(completion.at_ms);
        let Some(pending) = self.core.pending.swap_remove(&completion.key) else { return };
        let f = pending.frame;
        self.core.carried = self.core.carried.saturating_sub(pending.bytes);
        if let Ok(value) = &completion.result {
            // All of it: how much of it others hold, too, depends on who watches.
            self.core.made.set(self.core.made.get().saturating_add(value.weight()));
        }
        match pending.purpose {
            Purpose::Effect => {
                if let Some(frame) = self.core.frames.get_mut(f) {
                    frame.effect = false;
                    if completion.repeatable || frame.aside.is_some() {
                        frame.aside.get_or_insert_default().repeatable = completion.repeatable;
                    }
                }
                self.effect_came(f);
                let model = matches!(self.step_of(f), Some((_, step)) if matches!(step.kind, StepKind::Model(_)));
                self.core.answered += u64::from(model && completion.result.is_ok());
                let outcome = match completion.result {
                    Ok(value) => Outcome::Done(value),
                    Err(error) => Outcome::Failed(Box::new(error)),
                };
                // Spending first: an answer that broke the budget is not acted on.
                if !self.spend(f, completion.usage, pending.reserved) {
                    return;
                }
                match outcome {
                    // A limit of this run's that what a tool started has come to. No policy of the step's is above it.
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

    /// Ends the run at a limit that a step has come to.
    fn at_limit(&mut self, f: FrameId, error: RunError) {
        let key = self.core.frames.get(f).map(|f| f.key.clone());
        let location = self.step_of(f).map(|(_, step)| step.origin);
        self.finish(Err(RunError { key, location, ..error }));
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

    /// Time that passes from now on.
    pub fn timer(&self, ms: u64) -> Request {
        Request::Timer { ms, due_ms: self.core.now_ms.saturating_add(ms) }
    }

    /// Puts a task on top of the stack.
    pub fn push(&mut self, task: Task) {
        self.core.tasks.push(task);
    }

    /// A frame's try ended well.
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

    /// What a frame's expressions are evaluated against.
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

    /// Says where the value came from that was just written to a slot of the activation that a frame runs in. Costs nothing
    /// in a run that is not watched for it.
    pub fn mark(&mut self, f: FrameId, slot: trefoil_ir::SlotId, trail: impl FnOnce(&Self) -> Trail) {
        if !self.core.traces {
            return;
        }
        let trail = trail(self);
        if let Some(frame) = self.core.frames.get(f) {
            self.core.activations.mark(frame.activation, slot, trail);
        }
    }

    /// Sets a slot of the activation that a frame runs in.
    pub fn write(&mut self, f: FrameId, slot: trefoil_ir::SlotId, value: Option<Value>) {
        if let Some(frame) = self.core.frames.get(f) {
            self.core.activations.write(frame.activation, slot, value);
        }
    }

    /// A slot of the activation that a frame runs in.
    pub fn read(&self, f: FrameId, slot: trefoil_ir::SlotId) -> Option<Value> {
        let frame = self.core.frames.get(f)?;
        self.core.activations.read(frame.activation, slot).cloned()
    }

    /// Says what happened.
    pub fn note(&mut self, key: &Key, location: Location, kind: EventKind) {
        self.core.output.events.push(Noted { key: Some(key.clone()), location: Some(location), kind });
    }

    /// Tells what a check of a frame's text came to.
    pub fn tell(&mut self, f: FrameId, verdict: crate::guard::Verdict) {
        if let (Some((_, step)), Some(key)) = (self.step_of(f), self.core.frames.get(f).map(|f| f.base.clone())) {
            self.note(&key, step.origin, EventKind::Verdict(verdict));
        }
    }

    /// Counts a step that begins.
    pub fn count(&mut self) -> Result<(), EvalStop> {
        self.core.begun += 1;
        if self.core.begun > MAX_STEPS {
            return Err(RunError::new("LIMIT_EXCEEDED", format!("more than {MAX_STEPS} steps in one run")).into());
        }
        Ok(())
    }
}
