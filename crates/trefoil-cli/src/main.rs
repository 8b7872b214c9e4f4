//! The `trefoil` command: parses arguments, calls the library, prints results.
//!
//! Results go to stdout, everything else to stderr. Exit codes are in [`exit`].

mod args;
#[cfg(feature = "mcp")]
mod catalog_messages;
mod columns;
mod command_line;
mod commands;
mod crash;
mod dev;
mod exit;
mod loading;
mod model_catalog;
mod obstacles;
mod os_user;
mod output;
mod overwrite_guard;
mod placeholders;
mod progress;
mod refusal;
#[cfg(feature = "server")]
mod remote;
mod run;
mod runs;
mod selection_list;
mod shapes;
mod store;
mod terminal_text;
mod trace;
mod words;

use std::process::ExitCode;

/// A check allocates many small values; with this allocator it takes two thirds of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    crash::report_without_values();
    let (cli, matches) = command_line::read_arguments()
        .unwrap_or_else(|error| command_line::exit_with_error(command_line::nearest_command(error)));
    cli.color.apply_globally();
    if let Some(code) = command_line::refuse_arguments(&matches) {
        return ExitCode::from(code);
    }
    trefoil_project::secrets::passphrase::ask_with(commands::secrets::ask_passphrase);
    ExitCode::from(command_line::run_command(cli.command))
}
