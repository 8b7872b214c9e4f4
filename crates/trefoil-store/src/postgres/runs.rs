//! Creating runs, appending to them, and leases.

use trefoil_machine::Usage;
use trefoil_machine::event::ItemTally;

use super::blobs;
use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::{EarlierTry, store_error};
use super::run_row::{notify_available, run_number};
use super::{AskedTime, inbox_messages, int, text, uint};
use crate::batch::{EntryBatch, StoredEntry};
use crate::error::StoreError;
use crate::lease::Lease;
use crate::packed_blob::PackedBlob;
use crate::port::NewRun;
use crate::record::{Content, Status};

/// Overhead of an entry's row in bytes.
const ROW: i64 = 60;

/// Creates a run.
pub async fn create_run(
    s: &mut PostgresSession,
    new: &NewRun,
    values: &[PackedBlob],
    (before, asked): (EarlierTry, AskedTime),
) -> PostgresResult<Option<Lease>> {
    let NewRun { run, parent, labels, claim, batch, now, content, attended, .. } = new;
    let started = match &batch.start {
        Some(start) => start.at,
        None => *now,
    };
    let owner = claim.as_ref().map(|claim| text(&claim.owner));
    let until = claim.as_ref().map(|claim| int(asked.move_time(claim.until)));
    let epoch = i64::from(claim.is_some());
    s.begin_transaction().await?;
    let inserted = s
        .query_row(
            "INSERT INTO run (id, status, started, parent, owner, epoch, lease_until, content, attended) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING RETURNING no",
            &[
                &text(run),
                &Status::Pending.name(),
                &int(started),
                &parent.as_deref().map(text),
                &owner,
                &epoch,
                &until,
                &i64::from(*content != Content::All),
                attended,
            ],
        )
        .await?;
    let Some(row) = inserted else { return exists(s, new, before).await };
    let no: i64 = row.try_get(0)?;
    for (key, value) in labels {
        set_label(s, no, key, Some(value)).await?;
    }
    if let Some(parent) = parent {
        let inherit = "INSERT INTO label SELECT $1, key, value FROM label WHERE run = (SELECT no FROM run WHERE id = $2) \
                       ON CONFLICT DO NOTHING";
        s.execute_statement(inherit, &[&no, &text(parent)]).await?;
    }
    blobs::store_files(s, no, &new.files).await?;
    let lease = Lease { run: run.clone(), no, epoch: uint(epoch), content: *content };
    let pending = EntryBatch { status: Some(batch.status.unwrap_or(Status::Pending)), ..batch.clone() };
    let batch = if claim.is_some() { batch } else { &pending };
    if !batch.bodies.is_empty() {
        write(s, &lease, batch, values, claim.is_none()).await?;
    }
    if claim.is_none() {
        notify_available(s).await?;
    }
    s.commit_transaction().await?;
    Ok(if claim.is_some() { Some(lease) } else { None })
}

