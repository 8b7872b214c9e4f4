//! `trefoil plan TARGET`: what a run would do.

use clap::{Args, ValueEnum};

use super::{load, warn};
use crate::args::TargetArgs;
use crate::output;

/// Show what a run would do: order, reads and writes, models, worst-case number of calls
#[derive(Args)]
pub struct Plan {
    #[command(flatten)]
    target: TargetArgs,
    /// How to print the plan
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Exit code 0; 1 if the plan cannot be written; 2 if the target does not load.
pub fn run(args: &Plan) -> u8 {
    let loaded = match load(&args.target) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    warn(&loaded);
    let plan = trefoil::Plan::of(&loaded.program, &loaded.files);
    output::result(&match args.format {
        Format::Text => plan.text(),
        Format::Json => format!("{:#}\n", plan.json()),
    })
}
