//! The driver: joins the machine to the ports. Async, without spawning: all activities of a run live in the one future
//! that [`run`] returns, so dropping it stops everything, and nothing keeps running after it.
//!
//! The order of things: what came back goes to the machine, and is written to the journal in one append with what the machine
//! asks for next. Only then do events leave and activities start: nothing is seen or done before the entries that led to it
//! are stored. Holes are filled just before the effect, and secret values are masked in whatever comes back.

mod activity;
mod beneath;
mod cancel;
mod drafts;
mod fill;
mod forms;
pub mod memo;
mod model;
mod past;
mod preview;
mod queue;
mod recovery;
mod reopen;
mod reuse;
mod shown;
mod suspend;
mod told;
mod turns;
mod verify;
mod watch;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::maybe_done;
use trefoil_ir::{Program, SEMANTICS};
use trefoil_prices::Price;
use trefoil_template::{HoleKind, Value};

use crate::allowance::Share;
use crate::limits::Places;
use crate::ports::{Journal, JournalError, Ports, Secret};
use trefoil_machine::error::RunError;
use trefoil_machine::event::Waiting;
use trefoil_machine::journal::{
    Answering, Basis, Changes, Entry, EntryKind, Flags, Identity, Reserve, SourceFile, Started, VERSION,
};
use trefoil_machine::request::Usage;
use trefoil_machine::{Machine, Output, Prepared, Replay, Resumed, Watcher};

use activity::World;
pub use cancel::Cancel;
use memo::Memo;
use past::{Reader, Teller, Using};
pub use preview::preview;
use recovery::Open;
pub use recovery::{OnUnknown, Recovery};
use reuse::Guard;
use told::STOPPED;
use turns::Driver;
pub use verify::{Verified, look_on, replayed, verify};

/// How a run is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seed of retry jitter; none: from [`Ports::random`].
    pub seed: Option<u64>,
    /// The run's id; none: from [`Ports::random`].
    pub run: Option<String>,
    /// Model calls that the run may make; none: as many as it wants.
    pub max_calls: Option<u64>,
    /// Micro-dollars that the run may spend; none: as much as it wants. The prices of all its models have to be known.
    pub max_cost_micro: Option<u64>,
    /// The prices of models, by `PROVIDER:NAME`. A model without one has no known price.
    pub prices: Vec<(String, Price)>,
    /// What a cost limit reserves for a call.
    pub reserve: Reserve,
    /// The context windows of models, by `PROVIDER:NAME`: what [`Reserve::Bound`] goes by.
    pub windows: Vec<(String, u64)>,
    /// The models that may answer instead of one, by `PROVIDER:NAME`: cost limits go by the most expensive.
    pub fallbacks: Vec<(String, Vec<String>)>,
    /// Where model calls wait for their turn, together with those of other runs. None: they do not wait.
    pub places: Option<Arc<Places>>,
    /// What the ports read of the environment and the secrets by themselves: it is hidden wherever it comes back, as what the
    /// program reads is.
    pub holes: Vec<(HoleKind, Arc<str>)>,
    /// The same by their values: keys of providers.
    pub keys: Vec<Secret>,
    /// The part of another run's allowance that the run has, if it was started by one of that run's tools.
    pub within: Option<Share>,
    /// The files that the program was made of, for the journal.
    pub sources: Vec<SourceFile>,
    /// How they make it, for the journal: see [`Identity::bundle`].
    pub bundle: Option<String>,
    /// What an earlier run has that need not be done again.
    pub memo: Option<Memo>,
    /// That run, for the journal.
    pub basis: Option<Basis>,
    /// What answers model calls, for the journal: see [`Started::answers`].
    pub answers: String,
    /// Which model each agent is answered by, for the journal.
    pub models: Vec<(String, String)>,
    /// Of a run that is resumed: limits that are different from now on.
    pub changes: Changes,
    /// Stops the run.
    pub cancel: Cancel,
    /// What answers model calls, for whoever watches: see [`EventKind::RunStarted`](trefoil_machine::EventKind::RunStarted).
    pub answers_from: Option<String>,
    /// The answers are placeholders.
    pub placeholder: bool,
    /// What becomes of activities that were in progress when the process ended before.
    pub recovery: Recovery,
    /// How far away time has to be that continues with a run, in milliseconds, for a run that waits for people to be suspended.
    pub linger_ms: u64,
    /// How often in a row a run is resumed although nothing came of it: what it does may be what ends its process.
    pub max_fruitless: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: None,
            run: None,
            max_calls: None,
            max_cost_micro: None,
            prices: Vec::new(),
            reserve: Reserve::default(),
            windows: Vec::new(),
            fallbacks: Vec::new(),
            places: None,
            holes: Vec::new(),
            keys: Vec::new(),
            within: None,
            sources: Vec::new(),
            bundle: None,
            memo: None,
            basis: None,
            answers: String::new(),
            models: Vec::new(),
            changes: Changes::default(),
            cancel: Cancel::default(),
            answers_from: None,
            placeholder: false,
            recovery: Recovery::default(),
            linger_ms: 60_000,
            max_fruitless: 10,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// The run's id.
    pub run: Arc<str>,
    /// Its output, or why it failed. `CANCELLED`: somebody asked it to stop. `SUSPENDED`: it has not ended.
    pub result: Result<Value, RunError>,
    /// What a suspended run waits for. Empty: it has ended.
    pub waiting: Vec<Waiting>,
    /// It has not ended: it continues when it is resumed.
    pub continues: bool,
    /// Tokens and money spent.
    pub usage: Usage,
    /// Model calls, failed and cancelled ones included.
    pub calls: u64,
    /// Milliseconds.
    pub duration_ms: u64,
}

