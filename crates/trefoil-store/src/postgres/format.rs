//! The tables: checking that they exist and have a format that this build knows, and creating them.

use tokio_postgres::error::SqlState;

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::store_error;
use crate::FORMAT;
use crate::address::ServerAddress;
use crate::error::StoreError;

const SCHEMA: &str = include_str!("schema.sql");

/// How often another process may get ahead of this one while the tables are created.
const TRIES: usize = 20;

/// Ensures that the tables exist in the format that this build knows.
pub async fn prepare_tables(s: &mut PostgresSession, address: &ServerAddress, create: bool) -> PostgresResult<()> {
    for _ in 1..TRIES {
        match latest(s, address, create).await {
            // Something exists now that did not when this process looked.
            Err(fault) if fault.sql_state().is_some_and(is_there) => {
                s.give_up().await;
            }
            done => return done,
        }
    }
    latest(s, address, create).await
}

/// Whether the error says that something already exists.
fn is_there(code: &SqlState) -> bool {
    [SqlState::DUPLICATE_SCHEMA, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT, SqlState::UNIQUE_VIOLATION]
        .contains(code)
}

async fn latest(s: &mut PostgresSession, address: &ServerAddress, create: bool) -> PostgresResult<()> {
    if format(s, address).await? == FORMAT {
        return Ok(());
    }
    if !create {
        return store_error(StoreError::Missing { path: address.display_path() });
    }
    s.begin_transaction().await?;
    // Waits for other processes that do the same.
    s.query_rows("SELECT pg_advisory_xact_lock(1414677830, 0)", &[]).await?;
    if format(s, address).await? == FORMAT {
        return s.commit_transaction().await;
    }
    // `IF NOT EXISTS` needs the right to create schemas, even if this one exists.
    if s.query_row("SELECT 1 FROM pg_namespace WHERE nspname = 'trefoil'", &[]).await?.is_none() {
        s.execute_batch("CREATE SCHEMA trefoil").await?;
    }
    s.execute_batch(SCHEMA).await?;
    s.query_generated("INSERT INTO trefoil.store (format) VALUES ($1)", &[&(FORMAT as i32)]).await?;
    s.commit_transaction().await
}

/// The number of the format; 0 if there are no tables.
async fn format(s: &mut PostgresSession, address: &ServerAddress) -> PostgresResult<i64> {
    let path = address.display_path();
    // Unlike `to_regclass`, which answers from a cache, this sees what other processes have committed.
    let question = "SELECT current_setting('server_encoding'), coalesce(bool_or(c.relname = 'store'), false), \
                    coalesce(bool_or(c.relname = 'run'), false), coalesce(bool_or(c.relname = 'format'), false) \
                    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'trefoil'";
    let Some(row) = s.query_row(question, &[]).await? else { return Ok(0) };
    let (encoding, has_format, has_runs, is_earlier): (&str, bool, bool, bool) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    if encoding != "UTF8" {
        let why = format!("the encoding of the database is {encoding}, and must be UTF8");
        return store_error(StoreError::Foreign { path, why });
    }
    match (has_format, has_runs, is_earlier) {
        (false, false, false) => return Ok(0),
        (false, true, true) => return store_error(StoreError::Earlier { path }),
        (false, ..) => {
            let why = "its schema `trefoil` is something else".to_owned();
            return store_error(StoreError::Foreign { path, why });
        }
        (true, ..) => {}
    }
    let rows = s.query_generated("SELECT format FROM trefoil.store", &[]).await?;
    let found = match rows.first() {
        Some(row) => i64::from(row.try_get::<_, i32>(0)?),
        None => 0,
    };
    if found > FORMAT {
        return store_error(StoreError::Newer { path, found, known: FORMAT });
    }
    Ok(found)
}
