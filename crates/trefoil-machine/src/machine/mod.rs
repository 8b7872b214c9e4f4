//! The machine: synchronous, deterministic, without IO. It turns completions into commands.
//!
//! [`Machine::start_run`] starts a run, [`Machine::complete_activity`] passes completions to it,
//! [`Machine::replay_journal`] replays a journal.
//! Each returns a [`MachineOutput`]: commands for the coordinator, and events. The same program, input, flags and completions in
//! the same order give the same outputs, on every computer and in every process.
//!
//! Internally: a tree of frames (`frame`), one for every active step, in an arena; slots in activations (`activation`);
//! a stack of tasks instead of recursion (`turn`); one file for every step kind (`steps`). The common part of all kinds
//! (`when`, retries, time limit, failure policy) is in `lifecycle`; `dispatch` passes tasks and completions to both. What
//! a kind remembers (`progress`) is below all of them.

pub mod consensus;
pub mod prepared_program;

mod activation;
mod arena;
mod budget;
mod cancellation;
mod ceiling;
mod certain_calls;
mod cost_limits;
mod dispatch;
mod eval;
mod frame;
mod graph_plan;
mod intake;
mod jitter;
mod lifecycle;
mod limit;
mod lost_activities;
mod policy;
mod progress;
mod questions;
mod remaining_needs;
mod replay;
mod spawn;
mod steps;
mod trail;
mod turn;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_ir::Program;
use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::clock::{RunClock, RunMs};
use crate::error::RunError;
use crate::event::{EventKind, ItemTally};
use crate::journal::{Flags, LostModelCall, ResumeChanges};
use crate::key::Key;
use crate::request::{Activity, Request, Usage};
use crate::run_limits::{RunLimits, UsedAmounts};

pub use intake::{effective_input, input_faults};
pub use prepared_program::PreparedProgram;
pub use replay::{
    DifferenceKind, FailureScan, JournalReopening, KeptResult, NoObserver, Replay, ReplayDifference, ReplayNotice,
    ReplayObserver, ReplayRebuild, ReplayedRun,
};
use turn::{MachineTurn, RunState};

/// The maximum number of tasks in one piece, before other work gets a turn. Has no effect on what a run does.
const PIECE: usize = 4096;

/// A run in progress.
#[derive(Debug)]
pub struct Machine {
    prepared: Arc<PreparedProgram>,
    core: RunState,
    pieces: bool,
}

/// The result of a turn: commands and events.
#[derive(Debug, Default)]
pub struct MachineOutput {
    /// The commands in order. There are none after [`MachineCommand::Finish`].
    pub commands: Vec<MachineCommand>,
    /// The events in order.
    pub events: Vec<MachineEvent>,
    /// Whether there is more work before any waiting: call [`Machine::next_piece`] until this is false; the commands are
    /// returned then. A fan-out over a million items without effects is processed in such pieces and can be cancelled
    /// between them. Only set after [`Machine::in_pieces`].
    pub more: bool,
}

/// A command for the coordinator.
#[derive(Debug, Clone)]
pub enum MachineCommand {
    /// Start this activity and report its completion.
    Start(Activity),
    /// Cancel this activity; its result is not needed any more.
    Cancel(Key),
    /// The run has ended. Nothing is in progress.
    Finish(Result<Value, RunError>),
}

/// An event before the driver adds its number and time.
#[derive(Debug, Clone)]
pub struct MachineEvent {
    /// The step.
    pub key: Option<Key>,
    /// The step's place in the manifest.
    pub location: Option<Location>,
    /// The event.
    pub kind: EventKind,
}

impl MachineEvent {
    /// An event of the whole run, not of one step.
    pub fn for_run(kind: EventKind) -> Self {
        Self { key: None, location: None, kind }
    }
}

