//! `trefoil mcp TARGET…`: serves flows as tools of the Model Context Protocol over stdin and stdout.

use clap::Args;
use trefoil::internals::engine::Engine;
use trefoil::internals::settings::Settings;
use trefoil::internals::{Checks, LoadOptions, Target};

use crate::args::HostArgs;
use crate::args::{DialectArg, PathArgs};
use crate::args::{DurabilityArg, StoreArgs};
use crate::args::{limit_engine, parse_dollars};
use crate::mcp::{Flows, Source, serve};
use crate::{exit, output};
use trefoil::internals::command::RunOptions;

/// Serve flows as MCP tools over stdin and stdout
#[derive(Args)]
pub struct Mcp {
    /// Folders (all manifests that no other manifest uses), manifests, or `FOLDER#ID`
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<String>,
    #[command(flatten)]
    dialect: DialectArg,
    #[command(flatten)]
    paths: PathArgs,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    no_config: bool,
    #[command(flatten)]
    host: HostArgs,
    /// Maximum number of model calls of each run
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,
    /// Maximum cost of each run in parse_dollars; a call that may exceed it does not start (needs the prices of all models)
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
    max_cost: Option<u64>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    durability: DurabilityArg,
    /// Store nothing, so that runs cannot be resumed
    #[arg(long, env = "TREFOIL_EPHEMERAL", value_parser = clap::builder::FalseyValueParser::new())]
    ephemeral: bool,
}

/// Exit code 0: the client disconnected; 1: the protocol failed; 2: no flow can be served.
pub fn run(args: &Mcp) -> u8 {
    match start(args) {
        Ok(code) | Err(code) => code,
    }
}

fn start(args: &Mcp) -> Result<u8, u8> {
    let mut base = Engine::new();
    if !args.ephemeral {
        base = base.store(args.store.create(&args.durability)?);
    }
    let (host, plain) = (args.host.clone(), base.clone());
    let (calls, micro) = (args.max_calls, args.max_cost);
    let engine =
        move |settings: &Settings| limit_engine(host.without_people(plain.clone(), settings), calls, micro, None);
    let options = LoadOptions {
        dialect: args.dialect.dialect.map(|dialect| dialect.0),
        allowed: args.paths.allow_path.clone(),
        checks: Some(Checks::default()),
        ..LoadOptions::default()
    };
    let targets = args.targets.iter().map(|named| Target::parse(named)).collect();
    let source = Source { targets, options, no_config: args.no_config, engine: Box::new(engine) };
    let flows = Flows::new(source).ok_or(exit::NOT_STARTED)?;
    let tools = flows.now();
    if tools.is_empty() {
        output::refuse("no flow to serve", None);
        return Err(exit::NOT_STARTED);
    }
    output::note(format!("serving over stdin and stdout: {}", tools.names().join(", ")));
    drop(tools);
    let options = RunOptions::new(args.store.option_anywhere(), &args.host.permissions(false));
    Ok(serve(flows, base, (!args.ephemeral).then_some(options)))
}
