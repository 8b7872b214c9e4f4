//! A run that reuses the results of an earlier one where its requests are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_ir::Program;
use trefoil_machine::journal::Basis;
use trefoil_machine::machine::Scan;
use trefoil_machine::request::{Activity, Request};
use trefoil_machine::{EntryKind, Key, Prepared, Started};
use trefoil_runtime::RunError;
use trefoil_runtime::driver::Options;
use trefoil_runtime::driver::memo::{Decision, EVERY_STEP, Memo, Reuse};
use trefoil_runtime::ports::NoEvents;
use trefoil_store::{Content, Status, Store, StoreError};
use trefoil_template::{Hole, HoleKind, Value};

use super::Stored;
use super::called::without_edited;
use super::earlier::{EarlierRuns, earlier_run};
use super::hidden::hide;
use super::history::{prepared, reading};
use super::preview::in_old_names;
use super::why::{Comparing, Fate, Line, line, similarity};
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
    /// Whether every step is repeated.
    pub all: bool,
    /// The steps whose tools and commands may run again although that may not be safe; `*`: those of all steps. `STEP/INNER` is a
    /// step of the flow that `STEP` calls as a tool; `STEP` alone: all of its steps.
    pub rerun: Vec<String>,
    /// Whether the new run uses the models of the engine and the manifests, even if other models were chosen for the earlier run.
    pub own_models: bool,
    /// The input, if not that of the earlier run.
    pub input: Option<Value>,
    /// Whether the step at which the earlier run failed is repeated, as in a fork.
    pub failed: bool,
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
    pub fn start(self) -> Result<Run> {
        let input = self.input.as_ref().or(self.started.input.as_ref()).map(Value::to_json);
        self.ready.start(input)
    }
}

/// The decisions for the steps of a run that reuses results of an earlier one.
pub struct Lines {
    flow: Flow,
    program: Arc<Program>,
    had: Vec<Arc<Activity>>,
    decisions: Arc<Mutex<Vec<Decision>>>,
    /// Those of the runs that it calls.
    called: LinesOfCalls,
}

/// The decisions of called runs, by the keys of the calls.
pub(crate) type LinesOfCalls = Arc<Mutex<Vec<(Key, Lines)>>>;

/// What a run has done that was not there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Made {
    /// Calls of models.
    pub model_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Shell commands.
    pub commands: u64,
    /// Questions to people.
    pub questions: u64,
}

impl Lines {
    /// For a run.
    pub(crate) fn of(flow: Flow, program: Arc<Program>, decisions: Arc<Mutex<Vec<Decision>>>) -> Self {
        Self { flow, program, had: Vec::new(), decisions, called: LinesOfCalls::default() }
    }

    /// Adds those of the runs that the run calls.
    pub(crate) fn calling(self, called: LinesOfCalls) -> Self {
        Self { called, ..self }
    }

    /// Sets the results that the earlier run has.
    pub(super) fn with(self, had: Vec<Arc<Activity>>) -> Self {
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
        let changed = self.changed(&decisions);
        let one = |decision: &Decision| match changed.get(&decision.asked.key) {
            None => line(decision, &comparing),
            Some(before) => {
                let is = Reuse::Again { before: before.clone(), lost: None };
                line(&Decision { asked: decision.asked.clone(), is }, &comparing)
            }
        };
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        let with_called = |line: Line| {
            let of_call = called.iter().filter(|(key, _)| *key == line.key && !line.fate.is_kept());
            Line { called: of_call.flat_map(|(_, lines)| lines.all()).collect(), ..line }
        };
        decisions.iter().filter_map(one).map(with_called).collect()
    }

    /// What was decided in runs that the run has called in this process, with the keys of the calls. [`all`](Self::all) has it at each
    /// call that was decided in this process, too: a resumed run makes a call again that was decided before.
    pub fn called(&self) -> Vec<(Key, Vec<Line>)> {
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        called.iter().map(|(key, lines)| (key.clone(), lines.all())).collect()
    }

    /// New calls of models and questions that were probably steps of the earlier run before they were renamed and changed, by their
    /// keys. Only the explanation depends on that.
    fn changed(&self, decisions: &[Decision]) -> BTreeMap<Key, Arc<Activity>> {
        let asks = |a: &Activity| matches!(a.request, Request::Model(_) | Request::Human(_));
        let met = met(decisions);
        let mut gone: Vec<_> = self.had.iter().filter(|a| asks(a) && !met.contains(a.key.without_try())).collect();
        let new = decisions.iter().filter(|one| matches!(one.is, Reuse::New) && asks(&one.asked));
        let new: Vec<_> =
            new.map(|one| &one.asked).filter(|asked| asked.key.without_try() == asked.key.as_str()).collect();
        if gone.is_empty() || new.is_empty() {
            return BTreeMap::new();
        }
        let prepared = Prepared::new(self.program.clone());
        gone.retain(|before| !prepared.has_effect(&before.labels));
        let mut pairs = BTreeMap::new();
        for asked in new {
            let place = |a: &Activity| (a.request.sort(), a.labels.split_last().map(|(_, above)| above.to_vec()));
            // The same request was not changed: its result was dropped.
            let is_same = |before: &Activity| before.content == asked.content;
            let there = gone.iter().enumerate().filter(|(_, before)| place(before) == place(asked) && !is_same(before));
            let alike = there.map(|(at, before)| (at, similarity(before, asked)));
            if let Some((at, _)) = alike.reduce(|best, one| if one.1 > best.1 { one } else { best }) {
                pairs.insert(asked.key.clone(), gone.remove(at).clone());
            }
        }
        pairs
    }

