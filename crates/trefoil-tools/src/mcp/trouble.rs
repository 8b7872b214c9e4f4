//! What went wrong below the protocol: the SDK says that a connection is gone, and this says why.

use std::sync::{Arc, Mutex, PoisonError};

use trefoil_runtime::ToolError;

/// The first thing that went wrong with a connection.
#[derive(Debug, Clone, Default)]
pub struct Trouble(Arc<Mutex<Option<ToolError>>>);

impl Trouble {
    /// This went wrong. What goes wrong after that is only what follows from it.
    pub fn tell(&self, error: ToolError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
    /// What went wrong, once.
    pub fn take(&self) -> Option<ToolError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
