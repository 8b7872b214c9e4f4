//! Reopens a failed run: finds the activities to repeat in the journal, and replays it without their earlier ends.

use std::collections::BTreeSet;

use super::memo::{Memo, look_up};
use super::world::World;
use super::{Options, ReadJournal, journal_error};
use crate::ports::Journal;
use trefoil_coordinator::recovery::is_unknown;
use trefoil_coordinator::{ENGINE, Notice, Resumption};
use trefoil_machine::clock::WorkMs;
use trefoil_machine::error::RunError;
use trefoil_machine::guard::validator::is_ended_by_signal;
use trefoil_machine::journal::{Changes, Entry, EntryKind, RunSpec, VERSION};
use trefoil_machine::key::Key;
use trefoil_machine::machine::{Rebuild, Reopening, Scan};
use trefoil_machine::{Past, Replay, RunLimits, Unwatched, Watcher};

/// A run that was reopened.
pub struct Reopened {
    /// The replay, without the void entries.
    pub replay: Replay,
    /// How the run continues. The entry is not stored yet.
    pub how: Resumption,
}

/// Reopens a run that ended with an error. Fails with `WOULD_REPEAT` if the run would end the same way.
pub async fn reopen(
    world: &World,
    first: &Entry,
    mut replay: Replay,
    error: &RunError,
    (changes, memo): (Changes, Option<&Memo>),
) -> Result<Reopened, RunError> {
    let journal = &*world.ports.journal;
    let run = &world.watch.run;
    let mut scan = Scan::of(error, &world.prepared.program.name);
    let (end, mut unknown) = (replay.next_seq(), BTreeSet::new());
    // Tools and commands that have started.
    let (mut acts, mut commands) = (BTreeSet::<Key>::new(), BTreeSet::<Key>::new());
    read(journal, run, end, |entry| {
        scan.entry(&entry);
        match entry.kind {
            EntryKind::Failed { key, error, .. } if is_unknown(&error) && acts.contains(&key) => {
                unknown.insert(key);
            }
            EntryKind::Completed { key, value, .. } if commands.contains(&key) && is_ended_by_signal(value.exact()) => {
                unknown.insert(key);
            }
            EntryKind::Scheduled { key, sort, .. } => {
                unknown.remove(&key);
                if sort == "command" {
                    commands.insert(key.clone());
                }
                if sort == "tool" || sort == "command" {
                    acts.insert(key);
                }
            }
            _ => {}
        }
        Ok(())
    })
    .await?;
    let again = scan.end(replay.stopped());
    unknown.retain(|key| again.contains(key));
    let (engine, at) = (ENGINE.to_owned(), world.ports.clock.wall_ms());
    let execution = replay.executions().saturating_add(1);
    let next = Reopening { seq: end, again: again.clone() };
    let rebuild = replay.rebuild(first, (next, changes.clone()))?;
    let mut rebuild = rebuilt(journal, run, end, rebuild).await?;
    // A limit that is lower than what was used already.
    if let Some(end) = rebuild.ended_with() {
        return Err(ends_at_once(error, end.as_ref().err()));
    }
    let kind = EntryKind::Reopened { engine, execution, at, again, changes: Box::new(changes) };
    let entry = Entry { v: VERSION, seq: end, at_ms: replay.at_ms(), kind };
    let mut collect = Collect(Vec::new());
    rebuild.end(&entry, &mut replay, &mut collect)?;
    // The repeated requests may exceed a limit.
    if let Some(end) = replay.ended_with() {
        return Err(ends_at_once(error, end.as_ref().err()));
    }
    if is_denied(world, &mut replay, memo).await {
        return Err(would_repeat(error));
    }
    Ok(Reopened { replay, how: Resumption::Reopened { kind: entry.kind, notices: collect.0, unknown } })
}