    /// How much was done by the run and those that it called, by sort.
    pub fn made(&self) -> Made {
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut made = Made::default();
        for decision in decisions.iter().filter(|one| matches!(one.is, Reuse::New | Reuse::Again { .. })) {
            match decision.asked.request {
                // Another try is the same call.
                Request::Model(_) => made.model_calls += u64::from(!decision.asked.again),
                Request::Tool(_) => made.tool_calls += 1,
                Request::Command(_) => made.commands += 1,
                Request::Human(_) => made.questions += 1,
                Request::Describe(_) | Request::Timer { .. } | Request::Decide(_) => {}
            }
        }
        for (_, called) in self.called.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let Made { model_calls, tool_calls, commands, questions } = called.made();
            made.model_calls += model_calls;
            made.tool_calls += tool_calls;
            made.commands += commands;
            made.questions += questions;
        }
        made
    }

    /// Environment variables in requests whose results were kept: `env.NAME`, without duplicates. Their values are not
    /// stored, so they were compared by name only.
    pub fn environment(&self) -> Vec<String> {
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names = BTreeSet::new();
        for decision in decisions.iter().filter(|decision| matches!(decision.is, Reuse::Kept { .. })) {
            decision.asked.request.texts(&mut |text| {
                let _ = text.replace(&mut |hole: &Hole| -> std::result::Result<_, Infallible> {
                    if hole.kind == HoleKind::Env {
                        names.insert(format!("env.{}", hole.name));
                    }
                    Ok(None)
                });
            });
        }
        names.into_iter().collect()
    }

    /// The results of the earlier run that were not used, in its order. If the run has not succeeded, the list may
    /// shrink.
    pub fn unused(&self) -> Vec<Line> {
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut met = met(&decisions);
        met.extend(self.changed(&decisions).values().map(|before| before.key.without_try().to_owned()));
        let left = self.had.iter().filter(|had| !met.contains(had.key.without_try()));
        let unused = |had: &Arc<Activity>| Line {
            key: had.key.clone(),
            fate: Fate::Unused,
            was: None,
            reasons: Vec::new(),
            called: Vec::new(),
        };
        left.map(unused).collect()
    }
}

/// The keys of the earlier run that these decisions are about, without tries.
fn met(decisions: &[Decision]) -> BTreeSet<String> {
    let mut met = BTreeSet::new();
    for decision in decisions {
        met.insert(decision.asked.key.without_try().to_owned());
        let is = match &decision.is {
            Reuse::Stopped(Some(before)) => before,
            is => is,
        };
        let was = match is {
            Reuse::Kept { was, .. } => was.as_ref(),
            Reuse::Again { before, .. } => Some(&before.key),
            Reuse::New | Reuse::Stopped(_) => None,
        };
        met.extend(was.map(|was| was.without_try().to_owned()));
    }
    met
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
        let own = edit.own_models || now.answers == "manifest";
        let engine = if own { self.clone() } else { self.clone().with_models_of(&now) };
        let edit = in_old_names(self, &store, &stored, flow, edit).await?;
        engine.based_on(store, &stored, flow, &edit, false).await
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
        engine.based_on(store, &stored, &stored.flow, edit, true).await
    }

    async fn based_on(
        &self,
        store: Arc<dyn Store>,
        stored: &Stored,
        flow: &Flow,
        edit: &Edit,
        forked: bool,
    ) -> Result<Edited> {
        self.is_idle(&*store, &stored.started.run).await?;
        // If the original run does not keep its content, neither does a run that reuses its results.
        let content = store.record(&stored.started.run).await?.content;
        let mut memo = memo(store.clone(), self.earlier_runs(), stored, edit).await?;
        if forked || edit.failed {
            memo = without_failed(memo, &*store, stored).await?;
        }
        if !forked {
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
            all: edit.all,
            rerun: edit.rerun.clone(),
            forked,
            failed: edit.failed,
            execution: Some(started.execution().to_owned()),
            ..Basis::default()
        };
        let had = memo.results();
        let engine = if content == Content::All { self.clone() } else { self.clone().no_content() };
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
    let of_run = |error: RunError| Error::NotStarted(Findings::of_run(&stored.flow, &error));
    let mut memo = own(store.clone(), stored).await.map_err(of_run)?;
    let mut basis = stored.started.basis.clone();
    // What a run was to repeat is not taken from the runs before it either, also if it did not get there.
    let mut wanted = Vec::new();
    for _ in 0..BEFORE {
        let Some(before) = basis.clone().filter(|before| before.earlier().is_some()) else { break };
        // A run that was deleted, or that this version cannot replay, provides no results. Its activities still count
        // as done.
        let Some(earlier) = earlier_run(&store, known, &before.run).await else { break };
        let mut older = earlier.results;
        wanted.push((before.from.clone(), before.all));
        for (from, all) in &wanted {
            drop_from(&mut older, from.as_deref(), *all);
        }
        memo = memo.over(older);
        basis = earlier.basis;
    }
    if basis.is_some_and(|before| before.earlier().is_some()) {
        memo = memo.cut_off();
    }
    let mut memo = memo.rerunning(edit.rerun.iter().cloned());
    if !drop_from(&mut memo, edit.from.as_deref(), edit.all) {
        return Err(no_step(edit.from.as_deref().unwrap_or_default(), &memo));
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

/// Drops the results of a step and of everything that started after it, or all. Returns whether the step exists.
fn drop_from(memo: &mut Memo, from: Option<&str>, all: bool) -> bool {
    if all {
        memo.drop_all();
    }
    let Some(from) = from else { return true };
    match Inside::of(from, memo) {
        // The run of the call keeps what comes before.
        Some(inside) => memo.drop_from(inside.call.activity.key.without_try()),
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
