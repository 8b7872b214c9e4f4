//! `trefoil runs delete RUN...`

use clap::Args;
use trefoil::store::{Filter, Store, StoreError};

use crate::store::{StoreArgs, full_id, now, wait_to_free};
use crate::{exit, output};

/// Delete runs with the runs that their tools started, and all data used only by them
#[derive(Args)]
pub struct Delete {
    /// The runs' ids, or their first characters
    #[arg(required = true)]
    runs: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn run(args: &Delete) -> Result<u8, u8> {
    let store = args.store.shrink()?;
    for run in &args.runs {
        let run = wait_to_free(full_id(&*store, run))?;
        if let Some(caller) = wait_to_free(caller_of(&*store, &run))? {
            let help = format!("delete that run instead: `trefoil runs delete {caller}{}`", args.store.option());
            output::refuse(&format!("run {run} is a part of run {caller}, which may call it again"), Some(&help));
            return Err(exit::NOT_STARTED);
        }
        wait_to_free(store.delete(&run, now(&*store)))?;
        output::note(&format!("deleted {run}"));
        let mut left = vec![run];
        while let Some(caller) = left.pop() {
            for called in wait_to_free(called(&*store, &caller))? {
                wait_to_free(store.delete(&called, now(&*store)))?;
                output::note(&format!("deleted {called}, which {caller} had called"));
                left.push(called);
            }
        }
    }
    Ok(exit::OK)
}

/// The run that has called this one, if it still exists.
async fn caller_of(store: &dyn Store, run: &str) -> Result<Option<String>, StoreError> {
    let Some(caller) = store.record(run).await?.parent else { return Ok(None) };
    match store.record(&caller).await {
        Ok(_) => Ok(Some(caller)),
        Err(StoreError::NoRun { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Maximum number of runs in a page of a list.
const PAGE: usize = 1_000;

/// The runs that a run's tools started.
async fn called(store: &dyn Store, run: &str) -> Result<Vec<String>, StoreError> {
    let filter = Filter { parent: Some(run.to_owned()), ..Filter::default() };
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = store.list(&filter, after, PAGE).await?;
        all.extend(page.runs.into_iter().map(|record| record.run));
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
    }
}
