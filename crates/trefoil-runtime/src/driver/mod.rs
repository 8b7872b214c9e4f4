//! The driver connects a coordinator to the ports. It is async but spawns nothing: all activities of a run are part of the one future
//! that [`run`] returns, so dropping it stops them all.
//!
//! Completions go to the machine, and are written to the journal in one append with the machine's next requests. Only then are
//! events sent and activities started, so nothing is seen or performed before the entries that led to it are stored. Holes are
//! filled just before the effect, and secret values are masked in all incoming data.

mod activity;
mod activity_events;
mod cancel_switch;
mod displayed_messages;
mod drafts;
mod event_clock;
mod host;
mod masking;
pub mod memo;
mod model;
mod preview;
mod queue;
mod reopening;
mod replay_events;
mod run_context;
mod verification;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::maybe_done;
use trefoil_coordinator::outcome::{STOPPED, split_result};
use trefoil_coordinator::recovery::{may_repeat, resume_limit_error};
use trefoil_coordinator::{ENGINE, ResumedRun, RunCoordinator, RunResumption, RunSettings, Share};
pub use trefoil_coordinator::{OnUnknown, RecoveryPolicy, RunOutcome};
use trefoil_ir::prices::ModelPrice;
use trefoil_ir::{Program, SEMANTICS};
use trefoil_template::{HoleKind, Value};

use crate::limits::CallPermits;
use crate::limits::shared_limits::SharedLimits;
use crate::ports::{AnswerLibrary, Journal, JournalError, Ports, Secret};
use trefoil_machine::error::RunError;
use trefoil_machine::event::{AwaitedActivity, EventKind};
use trefoil_machine::guard::{Verdict, VerdictRuling};
use trefoil_machine::journal::{
    AnswerSettings, Basis, Entry, EntryKind, Flags, GivenPermissions, ProgramFile, ProgramIdentity, Reserve,
    ResumeChanges, RunSpec, RunStart, VERSION,
};
use trefoil_machine::key::Key;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::Usage;
use trefoil_machine::{
    Machine, MachineEvent, NoObserver, PreparedProgram, Replay, ReplayObserver, ReplayedRun, Request, RunLimits,
};

pub use cancel_switch::CancelSwitch;
use host::{LocalHost, LocalHostFacts};
pub use masking::{HiddenValues, SHORTEST as SHORTEST_SECRET, SecretFound, SecretVariable};
use memo::Memo;
pub use preview::{ToolDescriptions, preview_run};
use queue::ModelCallQueue;
use replay_events::{JournalObserver, ReplayReporter, ResumeObserver};
use run_context::RunContext;
pub use verification::{VerificationReport, look_on, replay_journal, verify_journal};

/// How far away the next timer of a run may be that only waits for people, so that its process waits, too.
const LINGER_MS: u64 = 60_000;

