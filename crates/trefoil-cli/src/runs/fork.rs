//! `trefoil runs fork RUN`

use clap::Args;
use trefoil::runs::{ReuseRequest, preview_fork, target_of};
use trefoil_host::engine::Engine;
use trefoil_machine::LimitKind;

use super::past;
use crate::args::{ContentArg, DurabilityArg, HostArgs, ShowArgs, SpecArgs, StoreArgs, or_none};
use crate::refusal::did_not_start;
use crate::run::Based;
use crate::run::based::previewed;
use crate::store::{await_store, block_on, full_id};

/// Start a new run from a stored one, with its files and input; completed steps are kept
#[derive(Args)]
#[command(mut_arg("max_calls", |arg| arg.value_name("N|none").value_parser(or_none(LimitKind::Calls)).help("Maximum number of model calls of the new run (default: as RUN); `none`: as for a run without this option")))]
#[command(mut_arg("max_cost", |arg| arg.value_name("USD|none").value_parser(or_none(LimitKind::Cost)).help("Maximum cost of the new run in dollars (default: as RUN); `none` lifts the limit")))]
#[command(mut_arg("reserve", |arg| arg.help("Amount that cost limits reserve for each call: its expected cost, or its maximum cost")))]
pub struct Fork {
    /// The run's id, its first characters, or `last`
    run: String,
    /// Repeat this step, with all steps inside it, and everything that started after it; `STEP/INNER` is a step of the flow that STEP
    /// calls as a tool
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    /// Allow the tools and commands of this step, and of all steps inside it, to run again even if that may not be safe; STEP/INNER:
    /// only those of a step of the flow that STEP calls as a tool (repeatable)
    #[arg(long, value_name = "STEP")]
    rerun: Vec<String>,
    /// Show for each step whether its result was kept, or why it ran again
    #[arg(long)]
    explain: bool,
    /// Only print which steps would run again and why; calls nothing, needs no key. Exit code 1 if a step would run
    #[arg(long, conflicts_with = "explain")]
    dry_run: bool,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    show: ShowArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    durability: DurabilityArg,
    #[command(flatten)]
    content: ContentArg,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    no_config: bool,
}

/// Exit codes as those of `run`.
pub fn run(args: &Fork) -> Result<u8, u8> {
    let store = args.store.look_into()?;
    let run = await_store(async { full_id(&store, &args.run).await })?;
    let past = past::read(&store, &run)?;
    let settings = past::permitted(&store, &past, args.no_config, args.show.quiet)?;
    let target = block_on(target_of(&*store, &run))?.map(|target| past::named_here(&target));
    drop(store);
    let (flow, stored) = (past.flow, Some(past.note.is_some()));
    let based = Based {
        host: &args.host,
        show: &args.show,
        store: &args.store,
        durability: &args.durability,
        content: &args.content,
        explain: args.explain,
        settings: &settings,
        no_config: args.no_config,
        target,
        stored,
        spec: args.spec.spec(),
    };
    let (from, rerun) = (args.from.clone(), args.rerun.clone());
    let request = ReuseRequest { from, rerun, ..ReuseRequest::whole(&run) };
    if args.dry_run {
        let engine = args.host.models.apply(Engine::new(), &settings);
        let seen = block_on(preview_fork(&engine, args.store.look_into()?, &request))?;
        return seen.map(|seen| previewed(&run, &seen)).map_err(|error| did_not_start(&error));
    }
    based.run(&run, &flow, async |engine| engine.fork(&request).await)
}
