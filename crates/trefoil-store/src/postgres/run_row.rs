//! What several parts need of a run: its number, and the notice that it may be available.

use super::connect::Session;
use super::fault::Done;
use super::pool::refuse;
use super::text;
use crate::error::StoreError;

/// The channel for notifications that a run may be waiting for a process.
pub const CHANNEL: &str = "trefoil_runs";

/// The store's number of a run.
pub async fn number(s: &mut Session, run: &str) -> Done<i64> {
    match s.row("SELECT no FROM run WHERE id = $1", &[&text(run)]).await? {
        Some(row) => Ok(row.try_get(0)?),
        None => refuse(StoreError::NoRun { run: run.to_owned() }),
    }
}

/// Notifies waiting processes that a run may be available.
pub async fn tell(s: &mut Session) -> Done<()> {
    s.rows("SELECT pg_notify($1, '')", &[&CHANNEL]).await.map(drop)
}
