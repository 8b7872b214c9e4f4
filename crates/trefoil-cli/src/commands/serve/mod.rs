//! `trefoil serve [DIR]`: serves the flows of a project over HTTP.

mod log_lines;
mod stop_signal;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use trefoil_host::Runs;
use trefoil_host::catalog::{CatalogSource, FlowCatalog};
use trefoil_host::engine::Engine;
use trefoil_host::service::{LocalRuns, RunFeeds};
use trefoil_host::worker::{RunWorker, WorkerEngines, WorkerLimits};
use trefoil_machine::RunSpec;
use trefoil_project::load::{CheckOptions, LoadOptions};
use trefoil_project::secrets::SecretVault;
use trefoil_project::settings::{self, Settings};
use trefoil_project::target::LoadTarget;
use trefoil_server::{
    AllowedOrigins, AppState, ClientToolBoard, EditorSlots, KeyRing, ServerMetrics, ServerState, ServingOptions,
    StoredManifests, TlsFiles, UsageGate,
};
use trefoil_server::{
    PhaseSwitch, RunLog, ServingPhase, TlsAcceptor, build_router, parse_host_name, parse_page_origin,
    serve_connections, serving_phases, watch_manifests,
};
use trefoil_store::{Owner, StoreLimits};
use trefoil_syntax::{FindingSeverity, SourceFiles};

use self::log_lines::{LogFormat, LogLines, ServedWorkerLines};
use self::stop_signal::{StopSignal, WorkerSignals};
use super::worker::WorkerLines;
use crate::args::{DurabilityArg, HostArgs, LimitArgs, ReadArgs, StoreArgs, UnknownArg};
use crate::catalog_messages::CatalogMessages;
use crate::loading::accept_settings;
use crate::refusal::cannot_start;
use crate::words::count_of;
use crate::{exit, output};

/// How often files are looked at.
const WATCH: Duration = Duration::from_millis(500);

/// Serve the flows of a project over HTTP: an API of its own, and those of agntz, OpenAI and MCP
#[derive(Args)]
#[command(mut_arg("max_calls", |arg| arg.help("Maximum number of model calls of each run")))]
#[command(mut_arg("max_cost", |arg| arg.help("Maximum cost of each run in dollars; a call that may exceed it does not start (needs the prices of all models)")))]
pub struct ServeCommandArgs {
    /// Folder with manifests: all that no other manifest uses are served
    #[arg(default_value = ".", value_name = "DIR")]
    folder: PathBuf,
    /// Port; 0: any free one
    #[arg(long, value_name = "N", default_value = "8080")]
    port: u16,
    /// Address to listen on; one that is not loopback needs keys
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// Require a key also on loopback
    #[arg(long)]
    require_key: bool,
    /// Name by which clients call the server, in addition to `localhost` (repeatable)
    #[arg(long, value_name = "NAME", value_parser = parse_host_name)]
    host_name: Vec<String>,
    /// Origin of web pages that may call the server: `https://app.example.com` (repeatable)
    #[arg(long, value_name = "ORIGIN", value_parser = parse_page_origin)]
    allow_origin: Vec<String>,
    /// Let whoever may do everything (scope `admin`) save files of the flows from the page
    #[arg(long)]
    edit: bool,
    /// Certificate with those of its issuers, in PEM: serves HTTPS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Maximum size of a request in megabytes
    #[arg(long, value_name = "MB", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=1024))]
    max_body: u16,
    /// How many runs may be in progress here at a time; further ones wait
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    concurrency: u16,
    /// How long the runs of a server that is gone wait for another process, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u16).range(1..=3600))]
    lease: u16,
    /// How long calls in progress may take to end when the server is stopped, in seconds. A second signal ends the wait
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u16).range(0..=3600))]
    drain: u16,
    /// Format of the log on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log: LogFormat,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// What to do about commands and tool calls that were running when a process ended, of which it is not known whether they
    /// were done: `ask` leaves the run waiting (default: `[recovery]` of the settings, else `ask`)
    #[arg(long, value_name = "WHAT")]
    unknown: Option<UnknownArg>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    durability: DurabilityArg,
}

