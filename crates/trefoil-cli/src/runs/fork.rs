//! `trefoil runs fork RUN`

use clap::Args;
use trefoil::runs::{ReuseRequest, preview_fork, target_of};
use trefoil_host::engine::Engine;
use trefoil_machine::LimitKind;

use super::run_history;
#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::{ContentArg, DurabilityArg, HostArgs, LabelArgs, ShowArgs, SpecArgs, StoreArgs, or_none};
use crate::run::ReuseRunOptions;
use crate::run::input::{read_input, reject_input};
use crate::run::reuse::print_preview;
use crate::store::{await_run, await_store, block_on, full_id};

/// Start a new run from a stored one, with its files and input; completed steps are kept
#[derive(Args)]
#[command(mut_arg("max_calls", |arg| arg.value_name("N|none").value_parser(or_none(LimitKind::Calls)).help("Maximum number of model calls of the new run (default: as RUN); `none`: as for a run without this option")))]
#[command(mut_arg("max_cost", |arg| arg.value_name("USD|none").value_parser(or_none(LimitKind::Cost)).help("Maximum cost of the new run in dollars (default: as RUN); `none` lifts the limit")))]
#[command(mut_arg("reserve", |arg| arg.help("Amount that cost limits reserve for each call: its expected cost, or its maximum cost")))]
pub struct RunsForkArgs {
    /// The run's id, its first characters, or `last`
    pub run: String,
    /// Repeat this step, with all steps inside it, and everything that started after it; `STEP/INNER` is a step of the flow that STEP
    /// calls as a tool
    #[arg(long, value_name = "STEP")]
    pub from: Option<String>,
    /// Run only the step of `--from`, on the results that RUN has; the new run is cancelled where it needs more
    #[arg(long, requires = "from")]
    pub only: bool,
    /// Allow the tools and commands of this step, and of all steps inside it, to run again even if that may not be safe; STEP/INNER:
    /// only those of a step of the flow that STEP calls as a tool (repeatable)
    #[arg(long, value_name = "STEP")]
    pub rerun: Vec<String>,
    /// Another input: text, or `key=value` (the schema decides the type; repeatable)
    #[arg(long = "input", short, value_name = "TEXT|KEY=VALUE", allow_hyphen_values = true)]
    pub inputs: Vec<String>,
    /// Another input as JSON; `@FILE` reads a file, `-` reads stdin
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    pub input_json: Option<String>,
    /// Show for each step whether its result was kept, or why it ran again
    #[arg(long)]
    explain: bool,
    /// Only print which steps would run again and why; calls nothing, needs no key. Exit code 1 if a step would run
    #[arg(long, conflicts_with = "explain")]
    pub dry_run: bool,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    pub spec: SpecArgs,
    #[command(flatten)]
    pub show: ShowArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    pub server: ServerArg,
    #[command(flatten)]
    durability: DurabilityArg,
    #[command(flatten)]
    content: ContentArg,
    #[command(flatten)]
    pub labels: LabelArgs,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    no_config: bool,
}

/// Exit codes as those of `run`.
pub fn run(args: &RunsForkArgs) -> Result<u8, u8> {
    let store = args.store.open_to_read()?;
    let run = await_store(async { full_id(&store, &args.run).await })?;
    let past = run_history::read_run(&store, &run)?;
    let settings = run_history::permitted_settings(&store, &past, args.no_config, args.show.quiet)?;
    let target = block_on(target_of(&*store, &run))?.map(|target| run_history::local_target_name(&target));
    drop(store);
    let (flow, stored) = (past.flow, Some(past.note.is_some()));
    let loaded = flow.loaded_target();
    let input =
        read_input(loaded, &args.inputs, args.input_json.as_deref()).map_err(|why| reject_input(loaded, why))?;
    let based = ReuseRunOptions {
        host: &args.host,
        show: &args.show,
        store: &args.store,
        durability: &args.durability,
        content: &args.content,
        labels: Some(&args.labels),
        explain: args.explain,
        settings: &settings,
        no_config: args.no_config,
        target,
        stored,
        spec: args.spec.run_spec(),
    };
    let (from, rerun) = (args.from.clone(), args.rerun.clone());
    let request = ReuseRequest {
        only: if args.only { from.clone() } else { None },
        from,
        rerun,
        input,
        ..ReuseRequest::for_whole_run(&run)
    };
    if args.dry_run {
        let engine = args.host.models.configure_engine(Engine::new(), &settings);
        let seen = await_run(preview_fork(&engine, args.store.open_to_read()?, &request))?;
        return Ok(print_preview(&run, &seen));
    }
    based.run_flow(&run, &flow, async |engine| engine.fork_run(&request).await)
}
