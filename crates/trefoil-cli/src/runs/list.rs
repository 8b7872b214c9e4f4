//! `trefoil runs list`

use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::json;
use trefoil::store::{Cursor, Filter, Record, Status, Store as _};

use super::print;
use super::record::{self, calls};
use crate::output;
use crate::run::money;
use crate::store::{StoreArgs, refuse, wait};

/// List runs, newest first
#[derive(Args)]
pub struct List {
    /// Only runs with this status: pending, running, waiting, completed, failed, cancelled (repeatable)
    #[arg(long, value_name = "STATUS")]
    status: Vec<Status>,
    /// Only runs of this flow
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// Only runs that began since then: `30m`, `2h`, `7days`, or a time as `2026-03-01T09:05:00Z`
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<u64>,
    /// Only runs with this text in their id, flow, error or labels
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Go on where another list ended
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: super::show::Output,
    #[command(flatten)]
    store: StoreArgs,
}

fn since(text: &str) -> Result<u64, String> {
    let at = match humantime::parse_duration(text) {
        Ok(ago) => SystemTime::now().checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH),
        Err(_) => humantime::parse_rfc3339_weak(text).map_err(|_| "write `2h`, `7days` or `2026-03-01T09:05:00Z`")?,
    };
    let since: Duration = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

pub fn run(args: &List) -> Result<u8, u8> {
    let after = args.after.as_deref().map(Cursor::parse).transpose().map_err(|error| refuse(&error))?;
    let store = args.store.open()?;
    let filter = Filter {
        status: args.status.clone(),
        flow: args.flow.clone(),
        since: args.since,
        text: args.text.clone(),
        ..Filter::default()
    };
    let page = wait(store.list(&filter, after, usize::from(args.limit)))?;
    let next = page.next.map(|cursor| cursor.to_string());
    if args.output.is_json() {
        let runs: Vec<_> = page.runs.iter().map(record::json).collect();
        return Ok(print(&json!({ "runs": runs, "next": next }).to_string()));
    }
    if page.runs.is_empty() {
        output::note("no runs");
        return Ok(crate::exit::OK);
    }
    let code = print(&table(&page.runs));
    if let Some(next) = next {
        output::note(&format!("there are more: add `--after {next}`"));
    }
    Ok(code)
}

fn table(runs: &[Record]) -> String {
    let rows = runs.iter().map(|record| {
        let what = record.error.as_ref().map(|(code, _)| code.as_str()).unwrap_or_default();
        let calls = calls(record.spent.calls);
        [
            record.run.clone(),
            record.status.to_string(),
            record::time(record.started),
            calls,
            money(&record.spent.usage),
            record.flow.clone(),
            what.to_owned(),
        ]
    });
    let rows: Vec<[String; 7]> = rows.collect();
    let widths: [usize; 7] = std::array::from_fn(|column| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| unicode_width::UnicodeWidthStr::width(cell.as_str()))
            .max()
            .unwrap_or(0)
    });
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            let pad = width.saturating_sub(unicode_width::UnicodeWidthStr::width(cell.as_str()));
            format!("{cell}{}", " ".repeat(pad))
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
