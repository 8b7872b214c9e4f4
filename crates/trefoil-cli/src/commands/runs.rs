//! `trefoil runs`: lists and manages the runs in the store.

use clap::{Args, Subcommand};

#[cfg(feature = "server")]
use crate::remote;
use crate::runs::{answer, cancel, delete, diff, events, export, fork, list, release, show};

/// List, show, compare, fork, answer, cancel, release, delete and export runs
#[derive(Args)]
pub struct RunsCommandArgs {
    #[command(subcommand)]
    what: RunsCommand,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one, for a moment")]
enum RunsCommand {
    List(list::RunsListArgs),
    Show(show::RunsShowArgs),
    Events(events::RunsEventsArgs),
    Diff(diff::RunsDiffArgs),
    Fork(fork::RunsForkArgs),
    Answer(answer::RunsAnswerArgs),
    Cancel(cancel::RunsCancelArgs),
    Release(release::RunsReleaseArgs),
    Delete(delete::RunsDeleteArgs),
    Export(export::RunsExportArgs),
}

/// Exit code 0: success; 2: unknown run, or the store failed.
pub fn run(args: &RunsCommandArgs) -> Result<u8, u8> {
    #[cfg(feature = "server")]
    if let Some(done) = run_at_server(&args.what) {
        return done;
    }
    match &args.what {
        RunsCommand::List(args) => list::run(args),
        RunsCommand::Show(args) => show::run(args),
        RunsCommand::Events(args) => events::run(args),
        RunsCommand::Diff(args) => diff::run(args),
        RunsCommand::Fork(args) => fork::run(args),
        RunsCommand::Answer(args) => answer::run(args),
        RunsCommand::Cancel(args) => cancel::run(args),
        RunsCommand::Release(args) => release::run(args),
        RunsCommand::Delete(args) => delete::run(args),
        RunsCommand::Export(args) => export::run(args),
    }
}

/// The same at a server, if one is named.
#[cfg(feature = "server")]
fn run_at_server(what: &RunsCommand) -> Option<Result<u8, u8>> {
    Some(match what {
        RunsCommand::List(args) => remote::list::list_runs(&args.server.chosen_address(&args.store)?, args),
        RunsCommand::Show(args) => remote::show::show_run(&args.server.chosen_address(&args.store)?, args),
        RunsCommand::Events(args) => remote::show::print_events(&args.server.chosen_address(&args.store)?, args),
        RunsCommand::Diff(args) => remote::diff::diff_runs(&args.server.chosen_address(&args.store)?, args),
        RunsCommand::Fork(args) => remote::fork::fork_run(&args.server.chosen_address(&args.store)?, args),
        RunsCommand::Answer(args) => remote::answer::answer_run(&args.server.chosen_address(&args.store)?, args),
        RunsCommand::Cancel(args) => remote::manage::cancel_run(&args.server.chosen_address(&args.store)?, &args.run),
        RunsCommand::Delete(args) => remote::manage::delete_runs(&args.server.chosen_address(&args.store)?, &args.runs),
        // They refuse it themselves.
        RunsCommand::Release(_) | RunsCommand::Export(_) => return None,
    })
}
