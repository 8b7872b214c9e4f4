//! The driver connects a coordinator to the ports. It is async but spawns nothing: all activities of a run are part of the one future
//! that [`run`] returns, so dropping it stops them all.
//!
//! Completions go to the machine, and are written to the journal in one append with the machine's next requests. Only then are
//! events sent and activities started, so nothing is seen or performed before the entries that led to it are stored. Holes are
//! filled just before the effect, and secret values are masked in all incoming data.

mod activity;
mod cancel;
mod drafts;
mod host;
mod masking;
pub mod memo;
mod model;
mod past;
mod preview;
mod queue;
mod reopen;
mod shown;
mod told;
mod verify;
mod watch;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::maybe_done;
use trefoil_coordinator::outcome::{STOPPED, parts};
use trefoil_coordinator::recovery::{hopeless, may_repeat};
use trefoil_coordinator::{ENGINE, ResumedRun, Resumption, RunCoordinator, RunSettings, Share};
pub use trefoil_coordinator::{OnUnknown, Recovery, RunOutcome};
use trefoil_ir::prices::Price;
use trefoil_ir::{Program, SEMANTICS};
use trefoil_template::{HoleKind, Value};

use crate::limits::Places;
use crate::ports::{Journal, JournalError, Library, Ports, Secret};
use trefoil_machine::error::RunError;
use trefoil_machine::event::{EventKind, Waiting};
use trefoil_machine::guard::{Ruling, Verdict};
use trefoil_machine::journal::{
    Answering, Basis, Changes, Entry, EntryKind, Flags, GivenPermissions, Identity, Reserve, RunSpec, SourceFile,
    Started, VERSION,
};
use trefoil_machine::key::Key;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::Usage;
use trefoil_machine::{Machine, Prepared, Replay, Request, Resumed, RunLimits, Unwatched, Watcher};

pub use cancel::Cancel;
use host::{Facts, LocalHost};
pub use masking::{SHORTEST as SHORTEST_SECRET, SecretFound, SecretVariable, SeenValues};
use memo::Memo;
use past::{Reader, Teller, Using};
pub use preview::{Described, preview};
use queue::Queue;
use told::Untold;
pub use verify::{Verified, look_on, replayed, verify};
use world::World;

/// How far away the next timer of a run may be that only waits for people, so that its process waits, too.
const LINGER_MS: u64 = 60_000;

/// Options of a run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Seed of retry jitter. `None`: from [`Ports::random`].
    pub seed: Option<u64>,
    /// The run's id. `None`: from [`Ports::random`].
    pub run: Option<String>,
    /// The settings of the run. For a resumed run: those that are to be others from now on.
    pub spec: RunSpec,
    /// The prices of models, by `PROVIDER:NAME`. A model without one has no known price.
    pub prices: Vec<(String, Price)>,
    /// The context windows of models, by `PROVIDER:NAME`, for [`Reserve::Bound`].
    pub windows: Vec<(String, u64)>,
    /// The fallbacks of models, by `PROVIDER:NAME`. Cost limits use the most expensive one.
    pub fallbacks: Vec<(String, Vec<String>)>,
    /// The queue of model calls, shared with other runs. `None`: calls do not wait.
    pub places: Option<Arc<Places>>,
    /// Environment values and secrets that the ports read by themselves. They are hidden in incoming data like those that the
    /// program reads.
    pub holes: Vec<(HoleKind, Arc<str>)>,
    /// The environment variables that count as secrets because of where the program uses them.
    pub credentials: Vec<Arc<str>>,
    /// More values to hide: keys of providers.
    pub keys: Vec<Secret>,
    /// The values to hide that the run shares with the runs above and below it. `None`: it shares none.
    pub seen: Option<Arc<SeenValues>>,
    /// The share of the calling run's allowance, if a tool call of another run started this one.
    pub within: Option<Share>,
    /// The program's files, for the journal.
    pub sources: Vec<SourceFile>,
    /// How the program is built from these files, for the journal: see [`Identity::bundle`].
    pub bundle: Option<String>,
    /// Results of earlier runs to reuse.
    pub memo: Option<Memo>,
    /// Where answers of any earlier runs are looked up, if the memo wants that.
    pub library: Option<Arc<dyn Library>>,
    /// The earlier run, for the journal.
    pub basis: Option<Basis>,
    /// What guardrails have redacted in the input before, in the run that it is from.
    pub input_verdicts: Vec<Verdict>,
    /// What answers model calls, for the journal: see [`Started::answers`].
    pub answers: String,
    /// The model of each agent, for the journal.
    pub models: Vec<(String, String)>,
    /// What the command line allows, for the journal: see [`Started::permissions`].
    pub permissions: GivenPermissions,
    /// Warnings about what the run starts with, for the journal: see [`Started::warnings`].
    pub warnings: Vec<String>,
    /// For a resumed run: more steps as in [`Basis::rerun`].
    pub rerun: Vec<String>,
    /// Stops the run.
    pub cancel: Cancel,
    /// What answers model calls, for watchers: see [`EventKind::RunStarted`].
    pub answers_from: Option<String>,
    /// Whether the answers are placeholders.
    pub placeholder: bool,
    /// How to handle activities that were in progress when the previous process ended.
    pub recovery: Recovery,
    /// A run that waits for people is suspended only if its next timer is more than this many milliseconds away. `None`: a minute.
    pub linger_ms: Option<u64>,
    /// Maximum number of consecutive resumes without progress, because the run itself may be what ends its process. `None`: 10.
    pub max_fruitless: Option<u32>,
}

