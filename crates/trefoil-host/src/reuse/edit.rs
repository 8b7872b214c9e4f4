//! A run that reuses the results of an earlier one where its requests are the same.

use std::sync::Arc;

use trefoil_machine::journal::Basis;
use trefoil_machine::request::Activity;
use trefoil_machine::{PrivateValue, Started};
use trefoil_store::{Content, Status, Store, StoreError};
use trefoil_template::Value;

use super::hidden_values::hide_earlier;
use super::lines::Lines;
use super::preview::{in_old_names, preview_with_its_models};
use super::request::Edit;
use super::results::results_for;
use crate::durable::Stored;
use crate::engine::{Engine, Ready};
use crate::error::{Error, Result};
use crate::flow::Flow;
use crate::run::Run;

/// A run that is ready to start, and the results that it reuses from an earlier one.
pub struct Edited {
    /// The run.
    pub ready: Ready,
    /// The start of the earlier run: the new one has the same input.
    pub started: Started,
    /// The activities of which the earlier run has results.
    had: Vec<Arc<Activity>>,
    /// Another input.
    input: Option<Value>,
}

impl Edited {
    /// The decision for each step so far: kept, new, or repeated, with the reason.
    pub fn lines(&self) -> Lines {
        self.ready.reused().with(self.had.clone())
    }

    /// Starts it, with the input of the earlier run, or [`Edit::input`].
    ///
    /// # Errors
    ///
    /// As [`Ready::start`].
    pub fn start(mut self) -> Result<Run> {
        if self.input.is_none() {
            self.ready.input_verdicts.clone_from(&self.started.flags.input_verdicts);
        }
        let input = self.its_input();
        self.ready.start(input)
    }

    /// Tests whether the edited flow accepts its input. Calls nothing.
    ///
    /// # Errors
    ///
    /// As [`Ready::check_input`].
    pub fn check_input(&self) -> Result<()> {
        self.ready.check_input(self.its_input())
    }

    fn its_input(&self) -> Option<serde_json::Value> {
        let earlier = self.started.input.as_ref().map(PrivateValue::exact);
        self.input.as_ref().or(earlier).map(Value::to_json)
    }
}

impl Engine {
    /// Prepares a new run of an edited flow that reuses the results of a run of the [store](Self::store): requests that
    /// are the same as there are not repeated. Model calls, tools and commands are compared by their requests; a
    /// renamed step keeps its result if its request is unchanged. Tools and commands that ran with different arguments,
    /// and may not be safe to repeat, stop the run with `WOULD_REPEAT` unless [`Edit::rerun`] names their steps.
    ///
    /// If that run itself reused results of an earlier one, those are available, too: undoing an edit costs nothing,
    /// and a run that failed early loses nothing.
    ///
    /// Limits that this engine does not set are those of that run; what is reused does not count towards them.
    ///
    /// ```no_run
    /// # async fn again(engine: trefoil::Engine, flow: trefoil::Flow) -> trefoil::Result<()> {
    /// use trefoil::runs::Edit;
    ///
    /// let edited = engine.edit("0191f6c4", &flow, &Edit { rerun: vec!["notify".into()], ..Edit::default() }).await?;
    /// let lines = edited.lines();
    /// println!("{}", edited.start()?.output::<String>().await?);
    /// println!("{} calls were looked at", lines.all().len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the run does not exist, its content was removed, or a process works on it; [`Error::NotStarted`] with everything
    /// that is missing, or if the step [`Edit::from`] does not exist.
    pub async fn edit(&self, run: &str, flow: &Flow, edit: &Edit) -> Result<Edited> {
        let store = self.kept_runs()?;
        let stored = Stored::read(&*store, run).await?;
        let now = stored.now();
        // The manifest's choice of models may be what was edited.
        let own = edit.own_settings || now.answers == "manifest";
        let engine = if own { self.clone() } else { self.clone().with_models_of(&now) };
        let edit = in_old_names(self, &store, &stored, flow, edit).await?;
        let mut edit = Edit { forked: false, ..edit };
        if edit.failed_if_stuck && !edit.failed && store.record(&stored.started.run).await?.status == Status::Failed {
            // Boxed, because a flow may call itself.
            let seen = Box::pin(preview_with_its_models(&engine, store.clone(), run, flow, &edit)).await?;
            edit.failed = seen.repeats_failed;
        }
        engine.based_on(store, &stored, flow, &edit).await
    }

    /// Prepares a new run from a run of the [store](Self::store), with its files, models and input: completed steps are
    /// kept, except those of [`Edit::from`]. See [`edit`](Self::edit).
    ///
    /// # Errors
    ///
    /// As [`edit`](Self::edit).
    pub async fn fork(&self, run: &str, edit: &Edit) -> Result<Edited> {
        let store = self.kept_runs()?;
        let stored = Stored::read(&*store, run).await?;
        let engine = self.clone().with_models_of(&stored.now());
        let edit = Edit { forked: true, ..edit.clone() };
        engine.based_on(store, &stored, &stored.flow, &edit).await
    }

    async fn based_on(&self, store: Arc<dyn Store>, stored: &Stored, flow: &Flow, edit: &Edit) -> Result<Edited> {
        self.is_idle(&*store, &stored.started.run).await?;
        // If the original run does not keep its content, neither does a run that reuses its results.
        let content = store.record(&stored.started.run).await?.content;
        let memo = results_for(self, &store, stored, flow, edit).await?;
        let started = stored.started.clone();
        let basis = Basis {
            run: started.run.clone(),
            from: edit.from.clone(),
            also_from: edit.also_from.clone(),
            all: edit.all,
            rerun: edit.rerun.clone(),
            forked: edit.forked,
            failed: edit.failed,
            execution: Some(started.execution().to_owned()),
            ..Basis::default()
        };
        let had = memo.results();
        let engine = if content == Content::All { self.clone() } else { self.clone().no_content() };
        // The limits of a called run are what its caller has left.
        let own_limits = edit.own_settings || self.is_called();
        let engine = if own_limits { engine } else { engine.with_limits_of(&stored.now()) };
        let ready = engine.seed(started.flags.seed).ready(flow)?.based_on(basis, memo);
        hide_earlier(&ready, &*store, &started.run, None).await;
        Ok(Edited { ready, started, had, input: edit.input.clone() })
    }
}

impl Engine {
    /// Refuses the results of a run that is in progress: what it has not done yet, both runs would do.
    async fn is_idle(&self, store: &dyn Store, run: &str) -> Result<()> {
        let _ = store.reclaim(store.clock().wall_ms()).await;
        let record = store.record(run).await?;
        let Some((owner, until)) = record.owner.filter(|_| record.status == Status::Running) else { return Ok(()) };
        // A run of this process is released a moment after it has stopped.
        let is_released = self.owner().is_some_and(|own| own.name() == owner && !own.holds(run));
        if is_released {
            return Ok(());
        }
        Err(Error::Store(StoreError::Held { run: run.to_owned(), owner, until }))
    }
}
