//! `trefoil ir TARGET`: prints the compiled program.

use clap::Args;

use crate::args::TargetArgs;
use crate::loading::{load_target, print_warnings};
use crate::output;

/// Print the compiled program of a manifest
#[derive(Args)]
pub struct IrCommandArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Print only the fingerprint: a SHA-256 hash of everything in the program that can change a run
    #[arg(long)]
    hash: bool,
}

/// Exit code 0; 1: the program cannot be written; 2: the target does not load.
pub fn run(args: &IrCommandArgs) -> Result<u8, u8> {
    let loaded = load_target(&args.target)?;
    print_warnings(&loaded);
    if args.hash {
        return Ok(output::write_result(format!("{}\n", loaded.program.fingerprint())));
    }
    Ok(output::write_result(trefoil_ir::printer::print_program(&loaded.program, &loaded.files)))
}
