//! What runs have used together.

use tokio_postgres::Row;
use trefoil_runtime::Usage;

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::run_search::{QueryText, text_value};
use super::{int, uint};
use crate::list::SpendingFilter;
use crate::record::RunSpending;

/// A sum that ends at `Usage::MOST`, as those of the machine do.
macro_rules! sum {
    ($of:expr) => {
        concat!("least(coalesce(sum(", $of, "), 0), 9007199254740992)::bigint")
    };
}

/// Whether the calls of a run that are in progress are lost, because no process works on it.
macro_rules! is_left {
    () => {
        concat!("(", shown_status!(), " <> 'running')")
    };
}

/// The sums over rows of `run`.
const SUMS: &str = concat!(
    sum!("calls"),
    ", ",
    sum!("tokens_in"),
    ", ",
    sum!("tokens_out"),
    ", ",
    sum!("tokens_cached"),
    ", ",
    sum!("unknown_calls"),
    ", ",
    sum!("cost_micro"),
    ", ",
    sum!("unpriced_calls"),
    ", ",
    sum!(concat!("in_flight) FILTER (WHERE in_flight > 0 AND ", is_left!())),
    ", ",
    sum!(concat!("in_flight) FILTER (WHERE in_flight > 0 AND NOT free AND ", is_left!()))
);

/// The called runs whose usage their callers do not have: those in progress, and those that were cancelled with their callers. A run
/// has a row for each run above it.
const CALLED: &str = "\
WITH RECURSIVE called (part, above) AS (\
(SELECT no, parent FROM run WHERE ended IS NULL AND parent IS NOT NULL AND started >= # \
UNION ALL SELECT run.no, run.parent FROM run JOIN run AS caller ON caller.id = run.parent AND caller.status = 'cancelled' \
WHERE run.status = 'cancelled' AND run.started >= #) \
UNION SELECT called.part, run.parent FROM called JOIN run ON run.id = called.above WHERE run.parent IS NOT NULL) ";

/// The usage of the runs that match, with the runs that they have called.
pub async fn sum_since(s: &mut PostgresSession, filter: &SpendingFilter, since: u64) -> PostgresResult<RunSpending> {
    let mut direct = QueryText::default();
    direct.add_text(&format!("SELECT {SUMS} FROM run WHERE parent IS NULL"), Vec::new());
    add_conditions(&mut direct, filter, since);
    let mut called = QueryText::default();
    called.add_text(CALLED, vec![Box::new(int(since)), Box::new(int(since))]);
    called.add_text(
        &format!(
            "SELECT {SUMS} FROM run WHERE no IN (SELECT part FROM called JOIN run ON run.id = called.above WHERE run.parent IS NULL"
        ),
        Vec::new(),
    );
    add_conditions(&mut called, filter, since);
    called.add_text(")", Vec::new());
    let mut spent = RunSpending::default();
    for query in [direct, called] {
        let rows = query.query_all(s).await?;
        if let Some(row) = rows.first() {
            let more = spending_from_row(row)?;
            spent.calls = spent.calls.saturating_add(more.calls);
            spent.usage.add_usage(more.usage);
        }
    }
    Ok(spent)
}

fn add_conditions(query: &mut QueryText, filter: &SpendingFilter, since: u64) {
    let SpendingFilter { flow, label } = filter;
    query.add_text(" AND run.started >= #", vec![Box::new(int(since))]);
    if let Some(flow) = flow {
        query.add_text(" AND run.flow = #", vec![text_value(flow)]);
    }
    if let Some((key, value)) = label {
        let has_it = " AND run.no IN (SELECT label.run FROM label WHERE key = # AND value = #)";
        query.add_text(has_it, vec![text_value(key), text_value(value)]);
    }
}

fn spending_from_row(row: &Row) -> PostgresResult<RunSpending> {
    let sum = |column: usize| row.try_get::<_, i64>(column).map(uint);
    let usage = Usage {
        input_tokens: sum(1)?,
        output_tokens: sum(2)?,
        cached_tokens: sum(3)?,
        unknown_calls: sum(4)?,
        cost_micro: sum(5)?,
        unpriced_calls: sum(6)?,
        ..Usage::default()
    };
    let mut spent = RunSpending { calls: sum(0)?, usage };
    spent.usage.add_usage(Usage { unknown_calls: sum(7)?, unpriced_calls: sum(8)?, ..Usage::default() });
    Ok(spent)
}
