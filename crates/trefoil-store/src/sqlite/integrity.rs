//! Reads and verifies all data.

use rusqlite::{Connection, ErrorCode};

use super::documents;
use super::entries::read_entry_page;
use super::fault::{SqliteError, SqliteResult};
use super::format::has_object;
use super::owner_locks::GoneOwners;
use crate::audit::JournalAudit;
use crate::blob::ContentHash;
use crate::document::find_damage;
use crate::error::StoreError;
use crate::packed_blob::unpack_bytes;
use crate::upkeep::StoreHealth;

/// Queries that must return no rows, each with a description of the rows it returns.
const NONE: &[(&str, &str)] = &[
    (
        "SELECT DISTINCT id >> 32 FROM entry WHERE NOT EXISTS (SELECT 1 FROM run WHERE no = entry.id >> 32)",
        "entries of no run, number",
    ),
    (
        "SELECT hex(hash) FROM blob WHERE NOT EXISTS (SELECT 1 FROM uses WHERE uses.hash = blob.hash)",
        "no run uses the content",
    ),
    ("SELECT hex(hash) FROM uses WHERE NOT EXISTS (SELECT 1 FROM blob WHERE blob.hash = uses.hash)", "missing content"),
    ("SELECT run FROM uses WHERE NOT EXISTS (SELECT 1 FROM run WHERE no = uses.run)", "content of no run, number"),
    (
        "SELECT status FROM tally WHERE n <> (SELECT count(*) FROM run WHERE run.status = tally.status)",
        "wrong count of runs that are",
    ),
    ("SELECT \"table\" FROM pragma_foreign_key_check", "rows of no run in"),
];

/// Verifies all data in one snapshot.
pub fn check_integrity(c: &Connection) -> SqliteResult<StoreHealth> {
    let _snapshot = c.unchecked_transaction()?;
    read(c)
}

fn read(c: &Connection) -> SqliteResult<StoreHealth> {
    let mut health = StoreHealth::default();
    if let Err(fault) = pages(c, &mut health) {
        note_unreadable(&mut health, "the file", fault)?;
    }
    // Comparing tables makes no sense if they are damaged.
    if health.problems.is_empty() {
        tables(c, &mut health)?;
        blobs(c, &mut health)?;
        if has_object(c, documents::TABLE)? {
            check_documents(c, &mut health)?;
        }
    }
    // Even then, it is useful to know which runs can still be read.
    if let Err(fault) = journals(c, &mut health) {
        note_unreadable(&mut health, "the list of runs", fault)?;
    }
    Ok(health)
}

/// Verifies the pages of the file.
fn pages(c: &Connection, health: &mut StoreHealth) -> SqliteResult<()> {
    let mut pages = c.prepare("PRAGMA integrity_check(100)")?;
    let mut found = pages.query([])?;
    while let Some(row) = found.next()? {
        let line: String = row.get(0)?;
        let said = line.lines().filter(|line| *line != "ok" && !line.starts_with("***"));
        said.for_each(|line| health.add_problem(line.to_owned()));
    }
    Ok(())
}

/// Verifies that the tables are consistent.
fn tables(c: &Connection, health: &mut StoreHealth) -> SqliteResult<()> {
    for (question, what) in NONE {
        let mut select = c.prepare(question)?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let which: rusqlite::types::Value = row.get(0)?;
            health.add_problem(format!("{what}: {}", shown(which)));
        }
    }
    Ok(())
}

fn journals(c: &Connection, health: &mut StoreHealth) -> SqliteResult<()> {
    let mut select = c.prepare("SELECT id FROM run ORDER BY no")?;
    let mut runs = select.query([])?;
    while let Some(row) = runs.next()? {
        let run: String = row.get(0)?;
        if let Err(fault) = journal(c, &run, health) {
            note_unreadable(health, &format!("`{run}`"), fault)?;
        }
    }
    Ok(())
}

/// Reports data that cannot be read because of damage. Any other error is returned.
fn note_unreadable(health: &mut StoreHealth, what: &str, fault: SqliteError) -> SqliteResult<()> {
    let why = match &fault {
        SqliteError::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => error.to_string(),
        SqliteError::Sql(error) if error.sqlite_error_code().is_none() => error.to_string(),
        SqliteError::Store(StoreError::Corrupt { why, .. }) => why.clone(),
        SqliteError::Store(error @ StoreError::Entry { .. }) => {
            health.add_problem(error.to_string());
            return Ok(());
        }
        // The record is missing from its table, but an index still has it.
        SqliteError::Store(StoreError::NoRun { .. }) => "its record cannot be found".to_owned(),
        _ => return Err(fault),
    };
    health.add_problem(format!("{what} cannot be read completely: {why}"));
    Ok(())
}

fn shown(value: rusqlite::types::Value) -> String {
    match value {
        rusqlite::types::Value::Integer(n) => n.to_string(),
        rusqlite::types::Value::Text(text) => format!("`{}`", text.to_lowercase()),
        _ => String::new(),
    }
}

/// Verifies that content matches its hash.
fn blobs(c: &Connection, health: &mut StoreHealth) -> SqliteResult<()> {
    let mut select = c.prepare("SELECT hash, size, packed, data FROM blob")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        health.blobs += 1;
        let hash = ContentHash(row.get(0)?);
        match unpack_bytes(row.get(1)?, row.get(2)?, row.get(3)?) {
            Ok(bytes) if ContentHash::from_bytes(&bytes) == hash => {}
            Ok(_) => health.add_problem(format!("the content `{hash}` is damaged")),
            Err(why) => health.add_problem(format!("the content `{hash}` cannot be unpacked: {why}")),
        }
    }
    Ok(())
}

/// Verifies that documents are what was written.
fn check_documents(c: &Connection, health: &mut StoreHealth) -> SqliteResult<()> {
    let mut select = c.prepare("SELECT collection, name, size, packed, data, hash FROM document")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (collection, name): (String, String) = (row.get(0)?, row.get(1)?);
        if let Some(why) =
            find_damage(row.get(2)?, row.get(3)?, row.get(4)?, row.get_ref(5)?.as_blob().unwrap_or_default())
        {
            health.add_problem(format!("the document `{collection}/{name}` {why}"));
        }
    }
    Ok(())
}

fn audit_journal(c: &Connection, run: &str) -> SqliteResult<JournalAudit> {
    let mut said = JournalAudit::default();
    while said.add_entries(&read_entry_page(c, run, said.next)?)? {}
    Ok(said)
}

/// Verifies that a journal is complete and readable and matches the record of its run.
fn journal(c: &Connection, run: &str, health: &mut StoreHealth) -> SqliteResult<()> {
    health.runs += 1;
    let said = audit_journal(c, run)?;
    if said.is_whole(run, health) {
        said.compare_record(&super::lists::read_record(c, run, &GoneOwners::default())?, health);
    }
    Ok(())
}