impl RunOutcome {
    /// A run that failed before it could do anything.
    fn failed(run: &str, error: RunError) -> Self {
        Self {
            run: run.into(),
            result: Err(error),
            waiting: Vec::new(),
            continues: false,
            usage: Usage::default(),
            calls: 0,
            duration_ms: 0,
        }
    }
}

/// Runs a program until it ends, or has only waiting left to do.
pub async fn run(program: Arc<Program>, input: Option<Value>, ports: Ports, options: Options) -> RunOutcome {
    run_prepared(Prepared::new(program), input, ports, options).await
}

/// The same, for a program that is run more than once.
pub fn run_prepared(
    prepared: Arc<Prepared>,
    input: Option<Value>,
    ports: Ports,
    options: Options,
) -> impl Future<Output = RunOutcome> + Send {
    // What a future is given stays in it until its end: so what is needed to begin is put aside.
    let begin: Box<dyn FnOnce() -> (Box<Driver>, Output) + Send> =
        Box::new(move || begin(prepared, input, ports, options));
    async move {
        let (driver, output) = begin();
        driver.drive(output).await
    }
}

/// What is needed to begin is not kept while the run continues.
fn begin(prepared: Arc<Prepared>, input: Option<Value>, ports: Ports, mut options: Options) -> (Box<Driver>, Output) {
    let guard = Guard::begin(&mut options);
    let started = started(&prepared, input, &ports, &mut options);
    let (id, flags) = (started.run.clone(), started.flags.clone());
    // What is done again is said to be done again because of what.
    let wanted = ports.events.wants_provenance() || options.memo.is_some();
    let mut machine = Machine::with(prepared.clone(), flags).in_pieces().with_provenance(wanted);
    let output = machine.start(id.as_str(), started.input.clone());
    let world = Arc::new(World::new(prepared, ports, id.as_str().into(), 0).with(&options));
    let began = world.began_run(&started, &options);
    let mut driver = Driver::new(machine, world, options, guard);
    driver.record(EntryKind::Started(Box::new(started)));
    driver.tell(began);
    (driver, output)
}

/// How a run begins.
fn started(prepared: &Prepared, input: Option<Value>, ports: &Ports, options: &mut Options) -> Started {
    let run = options.run.take().unwrap_or_else(|| format!("{:016x}", ports.random.next()));
    let seed = options.seed.unwrap_or_else(|| ports.random.next());
    let Options { max_calls, max_cost_micro, reserve, .. } = *options;
    let (prices, windows) = (std::mem::take(&mut options.prices), std::mem::take(&mut options.windows));
    let fallbacks = std::mem::take(&mut options.fallbacks);
    let flags = Flags { seed, max_calls, max_cost_micro, prices, reserve, windows, fallbacks };
    let program = identity(prepared, options);
    let (answers, models) = (options.answers.clone(), options.models.clone());
    let basis = options.basis.take().map(Box::new);
    Started { run, at: ports.clock.wall_ms(), program, input, flags, answers, models, basis }
}

/// The first entry of a run that begins elsewhere: whoever has it in a journal goes on with the run by [`resume`].
pub fn first_entry(prepared: &Prepared, input: Option<Value>, ports: &Ports, mut options: Options) -> Entry {
    // What limits it has is in what it says of the earlier run.
    let _ = Guard::begin(&mut options);
    let started = started(prepared, input, ports, &mut options);
    Entry { v: VERSION, seq: 0, at_ms: 0, kind: EntryKind::Started(Box::new(started)) }
}

