//! The commands. A new one needs a file, a variant and a line in [`dispatch`].

mod check;
mod completions;
mod doctor;
mod explain;
mod graph;
mod init;
mod ir;
mod lsp;
#[cfg(feature = "mcp")]
mod mcp;
mod models;
mod plan;
mod render;
mod replay;
mod resume;
mod rules;
pub mod run;
mod runs;
mod schema;
pub mod secrets;
mod store;
mod trace;
mod trust;
mod worker;

pub use store::count;
use trefoil::internals::{LoadOptions, Loaded, Target};
use trefoil_syntax::Severity;

use crate::args::TargetArgs;
use crate::{exit, output};

/// What to do.
#[derive(clap::Subcommand)]
pub enum Command {
    Run(run::Run),
    Dev(crate::dev::Dev),
    Resume(resume::Resume),
    Replay(replay::Replay),
    Runs(runs::Runs),
    Worker(worker::WorkerArgs),
    Store(store::Store),
    Secrets(secrets::Secrets),
    Models(models::Models),
    Doctor(doctor::Doctor),
    Check(check::Check),
    Explain(explain::Explain),
    Rules(rules::Rules),
    Plan(plan::Plan),
    Graph(graph::Graph),
    Trace(trace::Trace),
    Ir(ir::Ir),
    Render(render::Render),
    Init(init::Init),
    Lsp(lsp::Lsp),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Mcp),
    Schema(schema::Schema),
    Trust(trust::Trust),
    Completions(completions::Completions),
}

/// Runs a command and returns its exit code.
pub fn dispatch(command: Command) -> u8 {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Dev(args) => crate::dev::run(&args),
        Command::Resume(args) => resume::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Runs(args) => runs::run(&args),
        Command::Worker(args) => worker::run(&args),
        Command::Store(args) => store::run(&args),
        Command::Secrets(args) => secrets::run(&args),
        Command::Models(args) => models::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Graph(args) => graph::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Ir(args) => ir::run(&args),
        Command::Render(args) => render::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Lsp(args) => lsp::run(&args),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Trust(args) => trust::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}

/// Loads a target. On failure, reports why and returns the exit code.
fn load(args: &TargetArgs) -> Result<Loaded, u8> {
    load_with(&args.target(), &args.options())
}

pub fn load_with(target: &Target, options: &LoadOptions) -> Result<Loaded, u8> {
    trefoil::internals::load(target, options).map_err(|report| {
        output::say(output::diagnostics(&report.diagnostics, &report.files).trim_end());
        exit::NOT_STARTED
    })
}

/// Prints the warnings about a loaded target.
fn warn(loaded: &Loaded) {
    // Findings below a warning are reported only by `check`.
    let found: Vec<_> = loaded.diagnostics.iter().filter(|d| d.severity > Severity::Info).cloned().collect();
    if !found.is_empty() {
        output::say(output::diagnostics(&found, &loaded.files));
    }
}
