//! Verifies the journal of a stored run.

use std::sync::Arc;

use trefoil_runtime::RunError;
use trefoil_runtime::driver::{self, Verified};
use trefoil_store::Store;

use super::Stored;
use super::replay::{Stays, prepared};

/// Replays the program of a run against the results in its journal, without calling anything, and compares every
/// request and the outcome. Results taken from other runs are looked up there.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read; `NONDETERMINISM` if a later version has written it.
pub async fn verify(store: Arc<dyn Store>, stored: &Stored) -> Result<Verified, RunError> {
    driver::verify(prepared(stored), &stored.started.run, &Stays(store)).await
}
