//! Runs that are kept in a store.

use std::sync::Arc;

use trefoil_machine::Started;
use trefoil_machine::journal::Basis;
use trefoil_runtime::driver::memo::Memo;
use trefoil_store::{Content, Owner, Store};

use super::{Begun, Engine, Ready};
use crate::durable::StoredAnswers;
use crate::error::{Error, Findings, Result};

impl Engine {
    /// Keeps every run in a store, with the files of its flow: its journal, what it has cost, how it ended. A run that was
    /// interrupted is continued by [`Self::resume`], here or elsewhere. In place of [`journal`](Self::journal).
    ///
    /// A run that only waits for people ends with the code `SUSPENDED`; their answers come in through the store.
    ///
    /// Clones of the engine share their hold on runs: they are one process to the store.
    ///
    /// ```
    /// use trefoil::store::{Options, SqliteStore, Store as _};
    /// use trefoil::{Engine, Flow};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> trefoil::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("runs.db");
    /// # let hello = Flow::from_text("hello.yaml", "id: hello\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Say hello.\n")?;
    /// let store = std::sync::Arc::new(SqliteStore::open(path, Options::default())?);
    /// let engine = Engine::new().model("embedded").store(store.clone());
    /// let run = engine.start(&hello, ())?;
    /// let id = run.id().to_owned();
    /// run.output::<String>().await?;
    /// assert_eq!(store.record(&id).await?.spent.calls, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn store(self, store: impl Store + 'static) -> Self {
        self.owned(Owner::of_process(Arc::new(store)))
    }
    /// Keeps prompts and answers of the runs that it starts only as far as resuming them needs, and removes them when a run has
    /// completed or is cancelled. What remains: keys, hashes, codes, usage, models, times and status.
    #[must_use]
    pub fn no_content(self) -> Self {
        self.with(|parts| parts.content = Content::UntilEnd)
    }
    /// Uses answers that models have given in earlier runs of the [store](Self::store) to what is asked for now, word for word: of
    /// the run of this id, or of any, the newest first. Each answer is used once. Tools, commands and people are asked as ever: what
    /// they say belongs to its time. Answers that were made up are not used for real ones, nor the other way round.
    ///
    /// [`Ready::reused`](super::Ready::reused) says what was used.
    #[must_use]
    pub fn reuse_answers(self, run: Option<String>) -> Self {
        self.with(|parts| parts.answers_of = Some(run))
    }
    /// A run that begins, with what it may use of earlier ones.
    pub(super) fn with_answers(&self, ready: Ready) -> Result<Ready> {
        let Some(run) = self.parts.answers_of.clone().filter(|_| self.parts.begun.is_none()) else { return Ok(ready) };
        let basis = Basis { run: run.unwrap_or_default(), answers: true, ..Basis::default() };
        let memo = self.answers(&basis)?;
        Ok(ready.based_on(basis, memo))
    }
    /// The answers that a run says it uses.
    pub(crate) fn answers(&self, basis: &Basis) -> Result<Memo> {
        let only = Some(basis.run.clone()).filter(|run| !run.is_empty());
        Ok(Memo::of_answers(Arc::new(StoredAnswers::of(self.kept_runs()?, only))))
    }
    /// Where its runs are.
    pub(crate) fn kept_runs(&self) -> Result<Arc<dyn Store>> {
        match self.owner() {
            Some(owner) => Ok(owner.store().clone()),
            None => Err(Error::NotStarted(Findings::said("the engine has no store", "set one with `Engine::store`"))),
        }
    }
    /// Keeps runs in a store as a process that holds leases there.
    #[doc(hidden)]
    #[must_use]
    pub fn owned(self, owner: Arc<Owner>) -> Self {
        self.with(|parts| parts.owner = Some(owner))
    }
    /// For runs that other processes are to run: keys, secrets and the permission to run commands are theirs.
    #[doc(hidden)]
    #[must_use]
    pub fn for_others(self) -> Self {
        self.registry(trefoil_models::Registry::to_read()).with(|parts| parts.submits = true)
    }
    /// Who holds the leases of its runs.
    #[doc(hidden)]
    pub fn owner(&self) -> Option<Arc<Owner>> {
        self.parts.owner.clone()
    }
    /// For a run that began like this, and has these models now: with its seed for the machine and the embedded model, not for ids.
    pub(crate) fn begun(self, first: &Started, now: &Started) -> Self {
        self.with(|parts| {
            parts.seed = Some(first.flags.seed);
            parts.begun = Some(Arc::new(Begun { first: first.clone(), now: now.clone() }));
        })
    }
    /// With the models that the agents of a run had: nobody chose them.
    pub(crate) fn with_models_of_run<'m>(self, models: impl Iterator<Item = &'m (String, String)>) -> Self {
        let engine = models.fold(self, |engine, (agent, model)| engine.model(format!("{agent}={model}").as_str()));
        engine.with(|parts| parts.models_of_run = true)
    }
    /// Whether it says which models answer.
    pub(crate) fn chooses_models(&self) -> bool {
        self.parts.provider.is_some() || !self.parts.models.is_empty()
    }

    /// Gives back the runs that this engine holds and that nobody continues with, and returns when the store knows: for a process
    /// that is about to end. Without it, another process has to wait until their leases run out.
    pub async fn release(&self) -> Result<()> {
        match &self.parts.owner {
            Some(owner) => owner.release_all().await.map_err(Error::Store),
            None => Ok(()),
        }
    }
}
