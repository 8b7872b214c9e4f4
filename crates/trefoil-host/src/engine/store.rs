//! Stores the runs of an engine.

use std::sync::Arc;

use trefoil_machine::{RunLimits, RunStart};
use trefoil_store::{Content, Owner, Store};

use super::{Engine, ResumeStart};
use crate::reuse::{EarlierRuns, ReuseRequest};
use trefoil_project::error::{Error, FoundErrors, Result};
use trefoil_project::shell;

impl Engine {
    /// Stores every run with the files of its flow: its journal, its cost, its outcome. An interrupted run can be
    /// continued with [`Self::resume_run`], here or in another process. Use it instead of [`journal`](Self::journal).
    ///
    /// A run that only waits for people ends with the code `SUSPENDED`; their answers are sent through the store.
    ///
    /// Clones of the engine share their leases on runs: for the store, they are one process.
    ///
    /// ```
    /// use trefoil::store::{SqliteStore, Store as _, StoreOptions};
    /// use trefoil::{Engine, Flow};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> trefoil::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("runs.db");
    /// # let hello = Flow::from_text("hello.yaml", "id: hello\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Say hello.\n")?;
    /// let store = std::sync::Arc::new(SqliteStore::open(path, StoreOptions::default())?);
    /// let engine = Engine::new().model("embedded").store(store.clone());
    /// let run = engine.start_run(&hello, ())?;
    /// let id = run.id().to_owned();
    /// run.wait_output::<String>().await?;
    /// assert_eq!(store.record(&id).await?.spent.calls, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn store(self, store: impl Store + 'static) -> Self {
        self.with_owner(Owner::of_process(Arc::new(store)))
    }
    /// Remembers the results of the runs before those that its runs reuse, so that they are read only once. They stay in memory as long
    /// as this engine or one that was made of it.
    pub fn remember_earlier_runs(self) -> Self {
        self.with_parts(|parts| parts.earlier = Some(Arc::default()))
    }
    pub(crate) fn earlier_runs(&self) -> Option<&EarlierRuns> {
        self.parts.earlier.as_deref()
    }
    /// Keeps prompts and answers of its runs only as long as they are needed to resume the runs, and removes them when
    /// a run has succeeded or was cancelled. Keys, hashes, codes, usage, models, times and status remain. The result stays for a
    /// day, or until [`Store::forget_result`] is called: whoever waits for it may not get it, and it is paid for.
    pub fn no_content(self) -> Self {
        self.with_parts(|parts| parts.content = Content::UntilEnd)
    }
    /// Leaves its runs to people, if their process ends: workers do not continue them.
    pub fn leave_to_people(self) -> Self {
        self.with_parts(|parts| parts.attended = true)
    }
    /// Gives its runs these labels, keys with values, instead of those set before: with them, runs are found
    /// ([`RunFilter`](trefoil_store::RunFilter)) and their costs are added up ([`Store::spending_since`]). The runs that they call have the
    /// same ones. Labels of a user are checked with [`check_user_labels`](trefoil_store::check_user_labels) before; with labels that are
    /// invalid, runs do not start.
    pub fn labels(mut self, labels: Vec<(String, String)>) -> Self {
        // What is cached does not depend on them, and a server sets other ones for each run.
        Arc::make_mut(&mut self.parts).labels = labels;
        self
    }
    /// Reuses answers of models in earlier runs of the [store](Self::store) for identical requests: from the run with
    /// this id, or from any run, newest first. Each answer is used once. Tools, commands and people are still called,
    /// because their results depend on the time. Placeholder answers are never used for real ones, nor the reverse.
    ///
    /// [`ReadyRun::step_decisions`](super::ReadyRun::step_decisions) returns what was reused.
    pub fn reuse_answers(self, run: Option<String>) -> Self {
        let request = ReuseRequest { answers: true, ..ReuseRequest::for_whole_run(run.unwrap_or_default()) };
        self.with_parts(|parts| parts.reuses = Some(request))
    }
    /// The store of its runs.
    pub(crate) fn kept_runs(&self) -> Result<Arc<dyn Store>> {
        match self.owner() {
            Some(owner) => Ok(owner.store().clone()),
            None => Err(Error::NotStarted(FoundErrors::without_file(
                "the engine has no store",
                "set one with `Engine::store`",
            ))),
        }
    }
    /// Stores runs as a process that holds leases.
    pub fn with_owner(self, owner: Arc<Owner>) -> Self {
        self.with_parts(|parts| parts.owner = Some(owner))
    }
    /// For runs that other processes execute, which must have keys, secrets and the permission to run commands.
    pub fn for_others(self) -> Self {
        self.registry(trefoil_models::Registry::to_read()).with_parts(|parts| parts.submits = true)
    }
    /// Whether runs are stored, so that questions can be answered later.
    pub(super) fn keeps_runs(&self) -> bool {
        self.parts.owner.is_some()
    }
    /// The holder of its runs' leases.
    pub fn owner(&self) -> Option<Arc<Owner>> {
        self.parts.owner.clone()
    }
    /// For a run with this start and these current models: its seed is used for the machine and the embedded model, not
    /// for ids.
    pub(crate) fn for_resumed_run(self, first: &RunStart, now: &RunStart) -> Self {
        self.with_parts(|parts| {
            parts.seed = Some(first.flags.seed);
            // Without a limit, there is none to lift, and prices are not needed.
            parts.spec.limits = parts.spec.limits.without_lifts(now.run_spec().limits);
            parts.begun = Some(Arc::new(ResumeStart { first: first.clone(), now: now.clone() }));
        })
    }
    /// With the limits of a run, unless others were set. A run that is called has those of the run that calls it.
    pub(crate) fn with_limits_of(self, run: &RunStart) -> Self {
        let spec = if self.is_called() { run.run_spec().without_limits() } else { run.run_spec() };
        self.with_parts(|parts| {
            parts.spec = parts.spec.with_defaults(spec);
            // A new run has no limit instead of one that cannot be reached.
            parts.spec.limits = parts.spec.limits.without_lifts(RunLimits::NONE);
        })
    }

    /// Ends the commands that are still in progress, and [releases](Self::release_runs) all runs. For a process that is about to end:
    /// its workers, its servers and all others that start runs must have stopped before.
    pub async fn end_process(&self) -> Result<()> {
        shell::end_all();
        self.release_runs().await
    }

    /// Releases the runs that this engine holds but does not continue, and returns when the store has recorded it. Call
    /// it before the process ends; otherwise other processes must wait until the leases expire.
    pub async fn release_runs(&self) -> Result<()> {
        match &self.parts.owner {
            Some(owner) => owner.release_all().await.map_err(Error::Store),
            None => Ok(()),
        }
    }
}