/// Runs a program until it ends or is suspended.
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
    // A future holds its arguments until it ends. The boxed closure takes them, so that they are freed after the start.
    let begin: Box<dyn FnOnce() -> Box<LocalHost> + Send> = Box::new(move || begin(prepared, input, ports, options));
    async move { begin().drive().await }
}

/// Starts a run: the host that performs it.
fn begin(prepared: Arc<Prepared>, input: Option<Value>, ports: Ports, mut options: Options) -> Box<LocalHost> {
    let limits = limits_at_start(&mut options);
    let started = started(&prepared, input, &ports, &mut options);
    let (id, flags) = (started.run.clone(), started.flags.clone());
    // With a memo, reports use the provenance to explain why an activity is performed again.
    let wanted = ports.events.wants_provenance() || options.memo.is_some();
    let mut machine = Machine::with(prepared.clone(), flags).in_pieces().with_provenance(wanted);
    machine.begin_at(started.at);
    let output = machine.start(started.execution(), started.input.as_ref().map(|input| input.exact().clone()));
    let world = Arc::new(World::new(prepared, ports, id.as_str().into(), 0).with(&options));
    let began = world.began_run(&started, &options);
    let settings = settings(&world, &options, limits, BTreeMap::new());
    let facts = Facts { world: &world, running: &BTreeMap::new() };
    let started = EntryKind::Started(Box::new(started));
    let shared = (memo_for(&world, options.memo.take()), options.within.take());
    let run = RunCoordinator::begin((machine, output), started, settings, shared, &facts);
    host(world, run, options, began)
}

fn host(world: Arc<World>, run: RunCoordinator, options: Options, began: Vec<Untold>) -> Box<LocalHost> {
    let queue = Queue::new(options.places.map(|places| places.of_run()), world.clone());
    LocalHost::new(world, run, options.cancel, queue, began)
}

/// What the coordinator of a run needs to know of this process.
fn settings(world: &World, options: &Options, limits: RunLimits, counted: BTreeMap<Key, Usage>) -> RunSettings {
    RunSettings {
        run: world.watch.run.clone(),
        execution: world.execution,
        keeps: world.ports.journal.keeps(),
        queues: options.places.is_some(),
        recovery: options.recovery,
        linger_ms: options.linger_ms.unwrap_or(LINGER_MS),
        limits,
        counted,
    }
}

/// The results of earlier runs for a run of this program, with these tools.
fn memo_for(world: &World, memo: Option<Memo>) -> Option<Memo> {
    memo.map(|memo| memo.used_by(&world.prepared, world.is_idempotent()))
}

