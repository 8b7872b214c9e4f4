//! What is recognised and not run.

use std::sync::Arc;

use trefoil_syntax::{Diagnostic, Location};

use crate::Reader;

/// Something recognised that this version does not run. Reported when read; a run that can reach it does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The feature, as the warning names it.
    pub feature: Arc<str>,
    /// Why, and what to do.
    pub message: Arc<str>,
    /// Where it is.
    pub at: Location,
}

impl Refusal {
    /// Reports the warning and gives the marker.
    pub fn report(reader: &Reader<'_>, at: Location, feature: &str, message: &str) -> Self {
        reader.report(Diagnostic::warning("refused", at, format!("`{feature}` is not supported yet")).help(message));
        Self { feature: feature.into(), message: message.into(), at }
    }
}
