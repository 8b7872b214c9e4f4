//! `trefoil runs fork RUN`

use clap::Args;
use trefoil::internals::engine::Engine;
use trefoil::internals::settings;
use trefoil::runs::Edit;

use super::past;
use crate::commands::run::{ReserveArg, dollars, followed};
use crate::run::{Based, HostArgs, ShowArgs};
use crate::store::{DurabilityArg, StoreArgs};

/// Start a new run of what a run ran, with its input: what is complete there is kept, and the rest is done
#[derive(Args)]
pub struct Fork {
    /// The run's id, or its first characters
    run: String,
    /// Do this step again, and everything that began after it
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    /// This step's tools and commands may run again although that is not known to be safe; can be repeated
    #[arg(long, value_name = "STEP")]
    rerun: Vec<String>,
    /// Say of each step whether its result was kept, or why it was done again
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    host: HostArgs,
    /// Maximum number of model calls of the new run
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,
    /// Maximum cost of the new run in dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<u64>,
    /// What limits on money set aside for a call: what it is expected to cost, or the most that it can cost
    #[arg(long, value_name = "WHAT")]
    reserve: Option<ReserveArg>,
    #[command(flatten)]
    show: ShowArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    durability: DurabilityArg,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    no_config: bool,
}

/// Exit codes as those of `run`.
pub fn run(args: &Fork) -> Result<u8, u8> {
    let store = args.store.look_into()?;
    let run = crate::store::wait(async { crate::store::full_id(&store, &args.run).await })?;
    let flow = past::read(&store, &run)?.flow;
    drop(store);
    let settings = followed(settings::find(&flow.loaded().how.target.path, args.no_config))?;
    let limits = |engine| {
        let engine = args.max_calls.into_iter().fold(engine, Engine::max_calls);
        let engine = args.max_cost.into_iter().fold(engine, Engine::max_cost_micro);
        args.reserve.into_iter().fold(engine, |engine, reserve| engine.reserve(reserve.into()))
    };
    let based = Based {
        host: &args.host,
        show: &args.show,
        store: &args.store,
        durability: &args.durability,
        explain: args.explain,
        settings: &settings,
        limits: &limits,
    };
    let edit = Edit { from: args.from.clone(), rerun: args.rerun.clone() };
    based.run(&run, &flow, async |engine| engine.fork(&run, &edit).await)
}