/// The result of an activity.
#[derive(Debug, Clone)]
pub struct ActivityCompletion {
    /// The key of the activity.
    pub key: Key,
    /// The time in milliseconds since the start of the run.
    pub at_ms: u64,
    /// The result: a model's text, a tool's value, a command's `{status, exit_code, stdout, stderr}`, a person's text,
    /// a decision's boolean, null for a timer.
    pub result: Result<Value, RunError>,
    /// The usage.
    pub usage: Option<Usage>,
    /// For a result that is reused from an earlier run: its usage there. See [`Flags::reuses`].
    pub reused: Option<Usage>,
    /// For a failed tool call: whether repeating it does no harm.
    pub repeatable: bool,
    /// For a model's answer that does not match its schema: what was sent, in one line.
    pub sent: Option<String>,
}

impl ActivityCompletion {
    /// A result without metadata.
    pub fn new(key: Key, at_ms: u64, result: Result<Value, RunError>) -> Self {
        Self { key, at_ms, result, usage: None, reused: None, repeatable: false, sent: None }
    }
}

impl Machine {
    /// A machine for one run of a program.
    pub fn new(program: Arc<Program>, flags: Flags) -> Self {
        Self::from_prepared(PreparedProgram::new(program), flags)
    }

    /// The same with a program that was already prepared.
    pub fn from_prepared(prepared: Arc<PreparedProgram>, flags: Flags) -> Self {
        Self { prepared, core: RunState::new(flags), pieces: false }
    }

    /// Allows outputs in pieces: see [`MachineOutput::more`].
    #[must_use]
    pub fn in_pieces(self) -> Self {
        Self { pieces: true, ..self }
    }

    /// Records where each part of a message came from ([`crate::request::ModelMessage::parts`]). Does not affect what the
    /// machine does.
    #[must_use]
    pub fn with_provenance(mut self, wanted: bool) -> Self {
        self.core.traces = wanted;
        self
    }

    /// Starts a run; `run` is its id. A program that can reach an unsupported feature fails here with `REFUSED`, before
    /// any command.
    pub fn start_run(&mut self, run: impl Into<Arc<str>>, input: Option<Value>) -> MachineOutput {
        self.core.run = run.into();
        self.turn(|turn| turn.start_run(input))
    }

    /// Processes a completion. If the activity is not in progress (it was cancelled), only its usage counts.
    pub fn complete_activity(&mut self, completion: ActivityCompletion) -> MachineOutput {
        if !self.core.pending.contains_key(&completion.key) {
            self.core.usage.add_usage(completion.usage.unwrap_or_default());
        }
        self.turn(|turn| turn.complete_activity(completion))
    }

    /// Continues after an output with [`MachineOutput::more`].
    pub fn next_piece(&mut self) -> MachineOutput {
        self.turn(|_| {})
    }

    /// Adds usage of an activity whose outcome is unknown or void.
    pub fn add_spent_usage(&mut self, key: &Key, usage: Usage) {
        self.core.usage.add_usage(usage);
        let mut at = self.core.pending.get(key).and_then(|p| self.core.frames.get(p.frame)).map(|f| f.activation);
        while let Some(call) = at.and_then(|a| self.core.activations.flow_call_mut(a)) {
            call.used = call.used.sum_with(UsedAmounts { calls: 0, ..usage.used_amounts() });
            call.asked = call.asked.saturating_add(usage.calls_beneath);
            at = call.caller;
        }
        if usage.unpriced_calls > 0
            && let Some(pending) = self.core.pending.get(key)
        {
            self.core.assumed = self.core.assumed.saturating_add(pending.reserved);
        }
    }

    /// Handles model calls that were in progress when their process ended. Each counts as made, with its assumed usage,
    /// and is requested again; if a limit of calls or cost has no room for that, the run ends.
    pub fn recover_lost_calls(&mut self, lost: &[LostModelCall], at_ms: u64) -> MachineOutput {
        self.turn(|turn| turn.recover_lost_calls(lost, at_ms))
    }

