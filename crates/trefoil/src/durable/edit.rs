//! A run that goes by an earlier one: what is asked for as it was there is not done again.

use std::sync::{Arc, Mutex, PoisonError};

use trefoil_machine::Started;
use trefoil_machine::journal::Basis;
use trefoil_runtime::driver::Options;
use trefoil_runtime::driver::memo::{Decision, Memo};
use trefoil_runtime::ports::NoEvents;
use trefoil_store::Store;

use super::Stored;
use super::history::{prepared, reading};
use super::why::{Line, line};
use crate::engine::{Engine, Ready};
use crate::error::{Error, Findings, Result};
use crate::flow::Flow;
use crate::run::Run;

/// How the results of an earlier run are used.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// The step from which on everything is done again; none: only what is asked for otherwise.
    pub from: Option<String>,
    /// The steps whose tools and commands may be done again although they are not known to be safe to run twice.
    pub rerun: Vec<String>,
}

/// A run that can start, and what it will have used of an earlier one.
pub struct Edited {
    /// The run.
    pub ready: Ready,
    /// How the earlier run began: the new one has the same input.
    pub started: Started,
    decisions: Arc<Mutex<Vec<Decision>>>,
}

impl Edited {
    /// What became of each step so far: kept, new, or done again and because of what.
    pub fn lines(&self) -> Lines {
        Lines { flow: self.ready.flow().clone(), decisions: self.decisions.clone() }
    }

    /// Starts it, with the input of the earlier run.
    ///
    /// # Errors
    ///
    /// As [`Ready::start`].
    pub fn start(self) -> Result<Run> {
        let input = self.started.input.as_ref().map(trefoil_template::Value::to_json);
        self.ready.start(input)
    }
}

/// What became of the steps of a run that goes by an earlier one.
pub struct Lines {
    flow: Flow,
    decisions: Arc<Mutex<Vec<Decision>>>,
}

impl Lines {
    /// One an activity, in the order in which they were asked for.
    pub fn all(&self) -> Vec<Line> {
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.iter().filter_map(|decision| line(decision, &self.flow.loaded().files)).collect()
    }
}

impl Engine {
    /// A new run of an edited flow that uses the results of a run of the [store](Self::store): what is asked for as it was there is
    /// not done again. Model calls, tools and commands are compared by what is sent; a step that was renamed keeps its result if
    /// that is equal. Tools and commands that were done with other arguments, and are not known to be safe to run twice, end the
    /// run with `WOULD_REPEAT` unless [`Edit::rerun`] names their steps.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if there is no such run or its content is gone; [`Error::NotStarted`] with everything that is missing, or if
    /// there is no step [`Edit::from`].
    pub async fn edit(&self, run: &str, flow: &Flow, edit: &Edit) -> Result<Edited> {
        let Some(owner) = self.owner() else {
            return Err(Error::NotStarted(Findings::said(
                "the engine has no store",
                "give it one with `Engine::store`",
            )));
        };
        let store: Arc<dyn Store> = owner.store().clone();
        let stored = Stored::read(&*store, run).await?;
        let memo = memo(store, &stored, edit).await?;
        let started = stored.started.clone();
        let basis = Basis { run: started.run.clone(), from: edit.from.clone(), rerun: edit.rerun.clone() };
        let engine = self.clone().seed(started.flags.seed);
        let now = stored.now();
        // What the manifest says of models may be what was edited.
        let engine = if now.answers == "manifest" { engine } else { engine.with_models_of(&now) };
        let decisions = memo.decisions();
        let ready = engine.ready(flow)?.based_on(basis, memo);
        Ok(Edited { ready, started, decisions })
    }
}

/// What a run has that can be used.
pub(super) async fn memo(store: Arc<dyn Store>, stored: &Stored, edit: &Edit) -> Result<Memo> {
    let ports = reading(store, &stored.started, Arc::new(NoEvents));
    let read = Memo::of(prepared(stored), &stored.started.run, ports, &Options::default()).await;
    let memo = read.map_err(|error| Error::NotStarted(Findings::of_run(&stored.flow, &error)))?;
    let memo = memo.rerunning(edit.rerun.iter().cloned());
    let Some(step) = &edit.from else { return Ok(memo) };
    memo.from_step(step).map_err(|steps| {
        let message = format!("the run has no step `{step}`; it has: `{}`", steps.join("`, `"));
        Error::NotStarted(Findings::of_rule("unknown-step", &message, "name a step of the run"))
    })
}
