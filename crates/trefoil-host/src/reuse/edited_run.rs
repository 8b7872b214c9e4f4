//! A run that reuses the results of an earlier one where its requests are the same.

use std::sync::Arc;

use trefoil_machine::request::Activity;
use trefoil_machine::{PrivateValue, RunStart};
use trefoil_store::{Content, Status, Store, StoreError};
use trefoil_template::Value;

use super::hidden_values::hide_earlier;
use super::preview::{check_reached, in_old_names, preview_with_its_models};
use super::request::ReuseRequest;
use super::results::results_for;
use super::step_decisions::StepDecisions;
use crate::durable::StoredRun;
use crate::engine::{Engine, ReadyRun};
use crate::run::Run;
use trefoil_project::error::{Error, Result};
use trefoil_project::flow::Flow;

/// A run that is ready to start, and the results that it reuses from an earlier one.
pub struct EditedRun {
    /// The run.
    pub ready: ReadyRun,
    /// The start of the earlier run: the new one has the same input.
    pub started: RunStart,
    /// The activities of which the earlier run has results.
    had: Vec<Arc<Activity>>,
    /// Another input.
    input: Option<Value>,
}

impl EditedRun {
    /// The decision for each step so far: kept, new, or repeated, with the reason.
    pub fn step_decisions(&self) -> StepDecisions {
        self.ready.step_decisions().with_earlier(self.had.clone())
    }

    /// Starts it, with the input of the earlier run, or [`ReuseRequest::input`].
    ///
    /// # Errors
    ///
    /// As [`ReadyRun::start_run`].
    pub fn start_run(mut self) -> Result<Run> {
        if self.input.is_none() {
            self.ready.input_verdicts.clone_from(&self.started.flags.input_verdicts);
        }
        let input = self.its_input();
        self.ready.start_run(input)
    }

    /// Tests whether the edited flow accepts its input. Calls nothing.
    ///
    /// # Errors
    ///
    /// As [`ReadyRun::check_input`].
    pub fn check_input(&self) -> Result<()> {
        self.ready.check_input(self.its_input())
    }

    fn its_input(&self) -> Option<serde_json::Value> {
        let earlier = self.started.input.as_ref().map(PrivateValue::exact_value);
        self.input.as_ref().or(earlier).map(Value::to_json)
    }
}

impl Engine {
    /// Prepares a new run of an edited flow that reuses the results of a run of the [store](Self::store): requests that
    /// are the same as there are not repeated. Model calls, tools and commands are compared by their requests; a
    /// renamed step keeps its result if its request is unchanged. Tools and commands that ran with different arguments,
    /// and may not be safe to repeat, stop the run with `WOULD_REPEAT` unless [`ReuseRequest::rerun`] names their steps.
    ///
    /// If that run itself reused results of an earlier one, those are available, too: undoing an edit costs nothing,
    /// and a run that failed early loses nothing.
    ///
    /// Limits that this engine does not set are those of that run; what is reused does not count towards them.
    ///
    /// ```no_run
    /// # async fn again(engine: trefoil::Engine, flow: trefoil::Flow) -> trefoil::Result<()> {
    /// use trefoil::runs::ReuseRequest;
    ///
    /// let request = ReuseRequest { of: "0191f6c4".into(), rerun: vec!["notify".into()], ..ReuseRequest::default() };
    /// let edited = engine.edit_run(&flow, &request).await?;
    /// let decisions = edited.step_decisions();
    /// println!("{}", edited.start_run()?.wait_output::<String>().await?);
    /// println!("{} calls were looked at", decisions.activity_decisions().len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the run does not exist, its content was removed, or a process works on it; [`Error::NotStarted`] with everything
    /// that is missing, or if the step [`ReuseRequest::from`] does not exist.
    pub async fn edit_run(&self, flow: &Flow, request: &ReuseRequest) -> Result<EditedRun> {
        let store = self.kept_runs()?;
        let stored = StoredRun::read_run(&*store, &request.of).await?;
        let now = stored.current_start();
        // The manifest's choice of models may be what was edited.
        let own = request.own_settings || now.answers == "manifest";
        let engine = if own { self.clone() } else { self.clone().with_models_of(&now) };
        let request = in_old_names(self, &store, &stored, flow, request).await?;
        let mut request = ReuseRequest { forked: false, ..request };
        let is_open = request.failed_if_stuck && !request.failed;
        if is_open && store.record(&stored.started.run).await?.status == Status::Failed {
            // Boxed, because a flow may call itself.
            let seen = Box::pin(preview_with_its_models(&engine, store.clone(), flow, &request)).await?;
            request = seen.request;
        }
        engine.prepare_reuse(store, &stored, flow, &request).await
    }

    /// Prepares a new run from a run of the [store](Self::store), with its files, models and input: completed steps are
    /// kept, except those of [`ReuseRequest::from`]. See [`edit_run`](Self::edit_run).
    ///
    /// # Errors
    ///
    /// As [`edit_run`](Self::edit_run).
    pub async fn fork_run(&self, request: &ReuseRequest) -> Result<EditedRun> {
        let store = self.kept_runs()?;
        let stored = StoredRun::read_run(&*store, &request.of).await?;
        let engine = self.clone().with_models_of(&stored.current_start());
        let request = ReuseRequest { forked: true, ..request.clone() };
        engine.prepare_reuse(store, &stored, &stored.flow, &request).await
    }

    async fn prepare_reuse(
        &self,
        store: Arc<dyn Store>,
        stored: &StoredRun,
        flow: &Flow,
        request: &ReuseRequest,
    ) -> Result<EditedRun> {
        self.is_idle(&*store, &stored.started.run).await?;
        // If the original run does not keep its content, neither does a run that reuses its results.
        let content = store.record(&stored.started.run).await?.content;
        // Boxed, because few runs are of one step.
        Box::pin(check_reached(self, &store, stored, flow, request)).await?;
        let memo = results_for(self, &store, stored, flow, request).await?;
        let started = stored.started.clone();
        let basis = request.to_basis(Some(started.execution_id()));
        let had = memo.activities_with_result();
        let engine = if content == Content::All { self.clone() } else { self.clone().no_content() };
        // The limits of a called run are what its caller has left.
        let own_limits = request.own_settings || self.is_called();
        let engine = if own_limits { engine } else { engine.with_limits_of(&stored.current_start()) };
        let ready = engine.random_seed(started.flags.seed).prepare_run(flow)?.based_on(basis, memo);
        hide_earlier(&ready, &*store, &started.run, None).await;
        Ok(EditedRun { ready, started, had, input: request.input.clone() })
    }
}

impl Engine {
    /// Refuses the results of a run that is in progress: what it has not done yet, both runs would do.
    async fn is_idle(&self, store: &dyn Store, run: &str) -> Result<()> {
        let _ = store.reclaim_runs(store.clock().wall_ms()).await;
        let record = store.record(run).await?;
        if record.status != Status::Running {
            return Ok(());
        }
        let Some((owner, until)) = record.owner else { return Ok(()) };
        // A run of this process is released a moment after it has stopped.
        if let Some(own) = self.owner()
            && own.name() == owner
            && !own.holds_run(run)
        {
            return Ok(());
        }
        Err(Error::Store(StoreError::Held { run: run.to_owned(), owner, until }))
    }
}
