//! Resuming a run from a store.

use std::path::Path;
use std::sync::Arc;

use trefoil_machine::{Entry, EntryKind, Started};
use trefoil_runtime::driver::memo::Memo;
use trefoil_store::{Content, Store, StoreError};

use super::called::without_edited;
use super::edit::{Edit, memo, without_failed};
use super::hidden::hide;
use crate::bundle::{FileOrigin, unpack};
use crate::engine::{Engine, Ready};
use crate::error::{Error, Findings, Result};
use crate::flow::Flow;
use crate::run::Run;

/// A stored run, before it is resumed.
pub struct Stored {
    /// What it runs.
    pub flow: Flow,
    /// How it started.
    pub started: Started,
    /// A note for the user who resumes it.
    pub note: Option<String>,
    /// Where its files come from. Whether the settings of a project apply is decided by [`StoredProject`](super::StoredProject).
    pub(super) origin: FileOrigin,
    /// What the store keeps of it.
    content: Content,
    /// How it started, with what later processes have changed.
    now: Started,
    /// The steps that later processes may repeat.
    rerun: Vec<String>,
}

impl Stored {
    /// Reads the start of a run, and loads its flow.
    pub async fn read(store: &dyn Store, run: &str) -> Result<Self> {
        let record = store.record(run).await?;
        if !record.content.keeps_prompts() {
            return Err(Error::Store(StoreError::NoContent { run: run.to_owned() }));
        }
        let mut page = store.entries(run, 0).await?.into_iter();
        let Some(EntryKind::Started(started)) = page.next().map(|entry| entry.kind) else {
            return Err(Error::Store(StoreError::NoRun { run: run.to_owned() }));
        };
        let (loaded, origin) = unpack(store, run, &started.program).await?;
        let (loaded, note) = match &origin {
            FileOrigin::Disk(_) => (loaded, None),
            // Their contents are not in the store, and those on the disk belong to the project that is there.
            FileOrigin::Store { root, .. } => (loaded.without_env_files(), root.as_deref().map(changed)),
        };
        let flow = Flow::from(loaded);
        let (mut now, mut rerun) = (Started::clone(&started), Vec::new());
        let mut page: Vec<Entry> = page.collect();
        loop {
            for entry in &page {
                if let EntryKind::Resumed { changes, .. } | EntryKind::Reopened { changes, .. } = &entry.kind {
                    now.change(changes);
                    rerun.extend(changes.rerun.iter().cloned());
                }
            }
            // In its first epoch, a run has had one process: the one that started it, or a worker, whose entry is the second.
            let Some(last) = page.last().filter(|_| record.epoch > 1) else { break };
            page = store.entries(run, last.seq.saturating_add(1)).await?;
        }
        Ok(Self { flow, started: *started, note, origin, content: record.content, now, rerun })
    }

    /// The settings to continue with: the original start, with the current models, limits and permissions.
    pub fn now(&self) -> Started {
        self.now.clone()
    }

    /// The file of its entry, where the run was started. Says nothing about its permissions.
    pub(super) fn path(&self) -> &Path {
        match &self.origin {
            FileOrigin::Disk(file) | FileOrigin::Store { file, .. } => file,
        }
    }

    /// Whether its files are those on the disk.
    pub(crate) fn is_from_disk(&self) -> bool {
        matches!(self.origin, FileOrigin::Disk(_))
    }

    /// Whether this step's tools and commands may be repeated already.
    pub(crate) fn may_rerun(&self, step: &String) -> bool {
        self.rerun.contains(step) || self.started.basis.as_ref().is_some_and(|basis| basis.rerun.contains(step))
    }
}

fn changed(root: &Path) -> String {
    format!("files in `{}` have changed since the run started; it continues with the original files", root.display())
}

