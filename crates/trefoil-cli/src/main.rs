//! The `trefoil` command: arguments in, the library called, results out.
//!
//! Results go to stdout, everything else to stderr. Exit codes are in [`exit`].

mod args;
mod commands;
mod exit;
mod levels;
mod output;
mod run;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    cli.color.apply();
    ExitCode::from(commands::dispatch(cli.command))
}
