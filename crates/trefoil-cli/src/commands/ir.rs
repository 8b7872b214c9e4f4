//! `trefoil ir TARGET`: the program that a run executes, as text.

use clap::Args;

use super::{load, warn};
use crate::args::TargetArgs;
use crate::output;

/// Print the compiled program of a manifest
#[derive(Args)]
pub struct Ir {
    #[command(flatten)]
    target: TargetArgs,
}

/// Exit code 0; 1 if it cannot be written; 2 if the target does not load.
pub fn run(args: &Ir) -> u8 {
    let loaded = match load(&args.target) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    warn(&loaded);
    output::result(&trefoil_ir::print::print(&loaded.program, &loaded.files))
}