/// Whether the repeated requests without a result in an earlier run would exceed a limit of the manifest.
async fn is_denied(world: &World, replay: &mut Replay, memo: Option<&Memo>) -> bool {
    if !replay.machine().flags().reuses {
        return false;
    }
    let asked = replay.asked_anew();
    let Some(memo) = memo else { return replay.ends_before(asked.iter().map(|activity| &**activity)) };
    let mut memo = memo.clone().used_by(&world.prepared, world.is_idempotent());
    let found = look_up(world, &memo.unknown(&asked)).await;
    memo.found(found);
    let found = memo.find(&asked);
    replay.ends_before(memo.lacking(&asked, &found).into_iter().map(|activity| &**activity))
}

/// Replays the entries before a reopening, without those that it voids.
pub async fn rebuilt(journal: &dyn Journal, run: &str, end: u64, mut rebuild: Rebuild) -> Result<Rebuild, RunError> {
    read(journal, run, end, |entry| rebuild.entry(&entry)).await?;
    Ok(rebuild)
}

/// Reads the entries of a run from the second one to the one before `end`.
async fn read(
    journal: &dyn Journal,
    run: &str,
    end: u64,
    mut each: impl FnMut(Entry) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let mut next = 1;
    while next < end {
        let page = journal.read(run, next).await.map_err(journal_error)?;
        if page.is_empty() {
            break;
        }
        for entry in page.into_iter().filter(|entry| entry.seq < end) {
            next = entry.seq.saturating_add(1);
            each(entry)?;
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// The run would end before it does anything. `end`: how. If that is a limit that did not stop it before, the limit is what has to
/// change, and not what failed then.
fn ends_at_once(error: &RunError, end: Option<&RunError>) -> RunError {
    match end.filter(|end| end.code == "BUDGET_EXCEEDED" && error.code != end.code) {
        Some(end) => {
            let mut met = end.clone();
            met.ends_again = true;
            met
        }
        None => would_repeat(error),
    }
}

fn would_repeat(error: &RunError) -> RunError {
    let step = error.key.as_ref().filter(|key| !key.as_str().is_empty());
    let step = step.map(|key| format!(" in `{}`", key.without_try())).unwrap_or_default();
    let message = format!("the run failed with {}{step}, and would fail there again", error.code);
    let raised = error.raise.iter().flat_map(|raise| raise.rows()).find_map(|(kind, _)| kind.option());
    let help = match (error.code.as_str(), raised) {
        ("BUDGET_EXCEEDED", Some(option)) => format!("allow more with `{option}`"),
        ("BUDGET_EXCEEDED", None) => "raise the limit in the manifest, and continue with the edited file".to_owned(),
        _ => "what it has done is kept, and the same follows from it: change the file, or do a step again in a fork with `--from STEP --rerun STEP`".to_owned(),
    };
    let mut repeats = RunError::new("WOULD_REPEAT", message).at_step(error.key.clone(), error.location).help(help);
    repeats.ends_again = true;
    repeats.raising(error.raise)
}

/// Collects what happened until its entry is stored.
struct Collect(Vec<Notice>);

impl Watcher for Collect {
    fn past(&mut self, _at: WorkMs, past: Past<'_>) {
        self.0.extend(Notice::of(past));
    }
}

/// Whether a failed run can be reopened, if necessary with higher limits.
pub async fn is_possible(world: &World, error: &RunError, memo: Option<&Memo>) -> bool {
    let read = super::read(world, &Options::default(), &mut Unwatched).await;
    let Ok(ReadJournal { first, replay, .. }) = read else { return false };
    // A run without a cost limit does not get one here, because it would require the prices of all models.
    let limits = replay.machine().flags().spec.limits;
    let spec = RunSpec { limits: RunLimits::of(|kind| limits.get(kind).map(|_| u64::MAX)), ..RunSpec::NONE };
    let unlimited = Changes { spec, ..Changes::default() };
    reopen(world, &first, replay, error, (unlimited, memo)).await.is_ok()
}
