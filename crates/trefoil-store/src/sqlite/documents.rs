//! Documents.
//!
//! A file of an earlier build that is only read has no table for them, and so no documents.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::blobs::damaged_error;
use super::fault::{SqliteError, SqliteResult};
use super::format::has_object;
use super::{int, uint};
use crate::document::{Document, LIST, LIST_BYTES, StoredDocument, unpack_value};
use crate::error::StoreError;

/// The table of documents.
pub const TABLE: &str = "document";

/// Reads a document that has not expired.
pub fn read_document(c: &Connection, collection: &str, name: &str, now: u64) -> SqliteResult<Option<Document>> {
    let read = || -> SqliteResult<Option<Document>> {
        let mut select = c.prepare_cached(
            "SELECT name, version, expires, size, packed, data FROM document \
             WHERE collection = ?1 AND name = ?2 AND (expires IS NULL OR expires > ?3)",
        )?;
        let mut rows = select.query(params![collection, name, int(now)])?;
        match rows.next()? {
            Some(row) => Ok(Some(document_from_row(c, collection, row)?)),
            None => Ok(None),
        }
    };
    unless_lacking(c, read())
}

/// Lists documents that have not expired, after a name.
pub fn list_documents(
    c: &Connection,
    collection: &str,
    after: &str,
    limit: usize,
    now: u64,
) -> SqliteResult<Vec<Document>> {
    let list = || -> SqliteResult<Vec<Document>> {
        let mut select = c.prepare_cached(
            "SELECT name, version, expires, size, packed, data FROM document \
             WHERE collection = ?1 AND name > ?2 AND (expires IS NULL OR expires > ?3) ORDER BY name LIMIT ?4",
        )?;
        let mut rows = select.query(params![collection, after, int(now), int(limit.min(LIST) as u64)])?;
        let (mut documents, mut bytes) = (Vec::new(), 0);
        while bytes < LIST_BYTES
            && let Some(row) = rows.next()?
        {
            let document = document_from_row(c, collection, row)?;
            bytes += document.value.len();
            documents.push(document);
        }
        Ok(documents)
    };
    unless_lacking(c, list())
}

fn document_from_row(c: &Connection, collection: &str, row: &Row<'_>) -> SqliteResult<Document> {
    let name: String = row.get(0)?;
    let value = unpack_value(row.get(3)?, row.get(4)?, row.get(5)?)
        .map_err(|why| damaged_error(c, &format!("the document `{collection}/{name}` cannot be unpacked: {why}")))?;
    let (version, expires) = (uint(row.get(1)?), row.get::<_, Option<i64>>(2)?.map(uint));
    Ok(Document { collection: collection.to_owned(), name, version, value, expires })
}

/// Writes a document, if the stored version is the one that the writer has seen. Returns the new version.
pub fn write_document(c: &Connection, document: &StoredDocument, now: u64) -> SqliteResult<Option<u64>> {
    let StoredDocument { collection, name, seen, version, expires, data } = document;
    // With version 0, only an expired document is replaced; with another one, only one that has not expired.
    let sql = match seen {
        0 => {
            "INSERT INTO document (collection, name, version, expires, hash, size, packed, data) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (collection, name) DO UPDATE SET version = ?3, expires = ?4, \
             hash = ?5, size = ?6, packed = ?7, data = ?8 WHERE expires <= ?9 AND ?10 = 0"
        }
        _ => {
            "UPDATE document SET version = ?3, expires = ?4, hash = ?5, size = ?6, packed = ?7, data = ?8 \
             WHERE collection = ?1 AND name = ?2 AND (expires IS NULL OR expires > ?9) AND version = ?10"
        }
    };
    let write = || -> SqliteResult<usize> {
        let values = params![
            collection,
            name,
            int(*version),
            expires.map(int),
            data.hash.0.as_slice(),
            data.size,
            data.packed,
            data.data,
            int(now),
            int(*seen)
        ];
        Ok(c.prepare_cached(sql)?.execute(values)?)
    };
    match write() {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(*version)),
        Err(_) if !has_object(c, TABLE)? => Err(StoreError::Lacking {
            path: c.path().unwrap_or_default().into(),
            why: "there was no space for one when this process opened it",
        }
        .into()),
        Err(fault) => Err(fault),
    }
}

/// Deletes a document. Returns whether it was there.
pub fn delete_document(c: &Connection, collection: &str, name: &str, now: u64) -> SqliteResult<bool> {
    let delete = || -> SqliteResult<bool> {
        let mut delete = c.prepare_cached(
            "DELETE FROM document WHERE collection = ?1 AND name = ?2 RETURNING expires IS NULL OR expires > ?3",
        )?;
        let was_there = delete.query_row(params![collection, name, int(now)], |row| row.get(0)).optional()?;
        Ok(was_there == Some(true))
    };
    unless_lacking(c, delete())
}

/// Whether any document has expired.
pub fn has_expired(c: &Connection, now: u64) -> SqliteResult<bool> {
    let find = || -> SqliteResult<bool> {
        Ok(c.prepare_cached("SELECT 1 FROM document WHERE expires <= ?1 LIMIT 1")?.exists([int(now)])?)
    };
    unless_lacking(c, find())
}

/// Deletes some of the documents that have expired.
pub fn delete_expired(c: &Connection, now: u64, limit: usize) -> SqliteResult<()> {
    let delete = "DELETE FROM document WHERE rowid IN (SELECT rowid FROM document WHERE expires <= ?1 ORDER BY expires LIMIT ?2)";
    c.prepare_cached(delete)?.execute([int(now), int(limit as u64)])?;
    Ok(())
}

/// What was found, or nothing if the file has no table for documents.
fn unless_lacking<T: Default>(c: &Connection, found: SqliteResult<T>) -> SqliteResult<T> {
    match found {
        Err(SqliteError::Sql(_)) if !has_object(c, TABLE)? => Ok(T::default()),
        found => found,
    }
}
