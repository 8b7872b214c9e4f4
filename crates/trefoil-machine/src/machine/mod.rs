//! The machine: synchronous, deterministic, without IO. It turns completions into commands.
//!
//! [`Machine::start`] begins a run, [`Machine::on`] feeds it what came back, [`Machine::resume`] replays a journal. The
//! answer is an [`Output`]: commands for the driver, events for whoever watches. The same program, input, flags and
//! completions in the same order give the same outputs, on every machine and in every process.
//!
//! Inside: a tree of frames (`frame`), one for every active step, in an arena; slots in activations (`activation`); a
//! stack of tasks instead of recursion (`turn`); one file for every step kind (`steps`). What a step does around its
//! kind (`when`, retry, time limit, failure policy) is in `lifecycle`.

pub mod consensus;
pub mod prepared;

mod activation;
mod arena;
mod ask;
mod budget;
mod cancel;
mod eval;
mod frame;
mod intake;
mod jitter;
mod lifecycle;
mod limit;
mod lost;
mod money;
mod replay;
mod spawn;
mod steps;
mod surely;
mod trail;
mod turn;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_ir::Program;
use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::error::RunError;
use crate::event::EventKind;
use crate::journal::{Changes, Flags, Lost};
use crate::key::Key;
use crate::request::{Activity, Request, Usage};

pub use budget::Room;
pub use intake::{effective as effective_input, faults as input_faults};
pub use prepared::Prepared;
pub use replay::{Difference, Kept, Past, Rebuild, Reopening, Replay, Resumed, Scan, Unwatched, Watcher, What};
use turn::{Core, Turn};

/// Tasks done at a stretch, before others have their turn. Nothing that a run does depends on it.
const PIECE: usize = 4096;

/// A run in progress.
#[derive(Debug)]
pub struct Machine {
    prepared: Arc<Prepared>,
    core: Core,
    pieces: bool,
}

/// What the machine wants done, and what happened.
#[derive(Debug, Default)]
pub struct Output {
    /// In order. After [`Command::Finish`] there are none.
    pub commands: Vec<Command>,
    /// In order.
    pub events: Vec<Noted>,
    /// There is more to do before anything is waited for: call [`Machine::proceed`] until there is not; the commands come
    /// then. A fan-out over a million items that need nobody comes in such pieces, and can be cancelled between them. Only
    /// of a machine that was asked for it by [`Machine::in_pieces`].
    pub more: bool,
}

/// Something the driver does.
#[derive(Debug, Clone)]
pub enum Command {
    /// Do this, and say what came of it.
    Start(Activity),
    /// Stop doing that; what comes of it is not wanted any more.
    Cancel(Key),
    /// The run has ended. Nothing is in progress any more.
    Finish(Result<Value, RunError>),
}

/// An event before the driver gives it its number and time.
#[derive(Debug, Clone)]
pub struct Noted {
    /// The step it is about.
    pub key: Option<Key>,
    /// The step's place in the manifest.
    pub location: Option<Location>,
    /// What happened.
    pub kind: EventKind,
}

/// What came of an activity.
#[derive(Debug, Clone)]
pub struct Completion {
    /// Which.
    pub key: Key,
    /// When, in milliseconds since the run began.
    pub at_ms: u64,
    /// What: a model's text, a tool's value, a command's `{status, exit_code, stdout, stderr}`, a person's text, a
    /// decision's boolean, null of a timer.
    pub result: Result<Value, RunError>,
    /// What it used.
    pub usage: Option<Usage>,
    /// Of a tool that failed: calling it again does no harm (decision C15).
    pub repeatable: bool,
}

impl Machine {
    /// A machine for one run of a program.
    pub fn new(program: Arc<Program>, flags: Flags) -> Self {
        Self::with(Prepared::new(program), flags)
    }

    /// The same, when the program has been prepared for an earlier run.
    pub fn with(prepared: Arc<Prepared>, flags: Flags) -> Self {
        Self { prepared, core: Core::new(flags), pieces: false }
    }

