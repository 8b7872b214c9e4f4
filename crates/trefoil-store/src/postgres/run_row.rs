//! What several parts need of a run: its number, and the notice that it may be available.

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::store_error;
use super::text;
use crate::error::StoreError;

/// The channel for notifications that a run may be waiting for a process.
pub const CHANNEL: &str = "trefoil_runs";

/// The store's number of a run.
pub async fn run_number(s: &mut PostgresSession, run: &str) -> PostgresResult<i64> {
    match s.query_row("SELECT no FROM run WHERE id = $1", &[&text(run)]).await? {
        Some(row) => Ok(row.try_get(0)?),
        None => store_error(StoreError::NoRun { run: run.to_owned() }),
    }
}

/// Notifies waiting processes that a run may be available.
pub async fn notify_available(s: &mut PostgresSession) -> PostgresResult<()> {
    s.query_rows("SELECT pg_notify($1, '')", &[&CHANNEL]).await.map(drop)
}
