//! Continues one run, from its claim to its outcome here.

use std::pin::pin;

use crate::durable::{StoredProject, StoredRun};
use crate::service::{RunFeeds, UnnotedEnds};
use trefoil_project::Error;
use trefoil_runtime::{CancelSwitch, RunOutcome};
use trefoil_store::{LeasedRun, Owner, StoreError};

use super::WorkerEngines;
use super::events::{WorkerEvent, WorkerWatch};

/// The result of working on a run.
pub enum ContinuationEnd {
    /// The run was driven to an outcome. `open`: it has not ended in the store. `kept`: the store keeps its content.
    Outcome { outcome: Box<RunOutcome>, open: bool, kept: bool },
    /// This process has lost the run to another one.
    TakenOver(Box<RunOutcome>),
    /// Another process owns it, or it has ended.
    Taken,
    /// It cannot be run here, and why.
    Refused(Box<Error>),
}

/// Resumes a run that this process owns. Dropping the future releases it.
pub async fn continue_run(
    owner: &Owner,
    engines: &WorkerEngines,
    hold: LeasedRun,
    cancel: &CancelSwitch,
    (watch, feeds): (&dyn WorkerWatch, Option<&RunFeeds>),
) -> ContinuationEnd {
    continued(owner, engines, hold, cancel, (watch, feeds)).await.unwrap_or_else(|error| match error {
        Error::Store(
            StoreError::Held { .. } | StoreError::Ended { .. } | StoreError::NoRun { .. } | StoreError::NotHeld { .. },
        ) => ContinuationEnd::Taken,
        // It is tried again when the store responds.
        Error::Store(error) if error.is_of_the_store() => ContinuationEnd::Taken,
        error => ContinuationEnd::Refused(Box::new(error)),
    })
}

async fn continued(
    owner: &Owner,
    engines: &WorkerEngines,
    hold: LeasedRun,
    cancel: &CancelSwitch,
    (watch, feeds): (&dyn WorkerWatch, Option<&RunFeeds>),
) -> Result<ContinuationEnd, Error> {
    let (run, store) = (hold.run_id().to_owned(), &**owner.store());
    let stored = StoredRun::read_run(store, &run).await?;
    let project = StoredProject::of_worker(store, &stored, &engines.folder).await?;
    if let Some(why) = project.why_not() {
        watch.take_event(WorkerEvent::ProjectIgnored { run: &run, why });
    }
    let engine = engines.for_project(store, &stored, &project).await?;
    let ready = engine.as_begun(&stored).ready_again(&stored, &[]).await?;
    let mut begun = ready.resume_held(hold)?;
    watch.take_event(WorkerEvent::RunBegun { run: &run, flow: &stored.started.program.flow });
    let stop = begun.cancel_switch();
    let feed = feeds.map(|feeds| feeds.open_local(&run, begun.flow().clone()));
    let mut ends = UnnotedEnds::default();
    let mut outcome = pin!(async move {
        if let Some(feed) = &feed {
            while let Some(event) = begun.next_event().await {
                if ends.take_noted(&event) {
                    feed.push_event(event);
                }
            }
        }
        let outcome = begun.wait_outcome().await;
        if let Some(feed) = &feed {
            feed.end_feed(ends.has_left() || outcome.continues || outcome.suspended);
        }
        outcome
    });
    let outcome = tokio::select! {
        outcome = &mut outcome => outcome,
        () = cancel.passed_on(&stop) => outcome.await,
    };
    let outcome = Box::new(outcome);
    // This process lacks something that another worker may have: the store says who has the run, and whether it has ended.
    let stuck = match outcome.permission_error() {
        Some(_) => true,
        None => outcome.continues && !outcome.suspended && outcome.waiting.is_empty() && outcome.result.is_err(),
    };
    let kept = stored.is_kept();
    if !stuck {
        return Ok(ContinuationEnd::Outcome { outcome, open: false, kept });
    }
    let Ok(record) = store.record(&run).await else {
        return Ok(ContinuationEnd::Outcome { outcome, open: true, kept });
    };
    let lost = outcome.result.as_ref().is_err_and(|error| error.code == "JOURNAL_ERROR");
    let elsewhere = record.owner.is_some_and(|(name, _)| name != owner.name());
    Ok(match lost && (elsewhere || record.status.is_end()) {
        true => ContinuationEnd::TakenOver(outcome),
        false => ContinuationEnd::Outcome { outcome, open: !record.status.is_end(), kept },
    })
}
