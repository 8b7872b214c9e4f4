//! The tables: checking that they exist and have a format that this build knows, creating them, and adding what an earlier build did not
//! have.

use tokio_postgres::error::SqlState;

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::store_error;
use crate::FORMAT;
use crate::additions::{SchemaAddition, SchemaPart, parse_additions};
use crate::address::ServerAddress;
use crate::error::StoreError;

/// The tables of the first build with this format.
const SCHEMA: &str = include_str!("schema.sql");
/// What later builds have added.
const ADDITIONS: &str = include_str!("additions.sql");

/// How often another process may get ahead of this one while the tables are created.
const TRIES: usize = 20;

/// What may be done to tables that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableAccess {
    /// Create all of them.
    Create,
    /// Add those that an earlier build did not have.
    Add,
    /// Nothing.
    Read,
}

/// Ensures that the tables exist in the format that this build knows.
pub async fn prepare_tables(
    s: &mut PostgresSession,
    address: &ServerAddress,
    access: TableAccess,
) -> PostgresResult<()> {
    for _ in 1..TRIES {
        match latest(s, address, access).await {
            // Something exists now that did not when this process looked.
            Err(fault) if fault.sql_state().is_some_and(is_there) => {
                s.give_up().await;
            }
            done => return done,
        }
    }
    latest(s, address, access).await
}

/// Whether the error says that something already exists.
fn is_there(code: &SqlState) -> bool {
    [
        SqlState::DUPLICATE_SCHEMA,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_COLUMN,
        SqlState::DUPLICATE_OBJECT,
        SqlState::UNIQUE_VIOLATION,
    ]
    .contains(code)
}

async fn latest(s: &mut PostgresSession, address: &ServerAddress, access: TableAccess) -> PostgresResult<()> {
    if format(s, address).await? == FORMAT {
        if access == TableAccess::Read || find_lacking(s).await?.is_empty() {
            return Ok(());
        }
        return match add_lacking(s).await {
            // Whoever needs what is missing is told.
            Err(fault) if fault.sql_state().is_some_and(is_denied) => {
                s.give_up().await;
                Ok(())
            }
            added => added,
        };
    }
    if access != TableAccess::Create {
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
    for addition in parse_additions(ADDITIONS) {
        s.execute_batch(&addition.sql).await?;
    }
    s.query_generated("INSERT INTO trefoil.store (format) VALUES ($1)", &[&(FORMAT as i32)]).await?;
    s.commit_transaction().await
}

/// Whether the error says that this user may not add tables, or that the server accepts no changes.
fn is_denied(code: &SqlState) -> bool {
    [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::READ_ONLY_SQL_TRANSACTION].contains(code)
}

/// Adds what an earlier build did not have.
async fn add_lacking(s: &mut PostgresSession) -> PostgresResult<()> {
    s.begin_transaction().await?;
    s.query_rows("SELECT pg_advisory_xact_lock(1414677830, 0)", &[]).await?;
    // A column is added when nobody uses the table. Whoever comes later would wait, too, so it is tried again instead.
    s.execute_batch("SET LOCAL lock_timeout TO '1s'").await?;
    for addition in find_lacking(s).await? {
        s.execute_batch(&addition.sql).await?;
    }
    s.commit_transaction().await
}

/// The additions whose part is missing. Asking first, because `IF NOT EXISTS` needs the right to create even if nothing is created.
async fn find_lacking(s: &mut PostgresSession) -> PostgresResult<Vec<SchemaAddition>> {
    let question = "SELECT c.relname::text, coalesce(a.attname::text, '') FROM pg_class c \
                    JOIN pg_namespace n ON n.oid = c.relnamespace \
                    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
                    WHERE n.nspname = 'trefoil'";
    let rows = s.query_rows(question, &[]).await?;
    let mut lacking = Vec::new();
    for addition in parse_additions(ADDITIONS) {
        let mut is_there = false;
        for row in &rows {
            let (object, attribute): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
            is_there |= match &addition.part {
                SchemaPart::Object(name) => object == name,
                SchemaPart::Column { table, column } => object == table && attribute == column,
            };
        }
        if !is_there {
            lacking.push(addition);
        }
    }
    Ok(lacking)
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