impl Engine {
    /// Resumes a run of the [store](Self::store) without repeating completed calls. The handle is like that of
    /// [`start`](Self::start); it first repeats the earlier events.
    ///
    /// The run continues with its original files, input, seed, limits and models. If this engine sets other limits, a
    /// script or the embedded model, these apply from now on. Tools, commands, people and keys are those of this
    /// engine.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the run does not exist, if another process is working on it, or if the store fails;
    /// [`Error::NotStarted`] with everything that is missing.
    pub async fn resume(&self, run: &str) -> Result<Run> {
        let Some(owner) = self.owner() else {
            return Err(Error::NotStarted(Findings::said("the engine has no store", "set one with `Engine::store`")));
        };
        let stored = Stored::read(&**owner.store(), run).await?;
        self.ready_again(&stored, &[]).await?.resume(&stored.started.run).await
    }

    /// Prepares to resume a run, with the results that it reuses from an earlier one, if those still exist. `rerun`: as
    /// [`Edit::rerun`].
    #[doc(hidden)]
    pub async fn ready_again(&self, stored: &Stored, rerun: &[String]) -> Result<Ready> {
        let ready = self.as_begun(stored).ready(&stored.flow)?;
        let Some(owner) = self.owner() else { return Ok(ready) };
        let store: Arc<dyn Store> = owner.store().clone();
        // Its own environment files are read for hiding only if it may not use them.
        let own = Some(&stored.started).filter(|_| stored.is_from_disk());
        hide(&ready, &*store, &stored.started.run, own).await;
        if let Some(basis) = stored.now.basis.as_ref().filter(|basis| basis.answers) {
            return Ok(ready.based_on((**basis).clone(), self.answers(basis)?));
        }
        let Some(basis) = &stored.now.basis else { return Ok(ready) };
        let ready = ready.allowing(rerun);
        let rerun = basis.rerun.iter().chain(&stored.rerun).chain(rerun).cloned().collect();
        let (from, also_from) = (basis.from.clone(), basis.also_from.clone());
        let edit = Edit { from, also_from, all: basis.all, rerun, ..Edit::default() };
        if basis.earlier().is_none() {
            let memo = Memo::default().rerunning(edit.rerun.iter().cloned());
            return Ok(ready.based_on((**basis).clone(), memo));
        }
        let memo = match Stored::read(&*store, &basis.run).await {
            Ok(earlier) => {
                let mut memo = memo(store.clone(), self.earlier_runs(), &earlier, &edit).await?;
                if basis.repeats_failed() {
                    memo = without_failed(memo, &*store, &earlier).await?;
                }
                if basis.forked { memo } else { without_edited(memo, self, &store).await }
            }
            // A run that was deleted provides no results, but it may have done anything.
            Err(Error::Store(StoreError::NoRun { .. } | StoreError::NoContent { .. })) => {
                Memo::default().cut_off().rerunning(edit.rerun.iter().cloned())
            }
            Err(error) => return Err(error),
        };
        self.are_steps(&edit.rerun, &stored.flow, &memo)?;
        Ok(ready.based_on((**basis).clone(), memo))
    }

    /// With the models and the original seed of a run, unless this engine sets models. The flows that it calls keep no more
    /// content than it does.
    #[doc(hidden)]
    pub fn as_begun(&self, stored: &Stored) -> Engine {
        let now = stored.now();
        let engine = if stored.content == Content::All { self.clone() } else { self.clone().no_content() };
        engine.begun(&stored.started, &now).with_models_of(&now)
    }

    /// With these limits, unless this engine sets others.
    pub(super) fn with_limits_of(self, run: &Started) -> Engine {
        self.limited_as(&run.limits())
    }

    /// With these models, unless this engine sets models.
    pub(crate) fn with_models_of(self, run: &Started) -> Engine {
        if self.chooses_models() {
            return self;
        }
        match run.answers.as_str() {
            "host" | "" => self,
            "manifest" => self.with_models_of_run(run.models.iter().filter(|(_, model)| model.contains(':'))),
            one => self.model(one),
        }
    }
}