    /// The time that these activities had worked was lost with their process: time limits around them are put off by it.
    pub fn put_off<'k>(&mut self, lost: impl IntoIterator<Item = &'k Key>) -> MachineOutput {
        self.turn(|turn| turn.put_off(lost))
    }

    /// An effect that was in progress when its process ended is repeated; the time limit of its step starts again.
    pub fn restart_effect(&mut self, key: &Key, at_ms: u64) -> MachineOutput {
        self.turn(|turn| turn.restart_effect(key, at_ms))
    }

    /// The run begins at this moment, in milliseconds since 1970-01-01 UTC. Only for what people are told.
    pub fn begin_at(&mut self, origin: u64) {
        self.core.clock.set_origin(origin);
    }

    /// The journal has an entry of this time.
    pub fn read_entry(&mut self, at_ms: u64) {
        self.core.clock.note_entry_at(RunMs(at_ms));
    }

    /// A process resumes the run: no process had it since its last entry.
    pub fn mark_resumed(&mut self, at_ms: u64) {
        self.core.clock.resume_at(RunMs(at_ms));
    }

    /// Both clocks of the run.
    pub fn clock(&self) -> RunClock {
        self.core.clock
    }

    /// The current time limit of the step of an effect.
    pub fn limit_of(&self, key: &Key) -> Option<Key> {
        self.core.frames.get(self.core.pending.get(key)?.frame)?.timer.clone()
    }

    /// Requests activities in progress again, because nothing processes them any more. Timers are given with their requests and start
    /// again.
    pub fn ask_again(&mut self, again: &[(Key, Option<Request>)], at_ms: u64) -> MachineOutput {
        self.turn(|turn| turn.ask_again(again, at_ms))
    }

    /// An activity was not started after all, because it is not needed or its result was already known. It does not
    /// count as a call.
    pub fn not_made(&mut self, activity: &Activity) {
        self.core.calls = self.core.calls.saturating_sub(u64::from(is_call(activity)));
    }

    /// Starts requested activities for which no earlier run has a result. If a call would exceed a limit of the manifest, the run ends.
    /// Only for runs that [reuse results](Flags::reuses): other runs check limits before they request a call.
    pub fn begin_activities<'a>(&mut self, asked: impl IntoIterator<Item = &'a Activity>) -> MachineOutput {
        self.turn(|turn| asked.into_iter().for_each(|activity| turn.begin_asked(activity, true)))
    }

    /// Records that an activity was started, according to the journal. Limits are not checked again.
    pub fn mark_begun(&mut self, activity: &Activity) {
        MachineTurn { prepared: &self.prepared, program: &self.prepared.program, core: &mut self.core }
            .begin_asked(activity, false);
    }

    /// Applies changed settings.
    pub fn apply_changes(&mut self, changes: &ResumeChanges) {
        self.core.flags.apply_changes(changes);
    }

    /// The current settings of the run.
    pub fn flags(&self) -> &Flags {
        &self.core.flags
    }

    /// Cancels everything; the run ends with `CANCELLED`.
    pub fn cancel_run(&mut self) -> MachineOutput {
        self.turn(|turn| turn.finish_run(Err(RunError::new("CANCELLED", "the run was cancelled"))))
    }

    /// Cancels everything; the run ends with this failure.
    pub fn end_run(&mut self, error: RunError) -> MachineOutput {
        self.turn(|turn| turn.finish_run(Err(error)))
    }

    /// Whether the run has ended.
    pub fn is_finished(&self) -> bool {
        self.core.finished
    }

    /// The usage of an activity, with its cost at the prices of the run.
    pub fn price_usage(&self, activity: &Activity, usage: Usage, by: Option<&str>) -> Usage {
        match &activity.request {
            Request::Model(request) => {
                usage.with_price(self.core.flags.price_by(request.provider.as_deref(), &request.model, by))
            }
            _ => usage,
        }
    }

    /// The reservation for a call, in micro-dollars: its maximum cost for the purpose of cost limits.
    pub fn may_cost(&self, activity: &Activity) -> u64 {
        match &activity.request {
            Request::Model(request) => cost_limits::may_cost(&self.core.flags, request),
            _ => 0,
        }
    }

    /// Whether the usage so far has the reservations for calls in progress. Without, [`Machine::may_cost`] says them.
    pub fn reserves_cost(&self) -> bool {
        cost_limits::is_cost_limited(&self.prepared, &self.core.flags)
    }

    /// What the run needs besides its activities in progress, if nothing fails, and on the shortest way. `like`: an activity that the
    /// others are assumed to resemble; without, only their number is known.
    pub fn still_needed(&self, like: Option<&Activity>) -> UsedAmounts {
        let like =
            like.and_then(|like| if let Request::Model(request) = &like.request { Some(&**request) } else { None });
        remaining_needs::still_needed(&self.prepared.program, &self.core, None, like)
    }

    /// The usage so far.
    pub fn usage(&self) -> Usage {
        self.core.usage
    }

    /// Model calls started so far, including failed and cancelled ones, and those of runs that tools started.
    pub fn call_count(&self) -> u64 {
        self.core.used_amounts().calls
    }

    /// The items of the fan-outs in which some failed, and the run went on.
    pub fn failed_items(&self) -> Option<ItemTally> {
        self.core.failed_items.with_failed()
    }

    /// What counts towards limits, including the reservations of calls in progress.
    pub fn used_amounts(&self) -> UsedAmounts {
        let reserved = UsedAmounts { cost_micro: self.core.reserved_cost(|_| true), ..UsedAmounts::default() };
        self.core.used_amounts().sum_with(reserved)
    }

    /// What an activity in progress may use under the limits of its enclosing flows.
    pub fn remaining_limits(&mut self, key: &Key) -> RunLimits {
        let Some(frame) = self.core.pending.get(key).map(|pending| pending.frame) else { return RunLimits::NONE };
        MachineTurn { prepared: &self.prepared, program: &self.prepared.program, core: &mut self.core }
            .remaining_limits(frame)
    }

    /// The number of active steps and flow calls; 0 after the end of the run.
    pub fn active_count(&self) -> usize {
        self.core.frames.len()
    }

    /// The number of activities in progress.
    pub fn pending_count(&self) -> usize {
        self.core.pending.len()
    }

    /// The prepared program.
    pub fn prepared_program(&self) -> &Arc<PreparedProgram> {
        &self.prepared
    }

    fn turn(&mut self, work: impl FnOnce(&mut MachineTurn<'_>)) -> MachineOutput {
        if self.core.finished {
            return MachineOutput::default();
        }
        let mut turn = MachineTurn { prepared: &self.prepared, program: &self.prepared.program, core: &mut self.core };
        work(&mut turn);
        loop {
            let mut turn =
                MachineTurn { prepared: &self.prepared, program: &self.prepared.program, core: &mut self.core };
            turn.run_tasks(PIECE);
            let more = !self.core.tasks.is_empty();
            if more && self.pieces {
                // Commands are held back until the end of the turn, because it may cancel them.
                let events = std::mem::take(&mut self.core.output.events);
                return MachineOutput { events, more, ..MachineOutput::default() };
            }
            if !more {
                let mut output = std::mem::take(&mut self.core.output);
                self.core.calls = self.core.calls.saturating_sub(settle(&mut output.commands));
                return output;
            }
        }
    }
}

/// Whether it counts as a model call; another try of a counted call does not.
fn is_call(activity: &Activity) -> bool {
    matches!(activity.request, Request::Model(_)) && !activity.again
}

/// Removes commands that were started and cancelled in the same turn. Returns how many model calls that removes.
fn settle(commands: &mut Vec<MachineCommand>) -> u64 {
    // Most turns cancel nothing.
    if !commands.iter().any(|command| matches!(command, MachineCommand::Cancel(_))) {
        return 0;
    }
    let (mut open, mut void, mut calls) = (BTreeMap::new(), BTreeSet::new(), 0);
    for (at, command) in commands.iter().enumerate() {
        match command {
            MachineCommand::Start(activity) => {
                open.insert(&activity.key, (at, is_call(activity)));
            }
            MachineCommand::Cancel(key) => {
                if let Some((asked, model)) = open.remove(key) {
                    void.extend([asked, at]);
                    calls += u64::from(model);
                }
            }
            MachineCommand::Finish(_) => {}
        }
    }
    if !void.is_empty() {
        let mut at = 0..;
        commands.retain(|_| at.next().is_none_or(|at| !void.contains(&at)));
    }
    calls
}
