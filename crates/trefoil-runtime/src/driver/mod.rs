//! The driver: joins the machine to the ports. Async, without spawning: all activities of a run live in the one future
//! that [`run`] returns, so dropping it stops everything, and nothing keeps running after it.
//!
//! The order of things: commands are journaled as scheduled and started; what comes back is journaled before the machine
//! sees it; events follow. Holes are filled just before the effect, and secret values are masked in whatever comes back.

mod activity;
mod cancel;
mod fill;
mod model;
mod shown;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use indexmap::IndexMap;
use trefoil_ir::Program;
use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::ports::{Meter, Ports};
use trefoil_machine::error::RunError;
use trefoil_machine::event::EventKind;
use trefoil_machine::journal::{Entry, EntryKind, Flags, VERSION};
use trefoil_machine::key::Key;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::{Command, Completion, Machine, Noted, Output, Prepared, effective_input};

use activity::{Done, World};
pub use cancel::Cancel;
use watch::Watch;

/// Completions taken together before the journal is written.
const BATCH: usize = 256;

/// How a run is run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Seed of retry jitter; none: from [`Ports::random`].
    pub seed: Option<u64>,
    /// The run's id; none: from [`Ports::random`].
    pub run: Option<String>,
    /// Model calls that the run may make; none: as many as it wants.
    pub max_calls: Option<u64>,
    /// Stops the run.
    pub cancel: Cancel,
    /// What answers model calls, for whoever watches: see [`EventKind::RunStarted`].
    pub answers_from: Option<String>,
    /// The answers are placeholders.
    pub placeholder: bool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// The run's id.
    pub run: Arc<str>,
    /// Its output, or why it failed. `CANCELLED`: somebody asked it to stop.
    pub result: Result<Value, RunError>,
    /// Tokens spent.
    pub usage: Usage,
    /// Model calls, failed and cancelled ones included.
    pub calls: u64,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// Runs a program to its end.
pub async fn run(program: Arc<Program>, input: Option<Value>, ports: Ports, options: Options) -> RunOutcome {
    run_prepared(Prepared::new(program), input, ports, options).await
}

/// The same, for a program that is run more than once.
pub async fn run_prepared(prepared: Arc<Prepared>, input: Option<Value>, ports: Ports, options: Options) -> RunOutcome {
    let id = options.run.unwrap_or_else(|| format!("{:016x}", ports.random.next()));
    let seed = options.seed.unwrap_or_else(|| ports.random.next());
    let flags = Flags { seed, max_calls: options.max_calls };
    let wanted = ports.events.wants_provenance();
    let mut machine = Machine::with(prepared.clone(), flags.clone()).in_pieces().with_provenance(wanted);
    let output = machine.start(id.as_str(), input.clone());
    let flow = prepared.program.name.to_string();
    let mut driver = Driver::new(machine, ports, id.as_str().into(), options.cancel);
    driver.record(EntryKind::Started {
        run: id,
        program: prepared.program.hash,
        flow: flow.clone(),
        input: input.clone(),
        engine: env!("CARGO_PKG_VERSION").to_owned(),
        flags,
    });
    let effective_input = effective(&prepared, input.as_ref(), wanted);
    let (answers_from, placeholder) = (options.answers_from, options.placeholder);
    let started = EventKind::RunStarted { flow, input, effective_input, answers_from, placeholder };
    driver.world.watch.note(None, None, started);
    driver.drive(output, Vec::new()).await
}

/// Goes on with a run from its journal: nothing that has ended is done again. The events of what was replayed come first.
pub async fn resume(program: Arc<Program>, run: &str, ports: Ports, options: Options) -> RunOutcome {
    resume_prepared(Prepared::new(program), run, ports, options).await
}

/// The same, for a program that is run more than once.
pub async fn resume_prepared(prepared: Arc<Prepared>, run: &str, ports: Ports, options: Options) -> RunOutcome {
    let failed =
        |error| RunOutcome { run: run.into(), result: Err(error), usage: Usage::default(), calls: 0, duration_ms: 0 };
    let entries = match ports.journal.read(run).await {
        Ok(entries) => entries,
        Err(error) => return failed(RunError::new("JOURNAL_ERROR", error.0)),
    };
    let wanted = ports.events.wants_provenance();
    let resumed = match Machine::resume_traced(prepared.clone(), &entries, wanted) {
        Ok(resumed) => resumed,
        Err(error) => return failed(error),
    };
    let ended = entries.iter().rev().find_map(|e| match &e.kind {
        EntryKind::Finished { output, error } => Some((output.clone(), error.clone())),
        _ => None,
    });
    if let Some((output, error)) = ended {
        let result = error.map_or_else(|| Ok(output.unwrap_or_default()), Err);
        let (usage, calls) = (resumed.machine.usage(), resumed.machine.calls());
        return RunOutcome { run: run.into(), result, usage, calls, duration_ms: resumed.at_ms };
    }
    let mut driver = Driver::new(resumed.machine.in_pieces(), ports, resumed.run, options.cancel);
    driver.next_seq = resumed.next_seq;
    driver.world.watch.continue_from(resumed.at_ms);
    let flow = prepared.program.name.to_string();
    let effective_input = effective(&prepared, resumed.input.as_ref(), wanted);
    let (answers_from, placeholder) = (options.answers_from, options.placeholder);
    let input = resumed.input;
    let started = EventKind::RunStarted { flow, input, effective_input, answers_from, placeholder };
    driver.world.watch.note(None, None, started);
    for event in resumed.events {
        driver.note(event);
    }
    driver.drive(resumed.output, resumed.restart).await
}

