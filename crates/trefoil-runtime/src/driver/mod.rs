//! The driver: joins the machine to the ports. Async, without spawning: all activities of a run live in the one future
//! that [`run`] returns, so dropping it stops everything, and nothing keeps running after it.
//!
//! The order of things: what came back goes to the machine, and is written to the journal in one append with what the machine
//! asks for next. Only then do events leave and activities start: nothing is seen or done before the entries that led to it
//! are stored. Holes are filled just before the effect, and secret values are masked in whatever comes back.

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
use trefoil_ir::{Program, SEMANTICS};
use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::ports::{JournalError, Meter, Ports};
use trefoil_machine::error::RunError;
use trefoil_machine::event::EventKind;
use trefoil_machine::journal::{About, Entry, EntryKind, Flags, Identity, SourceFile, Started, VERSION};
use trefoil_machine::key::Key;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::{Command, Completion, Machine, Noted, Output, Prepared, Replay, Resumed, effective_input};

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
    /// The files that the program was made of, for the journal.
    pub sources: Vec<SourceFile>,
    /// What answers model calls, for the journal: see [`Started::answers`].
    pub answers: String,
    /// Which model each agent is answered by, for the journal.
    pub models: Vec<(String, String)>,
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
    let mut driver = Driver::new(machine, ports, id.as_str().into(), 0, options.cancel);
    if driver.keeps {
        let program = identity(&prepared, options.sources);
        let at = driver.world.ports.clock.wall_ms();
        let (input, answers, models) = (input.clone(), options.answers, options.models);
        let started = Started { run: id, at, program, input, flags, answers, models };
        driver.record(EntryKind::Started(Box::new(started)));
    }
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
    let wanted = ports.events.wants_provenance();
    let (resumed, last) = match replay(&prepared, run, &ports, wanted).await {
        Ok(replayed) => replayed,
        Err(error) => return failed(error),
    };
    let (run, at_ms) = (resumed.started.run.as_str().into(), resumed.at_ms);
    if let Some(result) = ended(last, resumed.finished.as_ref()) {
        let (usage, calls) = (resumed.machine.usage(), resumed.machine.calls());
        return RunOutcome { run, result, usage, calls, duration_ms: at_ms };
    }
    let since = ports.clock.wall_ms().saturating_sub(resumed.started.at);
    let execution = resumed.executions.saturating_add(1);
    let mut driver = Driver::new(resumed.machine.in_pieces(), ports, run, execution, options.cancel);
    driver.next_seq = resumed.next_seq;
    // The run's clock counts the time without a process; a wall clock that was set back does not turn it back.
    driver.world.watch.continue_from(at_ms.max(since));
    driver.record(EntryKind::Resumed { engine: ENGINE.to_owned(), execution });
    let flow = prepared.program.name.to_string();
    let effective_input = effective(&prepared, resumed.started.input.as_ref(), wanted);
    let (answers_from, placeholder) = (options.answers_from, options.placeholder);
    let input = resumed.started.input;
    let started = EventKind::RunStarted { flow, input, effective_input, answers_from, placeholder };
    driver.world.watch.note(None, None, started);
    for message in resumed.notes {
        driver.world.watch.note(None, None, EventKind::Warning { message });
    }
    for event in resumed.events {
        let (key, location, kind) = driver.shown_event(event);
        driver.world.watch.note(key, location, kind);
    }
    driver.drive(resumed.output, resumed.restart).await
}

/// Replays a run's journal as it is read, so that no more of it is in memory than a page; also its last entry.
async fn replay(
    prepared: &Arc<Prepared>,
    run: &str,
    ports: &Ports,
    traced: bool,
) -> Result<(Resumed, Option<EntryKind>), RunError> {
    let (mut replay, mut last, mut next) = (None::<Replay>, None, 0);
    loop {
        let page = ports.journal.read(run, next).await.map_err(journal_error)?;
        for entry in &page {
            match &mut replay {
                None => replay = Some(Replay::begin(prepared.clone(), entry, traced)?),
                Some(replay) => replay.entry(entry)?,
            }
            next = entry.seq.saturating_add(1);
        }
        match page.into_iter().next_back() {
            Some(entry) => last = Some(entry.kind),
            None => break,
        }
        // A long journal leaves others their turn.
        tokio::task::yield_now().await;
    }
    let replay = replay.ok_or_else(|| RunError::new("JOURNAL_ERROR", format!("the journal of `{run}` is empty")))?;
    Ok((replay.end()?, last))
}

