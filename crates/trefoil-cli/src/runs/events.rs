//! `trefoil runs events RUN`

use std::sync::Arc;

use clap::Args;

use super::run_history;
#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::StoreArgs;
use crate::output;
use crate::run::JsonlEventWriter;
use crate::store::{await_store, full_id};

/// Print a run's events from its journal as JSON Lines, with their original numbers
#[derive(Args)]
pub struct RunsEventsArgs {
    /// The run's id, its first characters, or `last`
    pub run: String,
    /// Only events with a higher number
    #[arg(long, value_name = "SEQ")]
    pub after: Option<u64>,
    #[command(flatten)]
    pub store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    pub server: ServerArg,
}

pub fn run(args: &RunsEventsArgs) -> Result<u8, u8> {
    let store = args.store.open_to_read()?;
    let run = await_store(full_id(&*store, &args.run))?;
    let stored = run_history::read_run(&*store, &run)?;
    let lines = Arc::new(JsonlEventWriter::new(stored.flow.loaded_target().files.clone()).skip_through(args.after));
    let _ = run_history::send_events(&store, &stored, lines.clone())?;
    Ok(output::write_exit_code(lines.write_outcome()))
}
