//! What is next: takes a task from the stack, or a completion from the driver, and passes it to the kind of its step.

use trefoil_ir::{StepKind, walk};
use trefoil_template::{Value, limits};

use super::eval::EvalStop;
use super::frame::{Doing, FrameId, Outcome, Task, What};
use super::progress::{CallTrails, FlowCall};
use super::turn::{Purpose, Turn};
use super::{Completion, Noted, needed, steps, trail};
use crate::clock::RunMs;
use crate::error::RunError;
use crate::event::EventKind;
use crate::key::Key;
use crate::provenance::From;

impl Turn<'_> {
    /// Starts the run.
    pub fn start(&mut self, input: Option<Value>) {
        if let Some((step, refused)) = walk::refusals(self.program).first() {
            let mut error = RunError::new("REFUSED", format!("{} is not supported yet", refused.feature));
            error.location = Some(self.program.steps[*step].origin);
            return self.finish(Err(error.help(&*refused.message)));
        }
        if input.as_ref().is_some_and(|input| !input.is_within_limits()) {
            return self.finish(Err(RunError::too_large("the input")));
        }
        let found = self.core.flags.input_verdicts.iter().cloned();
        let found = found.map(|verdict| Noted { key: None, location: None, kind: EventKind::Verdict(verdict) });
        self.core.output.events.extend(found);
        self.core.made.set(input.as_ref().map_or(0, Value::weight));
        let trails = self.core.traces.then(|| CallTrails::of_input(trail::whole(From::Input)));
        let call = FlowCall { input, trails: trails.flatten(), ..Default::default() };
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
        match &self.program.steps[step].kind {
            StepKind::Sequence(children) => steps::sequence::ended(self, f, children, outcome),
            StepKind::Parallel(parallel) => steps::parallel::ended(self, f, parallel, place, outcome),
            StepKind::Loop(repeat) => steps::repeat::ended(self, f, repeat, outcome),
            StepKind::ForEach(each) => steps::for_each::ended(self, f, each, place, outcome),
            StepKind::Graph(graph) => steps::graph::ended(self, f, graph, place, outcome),
            StepKind::StateMachine(states) => steps::state_machine::ended(self, f, states, place, outcome),
            StepKind::Attempts(attempts) => steps::attempts::ended(self, f, attempts, place, outcome),
            StepKind::Conversation(it) => steps::conversation::ended(self, f, it, place, outcome),
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
        // The run below said what it needs itself.
        let raise =
            error.raise.map(|raise| raise.with_more(needed::still_needed(self.program, self.core, Some(f), None)));
        self.finish(Err(error.raising(raise).at_step(key, location)));
    }
}
