//! Puts a run in a store for another process.

use serde::Serialize;
use trefoil_template::Value;

use crate::engine::Engine;
use trefoil_project::error::{Error, Result};
use trefoil_project::flow::Flow;

impl Engine {
    /// Puts a run in the engine's [store](Self::store) for a worker, and returns its id. Calls nothing. The models are
    /// chosen here; keys, secrets, permissions and people are those of the worker.
    ///
    /// # Errors
    ///
    /// [`Error::NotStarted`] if something is certain to stop the run, or there is no store; [`Error::Input`] if the input cannot be written as JSON;
    /// [`Error::Store`] if the store fails.
    pub async fn submit(&self, flow: &Flow, input: impl Serialize) -> Result<String> {
        let input = match serde_json::to_value(input).map_err(Error::Input)? {
            serde_json::Value::Null => None,
            json => Some(Value::from_json(json)),
        };
        self.kept_runs()?;
        let ready = self.clone().for_others().ready_for(flow, Some(&input)).await?;
        ready.submit(&input).await
    }
}
