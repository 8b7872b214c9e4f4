//! A run that reuses the results of an earlier one where its requests are the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_machine::journal::Basis;
use trefoil_machine::machine::Scan;
use trefoil_machine::request::Activity;
use trefoil_machine::{EntryKind, PrivateValue, Started};
use trefoil_runtime::RunError;
use trefoil_runtime::driver::Options;
use trefoil_runtime::driver::memo::{EVERY_STEP, Memo};
use trefoil_runtime::ports::NoEvents;
use trefoil_store::{Content, Status, Store, StoreError};
use trefoil_template::Value;

use super::Stored;
use super::called::without_edited;
use super::earlier::{EarlierRuns, earlier_run};
use super::hidden::hide;
use super::history::{prepared, reading};
use super::lines::Lines;
use super::preview::{in_old_names, preview_with_its_models};
use crate::engine::{Engine, Inside, Ready, labels};
use crate::error::{Error, Findings, Result};
use crate::flow::Flow;
use crate::run::Run;

/// Options for reusing the results of an earlier run.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// The step to repeat, by its name in the earlier run or, if the edit renamed it, its new name, with everything that started after
    /// it; `None`: only changed requests are made. `STEP/INNER` is a step of
    /// the flow that `STEP` calls as a tool.
    pub from: Option<String>,
    /// The same for these steps of a called run: earlier runs of its caller were to repeat them, and did not come to that.
    #[doc(hidden)]
    pub also_from: Vec<String>,
    /// Whether every step is repeated.
    pub all: bool,
    /// The steps whose tools and commands may run again although that may not be safe; `*`: those of all steps. `STEP/INNER` is a
    /// step of the flow that `STEP` calls as a tool; `STEP` alone: all of its steps.
    pub rerun: Vec<String>,
    /// Whether the new run uses the models and limits of the engine and the manifests, even if others were chosen for the earlier run.
    pub own_settings: bool,
    /// The input, if not that of the earlier run.
    pub input: Option<Value>,
    /// Whether the step at which the earlier run failed is repeated, as in a fork.
    pub failed: bool,
    /// Whether it is repeated if the run would otherwise fail in the same way without any call.
    pub failed_if_stuck: bool,
    /// Whether this is a fork: the run has the files of the earlier one.
    #[doc(hidden)]
    pub forked: bool,
}

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

