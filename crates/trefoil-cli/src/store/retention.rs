//! Deletes old runs.

use std::time::Duration;

use trefoil::store::{PruneResult, RunRetention, Store};
use trefoil_project::settings::KeepRule;

use super::block_on;
use crate::output;
use crate::words::count_of;

/// The runs that may be deleted now.
pub fn retention_now(store: &dyn Store, keep: KeepRule) -> RunRetention {
    let before =
        |keep: Duration| store.clock().wall_ms().saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
    RunRetention {
        ended_before: keep.ended.map(before),
        failed_before: keep.failed.map(before),
        max_bytes: keep.max_bytes,
    }
}

/// Deletes runs past their retention period. A failure is only a warning, so that it does not prevent a new run.
pub fn prune_expired(store: &dyn Store, keep: KeepRule, quiet: bool) -> Result<(), u8> {
    match block_on(store.prune_some(&retention_now(store, keep)))? {
        Ok(gone) if gone.runs > 0 && !quiet => {
            let (runs, failed) = (count_of(gone.runs, "run"), lost_failures(&gone));
            output::print_note(format!(
                "deleted {runs} past the retention period{failed} (see `[store]` in the settings)"
            ));
        }
        Ok(_) => {}
        Err(error) => output::print_warning(format!("runs past the retention period were not deleted: {error}")),
    }
    Ok(())
}

/// Says how many of the deleted runs had failed and could have been resumed.
pub fn lost_failures(gone: &PruneResult) -> String {
    match gone.failed {
        0 => String::new(),
        1 => "; 1 of them had failed and can no longer be resumed".to_owned(),
        n => format!("; {n} of them had failed and can no longer be resumed"),
    }
}
