//! `trefoil runs release RUN`

use clap::Args;
use trefoil::store::Store as _;

#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::StoreArgs;
#[cfg(feature = "server")]
use crate::remote;
use crate::store::{await_store, full_id};
use crate::{exit, output};

/// Take a run away from a process that no longer responds, so that another one can continue it
#[derive(Args)]
pub struct RunsReleaseArgs {
    /// The run's id, its first characters, or `last`
    pub run: String,
    #[command(flatten)]
    pub store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    pub server: ServerArg,
}

pub fn run(args: &RunsReleaseArgs) -> Result<u8, u8> {
    #[cfg(feature = "server")]
    if args.server.chosen_address(&args.store).is_some() {
        return Err(remote::refuse_command("runs release", "the lease of a process that is gone expires by itself"));
    }
    let store = args.store.open_to_change()?;
    let run = await_store(full_id(&*store, &args.run))?;
    match await_store(store.evict_owner(&run))? {
        Some(owner) => output::print_note(format!(
            "took {run} from the process {owner}, which can no longer store anything for it"
        )),
        None => output::print_note(format!("no process works on {run}")),
    }
    Ok(exit::OK)
}
