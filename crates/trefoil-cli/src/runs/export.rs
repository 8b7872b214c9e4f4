//! `trefoil runs export RUN`

use clap::Args;
use trefoil::store::Store as _;

use super::print;
use crate::store::{StoreArgs, full_id, wait};

/// Print a run's journal as JSON Lines, one entry a line
#[derive(Args)]
pub struct Export {
    /// The run's id, or its first characters
    run: String,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn run(args: &Export) -> Result<u8, u8> {
    let store = args.store.open()?;
    let lines = wait(async {
        let run = full_id(&store, &args.run).await?;
        let (mut lines, mut next) = (Vec::new(), 0);
        loop {
            let page = store.entries(&run, next).await?;
            let Some(last) = page.last() else { return Ok(lines) };
            next = last.seq.saturating_add(1);
            lines.extend(page.iter().filter_map(|entry| serde_json::to_string(entry).ok()));
        }
    })?;
    Ok(print(&lines.join("\n")))
}
