//! `trefoil completions SHELL`.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::output;

/// Print completions for a shell
#[derive(Args)]
pub struct CompletionsCommandArgs {
    /// Shell
    shell: Shell,
}

/// Exit code 0; 1: the script cannot be written. `whole`: the command line.
pub fn run(args: &CompletionsCommandArgs, mut whole: Command) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut whole, "trefoil", &mut script);
    output::write_data(&String::from_utf8_lossy(&script))
}
