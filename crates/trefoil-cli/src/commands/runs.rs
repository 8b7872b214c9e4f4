//! `trefoil runs`: lists and manages the runs in the store.

use clap::{Args, Subcommand};

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