/// A run with this id exists: either another one, or this one, created by an earlier try.
async fn exists(s: &mut PostgresSession, new: &NewRun, before: EarlierTry) -> PostgresResult<Option<Lease>> {
    let NewRun { run, claim, batch, content, .. } = new;
    if before == EarlierTry::Perhaps {
        let found = s.query_row("SELECT no, owner, epoch FROM run WHERE id = $1", &[&text(run)]).await?;
        if let Some(row) = found {
            let (no, owner, epoch): (i64, Option<String>, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            let mine = match claim {
                // No other process ever has this owner's name.
                Some(claim) => epoch == 1 && (owner.as_deref() == Some(&*text(&claim.owner)) || batch.end.is_some()),
                None => epoch == 0,
            };
            if mine && has_entries(s, no, batch).await? {
                let lease = Lease { run: run.clone(), no, epoch: 1, content: *content };
                return Ok(if claim.is_some() { Some(lease) } else { None });
            }
        }
    }
    store_error(StoreError::RunExists { run: run.clone() })
}

/// Whether the store has exactly the entries of a batch.
async fn has_entries(s: &mut PostgresSession, no: i64, batch: &EntryBatch) -> PostgresResult<bool> {
    for StoredEntry { seq, json, .. } in &batch.bodies {
        let found = s.query_row("SELECT body FROM entry WHERE run = $1 AND seq = $2", &[&no, &int(*seq)]).await?;
        let Some(row) = found else { return Ok(false) };
        if row.try_get::<_, String>(0)? != *json {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Appends to a run, if the lease is valid.
pub async fn append_batch(
    s: &mut PostgresSession,
    lease: &Lease,
    batch: &EntryBatch,
    values: &[PackedBlob],
    before: EarlierTry,
) -> PostgresResult<()> {
    let bares = batch.is_final() && lease.content == Content::UntilEnd;
    let callers = match batch.end {
        Some(_) => inbox_messages::calling_runs(s, lease.no).await?,
        None => Vec::new(),
    };
    let written = if bares || !callers.is_empty() {
        match callers.is_empty() {
            true => s.begin_transaction().await?,
            false => inbox_messages::begin_posting(s).await?,
        }
        match write(s, lease, batch, values, false).await {
            Ok(()) => {
                let at = match &batch.end {
                    Some(end) => end.at.unwrap_or_default(),
                    None => 0,
                };
                inbox_messages::call_back(s, &callers, at).await?;
                if bares {
                    super::removal::delete_content(s, lease.no).await?;
                }
                s.commit_transaction().await
            }
            failed => {
                s.give_up().await;
                failed
            }
        }
    } else {
        write(s, lease, batch, values, false).await
    };
    match written {
        // An earlier try may have succeeded. Its entries are then in the store, and only this process can have written
        // them.
        Err(super::fault::PostgresError::Store(error)) if before == EarlierTry::Perhaps => {
            let found = s.query_row("SELECT epoch, next FROM run WHERE no = $1", &[&lease.no]).await?;
            let Some(row) = found else { return store_error(error) };
            let (epoch, next): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            let after = batch.first().map(|first| int(first) + batch.bodies.len() as i64);
            let bare = batch.is_final() && lease.content == Content::UntilEnd;
            let done =
                epoch == int(lease.epoch) && after == Some(next) && (bare || has_entries(s, lease.no, batch).await?);
            if done { Ok(()) } else { store_error(error) }
        }
        written => written,
    }
}

/// One statement: a single round trip, and a transaction by itself. It changes nothing unless the lease is valid and
/// the entries are the next ones.
const WRITE: &str = "\
WITH held AS (
  UPDATE run SET
    next = next + $4, bytes = bytes + $5,
    calls = calls + $6, tokens_in = least(tokens_in + $7, $38), tokens_out = least(tokens_out + $8, $38),
    tokens_cached = least(tokens_cached + $9, $38), unknown_calls = least(unknown_calls + $10, $38),
    cost_micro = least(cost_micro + $11, $38), unpriced_calls = least(unpriced_calls + $12, $38),
    in_flight = in_flight + $13, free = coalesce($14, free),
    flow = coalesce($15, flow), program = coalesce($16, program), started = coalesce($17, started),
    status = $18, wake_at = $19, noted = noted AND NOT $24,
    lease_until = CASE WHEN $20 THEN NULL ELSE greatest($21, lease_until) END,
    owner = CASE WHEN $20 THEN NULL ELSE owner END,
    ended = CASE WHEN $20 THEN greatest(coalesce($17, started), coalesce($22, coalesce($17, started) + $23))
                 WHEN $24 THEN NULL ELSE ended END,
    error_code = CASE WHEN $20 THEN $25 WHEN $24 THEN NULL ELSE error_code END,
    error = CASE WHEN $20 THEN $26 WHEN $24 THEN NULL ELSE error END,
    items = CASE WHEN $20 THEN $40 WHEN $24 THEN 0 ELSE items END,
    failed_items = CASE WHEN $20 THEN $41 WHEN $24 THEN 0 ELSE failed_items END
  WHERE no = $1 AND epoch = $2 AND (owner IS NOT NULL OR $27) AND ($3::bigint IS NULL OR next = $3)
  RETURNING no
), letters AS (
  DELETE FROM inbox USING held WHERE inbox.run = held.no AND ($20 OR inbox.id = ANY ($28) OR (inbox.as_of IS NOT NULL AND inbox.key = ANY ($39)))
), drafts AS (
  DELETE FROM draft USING held WHERE draft.run = held.no AND ($20 OR draft.key = ANY ($29))
), content AS (
  INSERT INTO blob (hash, size, packed, stored, data)
  SELECT DISTINCT ON (hash) v.* FROM held, unnest($30::bytea[], $31::bigint[], $32::boolean[], $33::bigint[], $34::bytea[])
    AS v (hash, size, packed, stored, data) ORDER BY hash ON CONFLICT DO NOTHING
), used AS (
  INSERT INTO uses (run, hash) SELECT DISTINCT held.no, hash FROM held, unnest($30::bytea[]) AS hash ON CONFLICT DO NOTHING
), entries AS (
  INSERT INTO entry (run, seq, body, value)
  SELECT held.no, e.seq, e.body, e.value FROM held, unnest($35::bigint[], $36::text[], $37::bytea[]) AS e (seq, body, value)
)
SELECT no FROM held";

/// Writes a batch. reason: one parameter of the statement a line.
async fn write(
    s: &mut PostgresSession,
    lease: &Lease,
    batch: &EntryBatch,
    values: &[PackedBlob],
    unowned: bool,
) -> PostgresResult<()> {
    let wrong = |(expected, found)| StoreError::Sequence { run: lease.run.clone(), expected, found };
    if let Some(first) = batch.first()
        && let Some(gap) = batch.find_gap(first)
    {
        return store_error(wrong(gap));
    }
    let (spent, usage) = (batch.spent, batch.spent.usage);
    let (start, end) = (batch.start.as_ref(), batch.end.as_ref());
    let (status, error, items, wake_at) = match end {
        Some(end) => (end.status, end.error.as_ref(), end.items.unwrap_or_default(), None),
        None => (batch.status.unwrap_or(Status::Running), None, ItemTally::default(), batch.wake_at),
    };
    let taken: Vec<i64> = batch.taken.iter().copied().map(int).collect();
    let answered: Vec<&[u8]> = batch.answered.iter().map(|key| key.as_str().as_bytes()).collect();
    let about: Vec<&[u8]> = batch.about.iter().map(|key| key.as_str().as_bytes()).collect();
    let (mut hashes, mut sizes, mut packed, mut stored, mut data) =
        (Vec::<&[u8]>::new(), Vec::<i64>::new(), Vec::<bool>::new(), Vec::<i64>::new(), Vec::<&[u8]>::new());
    for value in values {
        hashes.push(&value.hash.0);
        sizes.push(value.size);
        packed.push(value.packed);
        stored.push(value.data.len() as i64);
        data.push(&value.data);
    }
    let (mut seqs, mut bodies, mut large, mut bytes) =
        (Vec::<i64>::new(), Vec::<&str>::new(), Vec::<Option<Vec<u8>>>::new(), 0_i64);
    for body in &batch.bodies {
        seqs.push(int(body.seq));
        bodies.push(&body.json);
        large.push(body.value.as_ref().map(|blob| blob.hash().0.to_vec()));
        bytes += body.json.len() as i64 + ROW;
    }
    let held = s
        .query_row(
            WRITE,
            &[
                &lease.no,
                &int(lease.epoch),
                &batch.first().map(int),
                &(batch.bodies.len() as i64),
                &bytes,
                &int(spent.calls),
                &int(usage.input_tokens),
                &int(usage.output_tokens),
                &int(usage.cached_tokens),
                &int(usage.unknown_calls),
                &int(usage.cost_micro),
                &int(usage.unpriced_calls),
                &batch.in_flight,
                &batch.free,
                &start.map(|start| text(&start.flow)),
                &start.map(|start| text(&start.program)),
                &start.map(|start| int(start.at)),
                &status.name(),
                &wake_at.map(int),
                &end.is_some(),
                &batch.lease_until.map(int),
                &end.and_then(|end| end.at).map(int),
                &end.map(|end| int(end.at_ms)),
                &batch.reopens,
                &error.map(|(code, _)| text(code)),
                &error.map(|(_, said)| text(said)),
                &unowned,
                &taken,
                &answered,
                &hashes,
                &sizes,
                &packed,
                &stored,
                &data,
                &seqs,
                &bodies,
                &large,
                &int(Usage::MOST),
                &about,
                &i64::from(items.total),
                &i64::from(items.failed),
            ],
        )
        .await?;
    if held.is_some() {
        return Ok(());
    }
    let found = s.query_row("SELECT epoch, owner IS NOT NULL, next FROM run WHERE no = $1", &[&lease.no]).await?;
    if let (Some(row), Some(first)) = (found, batch.first()) {
        let (epoch, owned, next): (i64, bool, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        if epoch == int(lease.epoch) && (owned || unowned) {
            return store_error(wrong((uint(next), first)));
        }
    }
    store_error(StoreError::NotHeld { run: lease.run.clone() })
}

/// Sets a label; `None` removes it.
pub async fn label_run(s: &mut PostgresSession, run: &str, key: &str, value: Option<&str>) -> PostgresResult<()> {
    let no = run_number(s, run).await?;
    set_label(s, no, key, value).await
}

async fn set_label(s: &mut PostgresSession, no: i64, key: &str, value: Option<&str>) -> PostgresResult<()> {
    match value {
        Some(value) => {
            let set =
                "INSERT INTO label VALUES ($1, $2, $3) ON CONFLICT (run, key) DO UPDATE SET value = excluded.value";
            s.execute_statement(set, &[&no, &text(key), &text(value)]).await?
        }
        None => s.execute_statement("DELETE FROM label WHERE run = $1 AND key = $2", &[&no, &text(key)]).await?,
    };
    Ok(())
}

/// Renews leases. Returns the runs whose leases were lost.
pub async fn renew_leases(s: &mut PostgresSession, leases: &[Lease], until: u64) -> PostgresResult<Vec<String>> {
    let nos: Vec<i64> = leases.iter().map(|lease| lease.no).collect();
    let epochs: Vec<i64> = leases.iter().map(|lease| int(lease.epoch)).collect();
    let renewed = s
        .query_rows(
            "UPDATE run SET lease_until = $3 FROM unnest($1::bigint[], $2::bigint[]) AS lease (no, epoch) \
             WHERE run.no = lease.no AND run.epoch = lease.epoch AND owner IS NOT NULL RETURNING run.no",
            &[&nos, &epochs, &int(until)],
        )
        .await?;
    let renewed: Vec<i64> = renewed.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let mut lost = Vec::new();
    for lease in leases {
        if !renewed.contains(&lease.no) {
            lost.push(lease.run.clone());
        }
    }
    Ok(lost)
}

/// Releases a run from its owner.
macro_rules! free {
    () => {
        "UPDATE run SET owner = NULL, lease_until = NULL, status = CASE status WHEN 'running' THEN 'interrupted' ELSE status END "
    };
}

/// Releases a run.
pub async fn release_run(s: &mut PostgresSession, lease: &Lease) -> PostgresResult<()> {
    let freed = s
        .query_row(
            concat!(free!(), "WHERE no = $1 AND epoch = $2 AND owner IS NOT NULL RETURNING status <> 'waiting'"),
            &[&lease.no, &int(lease.epoch)],
        )
        .await?;
    let Some(row) = freed else { return Ok(()) };
    if row.try_get(0)? { notify_available(s).await } else { Ok(()) }
}

/// Releases the runs of an owner except these.
pub async fn release_others(s: &mut PostgresSession, owner: &str, held: &[String]) -> PostgresResult<usize> {
    let held: Vec<_> = held.iter().map(|run| text(run)).collect();
    let freed = s.execute_statement(concat!(free!(), "WHERE owner = $1 AND id <> ALL($2)"), &[&owner, &held]).await?;
    if freed > 0 {
        notify_available(s).await?;
    }
    Ok(usize::try_from(freed).unwrap_or(usize::MAX))
}

/// Releases runs whose leases have expired.
pub async fn reclaim_runs(s: &mut PostgresSession, now: u64) -> PostgresResult<usize> {
    let free = concat!(
        free!(),
        "WHERE no IN (SELECT no FROM run WHERE owner IS NOT NULL AND ",
        lease_expired!("$1"),
        " ORDER BY no FOR UPDATE SKIP LOCKED)"
    );
    let freed = s.execute_statement(free, &[&int(now)]).await?;
    if freed > 0 {
        notify_available(s).await?;
    }
    Ok(usize::try_from(freed).unwrap_or(usize::MAX))
}
