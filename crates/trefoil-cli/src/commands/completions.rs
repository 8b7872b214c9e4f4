//! `trefoil completions SHELL`.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::args::Cli;
use crate::output;

/// Print completions for a shell
#[derive(Args)]
pub struct Completions {
    /// Shell
    shell: Shell,
}

/// Exit code 0; 1: the script cannot be written.
pub fn run(args: &Completions) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "trefoil", &mut script);
    output::data(&String::from_utf8_lossy(&script))
}
