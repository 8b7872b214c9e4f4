//! Records of runs, and lists of them.

use rusqlite::{Connection, OptionalExtension as _, Row};
use trefoil_machine::event::ItemTally;
use trefoil_runtime::Usage;

use super::fault::SqliteResult;
use super::owner_locks::GoneOwners;
use super::run_search::find_runs;
use super::uint;
use crate::error::StoreError;
use crate::list::{RunCursor, RunFilter, RunPage};
use crate::record::{Record, RunSpending, Status};

const COLUMNS: &str = concat!(
    "no, id, flow, program, status, started, ended, error_code, error, items, failed_items, calls, tokens_in, tokens_out, \
     tokens_cached, unknown_calls, cost_micro, unpriced_calls, next, parent, owner, lease_until, epoch, wake_at, in_flight, free, \
     content, taken_from, (SELECT ",
    base!(),
    " FROM entry WHERE entry.id = run.no << 32) AS base"
);

/// Maximum number of runs in one page.
const LIMIT: usize = 1_000;

fn record_from_row(row: &Row<'_>, departed: &GoneOwners) -> rusqlite::Result<(i64, Record)> {
    let count = |name: &str| row.get::<_, i64>(name).map(uint);
    let status: String = row.get("status")?;
    let error = row.get::<_, Option<String>>("error_code")?.zip(row.get("error")?);
    let owner: Option<String> = row.get("owner")?;
    let status: Status = status
        .parse()
        .map_err(|why: String| rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Text, why.into()))?;
    let ended = row.get::<_, Option<i64>>("ended")?.map(uint);
    let left = status == Status::Running && matches!(&owner, Some(owner) if departed.contains_owner(owner));
    let status = if left { Status::Interrupted } else { status };
    let in_flight = count("in_flight")?;
    let spent = RunSpending {
        calls: count("calls")?,
        usage: Usage {
            input_tokens: count("tokens_in")?,
            output_tokens: count("tokens_out")?,
            cached_tokens: count("tokens_cached")?,
            unknown_calls: count("unknown_calls")?,
            cost_micro: count("cost_micro")?,
            unpriced_calls: count("unpriced_calls")?,
            written_tokens: 0,
            calls_beneath: 0,
        },
    };
    let record = Record {
        run: row.get("id")?,
        flow: row.get("flow")?,
        program: row.get("program")?,
        status,
        started: count("started")?,
        ended,
        error,
        items: ItemTally { total: count("items")? as u32, failed: count("failed_items")? as u32 }.with_failed(),
        // While a process works on the run, the cost of its calls in progress is still to come.
        spent: if status == Status::Running { spent } else { spent.with_lost(in_flight, row.get("free")?) },
        in_flight,
        entries: count("next")?,
        parent: row.get("parent")?,
        base: row.get::<_, Option<String>>("base")?.filter(|base| !base.is_empty()),
        owner: match (owner, row.get::<_, Option<i64>>("lease_until")?) {
            (Some(owner), Some(until)) if !departed.contains_owner(&owner) => Some((owner, uint(until))),
            _ => None,
        },
        epoch: count("epoch")?,
        wake_at: row.get::<_, Option<i64>>("wake_at")?.map(uint),
        content: departed.visible_content(row.get("content")?, ended),
        taken_from: row.get("taken_from")?,
        labels: Vec::new(),
    };
    Ok((row.get("no")?, record))
}

fn with_labels(c: &Connection, no: i64, mut record: Record) -> SqliteResult<Record> {
    let mut select = c.prepare_cached("SELECT key, value FROM label WHERE run = ?1 ORDER BY key")?;
    let labels = select.query_map([no], |row| Ok((row.get(0)?, row.get(1)?)))?;
    record.labels = labels.collect::<Result<_, _>>()?;
    Ok(record)
}

/// Reads the record of a run.
pub fn read_record(c: &Connection, run: &str, departed: &GoneOwners) -> SqliteResult<Record> {
    let mut select = c.prepare_cached(&format!("SELECT {COLUMNS} FROM run WHERE id = ?1"))?;
    let found = select.query_row([run], |row| record_from_row(row, departed)).optional()?;
    let Some((no, record)) = found else { return Err(StoreError::NoRun { run: run.to_owned() }.into()) };
    with_labels(c, no, record)
}

/// Lists runs, newest first.
pub fn list_page(
    c: &Connection,
    departed: &GoneOwners,
    filter: &RunFilter,
    after: Option<RunCursor>,
    limit: usize,
) -> SqliteResult<RunPage> {
    let _snapshot = c.unchecked_transaction()?;
    let limit = limit.clamp(1, LIMIT);
    let found = find_runs(c, departed, filter, after, limit + 1)?;
    let more = found.len() > limit;
    let mut select = c.prepare_cached(&format!("SELECT {COLUMNS} FROM run WHERE no = ?1"))?;
    let mut page = RunPage::default();
    for no in found.into_iter().take(limit) {
        let (no, run) = select.query_row([no], |row| record_from_row(row, departed))?;
        page.next = if more { Some(RunCursor { started: run.started, no }) } else { None };
        page.runs.push(with_labels(c, no, run)?);
    }
    Ok(page)
}

/// The number of runs with each status.
pub fn count_by_status(c: &Connection, departed: &GoneOwners) -> SqliteResult<Vec<(Status, u64)>> {
    let left = "SELECT count(*) FROM run WHERE status = 'running' AND owner IN (SELECT value FROM json_each(?1))";
    let left: i64 = c.prepare_cached(left)?.query_row([departed.to_json()], |row| row.get(0))?;
    let mut select = c.prepare_cached("SELECT n FROM tally WHERE status = ?1")?;
    let mut counts = Vec::new();
    for status in Status::ALL {
        let n: Option<i64> = select.query_row([status.name()], |row| row.get(0)).optional()?;
        let moved = match status {
            Status::Interrupted => left,
            Status::Running => -left,
            _ => 0,
        };
        counts.push((status, uint(n.unwrap_or(0).saturating_add(moved))));
    }
    Ok(counts)
}