    /// The same machine, whose outputs may come in pieces: see [`Output::more`].
    #[must_use]
    pub fn in_pieces(self) -> Self {
        Self { pieces: true, ..self }
    }

    /// The same machine, whose messages say where each part of them came from ([`crate::request::Message::parts`]). What it
    /// does stays the same.
    #[must_use]
    pub fn with_provenance(mut self, wanted: bool) -> Self {
        self.core.traces = wanted;
        self
    }

    /// Begins. `run` is the run's id. A program that can reach what this version does not run fails here, before any
    /// command, with `REFUSED`.
    pub fn start(&mut self, run: impl Into<Arc<str>>, input: Option<Value>) -> Output {
        self.core.run = run.into();
        self.turn(|turn| turn.start(input))
    }

    /// Takes in what came of an activity. Of one that is not in progress (cancelled meanwhile) only what it used counts.
    pub fn on(&mut self, completion: Completion) -> Output {
        if !self.core.pending.contains_key(&completion.key) {
            self.core.usage.add(completion.usage.unwrap_or_default());
        }
        self.turn(|turn| turn.complete(completion))
    }

    /// Goes on where the last output said that there is more.
    pub fn proceed(&mut self) -> Output {
        self.turn(|_| {})
    }

    /// Adds to what the run has used: what an activity did of which nobody knows the end, or whose end is void.
    pub fn spent(&mut self, key: &Key, usage: Usage) {
        self.core.usage.add(usage);
        let mut at = self.core.pending.get(key).and_then(|p| self.core.frames.get(p.frame)).map(|f| f.activation);
        while let Some(call) = at.and_then(|a| self.core.activations.call_mut(a)) {
            call.tokens = call.tokens.saturating_add(usage.total());
            call.cost = call.cost.saturating_add(usage.cost_micro);
            call.asked = call.asked.saturating_add(usage.calls_beneath);
            at = call.caller;
        }
        if usage.unpriced_calls > 0
            && let Some(pending) = self.core.pending.get(key)
        {
            self.core.assumed = self.core.assumed.saturating_add(pending.reserved);
        }
    }

    /// Model calls were in progress when the process that made them ended. Each counts as made, with what it is taken to have
    /// used, and is requested again; a limit on calls or money that has no room for that ends the run.
    pub fn lost(&mut self, lost: &[Lost], at_ms: u64) -> Output {
        self.turn(|turn| turn.lost(lost, at_ms))
    }

    /// An effect that was in progress when its process ended is done again: the time limit of its step begins now.
    pub fn restarted(&mut self, key: &Key, at_ms: u64) -> Output {
        self.turn(|turn| turn.restarted(key, at_ms))
    }

    /// The time limit that the step of an effect has in progress.
    pub fn limit_of(&self, key: &Key) -> Option<Key> {
        self.core.frames.get(self.core.pending.get(key)?.frame)?.timer.clone()
    }

    /// Asks again for activities that are in progress, as if they had not been requested: whoever was to do them does not. With the
    /// milliseconds of those that are time limits: they begin now.
    pub fn ask_again(&mut self, again: &[(Key, Option<u64>)], at_ms: u64) -> Output {
        self.turn(|turn| turn.ask_again(again, at_ms))
    }

    /// An activity is not begun after all: nobody wants it any more, or its result was there before. So it is no further call.
    pub fn not_made(&mut self, activity: &Activity) {
        self.core.calls = self.core.calls.saturating_sub(u64::from(is_call(activity)));
    }

    /// Something is different from now on.
    pub fn change(&mut self, changes: &Changes) {
        self.core.flags.change(changes);
    }

    /// What else the run depends on, as it is now.
    pub fn flags(&self) -> &Flags {
        &self.core.flags
    }

    /// Stops everything; the run ends with `CANCELLED`.
    pub fn cancel(&mut self) -> Output {
        self.turn(|turn| turn.finish(Err(RunError::new("CANCELLED", "the run was cancelled"))))
    }

