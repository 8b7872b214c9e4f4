//! Creating runs, appending to them, and leases. Every function here runs inside a transaction.

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use trefoil_machine::Usage;

use super::blobs;
use super::entries::{self, run_number};
use super::fault::SqliteResult;
use super::{drafts, inbox_messages, int, removal, request_index, uint};
use crate::batch::EntryBatch;
use crate::error::StoreError;
use crate::lease::Lease;
use crate::packed_blob::PackedBlob;
use crate::port::NewRun;
use crate::record::{Content, Status};

/// Creates a run.
pub fn create_run(c: &Connection, new: &NewRun, values: Vec<PackedBlob>) -> SqliteResult<Option<Lease>> {
    let NewRun { run, parent, labels, claim, batch, now, content, attended, .. } = new;
    let started = match &batch.start {
        Some(start) => start.at,
        None => *now,
    };
    let owner = claim.as_ref().map(|claim| &claim.owner);
    let until = claim.as_ref().map(|claim| int(claim.until));
    let epoch = i64::from(claim.is_some());
    let inserted = c
        .prepare_cached(
            "INSERT INTO run (id, status, started, parent, owner, epoch, lease_until, content, attended) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            run,
            Status::Pending.name(),
            int(started),
            parent,
            owner,
            epoch,
            until,
            *content != Content::All,
            attended
        ]);
    match inserted {
        Ok(_) => {}
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            return Err(StoreError::RunExists { run: run.clone() }.into());
        }
        Err(error) => return Err(error.into()),
    }
    let no = c.last_insert_rowid();
    for (key, value) in labels {
        set_label(c, no, key, Some(value))?;
    }
    if let Some(parent) = parent {
        c.prepare_cached(
            "INSERT INTO label SELECT ?1, key, value FROM label WHERE run = (SELECT no FROM run WHERE id = ?2) ON CONFLICT DO NOTHING",
        )?
        .execute(params![no, parent])?;
    }
    for file in &new.files {
        blobs::store_file(c, no, file)?;
    }
    let lease = Lease { run: run.clone(), no, epoch: uint(epoch), content: *content };
    let pending = EntryBatch { status: Some(batch.status.unwrap_or(Status::Pending)), ..batch.clone() };
    let batch = if claim.is_some() { batch } else { &pending };
    if !batch.bodies.is_empty() {
        write(c, &lease, batch, values)?;
    }
    Ok(if claim.is_some() { Some(lease) } else { None })
}

/// Appends to a run, if the lease is valid.
pub fn append_batch(c: &Connection, lease: &Lease, batch: &EntryBatch, values: Vec<PackedBlob>) -> SqliteResult<()> {
    let held = c
        .prepare_cached("SELECT 1 FROM run WHERE no = ?1 AND epoch = ?2 AND owner IS NOT NULL")?
        .query_row(params![lease.no, int(lease.epoch)], |_| Ok(()))
        .optional()?;
    if held.is_none() {
        return Err(StoreError::NotHeld { run: lease.run.clone() }.into());
    }
    write(c, lease, batch, values)
}

/// Whether an owner has any run.
pub fn has_any(c: &Connection, owner: &str) -> SqliteResult<bool> {
    let found = c.prepare_cached("SELECT 1 FROM run WHERE owner = ?1 LIMIT 1")?.exists([owner])?;
    Ok(found)
}

fn write(c: &Connection, lease: &Lease, batch: &EntryBatch, values: Vec<PackedBlob>) -> SqliteResult<()> {
    let no = lease.no;
    let wrong = |(expected, found)| StoreError::Sequence { run: lease.run.clone(), expected, found };
    if let Some(first) = batch.first() {
        if let Some(gap) = batch.find_gap(first) {
            return Err(wrong(gap).into());
        }
        if !count(c, no, batch, first)? {
            let next: i64 = c.query_row("SELECT next FROM run WHERE no = ?1", [no], |row| row.get(0))?;
            return Err(wrong((uint(next), first)).into());
        }
    }
    if let Some(end) = &batch.end {
        inbox_messages::call_back(c, no, end.at.unwrap_or_default())?;
    }
    change(c, no, batch)?;
    for value in values {
        blobs::store_bytes(c, no, &value)?;
    }
    for id in &batch.taken {
        c.prepare_cached("DELETE FROM inbox WHERE id = ?1 AND run = ?2")?.execute(params![int(*id), no])?;
    }
    inbox_messages::delete_closed(c, no, &batch.about)?;
    drafts::delete_ended(c, no, batch)?;
    entries::insert_entries(c, no, batch)?;
    if batch.reopens {
        request_index::goes_on(c, no)?;
    }
    if batch.is_final() {
        removal::delete_content(c, no)?;
    }
    Ok(())
}

/// Updates the figures, if the entries are the next ones. Changes no index, because every step of every run does this.
fn count(c: &Connection, no: i64, batch: &EntryBatch, first: u64) -> SqliteResult<bool> {
    let (spent, usage) = (batch.spent, batch.spent.usage);
    let counted = c
        .prepare_cached(
            // The sums end at `Usage::MOST`, as those of the machine do; beyond 64 bits they would become fractions.
            "UPDATE run SET next = next + ?3, calls = calls + ?4, tokens_in = min(tokens_in + ?5, ?14), \
             tokens_out = min(tokens_out + ?6, ?14), tokens_cached = min(tokens_cached + ?7, ?14), \
             unknown_calls = min(unknown_calls + ?8, ?14), cost_micro = min(cost_micro + ?9, ?14), \
             unpriced_calls = min(unpriced_calls + ?10, ?14), lease_until = coalesce(?11, lease_until), \
             in_flight = in_flight + ?12, \
             free = coalesce(?13, free) WHERE no = ?1 AND next = ?2",
        )?
        .execute(params![
            no,
            int(first),
            int(batch.bodies.len() as u64),
            int(spent.calls),
            int(usage.input_tokens),
            int(usage.output_tokens),
            int(usage.cached_tokens),
            int(usage.unknown_calls),
            int(usage.cost_micro),
            int(usage.unpriced_calls),
            batch.lease_until.map(int),
            batch.in_flight,
            batch.free,
            int(Usage::MOST),
        ])?;
    Ok(counted == 1)
}