/// Exit code 0: stopped by a signal, and all runs are given back; 1: not all of them; 2: it could not start.
pub fn run(args: &ServeCommandArgs) -> Result<u8, u8> {
    if matches!(args.log, LogFormat::Json) {
        output::set_log_style(args.log.message_style());
    }
    if !trefoil_project::file_access::is_folder(&args.folder) {
        let why = format!("`{}` is not a folder", args.folder.display());
        return Err(output::report_not_started(&why, Some("name the folder with the manifests")));
    }
    let found = settings::find_settings(&args.folder, args.read.no_config);
    let files = found.files.clone();
    let settings = accept_settings(found)?;
    raise_file_limit();
    let needs_key = args.require_key || !args.listen.is_loopback();
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => {
            let files = TlsFiles { certificate: certificate.clone(), key: key.clone() };
            Some(files.load_acceptor().map_err(|why| output::report_not_started(&why, None))?)
        }
        _ => None,
    };
    let store = args.store.open_for_new_run(&args.durability)?;
    let owner = Owner::of_process_with_lease(store.clone(), u64::from(args.lease) * 1_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| cannot_start(&error))?;
    let engine = args.engine_factory(&settings, owner.clone());
    let engines = WorkerEngines {
        of_project: engine(&settings, true),
        own: engine(&settings::load_user_settings(), false),
        folder: args.folder.clone(),
    };
    // What prevents the start before this is for whoever has typed the command.
    output::set_log_style(args.log.message_style());
    let catalog = args.load_catalog(move |settings| engine(settings, true))?;
    accept_rules(&settings, &catalog, &files)?;
    let snapshot = catalog.last_snapshot();
    if snapshot.broken_targets().is_empty() {
        args.host.models.check_names(&snapshot.flow_programs())?;
    }
    let (phases, phase) = serving_phases();
    let runs = Runs::new(store);
    let local = LocalRuns::new(RunFeeds::new(runs.clone()), usize::from(args.concurrency));
    let hosts = if needs_key && args.host_name.is_empty() { None } else { Some(args.host_name.clone()) };
    let state: AppState = Arc::new(ServerState {
        keys: KeyRing::new(runs.store().clone()),
        gate: UsageGate::new(runs.store().clone(), Arc::new(StoreLimits::new(owner.clone()))),
        catalog,
        runs,
        local,
        owner,
        engines,
        options: ServingOptions {
            needs_key,
            origins: AllowedOrigins { hosts, origins: args.allow_origin.clone() },
            body_limit: usize::from(args.max_body) << 20,
            body_timeout: Duration::from_secs(60),
            writes_files: args.edit,
        },
        vault: SecretVault::of_user(),
        manifests: StoredManifests::default(),
        editors: EditorSlots::default(),
        client_tools: ClientToolBoard::default(),
        metrics: ServerMetrics::default(),
        log: Arc::new(LogLines { format: args.log }),
        phase,
    });
    let ended = runtime.block_on(serve(args, state, tls, phases));
    // Remaining tasks only wait for others, so nothing is lost.
    runtime.shutdown_timeout(Duration::from_millis(200));
    ended
}

impl ServeCommandArgs {
    /// Makes the engine for flows of a project with these settings. The other argument: whether rules of flows may allow commands.
    fn engine_factory(
        &self,
        settings: &Settings,
        owner: Arc<Owner>,
    ) -> impl Fn(&Settings, bool) -> Engine + Send + Sync + 'static {
        let recovery = match self.unknown {
            Some(unknown) => unknown.recovery_policy(),
            None => settings.recovery,
        };
        let (host, spec) = (self.host.clone(), RunSpec { limits: self.limits.run_limits(), ..RunSpec::NONE });
        let around = settings.flow_rules.clone();
        move |settings: &Settings, grants: bool| {
            let engine = host.for_flows(settings, &around, grants).run_spec(spec);
            engine.recovery_policy(recovery).allow_environment(settings.served_env.clone()).with_owner(owner.clone())
        }
    }

    fn load_catalog(
        &self,
        engine: impl Fn(&Settings) -> Engine + Send + Sync + 'static,
    ) -> Result<Arc<FlowCatalog>, u8> {
        let source = CatalogSource {
            targets: vec![LoadTarget { path: self.folder.clone(), id: None }],
            options: LoadOptions { checks: Some(CheckOptions::default()), ..self.read.load_options() },
            with_called: true,
            no_config: self.read.no_config,
            engine: Box::new(engine),
            watch: Arc::new(CatalogMessages),
        };
        let catalog = FlowCatalog::load_flows(source).ok_or(exit::NOT_STARTED)?;
        let snapshot = catalog.last_snapshot();
        if snapshot.offered_flows().is_empty() && snapshot.broken_targets().is_empty() {
            output::print_warning(format!("there is no manifest in `{}` yet", self.folder.display()));
        }
        Ok(Arc::new(catalog))
    }

    fn worker(&self, state: &AppState) -> RunWorker {
        let limits = WorkerLimits {
            concurrency: usize::from(self.concurrency),
            per_flow: None,
            once: false,
            outlasts_store: true,
            drain: Duration::from_secs(self.drain.into()),
        };
        let options = self.host.run_options(&self.store, self.read.no_config);
        let lines = Arc::new(ServedWorkerLines {
            lines: WorkerLines { quiet: true, options },
            log: RunLog::watch_server(state),
            flows: Mutex::default(),
        });
        let worker = RunWorker::new(state.owner.clone(), state.engines.clone(), limits, lines);
        worker.with_feeds(state.local.run_feeds().clone())
    }
}

