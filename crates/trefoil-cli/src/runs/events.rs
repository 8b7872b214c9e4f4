//! `trefoil runs events RUN`

use std::sync::Arc;

use clap::Args;

use super::past;
use crate::args::StoreArgs;
use crate::output;
use crate::run::Jsonl;
use crate::store::{await_store, full_id};

/// Print a run's events from its journal as JSON Lines, with their original numbers
#[derive(Args)]
pub struct Events {
    /// The run's id, its first characters, or `last`
    run: String,
    /// Only events with a higher number
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn run(args: &Events) -> Result<u8, u8> {
    let store = args.store.look_into()?;
    let run = await_store(full_id(&*store, &args.run))?;
    let stored = past::read(&*store, &run)?;
    let lines = Arc::new(Jsonl::new(stored.flow.loaded().files.clone()).after(args.after));
    let _ = past::tell(&store, &stored, lines.clone())?;
    Ok(output::written(lines.written()))
}
