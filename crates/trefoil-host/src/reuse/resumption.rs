//! Resuming a run from a store.

use std::sync::Arc;

use trefoil_machine::Key;
use trefoil_runtime::RunError;
use trefoil_store::{Content, Store};

use super::hidden_values::hide_earlier;
use super::request::ReuseRequest;
use super::results::{check_rerun, results_again};
use crate::durable::{StoredRun, suspension_reason};
use crate::engine::{Engine, ReadyRun};
use crate::run::Run;
use trefoil_project::error::Result;

impl Engine {
    /// Resumes a run of the [store](Self::store) without repeating completed calls. The handle is like that of
    /// [`start_run`](Self::start_run); it first repeats the earlier events.
    ///
    /// The run continues with its original files, input, seed, limits and models. If this engine sets other limits, a
    /// script or the embedded model, these apply from now on. Tools, commands, people and keys are those of this
    /// engine.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](trefoil_project::Error::Store) if the run does not exist, if another process is working on it, or if the store fails;
    /// [`Error::NotStarted`](trefoil_project::Error::NotStarted) with everything that is missing.
    pub async fn resume_run(&self, run: &str) -> Result<Run> {
        let stored = StoredRun::read_run(&*self.kept_runs()?, run).await?;
        self.ready_again(&stored, &[]).await?.resume_run(&stored.started.run).await
    }

    /// Prepares to resume a run, with the results that it reuses from an earlier one, if those still exist. `rerun`: as
    /// [`ReuseRequest::rerun`].
    pub async fn ready_again(&self, stored: &StoredRun, rerun: &[String]) -> Result<ReadyRun> {
        let ready = self.as_begun(stored).prepare_run(&stored.flow)?;
        let Some(owner) = self.owner() else { return Ok(ready) };
        let store: Arc<dyn Store> = owner.store().clone();
        // Its own environment files are read for hiding only if it may not use them.
        let own = Some(&stored.started).filter(|_| stored.is_from_disk());
        hide_earlier(&ready, &*store, &stored.started.run, own).await;
        let Some(basis) = stored.now.basis.as_deref() else { return Ok(ready) };
        if basis.answers {
            return Ok(ready.looking_up(basis.clone(), self.answer_library(basis)?));
        }
        let since: Vec<String> = stored.rerun.iter().chain(rerun).cloned().collect();
        let request = ReuseRequest::from_stored(basis, &since);
        let memo = results_again(self, &store, &request).await?;
        if basis.earlier_run().is_some() {
            let stopped = suspension_reason(&*store, &store.record(&stored.started.run).await?).await?;
            let before: Vec<Key> = stopped.iter().flat_map(RunError::repeated_steps).cloned().collect();
            check_rerun(self, &request.rerun, &stored.flow, (&memo, &before))?;
        }
        Ok(ready.allow_rerun(rerun).based_on(basis.clone(), memo))
    }

    /// With the models and the original seed of a run, unless this engine sets models. The flows that it calls keep no more
    /// content than it does.
    pub fn as_begun(&self, stored: &StoredRun) -> Engine {
        let now = stored.current_start();
        let engine = if stored.content == Content::All { self.clone() } else { self.clone().no_content() };
        engine.for_resumed_run(&stored.started, &now).with_models_of(&now)
    }
}
