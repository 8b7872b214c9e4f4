//! `trefoil runs delete RUN...`

use clap::Args;
use trefoil::store::{Record, RunFilter, Store, StoreError};

use crate::args::StoreArgs;
use crate::store::{await_space, full_id};
use crate::{exit, output};
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::durable::all_runs;

/// Delete runs with the runs that their tools started, and all data used only by them
#[derive(Args)]
pub struct RunsDeleteArgs {
    /// The runs' ids, their first characters, or `last`
    #[arg(required = true)]
    runs: Vec<String>,
    /// Also delete runs whose results are needed by runs that have not ended
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn run(args: &RunsDeleteArgs) -> Result<u8, u8> {
    let options = RunOptions::of_store(args.store.store_option());
    let store = args.store.open_to_shrink()?;
    let mut runs = Vec::new();
    for run in &args.runs {
        runs.push(await_space(full_id(&*store, run))?);
    }
    // Everything is checked before anything is deleted. Each run, and the one that has called it.
    let mut all: Vec<(String, Option<String>)> = runs.iter().map(|run| (run.clone(), None)).collect();
    for run in &runs {
        if let Some(caller) = await_space(caller_of(&*store, run))?
            && !runs.contains(&caller)
        {
            let help =
                format!("delete that run instead: `{}`", options.render_command(PrintedCommand::Delete(&caller)));
            let why = format!("run {run} is a part of run {caller}, which may call it again");
            return Err(output::report_not_started(&why, Some(&help)));
        }
        let mut left = vec![run.clone()];
        while let Some(caller) = left.pop() {
            for called in await_space(called(&*store, &caller))? {
                if !all.iter().any(|(run, _)| *run == called) {
                    left.push(called.clone());
                    all.push((called, Some(caller.clone())));
                }
            }
        }
    }
    let deleted: Vec<String> = all.iter().map(|(run, _)| run.clone()).collect();
    let mut ended: Vec<(String, &String)> = Vec::new();
    for run in &deleted {
        for other in await_space(dependent(&*store, run, &deleted))? {
            if !other.status.is_end() && !args.force {
                let open = &other.run;
                let help = format!(
                    "end that run first: `{}`, or delete this one anyway with `--force`",
                    options.render_command(PrintedCommand::Cancel(open))
                );
                let why = format!("run {open} has not ended, and reuses results of run {run}");
                return Err(output::report_not_started(&why, Some(&help)));
            }
            if other.status.is_end() && !ended.iter().any(|(known, _)| *known == other.run) {
                ended.push((other.run, run));
            }
        }
    }
    for (run, caller) in &all {
        await_space(store.delete_run(run, store.clock().wall_ms()))?;
        output::print_note(match caller {
            None => format!("deleted {run}"),
            Some(caller) => format!("deleted {run}, which {caller} had called"),
        });
        for (other, base) in &ended {
            if *base == run {
                output::print_note(format!("run {other} reused results of it, which `replay` can no longer compare"));
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

/// The runs that reuse results of a run, or of runs that do, except for those that are to be deleted, too.
async fn dependent(store: &dyn Store, run: &str, deleted: &[String]) -> Result<Vec<Record>, StoreError> {
    let (mut all, mut left) = (Vec::<Record>::new(), vec![run.to_owned()]);
    while let Some(base) = left.pop() {
        for record in all_runs(store, &RunFilter { base: Some(base), ..RunFilter::default() }).await? {
            if !deleted.contains(&record.run) && !all.iter().any(|known| known.run == record.run) {
                left.push(record.run.clone());
                all.push(record);
            }
        }
    }
    Ok(all)
}

/// The runs that a run's tools started.
async fn called(store: &dyn Store, run: &str) -> Result<Vec<String>, StoreError> {
    let filter = RunFilter { parent: Some(run.to_owned()), ..RunFilter::default() };
    Ok(all_runs(store, &filter).await?.into_iter().map(|record| record.run).collect())
}
