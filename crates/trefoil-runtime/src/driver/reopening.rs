//! Reopens a failed run: reads its entries for the coordinator, which decides what is asked again.

use super::memo::{Memo, look_up};
use super::run_context::RunContext;
use super::{DriverOptions, JournalReplay, journal_error};
use crate::ports::Journal;
use trefoil_coordinator::RunResumption;
use trefoil_coordinator::reopening::FailedRun;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::{Entry, ResumeChanges, RunSpec};
use trefoil_machine::machine::ReplayRebuild;
use trefoil_machine::{NoObserver, Replay, RunLimits};

/// A run that was reopened.
pub struct Reopened {
    /// The replay, without the void entries.
    pub replay: Replay,
    /// How the run continues. The entry is not stored yet.
    pub how: RunResumption,
}

/// Reopens a run that ended with an error. Fails with `WOULD_REPEAT` if the run would end the same way.
pub async fn reopen_run(
    context: &RunContext,
    first: &Entry,
    mut replay: Replay,
    error: &RunError,
    (changes, memo): (ResumeChanges, Option<&Memo>),
) -> Result<Reopened, RunError> {
    let (journal, run, end) = (&*context.ports.journal, &context.watch.run, replay.next_seq());
    let mut failed = FailedRun::new(error, &context.prepared.program.name);
    let each = |entry: Entry| {
        failed.scan_entry(&entry);
        Ok(())
    };
    read_entries(journal, run, end, each).await?;
    let reopening = failed.begin_reopening(&replay, changes);
    let rebuild = rebuild_replay(journal, run, end, reopening.begin_rebuild(&replay, first)?).await?;
    let reopened = reopening.finish_reopening(rebuild, &mut replay, context.ports.clock.wall_ms())?;
    let mut memo = memo.map(|memo| memo.clone().used_by(&context.prepared, context.is_idempotent()));
    if let Some(memo) = memo.as_mut().filter(|_| replay.machine().flags().reuses) {
        let found = look_up(context, &memo.answers_to_look_up(&replay.asked_anew())).await;
        memo.add_found_answers(found);
    }
    let how = reopened.into_resumption(&mut replay, memo.as_mut())?;
    Ok(Reopened { replay, how })
}

/// Replays the entries before a reopening, without those that it voids.
pub async fn rebuild_replay(
    journal: &dyn Journal,
    run: &str,
    end: u64,
    mut rebuild: ReplayRebuild,
) -> Result<ReplayRebuild, RunError> {
    read_entries(journal, run, end, |entry| rebuild.replay_entry(&entry)).await?;
    Ok(rebuild)
}

/// Reads the entries of a run from the second one to the one before `end`.
async fn read_entries(
    journal: &dyn Journal,
    run: &str,
    end: u64,
    mut each: impl FnMut(Entry) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let mut next = 1;
    while next < end {
        let page = journal.read_entries(run, next).await.map_err(journal_error)?;
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

/// Whether a failed run can be reopened, if necessary with higher limits.
pub async fn is_possible(context: &RunContext, error: &RunError, memo: Option<&Memo>) -> bool {
    let read = super::read_journal(context, &DriverOptions::default(), &mut NoObserver).await;
    let Ok(JournalReplay { first, replay, .. }) = read else { return false };
    // A run without a cost limit does not get one here, because it would require the prices of all models.
    let limits = replay.machine().flags().spec.limits;
    let spec = RunSpec { limits: RunLimits::from_fn(|kind| limits.get(kind).map(|_| u64::MAX)), ..RunSpec::NONE };
    let unlimited = ResumeChanges { spec, ..ResumeChanges::default() };
    reopen_run(context, &first, replay, error, (unlimited, memo)).await.is_ok()
}