/// The maximum number of earlier runs whose results are used if the preceding one has none.
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
        let mut memo = memo(store.clone(), self.earlier_runs(), stored, edit).await?;
        if edit.forked || edit.failed {
            memo = without_failed(memo, &*store, stored).await?;
        }
        if !edit.forked {
            memo = without_edited(memo, self, &store).await;
        }
        if let Some(from) = &edit.from {
            is_inside(&store, from, &memo).await?;
        }
        self.are_steps(&edit.rerun, flow, &memo)?;
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
        hide(&ready, &*store, &started.run, None).await;
        Ok(Edited { ready, started, had, input: edit.input.clone() })
    }

    /// Checks that all names are steps of the earlier runs, of the current flow, or of the flow of a tool that one of these calls.
    pub(super) fn are_steps(&self, names: &[String], flow: &Flow, memo: &Memo) -> Result<()> {
        // The names for a called run were checked for the run that was started.
        if self.is_called() {
            return Ok(());
        }
        let flows = self.flow_tools();
        let knows = |name: &str| memo.has_step(name) || labels(&flow.loaded().program).any(|label| label == name);
        let is_inner = |name: &str| {
            let step = name.rsplit('/').next().unwrap_or_default();
            flows.as_ref().is_some_and(|flows| step == EVERY_STEP || flows.have_step(step))
        };
        let is_known = |name: &str| {
            let mut outer = name.match_indices('/').filter_map(|(at, _)| name.get(..at));
            name == EVERY_STEP || knows(name) || outer.any(knows) && is_inner(name)
        };
        match names.iter().find(|name| !is_known(name)) {
            Some(name) => Err(no_step(name, memo)),
            None => Ok(()),
        }
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

/// The results of a run, and of the runs that it reused itself.
/// `known`: those that were read before.
pub(super) async fn memo(
    store: Arc<dyn Store>,
    known: Option<&EarlierRuns>,
    stored: &Stored,
    edit: &Edit,
) -> Result<Memo> {
    let of_run = |error: RunError| Error::NotStarted(Findings::of_run(&stored.flow.loaded().files, &error));
    let mut newest = own(store.clone(), stored).await.map_err(of_run)?;
    let mut basis = stored.started.basis.clone();
    let mut newer = Vec::new();
    for _ in 0..BEFORE {
        let Some(before) = basis.clone().filter(|before| before.earlier().is_some()) else { break };
        // A run that was deleted, or that this version cannot replay, provides no results. Its activities still count
        // as done.
        let Some(earlier) = earlier_run(&store, known, &before.run).await else { break };
        newer.push((std::mem::replace(&mut newest, earlier.results), before));
        basis = earlier.basis;
    }
    // From the oldest run on. What a run was to repeat is not taken from the runs before it either, also if it did not get there.
    let mut memo = newest;
    while let Some((run, basis)) = newer.pop() {
        for step in basis.from.iter().chain(&basis.also_from) {
            drop_from(&mut memo, step);
        }
        if basis.all {
            memo.drop_all();
        }
        memo = run.over(memo);
    }
    if basis.is_some_and(|before| before.earlier().is_some()) {
        memo = memo.cut_off();
    }
    let mut memo = memo.rerunning(edit.rerun.iter().cloned());
    if edit.all {
        memo.drop_all();
    }
    for step in edit.from.iter().chain(&edit.also_from) {
        if !drop_from(&mut memo, step) {
            return Err(no_step(step, &memo));
        }
    }
    Ok(memo)
}

/// Without the results of the step at which the run failed: as when it is resumed, that step runs again.
pub(super) async fn without_failed(memo: Memo, store: &dyn Store, stored: &Stored) -> Result<Memo> {
    let run = &stored.started.run;
    if store.record(run).await?.status != Status::Failed {
        return Ok(memo);
    }
    let (mut entries, mut next) = (Vec::new(), 0);
    loop {
        let page = store.entries(run, next).await?;
        let Some(last) = page.last() else { break };
        next = last.seq.saturating_add(1);
        entries.extend(page);
    }
    let Some(EntryKind::Finished { error: Some(error), .. }) = entries.last().map(|entry| &entry.kind) else {
        return Ok(memo);
    };
    let mut scan = Scan::of(error, &stored.flow.loaded().program.name);
    entries.iter().for_each(|entry| scan.entry(entry));
    Ok(memo.trying_again(run, &scan.end(&BTreeSet::new()), &error.code))
}

/// Drops the results of a step and of everything that started after it. Returns whether the step exists.
fn drop_from(memo: &mut Memo, from: &str) -> bool {
    match Inside::of(from, memo) {
        // The run of the call keeps what comes before.
        Some(inside) => memo.drop_within(&inside.call, &inside.step),
        None => memo.drop_from(from),
    }
}

/// If a name is of a step of a called flow, checks that the call has run it.
pub(super) async fn is_inside(store: &Arc<dyn Store>, from: &str, memo: &Memo) -> Result<()> {
    let Some(inside) = Inside::of(from, memo) else { return Ok(()) };
    let Some(run) = inside.run(&**store).await else { return Err(no_step(from, memo)) };
    let stored = Stored::read(&**store, &run).await?;
    let edit = Edit { from: Some(inside.step.clone()), ..Edit::default() };
    // Boxed, because a flow may call itself.
    let memo = Box::pin(self::memo(store.clone(), None, &stored, &Edit::default())).await?;
    Box::pin(self::memo(store.clone(), None, &stored, &edit)).await?;
    Box::pin(is_inside(store, &inside.step, &memo)).await
}

fn no_step(step: &str, memo: &Memo) -> Error {
    let message = format!("the run has no step `{step}`; available: `{}`", memo.steps().join("`, `"));
    Error::NotStarted(Findings::of_rule("unknown-step", &message, "name a step of the run"))
}

/// The results of a run alone.
pub(super) async fn own(store: Arc<dyn Store>, stored: &Stored) -> std::result::Result<Memo, RunError> {
    let ports = reading(store, &stored.started, Arc::new(NoEvents));
    Memo::of(prepared(stored), &stored.started.run, ports, &Options::default()).await
}