/// Applies a batch's changes to the run as a whole.
fn change(c: &Connection, no: i64, batch: &EntryBatch) -> SqliteResult<()> {
    if let Some(start) = &batch.start {
        c.prepare_cached("UPDATE run SET flow = ?2, program = ?3, started = ?4 WHERE no = ?1")?.execute(params![
            no,
            start.flow,
            start.program,
            int(start.at)
        ])?;
    }
    if let Some(end) = &batch.end {
        let (error, items) = (end.error.as_ref(), end.items.unwrap_or_default());
        c.prepare_cached(
            "UPDATE run SET status = ?2, ended = max(started, coalesce(?6, started + ?3)), error_code = ?4, error = ?5, owner = NULL, \
             items = ?7, failed_items = ?8, \
             lease_until = NULL, wake_at = NULL WHERE no = ?1",
        )?
        .execute(params![
            no,
            end.status.name(),
            int(end.at_ms),
            error.map(|(code, _)| code),
            error.map(|(_, text)| text),
            end.at.map(int),
            items.total,
            items.failed
        ])?;
        // Nobody reads the messages of a run that has ended.
        c.prepare_cached("DELETE FROM inbox WHERE run = ?1")?.execute([no])?;
    } else {
        if batch.reopens {
            c.prepare_cached("UPDATE run SET ended = NULL, error_code = NULL, error = NULL, items = 0, failed_items = 0 WHERE no = ?1")?
                .execute([no])?;
        }
        let status = batch.status.unwrap_or(Status::Running).name();
        let wake = batch.wake_at.map(int);
        c.prepare_cached(
            "UPDATE run SET status = ?2, wake_at = ?3 WHERE no = ?1 AND (status <> ?2 OR wake_at IS NOT ?3)",
        )?
        .execute(params![no, status, wake])?;
    }
    Ok(())
}

/// Sets a label; `None` removes it.
pub fn label_run(c: &Connection, run: &str, key: &str, value: Option<&str>) -> SqliteResult<()> {
    set_label(c, run_number(c, run)?, key, value)
}

fn set_label(c: &Connection, no: i64, key: &str, value: Option<&str>) -> SqliteResult<()> {
    match value {
        Some(value) => c
            .prepare_cached("INSERT INTO label VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET value = ?3")?
            .execute(params![no, key, value])?,
        None => c.prepare_cached("DELETE FROM label WHERE run = ?1 AND key = ?2")?.execute(params![no, key])?,
    };
    Ok(())
}

/// Renews leases. Returns the runs whose leases were lost.
pub fn renew_leases(c: &Connection, leases: &[Lease], until: u64) -> SqliteResult<Vec<String>> {
    let mut update =
        c.prepare_cached("UPDATE run SET lease_until = ?3 WHERE no = ?1 AND epoch = ?2 AND owner IS NOT NULL")?;
    let mut lost = Vec::new();
    for lease in leases {
        if update.execute(params![lease.no, int(lease.epoch), int(until)])? == 0 {
            lost.push(lease.run.clone());
        }
    }
    Ok(lost)
}

/// Releases a run.
pub fn release_run(c: &Connection, lease: &Lease) -> SqliteResult<()> {
    c.prepare_cached(&format!("UPDATE run SET {FREE} WHERE no = ?1 AND epoch = ?2"))?
        .execute(params![lease.no, int(lease.epoch)])?;
    Ok(())
}

/// Releases a run from its owner.
pub const FREE: &str =
    "owner = NULL, lease_until = NULL, status = CASE status WHEN 'running' THEN 'interrupted' ELSE status END";

/// The processes that work on runs.
pub fn list_owners(c: &Connection) -> SqliteResult<Vec<String>> {
    let mut select = c.prepare_cached("SELECT DISTINCT owner FROM run WHERE owner IS NOT NULL")?;
    let owners = select.query_map([], |row| row.get(0))?;
    Ok(owners.collect::<Result<_, _>>()?)
}

/// Releases an owner's runs whose leases expired before a time; without a time, all of them.
pub fn release_runs_of(c: &Connection, owner: &str, before: Option<u64>) -> SqliteResult<usize> {
    let taken = c
        .prepare_cached(&format!("UPDATE run SET {FREE} WHERE owner = ?1 AND (?2 IS NULL OR lease_until < ?2)"))?
        .execute(params![owner, before.map(int)])?;
    Ok(taken)
}

/// Releases the runs of an owner except these.
pub fn release_others(c: &Connection, owner: &str, held: &[String]) -> SqliteResult<usize> {
    let free = format!("UPDATE run SET {FREE} WHERE owner = ?1 AND id NOT IN (SELECT value FROM json_each(?2))");
    let held = serde_json::Value::from(held).to_string();
    Ok(c.prepare_cached(&free)?.execute(params![owner, held])?)
}