/// Options of a run.
#[derive(Debug, Clone, Default)]
pub struct DriverOptions {
    /// Seed of retry jitter. `None`: from [`Ports::random`].
    pub seed: Option<u64>,
    /// The run's id. `None`: from [`Ports::random`].
    pub run: Option<String>,
    /// The settings of the run. For a resumed run: those that are to be others from now on.
    pub spec: RunSpec,
    /// The prices of models, by `PROVIDER:NAME`. A model without one has no known price.
    pub prices: Vec<(String, ModelPrice)>,
    /// The context windows of models, by `PROVIDER:NAME`, for [`Reserve::Bound`].
    pub windows: Vec<(String, u64)>,
    /// The fallbacks of models, by `PROVIDER:NAME`. Cost limits use the most expensive one.
    pub fallbacks: Vec<(String, Vec<String>)>,
    /// The queue of model calls, shared with other runs. `None`: calls do not wait.
    pub permits: Option<Arc<CallPermits>>,
    /// The limits of providers that hold for all processes together. `None`: those of [`permits`](Self::permits) hold for this process.
    pub shared_limits: Option<Arc<dyn SharedLimits>>,
    /// Environment values and secrets that the ports read by themselves. They are hidden in incoming data like those that the
    /// program reads.
    pub holes: Vec<(HoleKind, Arc<str>)>,
    /// The environment variables that count as secrets because of where the program uses them.
    pub credentials: Vec<Arc<str>>,
    /// More values to hide: keys of providers.
    pub keys: Vec<Secret>,
    /// The values to hide that the run shares with the runs above and below it. `None`: it shares none.
    pub hidden_values: Option<Arc<HiddenValues>>,
    /// The share of the calling run's allowance, if a tool call of another run started this one.
    pub within: Option<Share>,
    /// The program's files, for the journal.
    pub sources: Vec<ProgramFile>,
    /// How the program is built from these files, for the journal: see [`ProgramIdentity::bundle`].
    pub bundle: Option<String>,
    /// Results of earlier runs to reuse.
    pub memo: Option<Memo>,
    /// Where answers of any earlier runs are looked up, if the memo wants that.
    pub library: Option<Arc<dyn AnswerLibrary>>,
    /// The earlier run, for the journal.
    pub basis: Option<Basis>,
    /// What guardrails have redacted in the input before, in the run that it is from.
    pub input_verdicts: Vec<Verdict>,
    /// What answers model calls, for the journal: see [`RunStart::answers`].
    pub answers: String,
    /// The model of each agent, for the journal.
    pub models: Vec<(String, String)>,
    /// What the command line allows, for the journal: see [`RunStart::permissions`].
    pub permissions: GivenPermissions,
    /// Warnings about what the run starts with, for the journal: see [`RunStart::warnings`].
    pub warnings: Vec<String>,
    /// For a resumed run: more steps as in [`Basis::rerun`].
    pub rerun: Vec<String>,
    /// Stops the run.
    pub cancel: CancelSwitch,
    /// What answers model calls, for watchers: see [`EventKind::RunStarted`].
    pub answers_from: Option<String>,
    /// Whether the answers are placeholders.
    pub placeholder: bool,
    /// How to handle activities that were in progress when the previous process ended.
    pub recovery: RecoveryPolicy,
    /// A run that waits for people is suspended only if its next timer is more than this many milliseconds away. `None`: a minute.
    pub linger_ms: Option<u64>,
    /// Maximum number of consecutive resumes without progress, because the run itself may be what ends its process. `None`: 10.
    pub max_fruitless: Option<u32>,
}

/// Runs a program until it ends or is suspended.
pub async fn run(program: Arc<Program>, input: Option<Value>, ports: Ports, options: DriverOptions) -> RunOutcome {
    run_prepared(PreparedProgram::new(program), input, ports, options).await
}

/// The same, for a program that is run more than once.
pub fn run_prepared(
    prepared: Arc<PreparedProgram>,
    input: Option<Value>,
    ports: Ports,
    options: DriverOptions,
) -> impl Future<Output = RunOutcome> + Send {
    // A future holds its arguments until it ends. The boxed closure takes them, so that they are freed after the start.
    let begin: Box<dyn FnOnce() -> Box<LocalHost> + Send> =
        Box::new(move || begin_run(prepared, input, ports, options));
    async move { begin().drive_run().await }
}

/// Starts a run: the host that performs it.
fn begin_run(
    prepared: Arc<PreparedProgram>,
    input: Option<Value>,
    ports: Ports,
    mut options: DriverOptions,
) -> Box<LocalHost> {
    let limits = limits_at_start(&mut options);
    let started = started_entry(&prepared, input, &ports, &mut options);
    let (id, flags) = (started.run.clone(), started.flags.clone());
    // With a memo, reports use the provenance to explain why an activity is performed again.
    let wanted = ports.events.wants_provenance() || options.memo.is_some();
    let mut machine = Machine::from_prepared(prepared.clone(), flags).in_pieces().with_provenance(wanted);
    machine.begin_at(started.at);
    let output =
        machine.start_run(started.execution_id(), started.input.as_ref().map(|input| input.exact_value().clone()));
    let context = Arc::new(RunContext::new(prepared, ports, id.as_str().into(), 0).with_options(&options));
    let began = context.run_start_events(&started, &options);
    let settings = settings(&context, &options, limits, BTreeMap::new());
    let facts = LocalHostFacts { context: &context, running: &BTreeMap::new() };
    let started = EntryKind::Started(Box::new(started));
    let shared = (memo_for(&context, options.memo.take()), options.within.take());
    let run = RunCoordinator::begin_run((machine, output), started, settings, shared, &facts);
    host(context, run, options, began)
}

fn host(
    context: Arc<RunContext>,
    run: RunCoordinator,
    options: DriverOptions,
    began: Vec<MachineEvent>,
) -> Box<LocalHost> {
    let permits = options.permits.map(|permits| permits.of_run(options.shared_limits));
    let queue = ModelCallQueue::new(permits, context.clone());
    LocalHost::new(context, run, options.cancel, queue, began)
}

