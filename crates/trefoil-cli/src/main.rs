//! The `trefoil` command: parses arguments, calls the library, prints results.
//!
//! Results go to stdout, everything else to stderr. Exit codes are in [`exit`].

mod args;
mod columns;
mod command_line;
mod commands;
mod crash;
mod dev;
mod exit;
mod harmless;
mod load;
mod obstacles;
mod offer;
mod output;
mod overwrite;
mod pick;
mod placeholders;
mod progress;
mod refusal;
mod run;
mod runs;
mod shapes;
mod store;
mod trace;
mod words;

use std::process::ExitCode;

/// A check allocates many small values; with this allocator it takes two thirds of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    crash::report_without_values();
    let cli = command_line::read().unwrap_or_else(|error| command_line::refuse(command_line::nearest_command(error)));
    cli.color.apply();
    trefoil_project::secrets::passphrase::ask_with(commands::secrets::ask_passphrase);
    ExitCode::from(command_line::dispatch(cli.command))
}
