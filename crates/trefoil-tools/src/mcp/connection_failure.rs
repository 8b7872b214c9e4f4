//! Failures below the protocol: the SDK only reports that a connection is closed; this records why.

use std::sync::{Arc, Mutex, MutexGuard};

use trefoil_runtime::ToolError;
use trefoil_runtime::locks::lock;

/// The first failure of a connection.
#[derive(Debug, Clone, Default)]
pub struct ConnectionFailure(Arc<Mutex<Option<ToolError>>>);

impl ConnectionFailure {
    fn lock_failure(&self) -> MutexGuard<'_, Option<ToolError>> {
        lock(&self.0)
    }
    /// Records a failure. Later ones are only consequences of the first.
    pub fn record_failure(&self, error: ToolError) {
        self.lock_failure().get_or_insert(error);
    }
    /// Returns the failure once.
    pub fn take(&self) -> Option<ToolError> {
        self.lock_failure().take()
    }
}
