//! `trefoil runs export RUN`

use clap::Args;
use trefoil::store::Store as _;

use super::{print_json, record};
#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::StoreArgs;
#[cfg(feature = "server")]
use crate::remote;
use crate::store::{await_store, full_id};
use crate::{exit, output};

/// Print a run's journal as JSON Lines, one entry per line
#[derive(Args)]
pub struct RunsExportArgs {
    /// The run's id, its first characters, or `last`
    pub run: String,
    #[command(flatten)]
    pub store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    pub server: ServerArg,
}

pub fn run(args: &RunsExportArgs) -> Result<u8, u8> {
    #[cfg(feature = "server")]
    if args.server.chosen_address(&args.store).is_some() {
        return Err(remote::refuse_command("runs export", "a server does not show journals"));
    }
    let store = args.store.open_to_read()?;
    let record = await_store(async { store.record(&full_id(&*store, &args.run).await?).await })?;
    if let Some(content) = record::content_note(&record, &args.store.store_option()) {
        output::print_note(format!("content {content}"));
    }
    let run = record.run;
    let (mut code, mut next) = (exit::OK, 0);
    loop {
        // If the journal is damaged, the readable part is printed before the error.
        let page =
            await_store(store.read_entries(&run, next)).map_err(|code| if next > 0 { exit::FAILED } else { code })?;
        let Some(last) = page.last() else { return Ok(code) };
        next = last.seq.saturating_add(1);
        let lines: Vec<String> = page.iter().filter_map(|entry| serde_json::to_string(entry).ok()).collect();
        code = code.max(print_json(&lines));
    }
}
