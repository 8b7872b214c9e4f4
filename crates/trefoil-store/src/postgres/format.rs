//! The tables: checking that they exist, creating them, and migrating them to the latest format.

use super::connect::Session;
use super::fault::Done;
use super::pool::refuse;
use crate::address::Address;
use crate::error::StoreError;

/// The formats in order. A store with an earlier format is migrated to the latest one when it is opened.
const FORMATS: &[&str] = &[include_str!("schema.sql")];

/// Ensures that the tables exist in the format that this build knows.
pub async fn prepare(s: &mut Session, address: &Address, create: bool) -> Done<()> {
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
    if found == 0 {
        s.batch("CREATE SCHEMA IF NOT EXISTS trefoil").await?;
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
    let question = "SELECT current_setting('server_encoding'), to_regclass('trefoil.format') IS NOT NULL, \
                    to_regclass('trefoil.run') IS NOT NULL";
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