    /// Stops everything; the run ends with this.
    pub fn end(&mut self, error: RunError) -> Output {
        self.turn(|turn| turn.finish(Err(error)))
    }

    /// Whether the run has ended.
    pub fn is_finished(&self) -> bool {
        self.core.finished
    }

    /// What an activity used, with what that costs at the prices of the run.
    pub fn priced(&self, activity: &Activity, usage: Usage, by: Option<&str>) -> Usage {
        match &activity.request {
            Request::Model(request) => {
                usage.priced(self.core.flags.price_by(request.provider.as_deref(), &request.model, by))
            }
            _ => usage,
        }
    }

    /// What a call may cost, in micro-dollars: what limits on money set aside for it.
    pub fn may_cost(&self, activity: &Activity) -> u64 {
        match &activity.request {
            Request::Model(request) => money::may_cost(&self.core.flags, request),
            _ => 0,
        }
    }

    /// Tokens and money spent so far.
    pub fn usage(&self) -> Usage {
        self.core.usage
    }

    /// Model calls begun so far, failed and cancelled ones and those of runs that tools started included.
    pub fn calls(&self) -> u64 {
        self.core.all_calls()
    }

    /// Micro-dollars: what calls have cost or are taken to have cost, and what is set aside for those under way.
    pub fn spent_and_set_aside(&self) -> u64 {
        let spent = self.core.usage.cost_micro.saturating_add(self.core.assumed);
        self.core.pending.values().map(|pending| pending.reserved).fold(spent, u64::saturating_add)
    }

    /// What an activity under way may use of the ceilings of the flows around it.
    pub fn room(&mut self, key: &Key) -> Room {
        let Some(frame) = self.core.pending.get(key).map(|pending| pending.frame) else { return Room::default() };
        Turn { prepared: &self.prepared, program: &self.prepared.program, core: &mut self.core }.room(frame)
    }

    /// How many steps and flow calls are active: 0 once the run has ended.
    pub fn active(&self) -> usize {
        self.core.frames.len()
    }

    /// How many activities are in progress.
    pub fn pending(&self) -> usize {
        self.core.pending.len()
    }

    /// The prepared program.
    pub fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    fn turn(&mut self, work: impl FnOnce(&mut Turn<'_>)) -> Output {
        if self.core.finished {
            return Output::default();
        }
        let mut turn = Turn { prepared: &self.prepared, program: &self.prepared.program, core: &mut self.core };
        work(&mut turn);
        loop {
            let mut turn = Turn { prepared: &self.prepared, program: &self.prepared.program, core: &mut self.core };
            turn.run(PIECE);
            let more = !self.core.tasks.is_empty();
            if more && self.pieces {
                // What is asked for waits until it is known that nothing in this turn takes it back.
                let events = std::mem::take(&mut self.core.output.events);
                return Output { events, more, ..Output::default() };
            }
            if !more {
                let mut output = std::mem::take(&mut self.core.output);
                self.core.calls = self.core.calls.saturating_sub(settle(&mut output.commands));
                return output;
            }
        }
    }
}

/// Whether it counts as a model call: another try of one does not.
fn is_call(activity: &Activity) -> bool {
    matches!(activity.request, Request::Model(_)) && !activity.again
}

/// What was requested and then cancelled in one turn was never requested. How many model calls that takes back.
fn settle(commands: &mut Vec<Command>) -> u64 {
    let (mut open, mut void, mut calls) = (BTreeMap::new(), BTreeSet::new(), 0);
    for (at, command) in commands.iter().enumerate() {
        match command {
            Command::Start(activity) => {
                open.insert(&activity.key, (at, is_call(activity)));
            }
            Command::Cancel(key) => {
                if let Some((asked, model)) = open.remove(key) {
                    void.extend([asked, at]);
                    calls += u64::from(model);
                }
            }
            Command::Finish(_) => {}
        }
    }
    if !void.is_empty() {
        let mut at = 0..;
        commands.retain(|_| at.next().is_none_or(|at| !void.contains(&at)));
    }
    calls
}
