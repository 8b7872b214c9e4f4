//! What runs have used together.

use rusqlite::types::Value as Parameter;
use rusqlite::{Connection, Row, params_from_iter};
use trefoil_runtime::Usage;

use super::fault::SqliteResult;
use super::int;
use super::owner_locks::GoneOwners;
use super::run_search::count_labelled;
use crate::list::SpendingFilter;
use crate::record::RunSpending;

/// Above this number, it does not matter which of two sets of runs is the smaller one.
const MANY: usize = 20_000;

/// The sums over the rows of `part`. `?1`: the owners that have ended, whose calls in progress are lost.
const SUMS: &str = "\
total(part.calls), total(part.tokens_in), total(part.tokens_out), total(part.tokens_cached), total(part.unknown_calls), \
total(part.cost_micro), total(part.unpriced_calls), \
total(CASE WHEN part.in_flight > 0 AND (part.status <> 'running' OR part.owner IN (SELECT value FROM json_each(?1))) \
THEN part.in_flight END), \
total(CASE WHEN part.in_flight > 0 AND part.free = 0 AND (part.status <> 'running' OR part.owner IN (SELECT value FROM json_each(?1))) \
THEN part.in_flight END)";

/// The called runs whose usage their callers do not have: those in progress, and those that were cancelled with their callers. A run
/// has a row for each run above it. `?2`: the time since when.
const CALLED: &str = "\
WITH RECURSIVE called (no, above) AS (\
SELECT no, parent FROM run INDEXED BY run_open WHERE ended IS NULL AND parent IS NOT NULL AND started >= ?2 \
UNION SELECT run.no, run.parent FROM run INDEXED BY run_status JOIN run AS caller ON caller.id = run.parent \
WHERE run.status = 'cancelled' AND run.started >= ?2 AND caller.status = 'cancelled' \
UNION SELECT called.no, run.parent FROM called JOIN run ON run.id = called.above WHERE run.parent IS NOT NULL) ";

/// The usage of the runs that match, with the runs that they have called.
pub fn sum_since(
    c: &Connection,
    departed: &GoneOwners,
    filter: &SpendingFilter,
    since: u64,
) -> SqliteResult<RunSpending> {
    let _snapshot = c.unchecked_transaction()?;
    let fixed = vec![Parameter::Text(departed.to_json()), Parameter::Integer(int(since))];
    let mut values = fixed.clone();
    let flow = flow_condition("part", filter, &mut values);
    let (from, label) = match &filter.label {
        None => ("run AS part", String::new()),
        // In the order of the index of labels, rows are read in their order in the file.
        Some(label) if is_rarer(c, label, filter, since)? => {
            let place = "label CROSS JOIN run AS part ON part.no = label.run";
            (place, label_condition(" AND label.key = # AND label.value = #", filter, &mut values))
        }
        Some(_) => ("run AS part", label_condition(HAS_LABEL, filter, &mut values)),
    };
    let direct = format!("SELECT {SUMS} FROM {from} WHERE part.parent IS NULL AND part.started >= ?2{flow}{label}");
    let mut spent = c.prepare_cached(&direct)?.query_row(params_from_iter(values), spending_from_row)?;
    let mut values = fixed;
    let flow = flow_condition("top", filter, &mut values);
    let label = label_condition(&HAS_LABEL.replace("part.", "top."), filter, &mut values);
    let called = format!(
        "{CALLED}SELECT {SUMS} FROM called JOIN run AS top ON top.id = called.above JOIN run AS part ON part.no = called.no \
         WHERE top.parent IS NULL AND top.started >= ?2{flow}{label}"
    );
    let beneath = c.prepare_cached(&called)?.query_row(params_from_iter(values), spending_from_row)?;
    spent.calls = spent.calls.saturating_add(beneath.calls);
    spent.usage.add_usage(beneath.usage);
    Ok(spent)
}

const HAS_LABEL: &str =
    " AND EXISTS (SELECT 1 FROM label WHERE label.run = part.no AND label.key = # AND label.value = #)";

/// The condition for the flow of a run, and its parameter.
fn flow_condition(run: &str, filter: &SpendingFilter, values: &mut Vec<Parameter>) -> String {
    let Some(flow) = &filter.flow else { return String::new() };
    values.push(Parameter::Text(flow.clone()));
    format!(" AND {run}.flow = ?{}", values.len())
}

/// A condition for the label, with the numbers of its parameters instead of `#`.
fn label_condition(condition: &str, filter: &SpendingFilter, values: &mut Vec<Parameter>) -> String {
    let Some((key, value)) = &filter.label else { return String::new() };
    let mut numbered = condition.to_owned();
    for part in [key, value] {
        values.push(Parameter::Text(part.clone()));
        numbered = numbered.replacen('#', &format!("?{}", values.len()), 1);
    }
    numbered
}

/// Whether fewer runs have a label than have started since.
fn is_rarer(c: &Connection, label: &(String, String), filter: &SpendingFilter, since: u64) -> SqliteResult<bool> {
    let mut values = vec![Parameter::Integer(int(MANY as u64)), Parameter::Integer(int(since))];
    let flow = flow_condition("run", filter, &mut values);
    let count = format!("SELECT count(*) FROM (SELECT 1 FROM run WHERE started >= ?2{flow} LIMIT ?1)");
    let started: i64 = c.prepare_cached(&count)?.query_row(params_from_iter(values), |row| row.get(0))?;
    Ok(count_labelled(c, label, MANY)? as i64 <= started)
}

fn spending_from_row(row: &Row<'_>) -> rusqlite::Result<RunSpending> {
    // Whole numbers of SQLite would overflow, so the sums are fractions, which are exact up to `Usage::MOST`.
    let sum = |column: usize| row.get::<_, f64>(column).map(|sum| (sum as u64).min(Usage::MOST));
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