/// Goes on with a run from its journal: nothing that has ended is done again. The events of what was replayed come first.
pub async fn resume(program: Arc<Program>, run: &str, ports: Ports, options: Options) -> RunOutcome {
    resume_prepared(Prepared::new(program), run, ports, options).await
}

/// The same, for a program that is run more than once.
pub fn resume_prepared(
    prepared: Arc<Prepared>,
    run: &str,
    ports: Ports,
    options: Options,
) -> impl Future<Output = RunOutcome> + Send {
    // What is needed to read the journal is not kept while the run continues.
    let taken_up = Box::pin(take_up(prepared, run, ports, options));
    async move {
        let taken_up = taken_up.await;
        match taken_up {
            Ok(driver) => driver.drive(Output::default()).await,
            Err(outcome) => *outcome,
        }
    }
}

/// A run brought to where its journal ends, or what it has come to if it does not continue.
async fn take_up(
    prepared: Arc<Prepared>,
    run: &str,
    ports: Ports,
    mut options: Options,
) -> Result<Box<Driver>, Box<RunOutcome>> {
    let mut world = World::new(prepared, ports, run.into(), 0).with(&options);
    let guard = Guard::go_on(&mut options);
    let mut memo = options.memo.take();
    let mut counted = BTreeMap::new();
    let mut using = Using { teller: Teller(&world), memo: memo.as_mut(), counted: &mut counted };
    let watched = read(&world, &options, &mut using).await;
    options.memo = memo;
    world.counted = counted;
    let ReadJournal { first, mut replay, last } = match watched {
        Ok(read) => read,
        Err(error) => return Err(RunOutcome::failed(run, error).into()),
    };
    let mut reopened = None;
    // What the run has come to, whatever becomes of this attempt.
    let (usage, calls, duration_ms) = (replay.machine().usage(), replay.machine().calls(), replay.at_ms());
    let left = |result| {
        let (run, waiting, continues) = (run.into(), Vec::new(), false);
        Box::new(RunOutcome { run, result, waiting, continues, usage, calls, duration_ms })
    };
    match ended(&last, replay.outcome()) {
        None => {}
        Some(Err(error)) if error.code != STOPPED => {
            let changes = changes(&mut options, &replay);
            match reopen::reopen(&world, &first, replay, &error, changes).await {
                Ok(next) => (replay, reopened) = (next.replay, Some(next.again)),
                Err(error) => return Err(left(Err(error))),
            }
        }
        Some(result) => return Err(left(result)),
    }
    let changes = if reopened.is_some() { Changes::default() } else { changes(&mut options, &replay) };
    let resumed = match replay.end(&mut Teller(&world)) {
        Ok(resumed) => resumed,
        Err(error) => return Err(RunOutcome::failed(run, error).into()),
    };
    if resumed.fruitless >= options.max_fruitless {
        return Err(RunOutcome::failed(run, recovery::hopeless(resumed.fruitless)).into());
    }
    // The run's clock counts the time without a process, but not the time after its end; a wall clock that was set back does
    // not turn it back.
    let since = world.ports.clock.wall_ms().saturating_sub(resumed.origin);
    let (execution, now) = match &reopened {
        Some(_) => (resumed.executions, resumed.at_ms),
        None => (resumed.executions.saturating_add(1), resumed.at_ms.max(since)),
    };
    world.watch.continue_from(now);
    let world = Arc::new(World { execution, ..world });
    world.ports.events.caught_up();
    let Resumed { machine, notes, restart, output, kept, next_seq, .. } = resumed;
    let mut driver = Driver::new(machine.in_pieces(), world, options, guard);
    // The entry that reopens it has been replayed and is written now.
    driver.continue_at(next_seq.saturating_sub(u64::from(reopened.is_some())), kept);
    let open = Open { execution, notes, restart, output };
    let begun = match reopened {
        None => driver.again(changes, open).await,
        Some(again) => driver.reopened(again, open).await,
    };
    match begun {
        Ok(()) => Ok(driver),
        Err(error) => Err(driver.end(Err(error)).await.into()),
    }
}

/// What is different from now on.
fn changes(options: &mut Options, replay: &Replay) -> Changes {
    let now = std::mem::take(&mut options.changes);
    let flags = replay.machine().flags();
    // Prices stay what they were as long as the same answers.
    let other = options.answers != replay.answers() && !options.answers.is_empty();
    let models = other.then(|| Answering {
        answers: options.answers.clone(),
        models: options.models.clone(),
        prices: std::mem::take(&mut options.prices),
        windows: options.windows.clone(),
        fallbacks: std::mem::take(&mut options.fallbacks),
    });
    let reserve = now.reserve.filter(|reserve| *reserve != flags.reserve);
    let windows = reserve.filter(|reserve| *reserve == Reserve::Bound).map(|_| std::mem::take(&mut options.windows));
    Changes {
        reserve,
        windows: windows.unwrap_or_default(),
        max_calls: now.max_calls.filter(|_| now.max_calls != flags.max_calls),
        max_cost_micro: now.max_cost_micro.filter(|_| now.max_cost_micro != flags.max_cost_micro),
        models,
    }
}

