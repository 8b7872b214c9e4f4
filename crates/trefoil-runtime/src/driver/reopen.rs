//! Going on with a run that failed: what it rests on is found in the journal, and everything else is replayed without it.

use std::collections::BTreeSet;

use super::activity::World;
use super::past::told;
use super::recovery::{Again, UNKNOWN};
use super::told::Untold;
use super::{ENGINE, Options, ReadJournal, journal_error};
use crate::ports::Journal;
use trefoil_machine::error::{Cause, RunError};
use trefoil_machine::journal::{Changes, Entry, EntryKind, VERSION};
use trefoil_machine::key::Key;
use trefoil_machine::machine::{Rebuild, Reopening, Scan};
use trefoil_machine::{Past, Replay, Unwatched, Watcher};

/// A run that continues.
pub struct Reopened {
    /// The replay, without what is void.
    pub replay: Replay,
    /// How it continues. The entry is not stored yet.
    pub again: Again,
}

/// Reopens a run that ended with an error, if that can come to anything.
pub async fn reopen(
    world: &World,
    first: &Entry,
    mut replay: Replay,
    error: &RunError,
    changes: Changes,
) -> Result<Reopened, RunError> {
    let journal = &*world.ports.journal;
    let run = &world.watch.run;
    let mut scan = Scan::of(error, &world.prepared.program.name);
    let (end, mut unknown) = (replay.next_seq(), BTreeSet::new());
    // What does something, of what has begun.
    let mut acts: BTreeSet<Key> = BTreeSet::new();
    read(journal, run, end, |entry| {
        scan.entry(&entry);
        match entry.kind {
            EntryKind::Failed { key, error, .. } if is_unknown(&error) && acts.contains(&key) => {
                unknown.insert(key);
            }
            EntryKind::Scheduled { key, sort, .. } => {
                unknown.remove(&key);
                if sort == "tool" || sort == "command" {
                    acts.insert(key);
                }
            }
            _ => {}
        }
        Ok(())
    })
    .await?;
    let again = scan.end();
    unknown.retain(|key| again.contains(key));
    let (engine, at) = (ENGINE.to_owned(), world.ports.clock.wall_ms());
    let execution = replay.executions().saturating_add(1);
    let next = Reopening { seq: end, again: again.clone() };
    let rebuild = replay.rebuild(first, (next, changes.clone()))?;
    let mut rebuild = rebuilt(journal, run, end, rebuild).await?;
    if rebuild.is_over() {
        return Err(would_repeat(error));
    }
    let kind = EntryKind::Reopened { engine, execution, at, again, changes: Box::new(changes) };
    let entry = Entry { v: VERSION, seq: end, at_ms: replay.at_ms(), kind };
    let mut collect = Collect { world, told: Vec::new() };
    rebuild.end(&entry, &mut replay, &mut collect)?;
    // A limit may hold only against what is requested again.
    if replay.is_over() {
        return Err(would_repeat(error));
    }
    Ok(Reopened { replay, again: Again { kind: entry.kind, told: collect.told, unknown } })
}

/// Whether what has failed so may have been done.
fn is_unknown(error: &RunError) -> bool {
    error.code == UNKNOWN || error.cause.as_ref().is_some_and(Cause::may_be_done)
}

/// Replays the entries before a reopening, without what that makes void.
pub async fn rebuilt(journal: &dyn Journal, run: &str, end: u64, mut rebuild: Rebuild) -> Result<Rebuild, RunError> {
    read(journal, run, end, |entry| rebuild.entry(&entry)).await?;
    Ok(rebuild)
}

/// The entries of a run before one, but the first.
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

fn would_repeat(error: &RunError) -> RunError {
    let step = error.key.as_ref().filter(|key| !key.as_str().is_empty());
    let step = step.map(|key| format!(" in `{}`", key.without_try())).unwrap_or_default();
    let message = format!("the run failed with {}{step}, and would fail there again", error.code);
    let help = match error.code.as_str() {
        "BUDGET_EXCEEDED" => {
            "raise the limit that was reached: `--max-calls`, `--max-cost`, or a limit in the manifest"
        }
        _ => "repeating a step cannot help; change the manifest or the input, and start a new run",
    };
    let RunError { key, location, .. } = error.clone();
    RunError { key, location, ..RunError::new("WOULD_REPEAT", message) }.help(help)
}

/// Keeps what is told until it is stored.
struct Collect<'w> {
    world: &'w World,
    told: Vec<Untold>,
}

impl Watcher for Collect<'_> {
    fn past(&mut self, at_ms: u64, past: Past<'_>) {
        self.told.extend(told(self.world, at_ms, past));
    }
}

/// Whether a run that has failed can be reopened, with higher limits if it takes that.
pub async fn is_possible(world: &World, error: &RunError) -> bool {
    let read = super::read(world, &Options::default(), &mut Unwatched).await;
    let Ok(ReadJournal { first, replay, .. }) = read else { return false };
    // A limit on money that is not there is not set either: it would need the prices of all models.
    let max_cost_micro = replay.machine().flags().max_cost_micro.map(|_| u64::MAX);
    let unlimited = Changes { max_calls: Some(u64::MAX), max_cost_micro, ..Changes::default() };
    reopen(world, &first, replay, error, unlimited).await.is_ok()
}
