//! Going on with a run that is in a store.

use trefoil_machine::{EntryKind, Started};
use trefoil_store::{Content, Store, StoreError};

use super::unpack;
use crate::engine::Engine;
use crate::error::{Error, Findings, Result};
use crate::flow::Flow;
use crate::run::Run;

/// A run as it is stored, before anybody goes on with it.
pub struct Stored {
    /// What it runs.
    pub flow: Flow,
    /// How it began.
    pub started: Started,
    /// What whoever goes on with it should know.
    pub note: Option<String>,
}

impl Stored {
    /// Reads how a run began, and loads its flow.
    pub async fn read(store: &dyn Store, run: &str) -> Result<Self> {
        if store.record(run).await?.content == Content::Removed {
            return Err(Error::Store(StoreError::NoContent { run: run.to_owned() }));
        }
        let first = store.entries(run, 0).await?.into_iter().next();
        let Some(EntryKind::Started(started)) = first.map(|entry| entry.kind) else {
            return Err(Error::Store(StoreError::NoRun { run: run.to_owned() }));
        };
        let (flow, note) = unpack(store, run, &started.program).await?;
        Ok(Self { flow, started: *started, note })
    }
}

impl Engine {
    /// Goes on with a run of the [store](Self::store): nothing that has ended is done again. The handle is as that of
    /// [`start`](Self::start); it tells first what has happened so far.
    ///
    /// The run continues with the files, the input, the seed, the limits and the models that it began with, unless this engine
    /// was given other limits or models: those hold from now on. What an engine holds is this one's: tools, commands, people,
    /// keys.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if there is no such run, if another process works on it, or if the store fails; [`Error::NotStarted`] with
    /// everything that is missing.
    pub async fn resume(&self, run: &str) -> Result<Run> {
        let Some(owner) = self.owner() else {
            return Err(Error::NotStarted(Findings::said(
                "the engine has no store",
                "give it one with `Engine::store`",
            )));
        };
        let Stored { flow, started, .. } = Stored::read(&**owner.store(), run).await?;
        self.as_begun(&started).ready(&flow)?.resume(&started.run).await
    }

    /// With the models and the seed that a run began with, unless this engine has models of its own.
    #[doc(hidden)]
    pub fn as_begun(&self, started: &Started) -> Engine {
        let engine = self.clone().begun(started);
        if self.chooses_models() {
            return engine;
        }
        match started.answers.as_str() {
            "host" | "" => engine,
            "manifest" => started.models.iter().fold(engine, |engine, (agent, model)| {
                if model.contains(':') { engine.model(format!("{agent}={model}").as_str()) } else { engine }
            }),
            one => engine.model(one),
        }
    }
}
