//! A run that reuses the results of an earlier one where its requests are the same.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_ir::Program;
use trefoil_machine::journal::Basis;
use trefoil_machine::{Key, Started};
use trefoil_runtime::RunError;
use trefoil_runtime::driver::Options;
use trefoil_runtime::driver::memo::{Decision, Memo, Reuse};
use trefoil_runtime::ports::NoEvents;
use trefoil_store::{Content, Store};

use super::Stored;
use super::history::{prepared, reading};
use super::why::{Comparing, Fate, Line, line};
use crate::engine::{Engine, Ready};
use crate::error::{Error, Findings, Result};
use crate::flow::Flow;
use crate::run::Run;

/// Options for reusing the results of an earlier run.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// The step to repeat, with everything that started after it; `None`: only changed requests are made.
    pub from: Option<String>,
    /// The steps whose tools and commands may run again although that may not be safe.
    pub rerun: Vec<String>,
}

/// A run that is ready to start, and the results that it reuses from an earlier one.
pub struct Edited {
    /// The run.
    pub ready: Ready,
    /// The start of the earlier run: the new one has the same input.
    pub started: Started,
    /// What that has results of.
    had: Vec<Key>,
}

impl Edited {
    /// The decision for each step so far: kept, new, or repeated, with the reason.
    pub fn lines(&self) -> Lines {
        self.ready.reused().with(self.had.clone())
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

/// The decisions for the steps of a run that reuses results of an earlier one.
pub struct Lines {
    flow: Flow,
    program: Arc<Program>,
    had: Vec<Key>,
    decisions: Arc<Mutex<Vec<Decision>>>,
}

impl Lines {
    /// Of a run.
    pub(crate) fn of(flow: Flow, program: Arc<Program>, decisions: Arc<Mutex<Vec<Decision>>>) -> Self {
        Self { flow, program, had: Vec::new(), decisions }
    }

    /// Sets the results that the earlier run has.
    pub(super) fn with(self, had: Vec<Key>) -> Self {
        Self { had, ..self }
    }

    /// One line per activity, in the order in which they were requested.
    pub fn all(&self) -> Vec<Line> {
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let renamed = decisions.iter().filter_map(|decision| match &decision.is {
            Reuse::Kept { was: Some(was), .. } => Some((was.clone(), decision.asked.key.clone())),
            _ => None,
        });
        let renamed = renamed.collect();
        let files = &self.flow.loaded().files;
        let comparing = Comparing { files, program: Some(&self.program), renamed: &renamed };
        decisions.iter().filter_map(|decision| line(decision, &comparing)).collect()
    }

    /// The results of the earlier run that were not used, in its order; if the run has not succeeded, so far.
    pub fn unused(&self) -> Vec<Line> {
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut met = BTreeSet::new();
        for decision in decisions.iter() {
            met.insert(decision.asked.key.without_try().to_owned());
            if let Reuse::Kept { was: Some(was), .. } = &decision.is {
                met.insert(was.without_try().to_owned());
            }
        }
        let left = self.had.iter().filter(|key| !met.contains(key.without_try()));
        left.map(|key| Line { key: key.clone(), fate: Fate::Unused, reasons: Vec::new() }).collect()
    }
}

/// Runs before the one that is gone by whose results are used where it has none itself.
const BEFORE: usize = 64;

impl Engine {
    /// Prepares a new run of an edited flow that reuses the results of a run of the [store](Self::store): requests that
    /// are the same as there are not repeated. Model calls, tools and commands are compared by their requests; a
    /// renamed step keeps its result if its request is unchanged. Tools and commands that ran with different arguments,
    /// and may not be safe to repeat, stop the run with `WOULD_REPEAT` unless [`Edit::rerun`] names their steps.
    ///
    /// If that run itself reused results of an earlier one, those are available, too: undoing an edit costs nothing,
    /// and a run that failed early loses nothing.
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
    /// [`Error::Store`] if the run does not exist or its content was removed; [`Error::NotStarted`] with everything
    /// that is missing, or if the step [`Edit::from`] does not exist.
    pub async fn edit(&self, run: &str, flow: &Flow, edit: &Edit) -> Result<Edited> {
        let store = self.kept_runs()?;
        let stored = Stored::read(&*store, run).await?;
        let now = stored.now();
        // What the manifest says of models may be what was edited.
        let engine = if now.answers == "manifest" { self.clone() } else { self.clone().with_models_of(&now) };
        engine.based_on(store, &stored, flow, edit).await
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
        engine.based_on(store, &stored, &stored.flow, edit).await
    }

    async fn based_on(&self, store: Arc<dyn Store>, stored: &Stored, flow: &Flow, edit: &Edit) -> Result<Edited> {
        // What a run does not keep, a run of its results does not keep either.
        let content = store.record(&stored.started.run).await?.content;
        let memo = memo(store, stored, edit).await?;
        are_steps(&edit.rerun, flow, &memo)?;
        let started = stored.started.clone();
        let basis =
            Basis { run: started.run.clone(), from: edit.from.clone(), rerun: edit.rerun.clone(), ..Basis::default() };
        let had = memo.results();
        let engine = if content == Content::All { self.clone() } else { self.clone().no_content() };
        let ready = engine.seed(started.flags.seed).ready(flow)?.based_on(basis, memo);
        Ok(Edited { ready, started, had })
    }
}

/// What a run has that can be used, and the runs that it used itself.
pub(super) async fn memo(store: Arc<dyn Store>, stored: &Stored, edit: &Edit) -> Result<Memo> {
    let of_run = |error: RunError| Error::NotStarted(Findings::of_run(&stored.flow, &error));
    let mut memo = own(store.clone(), stored).await.map_err(of_run)?;
    let mut basis = stored.started.basis.clone();
    for _ in 0..BEFORE {
        let Some(before) = basis.clone().filter(|before| !before.answers) else { break };
        // A run that is gone, or that this version cannot follow, has nothing to use. What it did was done.
        let Ok(earlier) = Stored::read(&*store, &before.run).await else { break };
        let Ok(mut older) = own(store.clone(), &earlier).await else { break };
        if let Some(step) = &before.from {
            older.drop_from(step);
        }
        memo = memo.over(older);
        basis = earlier.started.basis;
    }
    if basis.is_some_and(|before| !before.answers) {
        memo = memo.cut_off();
    }
    let mut memo = memo.rerunning(edit.rerun.iter().cloned());
    if let Some(step) = edit.from.as_ref().filter(|step| !memo.drop_from(step)) {
        return Err(no_step(step, &memo));
    }
    Ok(memo)
}

/// Whether all of this names steps, of the runs before or of what runs now.
pub(super) fn are_steps(names: &[String], flow: &Flow, memo: &Memo) -> Result<()> {
    let labels = || flow.loaded().program.steps.iter().filter_map(|step| step.label.as_deref());
    let is_none = |name: &&String| !memo.has_step(name) && labels().all(|label| label != name.as_str());
    match names.iter().find(is_none) {
        Some(name) => Err(no_step(name, memo)),
        None => Ok(()),
    }
}

fn no_step(step: &str, memo: &Memo) -> Error {
    let message = format!("the run has no step `{step}`; available: `{}`", memo.steps().join("`, `"));
    Error::NotStarted(Findings::of_rule("unknown-step", &message, "name a step of the run"))
}

async fn own(store: Arc<dyn Store>, stored: &Stored) -> std::result::Result<Memo, RunError> {
    let ports = reading(store, &stored.started, Arc::new(NoEvents));
    Memo::of(prepared(stored), &stored.started.run, ports, &Options::default()).await
}
