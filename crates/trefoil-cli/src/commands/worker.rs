//! `trefoil worker`: processes the waiting runs of a store.

use std::path::Path;

use clap::Args;
use trefoil::internals::engine::Engine;
use trefoil::internals::{Owner, settings};

use super::run::followed;
use crate::run::{HostArgs, Unknown};
use crate::store::{DurabilityArg, StoreArgs};
use crate::worker::{Worker, Workload};

/// Work on runs that wait for a process: those started with `run --detach`, and those that others left
#[derive(Args)]
pub struct WorkerArgs {
    /// How many runs to work on at a time
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=1000))]
    concurrency: u16,
    /// Exit when no run waits, instead of waiting for more
    #[arg(long)]
    once: bool,
    /// How long the runs of a worker that is gone wait for another one, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u16).range(1..=3600))]
    lease: u16,
    #[command(flatten)]
    host: HostArgs,
    /// What to do about commands and tool calls that were running when a process ended, of which it is not known whether they
    /// were done: `ask` leaves the run waiting (default: `[recovery]` of the settings, else `ask`)
    #[arg(long, value_name = "WHAT")]
    unknown: Option<Unknown>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    durability: DurabilityArg,
    /// Print only errors
    #[arg(long, short)]
    quiet: bool,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    no_config: bool,
}

/// Exit code 0: no run waits (`--once`), or the worker was stopped and has released its runs; 1: some runs could not be
/// released; 2: the worker did not start.
pub fn run(args: &WorkerArgs) -> u8 {
    start(args).unwrap_or_else(|code| code)
}

fn start(args: &WorkerArgs) -> Result<u8, u8> {
    // The settings of the current folder apply to all runs, whose own folders may be on other machines.
    let settings = followed(settings::find(Path::new("."), args.no_config))?;
    let store = args.store.create(&args.durability)?;
    let owner = Owner::of_process_with_lease(store, u64::from(args.lease) * 1_000);
    let recovery = args.unknown.map_or(settings.recovery, Unknown::recovery);
    let engine = args.host.without_people(Engine::new(), &settings).recovery(recovery).owned(owner.clone());
    let workload = Workload { concurrency: usize::from(args.concurrency), once: args.once };
    Worker::new(owner, engine, workload, args.quiet).work()
}
