//! The runs of calls of flows: their ids, and where they are in a store.

use sha2::{Digest as _, Sha256};
use trefoil_machine::{EntryKind, Key, RunStart};
use trefoil_store::{RunFilter, Store};

use super::cited_results;

/// Called runs of one run that are searched for the same call under another name.
const CALLED: usize = 1_000;

/// The id of the run of a call. `nth`: the number of cancelled runs of the same call.
pub fn call_run_id(run: &str, key: &Key, nth: u32) -> String {
    let mut of = format!("{run}/{}", key.0);
    if nth > 0 {
        of.push_str(&format!("~{nth}"));
    }
    let digest = Sha256::digest(of);
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The last run of the call with this key.
pub(crate) async fn last_call_run(store: &dyn Store, run: &str, key: &Key) -> Option<String> {
    let mut found = None;
    for nth in 0u32.. {
        let id = call_run_id(run, key, nth);
        if store.record(&id).await.is_err() {
            break;
        }
        found = Some(id);
    }
    found
}

/// The run of a call, also if its result was kept from an earlier run: then the call was made there.
pub async fn run_of_call(store: &dyn Store, run: &str, key: &Key) -> Option<String> {
    let (mut run, mut key) = (run.to_owned(), key.clone());
    loop {
        if let Some(found) = last_call_run(store, &run, &key).await {
            return Some(found);
        }
        let cited = cited_results(store, &run).await;
        (run, key) = cited.into_iter().find(|(here, _)| *here == key)?.1;
    }
}

/// The runs that a run has called.
pub(crate) async fn called_runs(store: &dyn Store, run: &str) -> Vec<String> {
    let filter = RunFilter { parent: Some(run.to_owned()), ..RunFilter::default() };
    let page = store.list_runs(&filter, None, CALLED).await;
    page.map(|page| page.runs.into_iter().map(|record| record.run).collect()).unwrap_or_default()
}

/// The start of a run.
pub(crate) async fn start_entry(store: &dyn Store, run: &str) -> Option<RunStart> {
    match store.read_entries(run, 0).await.ok()?.into_iter().next()?.kind {
        EntryKind::Started(started) => Some(*started),
        _ => None,
    }
}
