//! Ends a run, whichever process drives it.

use std::sync::Arc;

use trefoil_runtime::Usage;
use trefoil_store::{InboxMessage, MessageKind, Store, StoreError, StoreResult};
use trefoil_template::Value;

use crate::durable::cancel_idle_run;

/// What came of a cancellation.
#[derive(Debug, Clone, PartialEq)]
pub enum RunCancellation {
    /// The run and those of its tools have ended, with this usage.
    Ended(Usage),
    /// The process with this name drives the run, and was asked to stop it.
    Asked(String),
}

/// Ends a run with `CANCELLED`. Needs no models, keys or files of the run.
///
/// # Errors
///
/// [`StoreError::Ended`] if it has ended.
pub async fn cancel_run(store: &Arc<dyn Store>, run: &str) -> StoreResult<RunCancellation> {
    match cancel_idle_run(store.clone(), run).await {
        Ok(usage) => Ok(RunCancellation::Ended(usage)),
        Err(StoreError::Held { owner, .. }) => {
            let at = store.clock().wall_ms();
            let message = InboxMessage {
                kind: MessageKind::Cancel,
                key: String::new(),
                value: Value::Null,
                at,
                as_of: 0,
                sender: None,
            };
            store.post_message(run, message).await?;
            Ok(RunCancellation::Asked(owner))
        }
        Err(error) => Err(error),
    }
}