/// Takes the limits of a run that reuses results out of what the machine gets: see [`RunSettings::limits`].
fn limits_at_start(options: &mut Options) -> RunLimits {
    if options.memo.is_none() {
        return RunLimits::NONE;
    }
    let limits = std::mem::take(&mut options.spec.limits);
    if let Some(basis) = &mut options.basis {
        basis.limits = limits;
    }
    limits
}

/// The same for a resumed run: the original ones, unless they are changed.
fn limits_from_now(options: &Options) -> RunLimits {
    let (Some(_), Some(basis)) = (&options.memo, &options.basis) else { return RunLimits::NONE };
    options.spec.limits.or(basis.limits)
}

/// Builds the entry that starts a run.
fn started(prepared: &Prepared, input: Option<Value>, ports: &Ports, options: &mut Options) -> Started {
    let (input, verdicts) = input.map(|input| prepared.stored_input.of_run(input)).unzip();
    let mut input_verdicts: Vec<Verdict> = verdicts.unwrap_or_default();
    // The input of the run before was stored redacted.
    let before = std::mem::take(&mut options.input_verdicts);
    input_verdicts.extend(before.into_iter().filter(|one| one.ruling == Ruling::Changed));
    let run = options.run.take().unwrap_or_else(|| format!("{:016x}", ports.random.next()));
    let seed = options.seed.unwrap_or_else(|| ports.random.next());
    let spec = options.spec.at_start();
    let (prices, windows) = (std::mem::take(&mut options.prices), std::mem::take(&mut options.windows));
    let fallbacks = std::mem::take(&mut options.fallbacks);
    let reuses = options.memo.is_some() || options.basis.is_some();
    let flags = Flags { seed, spec, prices, windows, fallbacks, reuses, input_verdicts };
    let program = identity(prepared, options);
    let (answers, models) = (options.answers.clone(), options.models.clone());
    let basis = options.basis.take().map(Box::new);
    let permissions = options.permissions.clone();
    // The values that a run shares with others may not be known yet.
    let seen = options.seen.clone().unwrap_or_else(|| Arc::new(SeenValues::of(&*ports.secrets, &prepared.holes)));
    let input = input.map(|input| seen.noted(input));
    let mut warnings = std::mem::take(&mut options.warnings);
    warnings.extend(too_short(&SeenValues::too_short(&*ports.secrets, &prepared.holes)));
    let at = ports.clock.wall_ms();
    Started { run, at, program, input, warnings, flags, answers, models, basis, permissions }
}

/// Said once at the start of a run.
fn too_short(names: &[String]) -> Vec<String> {
    if names.is_empty() {
        return Vec::new();
    }
    let all = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let what =
        format!("values with fewer than {SHORTEST_SECRET} characters are shown if a model or a tool repeats them");
    vec![format!("{what}: {all}")]
}

/// The first entry of a run that another process will perform. Once this entry is in a journal, [`resume`] can continue the run.
pub fn first_entry(prepared: &Prepared, input: Option<Value>, ports: &Ports, mut options: Options) -> Entry {
    // With a memo, this moves the limits into the entry's `basis`.
    let _ = limits_at_start(&mut options);
    let started = started(prepared, input, ports, &mut options);
    Entry { v: VERSION, seq: 0, at_ms: 0, kind: EntryKind::Started(Box::new(started)) }
}

/// Resumes a run from its journal. Activities that have ended are not repeated. The events of the replay are sent first.
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
    // Boxed, so that the data needed to read the journal is freed before the run continues.
    let taken_up = Box::pin(take_up(prepared, run, ports, options));
    async move {
        let taken_up = taken_up.await;
        match taken_up {
            Ok(host) => host.drive().await,
            Err(outcome) => *outcome,
        }
    }
}

