//! The tables: checking that they exist, creating them, and migrating them to the latest format.

use tokio_postgres::error::SqlState;

use super::connect::Session;
use super::fault::Done;
use super::pool::refuse;
use crate::address::Address;
use crate::error::StoreError;

/// The formats in order. A store with an earlier format is migrated to the latest one when it is opened.
const FORMATS: &[&str] = &[include_str!("schema.sql"), include_str!("servers.sql")];

/// How often another process may get ahead of this one while the tables are created.
const TRIES: usize = 20;

/// Ensures that the tables exist in the format that this build knows.
pub async fn prepare(s: &mut Session, address: &Address, create: bool) -> Done<()> {
    for _ in 1..TRIES {
        match latest(s, address, create).await {
            // Something exists now that did not when this process looked.
            Err(fault) if fault.code().is_some_and(is_there) => {
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

async fn latest(s: &mut Session, address: &Address, create: bool) -> Done<()> {
    let known = FORMATS.len() as i64;
    let found = format(s, address).await?;
    if found == known {
        return Ok(());
    }
    if found == 0 && !create {
        return refuse(StoreError::Missing { path: address.path() });
    }
    s.begin().await?;
    // Waits for other processes that do the same.
    s.rows("SELECT pg_advisory_xact_lock(1414677830, 0)", &[]).await?;
    let found = format(s, address).await?;
    if found == known {
        return s.commit().await;
    }
    // `IF NOT EXISTS` needs the right to create schemas, even if this one exists.
    if found == 0 && s.row("SELECT 1 FROM pg_namespace WHERE nspname = 'trefoil'", &[]).await?.is_none() {
        s.batch("CREATE SCHEMA trefoil").await?;
    }
    for format in FORMATS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        s.batch(format).await?;
    }
    s.batch("DELETE FROM trefoil.format").await?;
    s.asked("INSERT INTO trefoil.format (version) VALUES ($1)", &[&(FORMATS.len() as i32)]).await?;
    s.commit().await
}

/// The version of the format; 0 if there are no tables.
async fn format(s: &mut Session, address: &Address) -> Done<i64> {
    let path = address.path();
    // Unlike `to_regclass`, which answers from a cache, this sees what other processes have committed.
    let question = "SELECT current_setting('server_encoding'), coalesce(bool_or(c.relname = 'format'), false), \
                    coalesce(bool_or(c.relname = 'run'), false) \
                    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'trefoil'";
    let Some(row) = s.row(question, &[]).await? else { return Ok(0) };
    let (encoding, has_format, has_runs): (&str, bool, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    if encoding != "UTF8" {
        let why = format!("the encoding of the database is {encoding}, and must be UTF8");
        return refuse(StoreError::Foreign { path, why });
    }
    match (has_format, has_runs) {
        (false, false) => return Ok(0),
        (false, true) => {
            let why = "its schema `trefoil` is something else".to_owned();
            return refuse(StoreError::Foreign { path, why });
        }
        (true, _) => {}
    }
    let found = s.asked("SELECT version FROM trefoil.format", &[]).await?;
    let found = found.first().map(|row| row.try_get::<_, i32>(0)).transpose()?.map_or(0, i64::from);
    let known = FORMATS.len() as i64;
    if found > known {
        return refuse(StoreError::Newer { path, found, known });
    }
    Ok(found)
}
