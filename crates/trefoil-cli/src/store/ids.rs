//! Finds runs by what a user writes.

use trefoil::store::{RunFilter, Store, StoreError};

/// The word for the run that was started last.
const LAST: &str = "last";

/// The run that was started last, apart from those that tools have started.
async fn last_id(store: &dyn Store) -> Result<Option<String>, StoreError> {
    let mut after = None;
    loop {
        let page = store.list_runs(&RunFilter::default(), after, 100).await?;
        let found = page.runs.into_iter().find(|record| record.parent.is_none());
        after = page.next;
        if found.is_some() || after.is_none() {
            return Ok(found.map(|record| record.run));
        }
    }
}

/// The only id that starts with this text, or the last run.
pub async fn full_id(store: &dyn Store, start: &str) -> Result<String, StoreError> {
    if start == LAST {
        let Some(last) = last_id(store).await? else { return Err(StoreError::NoRun { run: start.to_owned() }) };
        return Ok(last);
    }
    let unknown = match store.record(start).await {
        Ok(record) => return Ok(record.run),
        Err(StoreError::NoRun { run }) if !run.is_empty() => StoreError::NoRun { run },
        Err(error) => return Err(error),
    };
    let filter = RunFilter { text: Some(start.to_owned()), ..RunFilter::default() };
    let found = store.list_runs(&filter, None, 100).await?.runs;
    let mut ids: Vec<String> = found.into_iter().map(|record| record.run).collect();
    ids.retain(|run| run.starts_with(start));
    ids.sort();
    match ids.as_slice() {
        [] => Err(unknown),
        [only] => Ok(only.clone()),
        _ => {
            ids.truncate(5);
            Err(StoreError::Ambiguous { start: start.to_owned(), runs: ids })
        }
    }
}