/// Reports rules for flows and tools that do not exist. A rule that means nothing protects nothing, so the server does not start.
fn accept_rules(settings: &Settings, catalog: &FlowCatalog, files: &SourceFiles) -> Result<(), u8> {
    let snapshot = catalog.last_snapshot();
    let flows: Vec<&str> = snapshot.offered_flows().iter().map(|offered| offered.flow.name()).collect();
    let found = settings.find_unknown_rules(&flows, !snapshot.broken_targets().is_empty());
    if found.is_empty() {
        return Ok(());
    }
    output::print_line(output::format_message_findings(&found, files).trim_end());
    let is_refused = found.iter().any(|finding| finding.severity == FindingSeverity::Error);
    if is_refused { Err(exit::NOT_STARTED) } else { Ok(()) }
}

/// Each connection is an open file, and many systems allow a process only 1,024 of them until it asks for more.
fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // With fewer files, fewer connections are accepted.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

async fn serve(
    args: &ServeCommandArgs,
    state: AppState,
    tls: Option<TlsAcceptor>,
    phases: PhaseSwitch,
) -> Result<u8, u8> {
    let address = SocketAddr::new(args.listen, args.port);
    let listener = TcpListener::bind(address).await.map_err(|error| refuse_address(address, &error))?;
    let address = listener.local_addr().unwrap_or(address);
    let requests = StopSignal::new(phases.clone()).start_listening().map_err(|error| cannot_start(&error))?;
    announce(&state, address, tls.is_some());
    let watching = tokio::spawn(watch_files(state.catalog.clone()));
    let reading = tokio::spawn(watch_manifests(state.clone()));
    let worker = tokio::spawn(args.worker(&state).run_until_stopped(WorkerSignals::new(requests.clone())));
    let phase = state.phase.clone();
    let serving = tokio::spawn(serve_connections(listener, tls, build_router(state.clone()), phase.clone()));
    phase.wait_phase(ServingPhase::Draining).await;
    watching.abort();
    reading.abort();
    let drain = Duration::from_secs(args.drain.into());
    let held = state.local.count_held();
    output::print_line(match held {
        0 => "stopping".to_owned(),
        n => format!(
            "stopping; {} {} given back, after {} s at the latest",
            count_of(n as u64, "run"),
            if n == 1 { "ends or is" } else { "end or are" },
            args.drain
        ),
    });
    let mut again = requests;
    let cut = tokio::select! {
        cut = state.local.stop_runs(drain) => cut,
        () = again.wait_second() => state.local.stop_runs(Duration::ZERO).await,
    };
    if cut > 0 {
        output::print_warning(format!(
            "{} given back, and their calls in progress may be paid for again",
            count_of(cut as u64, "run")
        ));
    }
    let _ = worker.await;
    phases.enter_phase(ServingPhase::Closing);
    let _ = serving.await;
    match state.engines.of_project.end_process().await {
        Ok(()) => {
            output::print_line("stopped; all runs have ended or are given back");
            Ok(exit::OK)
        }
        Err(error) => Err(output::report_failure(&format!("not all runs were given back: {error}"), None)),
    }
}

/// Loads flows again after edits, until it is dropped. A manifest that takes long delays nobody.
async fn watch_files(catalog: Arc<FlowCatalog>) {
    loop {
        tokio::time::sleep(WATCH).await;
        let catalog = catalog.clone();
        let _ = tokio::task::spawn_blocking(move || catalog.current_snapshot()).await;
    }
}

fn announce(state: &AppState, address: SocketAddr, tls: bool) {
    let scheme = if tls { "https" } else { "http" };
    let flows = state.flows();
    let names = flows.flow_names();
    let served = match names.len() {
        0 => "no flow".to_owned(),
        1..=8 => format!("`{}`", names.join("`, `")),
        n => count_of(n as u64, "flow"),
    };
    output::print_line(format!("serving {served} at {scheme}://{address}"));
    let keys = if state.options.needs_key { "; requests need a key (`trefoil keys add NAME`)" } else { "" };
    output::print_line(format!("runs are kept in {}{keys}", state.store().display_location()));
}

fn refuse_address(address: SocketAddr, error: &std::io::Error) -> u8 {
    let help = match error.kind() {
        std::io::ErrorKind::AddrInUse => "choose another port: `--port 0` takes any free one",
        std::io::ErrorKind::PermissionDenied => "choose a port above 1023",
        _ => "choose an address of this machine",
    };
    output::report_not_started(&format!("cannot listen on {address}: {error}"), Some(help))
}