/// Replays a run to the end of its journal. Returns the outcome as an error if the run does not continue. reason: one order of
/// steps, each of which needs the ones before.
async fn take_up(
    prepared: Arc<Prepared>,
    run: &str,
    ports: Ports,
    mut options: Options,
) -> Result<Box<LocalHost>, Box<RunOutcome>> {
    let world = World::new(prepared, ports, run.into(), 0).with(&options);
    let limits = limits_from_now(&options);
    let mut memo = options.memo.take();
    let (mut counted, mut replaced) = (BTreeMap::new(), BTreeSet::new());
    let mut using = Using {
        teller: Teller(&world),
        memo: memo.as_mut(),
        counted: &mut counted,
        seen: &world.seen,
        replaced: &mut replaced,
        answers: options.answers.clone(),
        recalls: false,
    };
    let watched = read(&world, &options, &mut using).await;
    options.memo = memo;
    let ReadJournal { first, mut replay, last } = match watched {
        Ok(read) => read,
        Err(error) => return Err(RunOutcome::failed(run, error).into()),
    };
    let mut reopened = None;
    // The totals of the run, in case it does not continue.
    let (usage, calls, duration_ms) = (replay.machine().usage(), replay.machine().calls(), replay.worked().0);
    let items = replay.machine().failed_items();
    let warnings = if let EntryKind::Finished { warnings, .. } = &last { warnings.clone() } else { Vec::new() };
    let left = |result: Result<_, RunError>| {
        // With a higher limit.
        let continues = result.as_ref().is_err_and(|error| error.ends_again && error.raise.is_some());
        let (run, waiting, suspended) = (run.into(), Vec::new(), false);
        let (result, hidden) = parts(result);
        let warnings = warnings.clone();
        Box::new(RunOutcome {
            run,
            result,
            hidden,
            warnings,
            waiting,
            suspended,
            continues,
            items,
            usage,
            calls,
            duration_ms,
        })
    };
    match ended(&last, replay.outcome()) {
        None => {}
        Some(Err(error)) if error.code != STOPPED => {
            let changes = changes(&mut options, &replay);
            match reopen::reopen(&world, &first, replay, &error, (changes, options.memo.as_ref())).await {
                Ok(next) => (replay, reopened) = (next.replay, Some(next.how)),
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
    if let Some(error) = hopeless(resumed.fruitless, options.max_fruitless) {
        return Err(RunOutcome::failed(run, error).into());
    }
    // The run's clock includes the time without a process, but not the time between a failure and the reopening. It does not go
    // back, even if the wall clock was set back.
    let since = world.ports.clock.wall_ms().saturating_sub(resumed.origin);
    let (execution, now) = match &reopened {
        Some(_) => (resumed.executions, resumed.at_ms),
        None => (resumed.executions.saturating_add(1), resumed.at_ms.max(since)),
    };
    world.watch.continue_from(now);
    let world = Arc::new(World { execution, ..world });
    world.ports.events.caught_up();
    let Resumed { machine, notes, restart, output, kept, next_seq, .. } = resumed;
    // The entry `Reopened` has already been replayed, but is written only now.
    let next_seq = next_seq.saturating_sub(u64::from(reopened.is_some()));
    let (is_reopened, how) = match reopened {
        Some(how) => (true, how),
        None => {
            let is_lost = restart.iter().any(|activity| matches!(activity.request, Request::Model(_)));
            let drafts = if is_lost { world.read_drafts().await } else { BTreeMap::new() };
            (false, Resumption::Resumed { changes, drafts })
        }
    };
    let settings = settings(&world, &options, limits, counted);
    let facts = Facts { world: &world, running: &BTreeMap::new() };
    let shared = (memo_for(&world, options.memo.take()), options.within.take());
    let resumed = ResumedRun { machine: machine.in_pieces(), restart, output, next_seq, kept, replaced, how };
    let run = RunCoordinator::resume(resumed, settings, shared, &facts);
    world.watch.resumed(run.clock());
    for message in notes.into_iter().filter(|_| !is_reopened) {
        world.watch.delta(None, None, EventKind::Warning { message });
    }
    Ok(host(world, run, options, Vec::new()))
}

/// The changes requested at this resume.
fn changes(options: &mut Options, replay: &Replay) -> Changes {
    let flags = replay.machine().flags();
    // Prices stay the same unless the source of answers is different.
    let other = options.answers != replay.answers() && !options.answers.is_empty();
    let models = other.then(|| Answering {
        answers: options.answers.clone(),
        models: options.models.clone(),
        prices: std::mem::take(&mut options.prices),
        windows: options.windows.clone(),
        fallbacks: std::mem::take(&mut options.fallbacks),
    });
    let spec = options.spec.changed_from(flags.spec);
    let windows =
        spec.reserve.filter(|reserve| *reserve == Reserve::Bound).map(|_| std::mem::take(&mut options.windows));
    Changes {
        spec,
        windows: windows.unwrap_or_default(),
        models,
        rerun: std::mem::take(&mut options.rerun),
        permissions: options.permissions.clone(),
    }
}

/// Sends the events of a run's journal to [`Ports::events`], with their original numbers, and performs nothing. Returns the tools
/// and commands in progress that are not safe to repeat. If no process works on the run, their outcome is unknown.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if it belongs to another program.
pub async fn retell(
    prepared: Arc<Prepared>,
    run: &str,
    ports: Ports,
    options: &Options,
) -> Result<Vec<Waiting>, RunError> {
    let world = World::new(prepared, ports, run.into(), 0);
    let ReadJournal { replay, .. } = read(&world, options, &mut Teller(&world)).await?;
    let resumed = replay.end(&mut Teller(&world))?;
    let facts = Facts { world: &world, running: &BTreeMap::new() };
    let unknown = resumed.restart.iter().filter(|activity| !may_repeat(&activity.request, &facts));
    Ok(unknown.map(|activity| world.waiting(activity)).collect())
}

/// Whether a failed run can continue: it would not fail in the same way without a change of its program. Performs nothing.
pub async fn can_continue(prepared: Arc<Prepared>, run: &str, ports: Ports) -> bool {
    let world = World::new(prepared, ports, run.into(), 0);
    let read = read(&world, &Options::default(), &mut Unwatched).await;
    let Ok(ReadJournal { last: EntryKind::Finished { error: Some(error), .. }, .. }) = read else { return false };
    reopen::is_possible(&world, &error, None).await
}

/// The result of reading a whole journal.
struct ReadJournal {
    first: Entry,
    replay: Replay,
    last: EntryKind,
}

/// Replays a run's journal while reading it. At most two pages are in memory: the one that is replayed, and the one that is read
/// meanwhile.
async fn read<W: Reader + Send>(world: &World, options: &Options, watcher: &mut W) -> Result<ReadJournal, RunError> {
    let run = &world.watch.run;
    let journal = &*world.ports.journal;
    let mut read = None::<ReadJournal>;
    let mut page = journal.read(run, 0).await.map_err(journal_error)?;
    while let Some(last) = page.last() {
        let mut ahead = maybe_done(journal.read(run, last.seq.saturating_add(1)));
        // Starts the read now, because another thread may perform it.
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
        // Lets other tasks run while a long journal is read.
        tokio::task::yield_now().await;
        (&mut ahead).await;
        page = Pin::new(&mut ahead).take_output().transpose().map_err(journal_error)?.unwrap_or_default();
    }
    read.ok_or_else(|| RunError::new("JOURNAL_ERROR", format!("the journal of `{run}` is empty")))
}

/// Replays the next entry of a journal.
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
    let JournalError { message, help, .. } = error;
    let error = RunError::new("JOURNAL_ERROR", message);
    match help {
        Some(help) => error.help(help),
        None => error,
    }
}

/// The identity of the program, for the journal.
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

/// The end of a run according to its journal. Journals contain no locations, so the location of a failure comes from the replay.
fn ended(last: &EntryKind, replayed: Option<&Result<Value, RunError>>) -> Option<Result<PrivateValue, RunError>> {
    let EntryKind::Finished { output, error, .. } = last else { return None };
    Some(match (error, replayed) {
        (None, _) => Ok(output.clone().unwrap_or_default()),
        (Some(error), Some(Err(found))) => Err(error.clone().at_step(error.key.clone(), found.location)),
        (Some(error), _) => Err(error.clone()),
    })
}
