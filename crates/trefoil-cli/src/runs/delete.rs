//! `trefoil runs delete RUN...`

use clap::Args;
use trefoil::store::Store as _;

use crate::store::{StoreArgs, full_id, now, wait_to_free};
use crate::{exit, output};

/// Delete runs and all data used only by them
#[derive(Args)]
pub struct Delete {
    /// The runs' ids, or their first characters
    #[arg(required = true)]
    runs: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn run(args: &Delete) -> Result<u8, u8> {
    let store = args.store.shrink()?;
    for run in &args.runs {
        let run = wait_to_free(async {
            let run = full_id(&*store, run).await?;
            store.delete(&run, now(&*store)).await?;
            Ok(run)
        })?;
        output::note(&format!("deleted {run}"));
    }
    Ok(exit::OK)
}
