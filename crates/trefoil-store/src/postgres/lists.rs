//! Records of runs, and lists of them.

use tokio_postgres::Row;
use trefoil_machine::event::ItemTally;
use trefoil_runtime::Usage;

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::store_error;
use super::run_search::find_runs;
use super::{text, uint};
use crate::error::StoreError;
use crate::list::{RunCursor, RunFilter, RunPage};
use crate::record::{Content, Record, RunSpending, Status};

macro_rules! columns {
    () => {
        concat!(
            "no, id, flow, program, ",
            shown_status!(),
            " AS status, started, ended, error_code, error, items, failed_items, calls, tokens_in, tokens_out, tokens_cached, \
         unknown_calls, cost_micro, unpriced_calls, next, parent, \
         CASE WHEN ",
            lease_expired!("9223372036854775807"),
            " THEN NULL ELSE owner END AS owner, lease_until, epoch, wake_at, \
         in_flight, free, CASE WHEN content = 3 AND ended < ",
            server_now!(),
            " - 86400000 THEN 2 ELSE content END AS content, taken_from, (SELECT ",
            basis_run!(),
            " FROM entry WHERE entry.run = run.no AND entry.seq = 0) AS base"
        )
    };
}

/// Maximum number of runs in one page.
const LIMIT: usize = 1_000;

fn record_from_row(row: &Row) -> PostgresResult<(i64, Record)> {
    let count = |name: &str| row.try_get::<_, i64>(name).map(uint);
    let maybe = |name: &str| row.try_get::<_, Option<i64>>(name).map(|found| found.map(uint));
    let status: &str = row.try_get("status")?;
    let status: Status = status.parse().map_err(|why: String| super::blobs::damaged_error(&why))?;
    let error = row.try_get::<_, Option<String>>("error_code")?.zip(row.try_get("error")?);
    let owner: Option<String> = row.try_get("owner")?;
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
        run: row.try_get("id")?,
        flow: row.try_get("flow")?,
        program: row.try_get("program")?,
        status,
        started: count("started")?,
        ended: maybe("ended")?,
        error,
        items: ItemTally { total: count("items")? as u32, failed: count("failed_items")? as u32 }.with_failed(),
        // While a process works on the run, the cost of its calls in progress is still to come.
        spent: if status == Status::Running { spent } else { spent.with_lost(in_flight, row.try_get("free")?) },
        in_flight,
        entries: count("next")?,
        parent: row.try_get("parent")?,
        base: row.try_get::<_, Option<String>>("base")?.filter(|base| !base.is_empty()),
        owner: owner.zip(maybe("lease_until")?),
        epoch: count("epoch")?,
        wake_at: maybe("wake_at")?,
        content: Content::of_number(row.try_get("content")?),
        taken_from: row.try_get("taken_from")?,
        labels: Vec::new(),
    };
    Ok((row.try_get("no")?, record))
}

/// Adds the labels of runs to their records.
async fn label(s: &mut PostgresSession, mut runs: Vec<(i64, Record)>) -> PostgresResult<Vec<Record>> {
    let nos: Vec<i64> = runs.iter().map(|(no, _)| *no).collect();
    let select = "SELECT run, key, value FROM label WHERE run = ANY ($1) ORDER BY key COLLATE \"C\"";
    for row in s.query_rows(select, &[&nos]).await? {
        let no: i64 = row.try_get(0)?;
        if let Some((_, record)) = runs.iter_mut().find(|(of, _)| *of == no) {
            record.labels.push((row.try_get(1)?, row.try_get(2)?));
        }
    }
    Ok(runs.into_iter().map(|(_, record)| record).collect())
}

/// Reads the record of a run.
pub async fn read_record(s: &mut PostgresSession, run: &str) -> PostgresResult<Record> {
    let found = s.query_row(concat!("SELECT ", columns!(), " FROM run WHERE id = $1"), &[&text(run)]).await?;
    let Some(row) = found else { return store_error(StoreError::NoRun { run: run.to_owned() }) };
    match label(s, vec![record_from_row(&row)?]).await?.pop() {
        Some(record) => Ok(record),
        None => store_error(StoreError::NoRun { run: run.to_owned() }),
    }
}

/// Lists runs, newest first.
pub async fn list_page(
    s: &mut PostgresSession,
    filter: &RunFilter,
    after: Option<RunCursor>,
    limit: usize,
) -> PostgresResult<RunPage> {
    let limit = limit.clamp(1, LIMIT);
    let mut nos = find_runs(s, filter, after, limit + 1).await?;
    let more = nos.len() > limit;
    nos.truncate(limit);
    let select = concat!("SELECT ", columns!(), " FROM run WHERE no = ANY ($1) ORDER BY started DESC, no DESC");
    let rows = s.query_rows(select, &[&nos]).await?;
    let found: Vec<(i64, Record)> = rows.iter().map(record_from_row).collect::<PostgresResult<_>>()?;
    let next = match found.last() {
        Some((no, run)) if more => Some(RunCursor { started: run.started, no: *no }),
        _ => None,
    };
    Ok(RunPage { runs: label(s, found).await?, next })
}

/// The number of runs with each status. It is counted from the index, because runs would have to wait for each other to
/// update a shared counter.
pub async fn count_by_status(s: &mut PostgresSession) -> PostgresResult<Vec<(Status, u64)>> {
    let select = concat!(
        "SELECT status, count(*) FROM run GROUP BY status UNION ALL SELECT 'left', count(*) FROM run \
         WHERE owner IS NOT NULL AND status = 'running' AND ",
        shown_status!(),
        " = 'interrupted'"
    );
    let rows = s.query_rows(select, &[]).await?;
    let mut counts: Vec<(Status, u64)> = Status::ALL.into_iter().map(|status| (status, 0)).collect();
    let mut left = 0;
    for row in rows {
        let (name, n): (&str, i64) = (row.try_get(0)?, row.try_get(1)?);
        if let Some((_, count)) = counts.iter_mut().find(|(status, _)| status.name() == name) {
            *count = uint(n);
        }
        if name == "left" {
            left = uint(n);
        }
    }
    for (status, count) in &mut counts {
        match status {
            Status::Running => *count = count.saturating_sub(left),
            Status::Interrupted => *count = count.saturating_add(left),
            _ => {}
        }
    }
    Ok(counts)
}