fn journal_error(error: JournalError) -> RunError {
    let JournalError { message, help } = error;
    let error = RunError::new("JOURNAL_ERROR", message);
    match help {
        Some(help) => error.help(help),
        None => error,
    }
}

/// Version of the engine, as journals have it.
const ENGINE: &str = env!("CARGO_PKG_VERSION");

/// What runs, for the journal.
fn identity(prepared: &Prepared, sources: Vec<SourceFile>) -> Identity {
    Identity {
        fingerprint: prepared.program.fingerprint().to_string(),
        semantics: SEMANTICS,
        engine: ENGINE.to_owned(),
        flow: prepared.program.name.to_string(),
        sources,
    }
}

/// How a journal says that its run ended. The place of a failure is what replaying it found: journals have none.
fn ended(last: Option<EntryKind>, replayed: Option<&Result<Value, RunError>>) -> Option<Result<Value, RunError>> {
    let Some(EntryKind::Finished { output, error }) = last else { return None };
    Some(match (error, replayed) {
        (None, _) => Ok(output.unwrap_or_default()),
        (Some(error), Some(Err(found))) => Err(RunError { location: found.location, ..error }),
        (Some(error), _) => Err(error),
    })
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
    /// Whether anybody keeps the entries.
    keeps: bool,
    /// Entries not yet written.
    buffer: Vec<Entry>,
    /// What happened, to be told once the entries that led to it are written.
    untold: Vec<(Option<Key>, Option<Location>, EventKind)>,
    /// What the machine asked for, to be started then.
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
    fn new(machine: Machine, ports: Ports, run: Arc<str>, execution: u32, cancel: Cancel) -> Self {
        let secrets = Arc::new(fill::SeenValues::of(&*ports.secrets, &machine.prepared().holes));
        let watch = Watch::new(run, ports.events.clone(), ports.clock.clone(), secrets.clone());
        let keeps = ports.journal.keeps();
        let world = World { prepared: machine.prepared().clone(), ports, watch, execution, secrets };
        Self {
            machine,
            world: Arc::new(world),
            cancel,
            next_seq: 0,
            keeps,
            buffer: Vec::new(),
            untold: Vec::new(),
            starting: Vec::new(),
            work: FuturesUnordered::new(),
            under_way: IndexMap::new(),
            stopped: Vec::new(),
            finished: None,
        }
    }

    async fn drive(mut self, output: Output, restart: Vec<Activity>) -> RunOutcome {
        self.starting.extend(restart);
        let mut turns = 0u32;
        let mut turn = self.take(output).await;
        let result = loop {
            if let Err(error) = turn {
                break Err(error);
            }
            if let Some(result) = self.finished.take() {
                break result;
            }
            if let Err(error) = self.commit().await {
                break Err(error);
            }
            self.start();
            turn = match self.next().await {
                Ok(Some(first)) => self.complete(first).await,
                Ok(None) => {
                    self.stop();
                    Ok(())
                }
                Err(error) => Err(error),
            };
            // A run of nothing but instant answers still lets others have their turn.
            turns += 1;
            if turns.is_multiple_of(64) {
                tokio::task::yield_now().await;
            }
        };
        self.end(result).await
    }

    /// Writes what has happened and what was asked for, then tells it.
    async fn commit(&mut self) -> Result<(), RunError> {
        self.flush().await?;
        for (key, location, kind) in std::mem::take(&mut self.untold) {
            self.world.watch.note(key, location, kind);
        }
        Ok(())
    }

    /// Starts what the machine asked for.
    fn start(&mut self) {
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
    }

    /// The next that is done; none: the run is cancelled.
    async fn next(&mut self) -> Result<Option<Done>, RunError> {
        loop {
            if self.cancel.is_cancelled() {
                return Ok(None);
            }
            let done = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Ok(None),
                done = self.work.next() => done,
            };
            match done {
                Some(Ok(done)) => return Ok(Some(done)),
                // One that was cancelled is gone now.
                Some(Err(_aborted)) => {}
                None => return Err(RunError::new("LIMIT_EXCEEDED", "internal error: nothing is in flight")),
            }
        }
    }

    /// Tells the machine what is done.
    async fn complete(&mut self, first: Done) -> Result<(), RunError> {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Some(Some(next)) = self.work.next().now_or_never()
        {
            batch.extend(next.ok());
        }
        let now = self.world.watch.now_ms();
        for done in batch {
            let Done { key, location, result, about, events } = done;
            self.under_way.swap_remove(&key);
            let usage = about.usage;
            self.record_at(now, || match result.clone() {
                Ok(value) => EntryKind::Completed { key: key.clone(), value, about },
                Err(error) => EntryKind::Failed { key: key.clone(), error: error.stored(), about },
            });
            self.untold.extend(events.into_iter().map(|event| (Some(key.clone()), location, event)));
            let output = self.machine.on(Completion { key, at_ms: now, result, usage });
            self.take(output).await?;
        }
        Ok(())
    }

    /// Somebody asked the run to stop.
    fn stop(&mut self) {
        self.record(EntryKind::CancelRequested {});
        let output = self.machine.cancel();
        self.take_piece(output);
        self.book_stopped();
    }

    /// Books what stopped model calls are known to have used: it was spent, whoever wanted the answer.
    fn book_stopped(&mut self) {
        let now = self.world.watch.now_ms();
        for (key, location, usage) in std::mem::take(&mut self.stopped) {
            let error = RunError::new("CANCELLED", "the call was stopped");
            let about = About::usage(Some(usage));
            self.record_at(now, || EntryKind::Failed { key: key.clone(), error: error.clone().stored(), about });
            self.untold.push((Some(key.clone()), location, EventKind::ModelStopped { usage }));
            // Nothing waits for it: the machine only adds up what was used.
            self.machine.on(Completion { key, at_ms: now, result: Err(error), usage: Some(usage) });
        }
    }

    /// Acts on what the machine says, until it waits for something or has ended.
    async fn take(&mut self, mut output: Output) -> Result<(), RunError> {
        loop {
            let more = output.more;
            self.take_piece(output);
            if !more {
                self.book_stopped();
                return Ok(());
            }
            // Whoever watches a long stretch sees it go on.
            self.commit().await?;
            if self.cancel.is_cancelled() {
                self.stop();
                return Ok(());
            }
            // Others have their turn, too: whoever cancels is one of them.
            tokio::task::yield_now().await;
            output = self.machine.proceed();
        }
    }

    fn take_piece(&mut self, output: Output) {
        for event in output.events {
            let event = self.shown_event(event);
            self.untold.push(event);
        }
        let mut void = BTreeSet::new();
        for command in output.commands {
            match command {
                Command::Start(activity) => {
                    let now = self.world.watch.now_ms();
                    self.record_at(now, || EntryKind::Scheduled {
                        key: activity.key.clone(),
                        sort: activity.request.sort().to_owned(),
                        content: activity.content,
                        due_ms: if let Request::Timer { due_ms, .. } = activity.request { Some(due_ms) } else { None },
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

    /// What the machine says happened, as it may be shown.
    fn shown_event(&self, mut event: Noted) -> (Option<Key>, Option<Location>, EventKind) {
        if let EventKind::StepFinished { output, .. } = &mut event.kind {
            *output = self.shown(std::mem::take(output));
        }
        (event.key, event.location, event.kind)
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
        self.record_at(now, || kind);
    }

    fn record_at(&mut self, at_ms: u64, kind: impl FnOnce() -> EntryKind) {
        if self.keeps {
            self.buffer.push(Entry { v: VERSION, seq: self.next_seq, at_ms, kind: kind() });
            self.next_seq += 1;
        }
    }

    async fn flush(&mut self) -> Result<(), RunError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let entries = std::mem::take(&mut self.buffer);
        let written = self.world.ports.journal.append(&self.world.watch.run, &entries).await;
        written.map_err(journal_error)
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
            self.record(EntryKind::Finished { output: output.clone(), error: error.clone().map(RunError::stored) });
        }
        let result = match self.commit().await {
            Err(failed) if !lost => Err(failed),
            _ => result,
        };
        // What could not be written was not sent.
        let unsent = self.starting.iter().filter(|a| matches!(a.request, Request::Model(_)) && !a.again).count() as u64;
        let (usage, calls) = (self.machine.usage(), self.machine.calls().saturating_sub(unsent));
        let watch = &self.world.watch;
        let duration_ms = watch.now_ms();
        watch.note(None, None, EventKind::RunFinished { output, error, usage, calls, duration_ms });
        RunOutcome { run: watch.run.clone(), result, usage, calls, duration_ms }
    }
}
