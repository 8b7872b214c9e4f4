//! Goes through all that a store has of something, whatever the size of its pages.

use trefoil_machine::{Entry, EntryKind, Key};
use trefoil_store::{Record, RunFilter, Store, StoreResult};

/// The number of runs in a page.
const PAGE: usize = 1_000;

/// Passes on each entry of a run's journal, in order.
///
/// # Errors
///
/// If the store cannot be read; what came before was passed on.
pub(crate) async fn each_entry(store: &dyn Store, run: &str, mut each: impl FnMut(Entry) + Send) -> StoreResult<()> {
    let mut next = 0;
    loop {
        let page = store.read_entries(run, next).await?;
        let Some(last) = page.last() else { return Ok(()) };
        next = last.seq.saturating_add(1);
        page.into_iter().for_each(&mut each);
    }
}

/// The results that a run has taken from others: the key here, and the run and the key there.
pub(crate) async fn cited_results(store: &dyn Store, run: &str) -> Vec<(Key, (String, Key))> {
    let mut all = Vec::new();
    let each = |entry: Entry| {
        if let EntryKind::Completed { key, about, .. } = entry.kind
            && let Some(cited) = about.from
        {
            let there = (cited.run, cited.key.unwrap_or_else(|| key.clone()));
            all.push((key, there));
        }
    };
    // A journal that cannot be read to its end cites what could be read.
    let _ = each_entry(store, run, each).await;
    all
}

/// All runs that match, newest first.
///
/// # Errors
///
/// If the store cannot be read.
pub async fn all_runs(store: &dyn Store, filter: &RunFilter) -> StoreResult<Vec<Record>> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = store.list_runs(filter, after, PAGE).await?;
        all.extend(page.runs);
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
    }
}
