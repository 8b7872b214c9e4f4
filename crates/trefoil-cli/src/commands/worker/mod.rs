//! `trefoil worker`: processes the waiting runs of a store.

mod lines;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use trefoil_project::settings::{self, ServedFlowRule, Settings};
use trefoil_store::Owner;

use crate::args::{DurabilityArg, HostArgs, StoreArgs, UnknownArg};
use crate::loading::accept_settings;
use crate::refusal::{cannot_start, refuse_store};
use crate::run::StopSignals;
use crate::words::count_of;
use crate::{exit, output};
pub use lines::WorkerLines;
use trefoil_host::engine::Engine;
use trefoil_host::worker::{RunWorker, StopRequests, WorkerEnd, WorkerEngines, WorkerLimits};

/// How many runs a worker works on at a time by default. More runs than model calls would only keep them from other workers.
const RUNS: u16 = 8;

/// Work on runs that wait for a process: those started with `run --detach`, and those that others left
#[derive(Args)]
pub struct WorkerCommandArgs {
    /// How many runs to work on at a time (default: 8, but no more than `in_flight` in `[limits]` of the settings)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    concurrency: Option<u16>,
    /// Exit when no run waits, instead of waiting for more
    #[arg(long)]
    once: bool,
    /// How long the runs of a worker that is gone wait for another one, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u16).range(1..=3600))]
    lease: u16,
    /// How long calls in progress may take to end when the worker is stopped by a signal, in seconds; their results are stored, so that
    /// they are not paid for again. 0: not at all. A second signal ends the wait
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u16).range(0..=3600))]
    drain: u16,
    #[command(flatten)]
    host: HostArgs,
    /// What to do about commands and tool calls that were running when a process ended, of which it is not known whether they
    /// were done: `ask` leaves the run waiting (default: `[recovery]` of the settings, else `ask`)
    #[arg(long, value_name = "WHAT")]
    unknown: Option<UnknownArg>,
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

/// Exit code 0: no run waits (`--once`), or the worker was stopped and has released its runs; 1: some runs could not
/// continue here (`--once`) or could not be released; 2: the store cannot be used.
pub fn run(args: &WorkerCommandArgs) -> Result<u8, u8> {
    let folder = Path::new(".");
    let settings = accept_settings(settings::find_settings(folder, args.no_config))?;
    let store = args.store.open_to_resume(&args.durability)?;
    let owner = Owner::of_process_with_lease(store, u64::from(args.lease) * 1_000);
    let recovery = match args.unknown {
        Some(unknown) => unknown.recovery_policy(),
        None => settings.recovery,
    };
    let engine = |settings: &Settings, around: &[ServedFlowRule], grants: bool| {
        args.host.for_flows(settings, around, grants).recovery_policy(recovery).with_owner(owner.clone())
    };
    // Other runs have the settings of the user only: whoever can write to the store decides what they do.
    let engines = WorkerEngines {
        of_project: engine(&settings, &[], true),
        own: engine(&settings::load_user_settings(), &settings.flow_rules, false),
        folder: folder.to_owned(),
    };
    let (mut in_flight, mut per_flow) = (None, None);
    if let Some(limits) = &settings.limits {
        (in_flight, per_flow) = (limits.in_flight, limits.runs_per_flow);
    }
    let calls = in_flight.and_then(|most| u16::try_from(most).ok());
    let concurrency = args.concurrency.unwrap_or(calls.unwrap_or(RUNS).clamp(1, RUNS));
    let per_flow = per_flow.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    let limits = WorkerLimits {
        concurrency: usize::from(concurrency),
        per_flow,
        once: args.once,
        outlasts_store: false,
        drain: Duration::from_secs(args.drain.into()),
    };
    let options = args.host.run_options(&args.store, args.no_config);
    let of_project = engines.of_project.clone();
    work(RunWorker::new(owner, engines, limits, Arc::new(WorkerLines { quiet: args.quiet, options })), &of_project)
}

/// Lets a worker work until a signal. Returns the exit code.
fn work(worker: RunWorker, engine: &Engine) -> Result<u8, u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| cannot_start(&error))?;
    let ended: Result<_, u8> = runtime.block_on(async {
        let signals = StopSignals::new().map_err(|error| cannot_start(&error))?;
        let ended = worker.run_until_stopped(signals).await;
        Ok((ended, engine.end_process().await))
    });
    // Remaining tasks only wait for others, so nothing is lost.
    runtime.shutdown_timeout(Duration::from_millis(200));
    let (ended, released) = ended?;
    let ended = ended.map_err(|error| refuse_store(&error))?;
    if let Err(error) = released {
        return Err(output::report_failure(&format!("not all runs were given back: {error}"), None));
    }
    match ended {
        WorkerEnd::Stopped | WorkerEnd::Idle { left: 0 } => Ok(exit::OK),
        WorkerEnd::Idle { left } => {
            output::print_note(format!("{} could not continue here", count_of(left as u64, "run")));
            Ok(exit::FAILED)
        }
    }
}

impl StopRequests for StopSignals {
    async fn next_request(&mut self) {
        StopSignals::next(self).await;
    }
}
