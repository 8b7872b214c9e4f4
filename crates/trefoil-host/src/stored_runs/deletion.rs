//! Which runs are deleted with a run, and what prevents it.

use trefoil_store::{Record, RunFilter, Store, StoreError};

use crate::durable::all_runs;

/// What a deletion deletes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunDeletion {
    /// The runs, each with the one that had called it, if that is deleted, too.
    pub runs: Vec<(String, Option<String>)>,
    /// Runs that have ended and reused results of a deleted one: the run, and the deleted one.
    pub reused_by: Vec<(String, String)>,
}

/// Why runs are not deleted.
#[derive(Debug)]
pub enum DeletionRefusal {
    /// A run is a part of its caller, which may call it again.
    PartOfCaller {
        /// The run.
        run: String,
        /// The run that has called it.
        caller: String,
    },
    /// A run that has not ended reuses results of it.
    NeededBy {
        /// The run.
        run: String,
        /// The run that needs it.
        open: String,
    },
    /// The store cannot be read.
    Store(StoreError),
}

impl From<StoreError> for DeletionRefusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Finds everything that goes with these runs. Nothing is deleted yet. `force`: also if runs that have not ended need their
/// results.
///
/// # Errors
///
/// What prevents it.
pub async fn plan_deletion(store: &dyn Store, runs: &[String], force: bool) -> Result<RunDeletion, DeletionRefusal> {
    let mut all: Vec<(String, Option<String>)> = runs.iter().map(|run| (run.clone(), None)).collect();
    for run in runs {
        if let Some(caller) = existing_caller(store, run).await?
            && !runs.contains(&caller)
        {
            return Err(DeletionRefusal::PartOfCaller { run: run.clone(), caller });
        }
        let mut left = vec![run.clone()];
        while let Some(caller) = left.pop() {
            for called in called_runs(store, &caller).await? {
                if !all.iter().any(|(run, _)| *run == called) {
                    left.push(called.clone());
                    all.push((called, Some(caller.clone())));
                }
            }
        }
    }
    let deleted: Vec<String> = all.iter().map(|(run, _)| run.clone()).collect();
    let mut reused_by: Vec<(String, String)> = Vec::new();
    for run in &deleted {
        for other in dependent_runs(store, run, &deleted).await? {
            if !other.status.is_end() && !force {
                return Err(DeletionRefusal::NeededBy { run: run.clone(), open: other.run });
            }
            if other.status.is_end() && !reused_by.iter().any(|(known, _)| *known == other.run) {
                reused_by.push((other.run, run.clone()));
            }
        }
    }
    Ok(RunDeletion { runs: all, reused_by })
}

/// The run that has called this one, if it still exists.
async fn existing_caller(store: &dyn Store, run: &str) -> Result<Option<String>, StoreError> {
    let Some(caller) = store.record(run).await?.parent else { return Ok(None) };
    match store.record(&caller).await {
        Ok(_) => Ok(Some(caller)),
        Err(StoreError::NoRun { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The runs that reuse results of a run, or of runs that do, except for those that are to be deleted, too.
async fn dependent_runs(store: &dyn Store, run: &str, deleted: &[String]) -> Result<Vec<Record>, StoreError> {
    let (mut all, mut left) = (Vec::<Record>::new(), vec![run.to_owned()]);
    while let Some(base) = left.pop() {
        for record in all_runs(store, &RunFilter { base: Some(base), ..RunFilter::default() }).await? {
            if !deleted.contains(&record.run) && !all.iter().any(|known| known.run == record.run) {
                left.push(record.run.clone());
                all.push(record);
            }
        }
    }
    Ok(all)
}

/// The runs that a run's tools started.
async fn called_runs(store: &dyn Store, run: &str) -> Result<Vec<String>, StoreError> {
    let filter = RunFilter { parent: Some(run.to_owned()), ..RunFilter::default() };
    Ok(all_runs(store, &filter).await?.into_iter().map(|record| record.run).collect())
}
