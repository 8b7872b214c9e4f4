//! Documents.
//!
//! If the table is missing, because the store is of an earlier build and its user may not add tables, there are no documents.

use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use super::connection::PostgresSession;
use super::fault::{PostgresError, PostgresResult};
use super::pool::{EarlierTry, store_error};
use super::{int, text, uint};
use crate::document::{Document, LIST, LIST_BYTES, StoredDocument, find_damage, unpack_value};
use crate::error::StoreError;
use crate::upkeep::StoreHealth;

/// Expired documents deleted at once.
const REMOVED: i64 = 100;

/// Reads a document that has not expired.
pub async fn read_document(
    s: &mut PostgresSession,
    collection: &str,
    name: &str,
    now: u64,
) -> PostgresResult<Option<Document>> {
    let select = "SELECT name, version, expires, size, packed, data FROM document \
                  WHERE collection = $1 AND name = $2 AND (expires IS NULL OR expires > $3)";
    let found = s.query_row(select, &[&text(collection), &name.as_bytes(), &int(now)]).await;
    match unless_lacking(found)? {
        Some(row) => Ok(Some(document_from_row(collection, &row)?)),
        None => Ok(None),
    }
}

/// Lists documents that have not expired, after a name.
pub async fn list_documents(
    s: &mut PostgresSession,
    collection: &str,
    after: &str,
    limit: usize,
    now: u64,
) -> PostgresResult<Vec<Document>> {
    // The values of documents that are too many for one list are not read.
    let select = "SELECT name, version, expires, size, packed, data FROM document JOIN ( \
                    SELECT name AS listed, sum(size) OVER (ORDER BY name) - size AS before FROM ( \
                      SELECT name, size FROM document \
                      WHERE collection = $1 AND name > $2 AND (expires IS NULL OR expires > $3) ORDER BY name LIMIT $4 \
                    ) AS first \
                  ) AS sized ON listed = name WHERE collection = $1 AND before < $5::bigint ORDER BY name";
    let limit = int(limit.min(LIST) as u64);
    let found =
        s.query_rows(select, &[&text(collection), &after.as_bytes(), &int(now), &limit, &int(LIST_BYTES as u64)]).await;
    let rows = unless_lacking(found)?;
    rows.iter().map(|row| document_from_row(collection, row)).collect()
}

fn document_from_row(collection: &str, row: &Row) -> PostgresResult<Document> {
    let name = String::from_utf8_lossy(row.try_get(0)?).into_owned();
    let value = unpack_value(row.try_get(3)?, row.try_get(4)?, row.try_get(5)?).map_err(|why| {
        super::blobs::damaged_error(&format!("the document `{collection}/{name}` cannot be unpacked: {why}"))
    })?;
    let (version, expires) = (uint(row.try_get(1)?), row.try_get::<_, Option<i64>>(2)?.map(uint));
    Ok(Document { collection: collection.to_owned(), name, version, value, expires })
}

/// Writes a document, if the stored version is the one that the writer has seen. Returns the new version.
pub async fn write_document(
    s: &mut PostgresSession,
    document: &StoredDocument,
    before: EarlierTry,
) -> PostgresResult<Option<u64>> {
    let StoredDocument { collection, name, seen, version, expires, data } = document;
    // With version 0, only an expired document is replaced; with another one, only one that has not expired.
    let write = match seen {
        0 => concat!(
            "INSERT INTO document AS old (collection, name, version, expires, hash, size, packed, data) \
             SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE $9::bigint = 0 \
             ON CONFLICT (collection, name) DO UPDATE SET version = excluded.version, expires = excluded.expires, \
             hash = excluded.hash, size = excluded.size, packed = excluded.packed, data = excluded.data \
             WHERE old.expires <= ",
            server_now!()
        ),
        _ => concat!(
            "UPDATE document SET version = $3, expires = $4, hash = $5, size = $6, packed = $7, data = $8 \
             WHERE collection = $1 AND name = $2 AND version = $9::bigint AND (expires IS NULL OR expires > ",
            server_now!(),
            ")"
        ),
    };
    let (collection, name) = (text(collection), name.as_bytes());
    let written = s
        .execute_statement(
            write,
            &[
                &collection,
                &name,
                &int(*version),
                &expires.map(int),
                &data.hash.0.as_slice(),
                &data.size,
                &data.packed,
                &data.data,
                &int(*seen),
            ],
        )
        .await;
    match written {
        Ok(0) if before == EarlierTry::Perhaps => {
            // No other write has this version.
            let own = "SELECT 1 FROM document WHERE collection = $1 AND name = $2 AND version = $3";
            let own = s.query_row(own, &[&collection, &name, &int(*version)]).await?;
            Ok(own.map(|_| *version))
        }
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(*version)),
        Err(fault) if is_lacking(&fault) => store_error(StoreError::Lacking {
            path: std::path::PathBuf::new(),
            why: "the user of this process may not add one",
        }),
        Err(fault) => Err(fault),
    }
}

/// Deletes a document. Returns whether it was there.
pub async fn delete_document(
    s: &mut PostgresSession,
    collection: &str,
    name: &str,
    before: EarlierTry,
) -> PostgresResult<bool> {
    let delete = concat!(
        "DELETE FROM document WHERE collection = $1 AND name = $2 RETURNING expires IS NULL OR expires > ",
        server_now!()
    );
    let deleted = s.query_row(delete, &[&text(collection), &name.as_bytes()]).await;
    match unless_lacking(deleted)? {
        Some(row) => Ok(row.try_get(0)?),
        None => Ok(before == EarlierTry::Perhaps),
    }
}

/// Deletes some of the documents that have expired, by the caller's clock and by the server's.
pub async fn delete_expired(s: &mut PostgresSession, now: u64) -> PostgresResult<()> {
    let delete = concat!(
        "DELETE FROM document WHERE (collection, name) IN (SELECT collection, name FROM document WHERE expires <= least($1::bigint, ",
        server_now!(),
        ") ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)"
    );
    unless_lacking(s.execute_statement(delete, &[&int(now), &REMOVED]).await).map(drop)
}

/// Verifies that documents are what was written.
pub async fn check_documents(s: &mut PostgresSession, health: &mut StoreHealth) -> PostgresResult<()> {
    // A missing table would end the transaction of the check.
    if s.query_row("SELECT 1 WHERE to_regclass('trefoil.document') IS NOT NULL", &[]).await?.is_none() {
        return Ok(());
    }
    let (mut collection, mut name) = (String::new(), Vec::new());
    loop {
        let next = "SELECT collection, name, size, packed, data, hash FROM document \
                    WHERE (collection, name) > ($1, $2) ORDER BY collection, name LIMIT 20";
        let rows = s.query_rows(next, &[&collection, &name]).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            (collection, name) = (row.try_get(0)?, row.try_get(1)?);
            let hash: &[u8] = row.try_get(5)?;
            if let Some(why) = find_damage(row.try_get(2)?, row.try_get(3)?, row.try_get(4)?, hash) {
                let name = String::from_utf8_lossy(&name);
                health.add_problem(format!("the document `{collection}/{name}` {why}"));
            }
        }
    }
}

/// Whether an operation failed because the table is missing.
fn is_lacking(fault: &PostgresError) -> bool {
    fault.sql_state() == Some(&SqlState::UNDEFINED_TABLE)
}

/// What was found, or nothing if the table is missing.
fn unless_lacking<T: Default>(found: PostgresResult<T>) -> PostgresResult<T> {
    match found {
        Err(fault) if is_lacking(&fault) => Ok(T::default()),
        found => found,
    }
}
