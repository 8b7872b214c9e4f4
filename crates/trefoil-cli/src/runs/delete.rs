//! `trefoil runs delete RUN...`

use clap::Args;

#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::StoreArgs;
use crate::refusal::refuse_space;
use crate::store::{await_space, block_on, full_id};
use crate::{exit, output};
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::stored_runs::{DeletionRefusal, plan_deletion};

/// Delete runs with the runs that their tools started, and all data used only by them
#[derive(Args)]
pub struct RunsDeleteArgs {
    /// The runs' ids, their first characters, or `last`
    #[arg(required = true)]
    pub runs: Vec<String>,
    /// Also delete runs whose results are needed by runs that have not ended
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    pub server: ServerArg,
}

pub fn run(args: &RunsDeleteArgs) -> Result<u8, u8> {
    let options = RunOptions::of_store(args.store.store_option());
    let store = args.store.open_to_shrink()?;
    let mut runs = Vec::new();
    for run in &args.runs {
        runs.push(await_space(full_id(&*store, run))?);
    }
    // Everything is checked before anything is deleted.
    let planned = block_on(plan_deletion(&*store, &runs, args.force))?;
    let deletion = planned.map_err(|refusal| refuse_deletion(refusal, &options))?;
    for (run, caller) in &deletion.runs {
        await_space(store.delete_run(run, store.clock().wall_ms()))?;
        output::print_note(match caller {
            None => format!("deleted {run}"),
            Some(caller) => format!("deleted {run}, which {caller} had called"),
        });
        for (other, base) in &deletion.reused_by {
            if base == run {
                output::print_note(format!("run {other} reused results of it, which `replay` can no longer compare"));
            }
        }
    }
    Ok(exit::OK)
}

/// Prints why runs are not deleted.
fn refuse_deletion(refusal: DeletionRefusal, options: &RunOptions) -> u8 {
    match refusal {
        DeletionRefusal::PartOfCaller { run, caller } => {
            let help =
                format!("delete that run instead: `{}`", options.render_command(PrintedCommand::Delete(&caller)));
            let why = format!("run {run} is a part of run {caller}, which may call it again");
            output::report_not_started(&why, Some(&help))
        }
        DeletionRefusal::NeededBy { run, open } => {
            let help = format!(
                "end that run first: `{}`, or delete this one anyway with `--force`",
                options.render_command(PrintedCommand::Cancel(&open))
            );
            let why = format!("run {open} has not ended, and reuses results of run {run}");
            output::report_not_started(&why, Some(&help))
        }
        DeletionRefusal::Store(error) => refuse_space(&error),
    }
}
