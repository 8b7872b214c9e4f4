//! What is recognised and not run.

use trefoil_syntax::{Diagnostic, Location};

use crate::Reader;

/// Warns of something that this version does not run by itself.
pub fn report(reader: &Reader<'_>, at: Location, feature: &str, message: &str) {
    reader.report(Diagnostic::warning("refused", at, format!("`{feature}` is not supported yet")).help(message));
}