/// What the coordinator of a run needs to know of this process.
fn settings(
    context: &RunContext,
    options: &DriverOptions,
    limits: RunLimits,
    counted: BTreeMap<Key, Usage>,
) -> RunSettings {
    RunSettings {
        run: context.watch.run.clone(),
        execution: context.execution,
        keeps: context.ports.journal.keeps_entries(),
        queues: options.permits.is_some(),
        recovery: options.recovery,
        linger_ms: options.linger_ms.unwrap_or(LINGER_MS),
        limits,
        counted,
    }
}

/// The results of earlier runs for a run of this program, with these tools.
fn memo_for(context: &RunContext, memo: Option<Memo>) -> Option<Memo> {
    memo.map(|memo| memo.used_by(&context.prepared, context.is_idempotent()))
}

/// Takes the limits of a run that reuses results out of what the machine gets: see [`RunSettings::limits`].
fn limits_at_start(options: &mut DriverOptions) -> RunLimits {
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
fn limits_from_now(options: &DriverOptions) -> RunLimits {
    let (Some(_), Some(basis)) = (&options.memo, &options.basis) else { return RunLimits::NONE };
    options.spec.limits.with_defaults(basis.limits)
}

/// Builds the entry that starts a run.
fn started_entry(
    prepared: &PreparedProgram,
    input: Option<Value>,
    ports: &Ports,
    options: &mut DriverOptions,
) -> RunStart {
    let (input, verdicts) = input.map(|input| prepared.stored_input.of_run(input)).unzip();
    let mut input_verdicts: Vec<Verdict> = verdicts.unwrap_or_default();
    // The input of the run before was stored redacted.
    let before = std::mem::take(&mut options.input_verdicts);
    input_verdicts.extend(before.into_iter().filter(|one| one.ruling == VerdictRuling::Changed));
    let run = options.run.take().unwrap_or_else(|| format!("{:016x}", ports.random.next_number()));
    let seed = options.seed.unwrap_or_else(|| ports.random.next_number());
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
    let hidden_values = options
        .hidden_values
        .clone()
        .unwrap_or_else(|| Arc::new(HiddenValues::from_holes(&*ports.secrets, &prepared.holes)));
    let input = input.map(|input| hidden_values.with_private_parts(input));
    let mut warnings = std::mem::take(&mut options.warnings);
    warnings.extend(too_short(&HiddenValues::too_short(&*ports.secrets, &prepared.holes)));
    let at = ports.clock.wall_ms();
    RunStart { run, at, program, input, warnings, flags, answers, models, basis, permissions }
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

/// The first entry of a run that another process will perform. Once this entry is in a journal, [`resume_run`] can continue the run.
pub fn first_entry(
    prepared: &PreparedProgram,
    input: Option<Value>,
    ports: &Ports,
    mut options: DriverOptions,
) -> Entry {
    // With a memo, this moves the limits into the entry's `basis`.
    let _ = limits_at_start(&mut options);
    let started = started_entry(prepared, input, ports, &mut options);
    Entry { v: VERSION, seq: 0, at_ms: 0, kind: EntryKind::Started(Box::new(started)) }
}

/// Resumes a run from its journal. Activities that have ended are not repeated. The events of the replay are sent first.
pub async fn resume_run(program: Arc<Program>, run: &str, ports: Ports, options: DriverOptions) -> RunOutcome {
    resume_prepared(PreparedProgram::new(program), run, ports, options).await
}

/// The same, for a program that is run more than once.
pub fn resume_prepared(
    prepared: Arc<PreparedProgram>,
    run: &str,
    ports: Ports,
    options: DriverOptions,
) -> impl Future<Output = RunOutcome> + Send {
    // Boxed, so that the data needed to read the journal is freed before the run continues.
    let taken_up = Box::pin(take_up(prepared, run, ports, options));
    async move {
        let taken_up = taken_up.await;
        match taken_up {
            Ok(host) => host.drive_run().await,
            Err(outcome) => *outcome,
        }
    }
}

/// Replays a run to the end of its journal. Returns the outcome as an error if the run does not continue. reason: one order of
/// steps, each of which needs the ones before.
async fn take_up(
    prepared: Arc<PreparedProgram>,
    run: &str,
    ports: Ports,
    mut options: DriverOptions,
) -> Result<Box<LocalHost>, Box<RunOutcome>> {
    let context = RunContext::new(prepared, ports, run.into(), 0).with_options(&options);
    let limits = limits_from_now(&options);
    let mut memo = options.memo.take();
    let (mut counted, mut replaced) = (BTreeMap::new(), BTreeSet::new());
    let mut using = ResumeObserver {
        reporter: ReplayReporter(&context),
        memo: memo.as_mut(),
        counted: &mut counted,
        tool_digests: &context.tool_digests,
        replaced: &mut replaced,
        answers: options.answers.clone(),
        recalls: false,
    };
    let watched = read_journal(&context, &options, &mut using).await;
    options.memo = memo;
    let JournalReplay { first, mut replay, last } = match watched {
        Ok(read) => read,
        Err(error) => return Err(RunOutcome::from_failure(run, error).into()),
    };
    let mut reopened = None;
    // The totals of the run, in case it does not continue.
    let (usage, calls, duration_ms) = (replay.machine().usage(), replay.machine().call_count(), replay.work_time().0);
    let items = replay.machine().failed_items();
    let warnings = if let EntryKind::Finished { warnings, .. } = &last { warnings.clone() } else { Vec::new() };
    let left = |result: Result<_, RunError>| {
        // With a higher limit.
        let continues = result.as_ref().is_err_and(|error| error.ends_again && error.raise.is_some());
        let (run, waiting, suspended) = (run.into(), Vec::new(), false);
        let (result, hidden) = split_result(result);
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
    match ended(&last, replay.journal_outcome()) {
        None => {}
        Some(Err(error)) if error.code != STOPPED => {
            let changes = changes(&mut options, &replay);
            match reopening::reopen_run(&context, &first, replay, &error, (changes, options.memo.as_ref())).await {
                Ok(next) => (replay, reopened) = (next.replay, Some(next.how)),
                Err(error) => return Err(left(Err(error))),
            }
        }
        Some(result) => return Err(left(result)),
    }
    let changes = if reopened.is_some() { ResumeChanges::default() } else { changes(&mut options, &replay) };
    let resumed = match replay.finish_replay(&mut ReplayReporter(&context)) {
        Ok(resumed) => resumed,
        Err(error) => return Err(RunOutcome::from_failure(run, error).into()),
    };
    if let Some(error) = resume_limit_error(resumed.fruitless, options.max_fruitless) {
        return Err(RunOutcome::from_failure(run, error).into());
    }
    // The run's clock includes the time without a process, but not the time between a failure and the reopening. It does not go
    // back, even if the wall clock was set back.
    let since = context.ports.clock.wall_ms().saturating_sub(resumed.origin);
    let (execution, now) = match &reopened {
        Some(_) => (resumed.executions, resumed.at_ms),
        None => (resumed.executions.saturating_add(1), resumed.at_ms.max(since)),
    };
    context.watch.continue_from(now);
    let context = Arc::new(RunContext { execution, ..context });
    context.ports.events.caught_up();
    let ReplayedRun { machine, notes, restart, output, kept, next_seq, .. } = resumed;
    // The entry `Reopened` has already been replayed, but is written only now.
    let next_seq = next_seq.saturating_sub(u64::from(reopened.is_some()));
    let (is_reopened, how) = match reopened {
        Some(how) => (true, how),
        None => {
            let is_lost = restart.iter().any(|activity| matches!(activity.request, Request::Model(_)));
            let drafts = if is_lost { context.read_drafts().await } else { BTreeMap::new() };
            (false, RunResumption::Resumed { changes, drafts })
        }
    };
    let settings = settings(&context, &options, limits, counted);
    let facts = LocalHostFacts { context: &context, running: &BTreeMap::new() };
    let shared = (memo_for(&context, options.memo.take()), options.within.take());
    let resumed = ResumedRun { machine: machine.in_pieces(), restart, output, next_seq, kept, replaced, how };
    let run = RunCoordinator::resume_run(resumed, settings, shared, &facts);
    context.watch.set_run_clock(run.clock());
    for message in notes.into_iter().filter(|_| !is_reopened) {
        context.watch.send_delta(None, None, EventKind::Warning { message });
    }
    Ok(host(context, run, options, Vec::new()))
}

/// The changes requested at this resume.
fn changes(options: &mut DriverOptions, replay: &Replay) -> ResumeChanges {
    let flags = replay.machine().flags();
    // Prices stay the same unless the source of answers is different.
    let other = options.answers != replay.answer_source() && !options.answers.is_empty();
    let models = other.then(|| AnswerSettings {
        answers: options.answers.clone(),
        models: options.models.clone(),
        prices: std::mem::take(&mut options.prices),
        windows: options.windows.clone(),
        fallbacks: std::mem::take(&mut options.fallbacks),
    });
    let spec = options.spec.changed_from(flags.spec);
    let windows =
        spec.reserve.filter(|reserve| *reserve == Reserve::Bound).map(|_| std::mem::take(&mut options.windows));
    ResumeChanges {
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
pub async fn retell_events(
    prepared: Arc<PreparedProgram>,
    run: &str,
    ports: Ports,
    options: &DriverOptions,
) -> Result<Vec<AwaitedActivity>, RunError> {
    let context = RunContext::new(prepared, ports, run.into(), 0);
    let JournalReplay { replay, .. } = read_journal(&context, options, &mut ReplayReporter(&context)).await?;
    let resumed = replay.finish_replay(&mut ReplayReporter(&context))?;
    let facts = LocalHostFacts { context: &context, running: &BTreeMap::new() };
    let unknown = resumed.restart.iter().filter(|activity| !may_repeat(&activity.request, &facts));
    Ok(unknown.map(|activity| context.describe_waiting(activity)).collect())
}

/// Whether a failed run can continue: it would not fail in the same way without a change of its program. Performs nothing.
pub async fn can_continue(prepared: Arc<PreparedProgram>, run: &str, ports: Ports) -> bool {
    let context = RunContext::new(prepared, ports, run.into(), 0);
    let read = read_journal(&context, &DriverOptions::default(), &mut NoObserver).await;
    let Ok(JournalReplay { last: EntryKind::Finished { error: Some(error), .. }, .. }) = read else { return false };
    reopening::is_possible(&context, &error, None).await
}

/// The result of reading a whole journal.
struct JournalReplay {
    first: Entry,
    replay: Replay,
    last: EntryKind,
}

/// Replays a run's journal while reading it. At most two pages are in memory: the one that is replayed, and the one that is read
/// meanwhile.
async fn read_journal<W: JournalObserver + Send>(
    context: &RunContext,
    options: &DriverOptions,
    watcher: &mut W,
) -> Result<JournalReplay, RunError> {
    let run = &context.watch.run;
    let journal = &*context.ports.journal;
    let mut read = None::<JournalReplay>;
    let mut page = journal.read_entries(run, 0).await.map_err(journal_error)?;
    while let Some(last) = page.last() {
        let mut ahead = maybe_done(journal.read_entries(run, last.seq.saturating_add(1)));
        // Starts the read now, because another thread may perform it.
        let _ = (&mut ahead).now_or_never();
        for entry in &page {
            // A page may have tens of thousands of entries. Whoever follows the run gets the first events before the last.
            tokio::task::consume_budget().await;
            match &mut read {
                None => {
                    if let EntryKind::Started(started) = &entry.kind {
                        watcher.observe_start(started, options);
                    }
                    let replay = Replay::from_first_entry(context.prepared.clone(), entry, watcher)?;
                    read = Some(JournalReplay { replay, last: entry.kind.clone(), first: entry.clone() });
                }
                Some(JournalReplay { first, replay, .. }) => {
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
async fn next<W: ReplayObserver + Send>(
    journal: &dyn Journal,
    run: &str,
    first: &Entry,
    replay: &mut Replay,
    entry: &Entry,
    watcher: &mut W,
) -> Result<(), RunError> {
    let Some(next) = replay.find_reopening(entry)? else { return replay.replay_entry(entry, watcher) };
    let rebuild = replay.begin_rebuild(first, next)?;
    let rebuild = reopening::rebuild_replay(journal, run, entry.seq, rebuild).await?;
    rebuild.finish_rebuild(entry, replay, watcher)
}

fn journal_error(error: JournalError) -> RunError {
    let JournalError { message, help, .. } = error;
    let error = RunError::new("JOURNAL_ERROR", message);
    match help {
        Some(help) => error.with_help(help),
        None => error,
    }
}

/// The identity of the program, for the journal.
fn identity(prepared: &PreparedProgram, options: &mut DriverOptions) -> ProgramIdentity {
    ProgramIdentity {
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