/// The input as the entry takes it in, for whoever wants to know where its values come from.
fn effective(prepared: &Prepared, input: Option<&Value>, wanted: bool) -> Option<Value> {
    if wanted { effective_input(prepared, input) } else { None }
}

struct Driver {
    machine: Machine,
    world: Arc<World>,
    cancel: Cancel,
    next_seq: u64,
    /// Entries not yet written.
    buffer: Vec<Entry>,
    /// Commands to start once their entries may be written.
    starting: Vec<Activity>,
    work: FuturesUnordered<Abortable<BoxFuture<'static, Done>>>,
    under_way: IndexMap<Key, UnderWay>,
    /// Model calls stopped on their way, to be booked when the machine waits again.
    stopped: Vec<(Key, Option<Location>, Usage)>,
    finished: Option<Result<Value, RunError>>,
}

/// An activity under way.
struct UnderWay {
    handle: AbortHandle,
    /// Of a model call: its step's place, and what it is known to have used.
    model: Option<(Option<Location>, Arc<Meter>)>,
}

impl Driver {
    fn new(machine: Machine, ports: Ports, run: Arc<str>, cancel: Cancel) -> Self {
        let secrets = Arc::new(fill::SeenValues::default());
        let watch = Watch::new(run, ports.events.clone(), ports.clock.clone(), secrets.clone());
        let world = World { prepared: machine.prepared().clone(), ports, watch, secrets };
        Self {
            machine,
            world: Arc::new(world),
            cancel,
            next_seq: 0,
            buffer: Vec::new(),
            starting: Vec::new(),
            work: FuturesUnordered::new(),
            under_way: IndexMap::new(),
            stopped: Vec::new(),
            finished: None,
        }
    }

    async fn drive(mut self, output: Output, restart: Vec<Activity>) -> RunOutcome {
        self.starting.extend(restart);
        self.take(output).await;
        let mut turns = 0u32;
        let result = loop {
            if let Some(result) = self.finished.take() {
                break result;
            }
            if let Err(error) = self.start().await {
                break Err(error);
            }
            let completed = match self.next().await {
                Ok(Some(first)) => self.complete(first).await,
                Ok(None) => {
                    self.stop();
                    Ok(())
                }
                Err(error) => Err(error),
            };
            if let Err(error) = completed {
                break Err(error);
            }
            // A run of nothing but instant answers still lets others have their turn.
            turns += 1;
            if turns.is_multiple_of(64) {
                tokio::task::yield_now().await;
            }
        };
        self.end(result).await
    }

    /// Writes what must be written first, and starts what the machine asked for.
    async fn start(&mut self) -> Result<(), RunError> {
        let acts = |a: &Activity| matches!(a.request, Request::Tool(_) | Request::Command(_));
        if self.starting.iter().any(acts) {
            self.flush().await?;
        }
        for activity in std::mem::take(&mut self.starting) {
            let (handle, registration) = AbortHandle::new_pair();
            let meter = Arc::new(Meter::default());
            let model = matches!(activity.request, Request::Model(_)).then(|| {
                let location = self.world.prepared.program.step(activity.step).map(|s| s.origin);
                (location, meter.clone())
            });
            self.under_way.insert(activity.key.clone(), UnderWay { handle, model });
            let future = activity::perform(self.world.clone(), activity, meter).boxed();
            self.work.push(Abortable::new(future, registration));
        }
        Ok(())
    }

