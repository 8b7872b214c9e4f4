//! `trefoil runs cancel RUN`

use clap::Args;
use trefoil::RunCancellation;
use trefoil_host::stored_runs::cancel_run;

#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::StoreArgs;
use crate::store::{await_store, full_id};
use crate::{exit, output};

/// Stop a run permanently
#[derive(Args)]
pub struct RunsCancelArgs {
    /// The run's id, its first characters, or `last`
    pub run: String,
    #[command(flatten)]
    pub store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    pub server: ServerArg,
}

pub fn run(args: &RunsCancelArgs) -> Result<u8, u8> {
    let store = args.store.open_to_change()?;
    let run = await_store(full_id(&*store, &args.run))?;
    match await_store(cancel_run(&store, &run))? {
        RunCancellation::Ended(_) => output::print_note(format!("cancelled {run}")),
        RunCancellation::Asked(owner) => {
            output::print_note(format!("asked the process that is running {run} ({owner}) to stop"));
        }
    }
    Ok(exit::OK)
}
