//! The permission of a provider to call one of its models.

use std::any::Any;
use std::fmt;
use std::time::Duration;

/// The permission to make a call, until it is dropped.
#[derive(Default)]
pub struct CallAdmission {
    is_final: bool,
    _held: Option<Box<dyn Any + Send + Sync>>,
}

impl CallAdmission {
    /// A permission with something that the provider keeps for this call, such as the right to try a model.
    pub fn with_held(held: Box<dyn Any + Send + Sync>) -> Self {
        Self { is_final: true, _held: Some(held) }
    }

    /// The permission of a call that has waited too long.
    pub fn for_overdue_call() -> Self {
        Self { is_final: true, _held: None }
    }

    /// Whether the call may be made although others have to wait.
    pub fn is_final(&self) -> bool {
        self.is_final
    }
}

impl fmt::Debug for CallAdmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallAdmission").field("is_final", &self.is_final).finish_non_exhaustive()
    }
}

/// Why a call has to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPause {
    /// About how long it waits, if known.
    pub wait: Option<Duration>,
    /// How the last call failed.
    pub why: String,
}
