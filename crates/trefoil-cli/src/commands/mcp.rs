//! `trefoil mcp TARGET…`: serves flows as tools of the Model Context Protocol over stdin and stdout.

use std::sync::Arc;

use clap::Args;
use trefoil::Flow;
use trefoil::internals::engine::Engine;
use trefoil::internals::{Checks, LoadOptions, Target, settings};

use super::run::{dollars, followed};
use crate::args::{DialectArg, PathArgs};
use crate::mcp::{Offered, Tools, serve};
use crate::run::HostArgs;
use crate::store::{DurabilityArg, StoreArgs};
use crate::{exit, output};

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
    /// Maximum cost of each run in dollars; a call that may exceed it does not start (needs the prices of all models)
    #[arg(long, value_name = "USD", value_parser = dollars)]
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
    let mut tools = Tools::default();
    for named in &args.targets {
        let target = Target::parse(named);
        let settings = followed(settings::find(&target.path, args.no_config))?;
        let mut engine = args.host.without_people(base.clone(), &settings);
        if let Some(calls) = args.max_calls {
            engine = engine.max_calls(calls);
        }
        if let Some(micro) = args.max_cost {
            engine = engine.max_cost_micro(micro);
        }
        let options = LoadOptions {
            dialect: args.dialect.dialect.map(|dialect| dialect.0),
            allowed: args.paths.allow_path.iter().chain(&settings.allowed).cloned().collect(),
            supplied: settings.supplied(),
            checks: Some(Checks::default()),
            ..LoadOptions::default()
        };
        let engine = Arc::new(engine);
        let all = if target.id.is_some() { vec![target] } else { trefoil::internals::roots(&target.path, &options) };
        for target in all {
            match trefoil::internals::load(&target, &options) {
                Ok(loaded) => tools.add(Offered::new(Flow::from(loaded), engine.clone())),
                Err(report) => {
                    output::say(output::diagnostics(&report.diagnostics, &report.files).trim_end());
                    output::warning(&format!("`{target}` is not served, because it does not load"));
                }
            }
        }
    }
    if tools.is_empty() {
        output::refuse("no flow to serve", None);
        return Err(exit::NOT_STARTED);
    }
    output::note(&format!("serving over stdin and stdout: {}", tools.names().join(", ")));
    Ok(serve(tools, base))
}
