//! `trefoil store`: shows the location and size of the store, and maintains it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use trefoil::store::{FORMAT, StoreError, StoreHealth};
use trefoil_project::settings::{self, KeepRule, keep_size, keep_time};

use crate::args::StoreArgs;
use crate::loading::accept_settings;
use crate::refusal::refuse_store;
use crate::store::{await_space, await_store, block_on, lost_failures, retention_now};
use crate::terminal_text::TerminalText;
use crate::words::count_of;
use crate::{exit, output, shown};
use trefoil_host::command::{PrintedCommand, RunOptions};

/// Show, check, back up or shrink the store of runs
#[derive(Args)]
pub struct StoreCommandArgs {
    #[command(subcommand)]
    what: Option<StoreCommand>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Subcommand)]
enum StoreCommand {
    /// Verify the whole store and report problems
    Check,
    /// Copy the store to a new file
    Backup {
        /// The new file
        #[arg(value_name = "FILE")]
        to: PathBuf,
    },
    /// Delete old runs that have ended, and free their space
    Prune(StorePruneArgs),
    /// Raise the store to the newest format. Nothing else does: what reads a store never changes it
    Migrate,
}

#[derive(Args)]
struct StorePruneArgs {
    /// How long to keep runs that were completed or cancelled: `12h`, `30days`, `forever` (default: `[store] keep` in the
    /// settings, else 30 days)
    #[arg(long, value_name = "TIME", value_parser = time)]
    keep: Option<KeepTime>,
    /// How long to keep runs that failed (default: `[store] keep_failed`, else 90 days)
    #[arg(long, value_name = "TIME", value_parser = time)]
    keep_failed: Option<KeepTime>,
    /// Delete the oldest ended runs until no more than this is in use: `500M`, `2G` (default: `[store] max_size`)
    #[arg(long, value_name = "SIZE", value_parser = keep_size)]
    max_size: Option<u64>,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    no_config: bool,
}

/// `None` means forever.
#[derive(Clone, Copy)]
struct KeepTime(Option<Duration>);

fn time(text: &str) -> Result<KeepTime, String> {
    keep_time(text).map(KeepTime)
}

/// Exit code 0: success; 1: the store has problems; 2: it cannot be opened or written.
pub fn run(args: &StoreCommandArgs) -> Result<u8, u8> {
    match &args.what {
        None => show(args),
        Some(StoreCommand::Check) => check(args),
        Some(StoreCommand::Backup { to }) => backup(args, to),
        Some(StoreCommand::Prune(prune)) => shrink(args, prune),
        Some(StoreCommand::Migrate) => migrate(args),
    }
}

fn show(args: &StoreCommandArgs) -> Result<u8, u8> {
    let store = match args.store.try_open_to_read() {
        Ok(store) => store,
        Err(StoreError::Missing { path }) => {
            return Ok(output::write_result(shown!("{}\nno runs yet\n", path.display())));
        }
        Err(error) => return Err(refuse_store(&error)),
    };
    let size = await_store(store.measure_size())?;
    let (path, runs) = (store.display_location(), count_of(size.runs, "run"));
    Ok(output::write_result(shown!("{}\n{}, {} on disk, {} in use\n", path, runs, bytes(size.disk), bytes(size.used))))
}

fn check(args: &StoreCommandArgs) -> Result<u8, u8> {
    let checked = match args.store.try_open_to_read() {
        Ok(store) => block_on(store.check_integrity())?,
        Err(StoreError::Missing { .. }) => return args.store.open_if_present().map(|_| exit::OK),
        Err(error) => Err(error),
    };
    let health = match checked {
        // The store is too damaged to be opened.
        Err(StoreError::Corrupt { why, .. }) => StoreHealth { problems: vec![why], ..StoreHealth::default() },
        checked => checked.map_err(|error| refuse_store(&error))?,
    };
    let (runs, entries) = (count_of(health.runs, "run"), count_of(health.entries, "entry"));
    if health.problems.is_empty() {
        output::print_note(format!("no problems in {runs} with {entries}"));
        return Ok(exit::OK);
    }
    let code =
        output::write_result(health.problems.iter().map(|problem| shown!("{}\n", problem)).collect::<TerminalText>());
    let problems = count_of(health.problems.len() as u64, "problem");
    let message = format!("the store has {problems}; {entries} of {runs} can be read");
    let export = RunOptions::of_store(args.store.store_option()).render_command(PrintedCommand::Export("RUN"));
    let help = format!(
        "keep a copy of the file; then restore a backup, or save what can be read with `{export}` and start a new store with `--store PATH`"
    );
    output::print_error(&message, Some(&help));
    Ok(code.max(exit::FAILED))
}

fn backup(args: &StoreCommandArgs, to: &Path) -> Result<u8, u8> {
    await_store(args.store.open_to_read()?.backup_to(to))?;
    output::print_note(format!("copied to {}", to.display()));
    Ok(exit::OK)
}

fn shrink(args: &StoreCommandArgs, prune: &StorePruneArgs) -> Result<u8, u8> {
    let settings = accept_settings(settings::find_settings(Path::new("."), prune.no_config))?.keep;
    let keep = KeepRule {
        ended: prune.keep.map_or(settings.ended, |time| time.0),
        failed: prune.keep_failed.map_or(settings.failed, |time| time.0),
        max_bytes: prune.max_size.or(settings.max_bytes),
    };
    if args.store.open_if_present()?.is_none() {
        return Ok(exit::OK);
    }
    let store = args.store.open_to_shrink()?;
    let pruned = await_space(store.prune_runs(&retention_now(&*store, keep)))?;
    output::print_note(format!(
        "deleted {}{}, freed {}",
        count_of(pruned.runs, "run"),
        lost_failures(&pruned),
        bytes(pruned.bytes)
    ));
    Ok(exit::OK)
}

/// There is only one format yet, so a store that can be opened has it. What its first build did not have is added when it is opened.
fn migrate(args: &StoreCommandArgs) -> Result<u8, u8> {
    if args.store.open_if_present()?.is_some() {
        args.store.open_to_change()?;
        output::print_note(format!("the store has format {FORMAT}, the newest that this version knows"));
    }
    Ok(exit::OK)
}

/// Formats a size.
fn bytes(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}
