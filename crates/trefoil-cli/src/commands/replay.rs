//! `trefoil replay RUN`: verifies a run's journal.

use std::sync::Arc;

use clap::Args;
use serde_json::{Value as Json, json};
use trefoil::runs::{ReplayDifference, VerificationReport, verify_run};
use trefoil::store::Store as _;

#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::{OutputFormat, StoreArgs};
#[cfg(feature = "server")]
use crate::remote;
use crate::runs::{print_json, print_lines, run_history};
use crate::store::{await_store, block_on, full_id};
use crate::terminal_text::escape_line;
use crate::words::count_of;
use crate::{exit, output};

/// Verify a run's journal: replay its workflow against the stored results, without calling anything, and compare every
/// request and the outcome
#[derive(Args)]
pub struct ReplayCommandArgs {
    /// The run's id, its first characters, or `last`
    run: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
    #[command(flatten)]
    store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    server: ServerArg,
}

/// Exit code 0: the journal matches the workflow; 1: it does not; 2: the run does not exist, or cannot be read.
pub fn run(args: &ReplayCommandArgs) -> Result<u8, u8> {
    #[cfg(feature = "server")]
    if args.server.chosen_address(&args.store).is_some() {
        return Err(remote::refuse_command("replay", "a server does not show journals"));
    }
    let store = Arc::new(args.store.open_to_read()?);
    let record = await_store(async { store.record(&full_id(&store, &args.run).await?).await })?;
    let stored = run_history::read_run(&store, &record.run)?;
    let verified =
        block_on(verify_run(store.clone(), &stored))?.map_err(|error| run_history::report_unreadable(&error))?;
    let holds = if verified.matches_program() { exit::OK } else { exit::FAILED };
    let written = match args.output {
        OutputFormat::Json => print_json(&[as_json(&record.run, &verified)]),
        OutputFormat::Text => {
            verified.notes.iter().for_each(output::print_note);
            print_lines(&lines(&record.run, &record.flow, &verified))
        }
    };
    Ok(holds.max(written))
}

fn lines(run: &str, flow: &str, verified: &VerificationReport) -> Vec<String> {
    let VerificationReport { entries, results, cited, unchecked, ended, differences, .. } = verified;
    let mut lines = vec![format!("run       {run}"), format!("flow      {flow}")];
    let results = count_of(*results, "result");
    lines.push(format!("compared  {}, {results}", count_of(*entries, "entry")));
    for (run, n) in cited {
        lines.push(format!("kept      {} of run {run}", count_of(*n, "result")));
    }
    for (run, n) in unchecked {
        let results = count_of(*n, "result");
        lines.push(format!("unchecked {results} of run {run}, which was deleted"));
    }
    for ReplayDifference { what, message, .. } in differences {
        lines.push(format!("differs   {}: {}", what.name(), escape_line(message)));
    }
    let end = if *ended { "" } else { ", as far as it goes: the run has not ended" };
    lines.push(match differences.len() {
        0 => format!("verified  the journal matches the workflow{end}"),
        n => format!("failed    {}", count_of(n as u64, "difference")),
    });
    lines
}

fn as_json(run: &str, verified: &VerificationReport) -> Json {
    let VerificationReport { entries, results, cited, unchecked, ended, differences, notes } = verified;
    let differences: Vec<Json> = differences
        .iter()
        .map(|ReplayDifference { seq, key, what, message }| {
            json!({ "entry": seq, "key": key, "what": what.name(), "message": message })
        })
        .collect();
    json!({
        "run": run,
        "verified": verified.matches_program(),
        "entries": entries,
        "results": results,
        "kept": cited,
        "unchecked": unchecked,
        "ended": ended,
        "differences": differences,
        "notes": notes,
    })
}
