//! `trefoil mcp TARGET…`: serves flows as tools of the Model Context Protocol over stdin and stdout.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use trefoil::CancelSwitch;
use trefoil_host::engine::Engine;
use trefoil_machine::RunSpec;
use trefoil_project::load::{CheckOptions, LoadOptions};
use trefoil_project::settings::Settings;
use trefoil_project::target::LoadTarget;

use crate::args::{DurabilityArg, HostArgs, LimitArgs, ReadArgs, StoreArgs};
use crate::catalog_messages::CatalogMessages;
use crate::run::SignalStop;
use crate::terminal_text::escape_json;
use crate::{exit, output};
use trefoil_host::catalog::{CatalogSource, CatalogWatch, FlowCatalog};
use trefoil_host::command::RunOptions;
use trefoil_host::mcp::{
    RejectionWatch, ServedFlows, ServerEnd, ServerOptions, ServerStop, ServerStreams, serve_flows,
};

/// Serve flows as MCP tools over stdin and stdout
#[derive(Args)]
#[command(mut_arg("max_calls", |arg| arg.help("Maximum number of model calls of each run")))]
#[command(mut_arg("max_cost", |arg| arg.help("Maximum cost of each run in dollars; a call that may exceed it does not start (needs the prices of all models)")))]
pub struct McpCommandArgs {
    /// Folders (all manifests that no other manifest uses), manifests, or `FOLDER#ID`
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<String>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    durability: DurabilityArg,
    /// Store nothing, so that runs cannot be resumed
    #[arg(long, env = "TREFOIL_EPHEMERAL", value_parser = clap::builder::FalseyValueParser::new())]
    ephemeral: bool,
}

/// Exit code 0: the client disconnected; 1: the protocol failed; 2: no flow can be served.
pub fn run(args: &McpCommandArgs) -> Result<u8, u8> {
    let mut base = Engine::new();
    if !args.ephemeral {
        base = base.store(args.store.open_for_new_run(&args.durability)?);
    }
    let (host, plain) = (args.host.clone(), base.clone());
    let spec = RunSpec { limits: args.limits.run_limits(), ..RunSpec::NONE };
    let engine = move |settings: &Settings| host.without_people(plain.clone(), settings).share_models().run_spec(spec);
    let options = LoadOptions { checks: Some(CheckOptions::default()), ..args.read.load_options() };
    let targets = args.targets.iter().map(|named| LoadTarget::parse(named)).collect();
    let watch: Arc<dyn CatalogWatch> = Arc::new(CatalogMessages);
    let (no_config, engine) = (args.read.no_config, Box::new(engine));
    let source = CatalogSource { targets, options, with_called: false, no_config, engine, watch };
    let catalog = FlowCatalog::load_flows(source).ok_or(exit::NOT_STARTED)?;
    let snapshot = catalog.last_snapshot();
    if snapshot.broken_targets().is_empty() {
        args.host.models.check_names(&snapshot.flow_programs())?;
    }
    let flows = ServedFlows::from_catalog(catalog.last_snapshot(), move || catalog.current_snapshot());
    let tools = flows.last_tools();
    if tools.is_empty() {
        return Err(output::report_not_started("no flow to serve", None));
    }
    output::print_note(format!("serving over stdin and stdout: {}", tools.tool_names().join(", ")));
    drop(tools);
    let options = RunOptions::new(args.store.store_option_anywhere(), &args.host.permissions(false));
    #[allow(clippy::disallowed_methods, reason = "only the server writes to it")]
    let output = Box::new(tokio::io::stdout());
    let escape = |text: &str| escape_json(&text);
    let streams = ServerStreams { input: Box::new(tokio::io::stdin()), output, escape };
    let commands = (!args.ephemeral).then_some(options);
    serve_process(
        flows,
        &base,
        ServerOptions { commands, wait: wait_for_answers(), watch: Arc::new(RejectionMessages), streams },
    )
}

/// Serves until the client disconnects, or a signal arrives. Returns the exit code.
fn serve_process(flows: ServedFlows, base: &Engine, options: ServerOptions) -> Result<u8, u8> {
    let not_started =
        |error: std::io::Error| output::report_not_started(&format!("the server could not start: {error}"), None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(not_started)?;
    let stopped = CancelSwitch::new();
    // Ends the process soon after a signal, whatever it is doing.
    SignalStop::start_listening(stopped.clone(), None, None).map_err(not_started)?;
    let ServerEnd { why, released } = runtime.block_on(serve_flows(flows, base, options, &stopped));
    // Reading stdin cannot be cancelled.
    runtime.shutdown_background();
    let code = match why {
        Ok(ServerStop::Disconnected) => exit::OK,
        Ok(ServerStop::Requested) => exit::CANCELLED,
        Err(error) => output::report_failure(&format!("the server failed: {error}"), None),
    };
    match released {
        Ok(()) => Ok(code),
        Err(error) => Ok(output::report_failure(&error.to_string(), None)),
    }
}

/// How long a run waits for the client's answer. The tests wait for less.
fn wait_for_answers() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("TREFOIL_MCP_WAIT_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    Duration::from_secs(30 * 60)
}

/// Prints on stderr which messages of the client are rejected.
struct RejectionMessages;

impl RejectionWatch for RejectionMessages {
    fn message_rejected(&self, why: &str) {
        output::print_warning(format!("a message of the client is rejected: {why}"));
    }
}
