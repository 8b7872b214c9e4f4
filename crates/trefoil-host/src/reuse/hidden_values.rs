//! What the runs before, above and below a run may have sent somewhere, so that it is hidden if that run gets it back.

use std::collections::HashSet;

use trefoil_machine::RunStart;
use trefoil_store::Store;

use crate::durable::{called_runs, start_entry};
use crate::engine::ReadyRun;
use trefoil_project::bundle::load_run_program;
use trefoil_project::flow::Flow;

/// Maximum number of runs whose programs are read.
const MOST: usize = 1_000;

/// Hides the secrets and environment values in the programs of a run, of the runs whose results it reuses, of those that called these,
/// and of those that they called. Runs that were deleted are skipped. `own`: the start of the run itself, which knows its own program.
pub(super) async fn hide_earlier(ready: &ReadyRun, store: &dyn Store, run: &str, own: Option<&RunStart>) {
    let mut programs = HashSet::new();
    if let Some(own) = own {
        programs.insert(own.program.bundle.clone());
    }
    let (mut met, mut left) = (HashSet::new(), vec![run.to_owned()]);
    while let Some(run) = left.pop() {
        if met.len() >= MOST || !met.insert(run.clone()) {
            continue;
        }
        let Ok(record) = store.record(&run).await else { continue };
        let Some(started) = start_entry(store, &run).await else { continue };
        left.extend(called_runs(store, &run).await);
        left.extend(record.parent);
        if let Some(basis) = &started.basis
            && let Some(earlier) = basis.earlier_run()
        {
            left.push(earlier.to_owned());
        }
        if programs.insert(started.program.bundle.clone())
            && let Ok((loaded, _)) = load_run_program(store, &run, &started.program).await
        {
            ready.hide_values_of(&Flow::from(loaded));
        }
    }
}