    /// The next that is done; none: the run is cancelled.
    async fn next(&mut self) -> Result<Option<Done>, RunError> {
        loop {
            if self.cancel.is_cancelled() {
                return Ok(None);
            }
            // What is there at once is written together with what was scheduled.
            let ready = self.work.next().now_or_never();
            let done = match ready {
                Some(done) => done,
                None => {
                    self.flush().await?;
                    tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => return Ok(None),
                        done = self.work.next() => done,
                    }
                }
            };
            match done {
                Some(Ok(done)) => return Ok(Some(done)),
                // One that was cancelled is gone now.
                Some(Err(_aborted)) => {}
                None => return Err(RunError::new("LIMIT_EXCEEDED", "internal error: nothing is in flight")),
            }
        }
    }

    /// Journals what is done, then tells the machine.
    async fn complete(&mut self, first: Done) -> Result<(), RunError> {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Some(Some(next)) = self.work.next().now_or_never()
        {
            batch.extend(next.ok());
        }
        let now = self.world.watch.now_ms();
        for done in &batch {
            self.under_way.swap_remove(&done.key);
            let (key, usage) = (done.key.clone(), done.usage);
            self.record_at(
                now,
                match &done.result {
                    Ok(value) => EntryKind::Completed { key, value: value.clone(), usage },
                    Err(error) => EntryKind::Failed { key, error: error.clone(), usage },
                },
            );
        }
        self.flush().await?;
        for done in batch {
            for event in done.events {
                self.world.watch.note(Some(done.key.clone()), done.location, event);
            }
            let output =
                self.machine.on(Completion { key: done.key, at_ms: now, result: done.result, usage: done.usage });
            self.take(output).await;
        }
        Ok(())
    }

    /// Somebody asked the run to stop.
    fn stop(&mut self) {
        self.record(EntryKind::CancelRequested);
        let output = self.machine.cancel();
        self.take_piece(output);
        self.book_stopped();
    }

    /// Books what stopped model calls are known to have used: it was spent, whoever wanted the answer.
    fn book_stopped(&mut self) {
        let now = self.world.watch.now_ms();
        for (key, location, usage) in std::mem::take(&mut self.stopped) {
            let error = RunError::new("CANCELLED", "the call was stopped");
            self.record_at(now, EntryKind::Failed { key: key.clone(), error: error.clone(), usage: Some(usage) });
            self.world.watch.note(Some(key.clone()), location, EventKind::ModelStopped { usage });
            // Nothing waits for it: the machine only adds up what was used.
            self.machine.on(Completion { key, at_ms: now, result: Err(error), usage: Some(usage) });
        }
    }

    /// Acts on what the machine says, until it waits for something or has ended.
    async fn take(&mut self, mut output: Output) {
        loop {
            let more = output.more;
            self.take_piece(output);
            if !more {
                return self.book_stopped();
            }
            if self.cancel.is_cancelled() {
                return self.stop();
            }
            // Others have their turn, too: whoever cancels is one of them.
            tokio::task::yield_now().await;
            output = self.machine.proceed();
        }
    }

    fn take_piece(&mut self, output: Output) {
        for event in output.events {
            self.note(event);
        }
        let mut void = BTreeSet::new();
        for command in output.commands {
            match command {
                Command::Start(activity) => {
                    self.record(EntryKind::Scheduled {
                        key: activity.key.clone(),
                        activity: activity.request.sort().to_owned(),
                        content: activity.content,
                    });
                    self.starting.push(activity);
                }
                Command::Cancel(key) => match self.under_way.swap_remove(&key) {
                    Some(UnderWay { handle, model }) => {
                        handle.abort();
                        if let Some((location, meter)) = model {
                            self.stopped.push((key, location, meter.read()));
                        }
                    }
                    None => {
                        void.insert(key);
                    }
                },
                Command::Finish(result) => self.finished = Some(result),
            }
        }
        if !void.is_empty() {
            self.starting.retain(|a| !void.contains(&a.key));
        }
    }

    /// Says what the machine says happened, as it may be shown.
    fn note(&self, mut event: Noted) {
        if let EventKind::StepFinished { output, .. } = &mut event.kind {
            *output = self.shown(std::mem::take(output));
        }
        self.world.watch.note(event.key, event.location, event.kind);
    }

    /// A value as it may be shown: what is unset is null or empty, and not the stars that stand for what is set.
    fn shown(&self, value: Value) -> Value {
        if !self.machine.prepared().has_holes {
            return value;
        }
        self.world.secrets.shown(&*self.world.ports.secrets, &value)
    }

    fn record(&mut self, kind: EntryKind) {
        let now = self.world.watch.now_ms();
        self.record_at(now, kind);
    }

    fn record_at(&mut self, at_ms: u64, kind: EntryKind) {
        self.buffer.push(Entry { v: VERSION, seq: self.next_seq, at_ms, kind });
        self.next_seq += 1;
    }

    async fn flush(&mut self) -> Result<(), RunError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let entries = std::mem::take(&mut self.buffer);
        let written = self.world.ports.journal.append(&self.world.watch.run, &entries).await;
        written.map_err(|e| RunError::new("JOURNAL_ERROR", e.0))
    }

    async fn end(mut self, result: Result<Value, RunError>) -> RunOutcome {
        // The machine's own errors may repeat what a model or a tool gave back.
        let result = result.map_err(|error| self.world.secrets.hide_error(error));
        // Everything under way ends here: its futures are dropped.
        for activity in self.under_way.values() {
            activity.handle.abort();
        }
        self.work.clear();
        let result = result.map(|value| self.shown(value));
        let (output, error) = match &result {
            Ok(value) => (Some(value.clone()), None),
            Err(error) => (None, Some(error.clone())),
        };
        let lost = error.as_ref().is_some_and(|e| e.code == "JOURNAL_ERROR");
        if !lost {
            self.record(EntryKind::Finished { output: output.clone(), error: error.clone() });
        }
        let result = match self.flush().await {
            Err(failed) if !lost => Err(failed),
            _ => result,
        };
        let (usage, calls) = (self.machine.usage(), self.machine.calls());
        let watch = &self.world.watch;
        let duration_ms = watch.now_ms();
        watch.note(None, None, EventKind::RunFinished { output, error, usage, calls, duration_ms });
        RunOutcome { run: watch.run.clone(), result, usage, calls, duration_ms }
    }
}
