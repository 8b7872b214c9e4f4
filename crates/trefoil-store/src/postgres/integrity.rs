//! Reads and verifies all data. The server's own files are verified by its own tools.

use super::connection::PostgresSession;
use super::documents::check_documents;
use super::entries::read_entry_page;
use super::fault::{PostgresError, PostgresResult};
use crate::audit::JournalAudit;
use crate::blob::ContentHash;
use crate::error::StoreError;
use crate::packed_blob::unpack_bytes;
use crate::upkeep::StoreHealth;

/// Queries that must return no rows, each with a description of the rows it returns.
const NONE: &[(&str, &str)] = &[
    (
        "SELECT DISTINCT run::text FROM entry WHERE NOT EXISTS (SELECT 1 FROM run WHERE no = entry.run)",
        "entries of no run, number",
    ),
    (
        "SELECT encode(hash, 'hex') FROM blob WHERE NOT EXISTS (SELECT 1 FROM uses WHERE uses.hash = blob.hash)",
        "no run uses the content",
    ),
    (
        "SELECT DISTINCT encode(value, 'hex') FROM entry WHERE value IS NOT NULL AND NOT EXISTS (SELECT 1 FROM blob WHERE hash = value)",
        "missing content",
    ),
    (
        "SELECT DISTINCT run::text FROM uses WHERE NOT EXISTS (SELECT 1 FROM run WHERE no = uses.run)",
        "content of no run, number",
    ),
];

/// Verifies all data in one snapshot.
pub async fn check_integrity(s: &mut PostgresSession) -> PostgresResult<StoreHealth> {
    s.begin_to_read().await?;
    let mut health = StoreHealth::default();
    for (question, what) in NONE {
        for row in s.query_rows(question, &[]).await? {
            health.add_problem(format!("{what}: `{}`", row.try_get::<_, &str>(0)?));
        }
    }
    blobs(s, &mut health).await?;
    check_documents(s, &mut health).await?;
    journals(s, &mut health).await?;
    s.commit_transaction().await?;
    Ok(health)
}

/// Verifies that content matches its hash.
async fn blobs(s: &mut PostgresSession, health: &mut StoreHealth) -> PostgresResult<()> {
    let mut after: Vec<u8> = Vec::new();
    loop {
        let next = "SELECT hash, size, packed, data FROM blob WHERE hash > $1 ORDER BY hash LIMIT 20";
        let rows = s.query_rows(next, &[&after]).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            health.blobs += 1;
            after = row.try_get(0)?;
            let Some(hash) = <[u8; 32]>::try_from(after.as_slice()).ok().map(ContentHash) else {
                health.add_problem("content has a hash of a wrong length".to_owned());
                continue;
            };
            match unpack_bytes(row.try_get(1)?, row.try_get(2)?, row.try_get(3)?) {
                Ok(bytes) if ContentHash::from_bytes(&bytes) == hash => {}
                Ok(_) => health.add_problem(format!("the content `{hash}` is not what was written")),
                Err(why) => health.add_problem(format!("the content `{hash}` cannot be unpacked: {why}")),
            }
        }
    }
}

/// Verifies that journals are complete and readable and match the records of their runs.
async fn journals(s: &mut PostgresSession, health: &mut StoreHealth) -> PostgresResult<()> {
    let mut after = 0_i64;
    loop {
        let rows = s.query_rows("SELECT no, id FROM run WHERE no > $1 ORDER BY no LIMIT 1000", &[&after]).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            after = row.try_get(0)?;
            let run: &str = row.try_get(1)?;
            match journal(s, run, health).await {
                Err(PostgresError::Store(error @ StoreError::Entry { .. })) => health.add_problem(error.to_string()),
                Err(PostgresError::Store(StoreError::Corrupt { why, .. })) => {
                    health.add_problem(format!("`{run}` cannot be read to the end: {why}"));
                }
                done => done?,
            }
        }
    }
}

async fn journal(s: &mut PostgresSession, run: &str, health: &mut StoreHealth) -> PostgresResult<()> {
    health.runs += 1;
    let mut said = JournalAudit::default();
    while said.add_entries(&read_entry_page(s, run, said.next).await?)? {}
    if said.is_whole(run, health) {
        said.compare_record(&super::lists::read_record(s, run).await?, health);
    }
    Ok(())
}