/// Tells the events of a run's journal to [`Ports::events`], with the numbers that they had when they happened. Nothing is
/// done. Returns what nobody knows whether it was done, if no process works on the run: tools and commands that were in progress.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if it is of another program.
pub async fn retell(
    prepared: Arc<Prepared>,
    run: &str,
    ports: Ports,
    options: &Options,
) -> Result<Vec<Waiting>, RunError> {
    let world = World::new(prepared, ports, run.into(), 0);
    let ReadJournal { replay, .. } = read(&world, options, &mut Teller(&world)).await?;
    let resumed = replay.end(&mut Teller(&world))?;
    let unknown = resumed.restart.iter().filter(|activity| !recovery::may_repeat(&world, &activity.request));
    Ok(unknown.map(|activity| world.waiting(activity)).collect())
}

/// A journal that was read to its end.
struct ReadJournal {
    first: Entry,
    replay: Replay,
    last: EntryKind,
}

/// Replays a run's journal as it is read, so that no more of it is in memory than two pages: the one that is replayed, and the
/// one that is read meanwhile.
async fn read<W: Reader + Send>(world: &World, options: &Options, watcher: &mut W) -> Result<ReadJournal, RunError> {
    let run = &world.watch.run;
    let journal = &*world.ports.journal;
    let mut read = None::<ReadJournal>;
    let mut page = journal.read(run, 0).await.map_err(journal_error)?;
    while let Some(last) = page.last() {
        let mut ahead = maybe_done(journal.read(run, last.seq.saturating_add(1)));
        // It begins now, and whoever reads it may be another thread.
        let _ = (&mut ahead).now_or_never();
        for entry in &page {
            match &mut read {
                None => {
                    if let EntryKind::Started(started) = &entry.kind {
                        watcher.began(started, options);
                    }
                    let replay = Replay::begin(world.prepared.clone(), entry, watcher)?;
                    read = Some(ReadJournal { replay, last: entry.kind.clone(), first: entry.clone() });
                }
                Some(ReadJournal { first, replay, .. }) => {
                    self::next(journal, run, first, replay, entry, watcher).await?;
                }
            }
        }
        if let (Some(read), Some(last)) = (&mut read, page.pop()) {
            read.last = last.kind;
        }
        // A long journal leaves others their turn.
        tokio::task::yield_now().await;
        (&mut ahead).await;
        page = Pin::new(&mut ahead).take_output().transpose().map_err(journal_error)?.unwrap_or_default();
    }
    read.ok_or_else(|| RunError::new("JOURNAL_ERROR", format!("the journal of `{run}` is empty")))
}

/// The next entry of a journal that is read.
async fn next<W: Watcher + Send>(
    journal: &dyn Journal,
    run: &str,
    first: &Entry,
    replay: &mut Replay,
    entry: &Entry,
    watcher: &mut W,
) -> Result<(), RunError> {
    let Some(next) = replay.reopening(entry)? else { return replay.entry(entry, watcher) };
    let rebuild = replay.rebuild(first, next)?;
    let rebuild = reopen::rebuilt(journal, run, entry.seq, rebuild).await?;
    rebuild.end(entry, replay, watcher)
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
fn identity(prepared: &Prepared, options: &mut Options) -> Identity {
    Identity {
        fingerprint: prepared.fingerprint().to_owned(),
        semantics: SEMANTICS,
        engine: ENGINE.to_owned(),
        flow: prepared.program.name.to_string(),
        sources: std::mem::take(&mut options.sources),
        bundle: options.bundle.take(),
    }
}

/// How a journal says that its run ended. The place of a failure is what replaying it found: journals have none.
fn ended(last: &EntryKind, replayed: Option<&Result<Value, RunError>>) -> Option<Result<Value, RunError>> {
    let EntryKind::Finished { output, error } = last else { return None };
    Some(match (error, replayed) {
        (None, _) => Ok(output.clone().unwrap_or_default()),
        (Some(error), Some(Err(found))) => Err(RunError { location: found.location, ..error.clone() }),
        (Some(error), _) => Err(error.clone()),
    })
}
