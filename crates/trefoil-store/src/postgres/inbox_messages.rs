//! Messages to runs, and drafts (partial answers).

use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use trefoil_machine::{AnswerSender, Key};
use trefoil_runtime::ports::Draft;
use trefoil_template::wire::{WireForm, WireValue};

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::{EarlierTry, store_error};
use super::run_row::{notify_available, run_number};
use super::{int, text, uint};
use crate::batch::StoredEntry;
use crate::error::StoreError;
use crate::inbox::{InboxMessage, MessageKind, PostedMessage};
use crate::lease::Lease;

/// Puts a message in the inbox of a run that has not ended. One that answers a question is refused if that has an answer, or is not
/// open any more.
pub async fn post_message(
    s: &mut PostgresSession,
    run: &str,
    message: &InboxMessage,
    before: EarlierTry,
) -> PostgresResult<u64> {
    let InboxMessage { kind, key, value, at, as_of, sender } = message;
    let value = serde_json::to_string(&WireForm(value))
        .map_err(|error| StoreError::Unwritable { seq: 0, why: error.to_string() })?;
    let (run_text, key, at) = (text(run), key.as_bytes(), int(*at));
    let as_of = if message.is_answer() { Some(int(*as_of)) } else { None };
    if before == EarlierTry::Perhaps {
        let same = "SELECT inbox.id FROM inbox JOIN run ON run.no = inbox.run \
                    WHERE run.id = $1 AND kind = $2 AND key = $3 AND value = $4 AND at = $5";
        if let Some(row) = s.query_row(same, &[&run_text, &kind.name(), &key, &value, &at]).await? {
            return Ok(uint(row.try_get(0)?));
        }
    }
    let sender = match sender {
        Some(sender) if has_senders(s).await? => Some(sender_json(sender)?),
        _ => None,
    };
    begin_posting(s).await?;
    // Locks the run's row, so that nothing is appended in the meantime.
    let locked = s.query_row("SELECT no FROM run WHERE id = $1 AND ended IS NULL FOR SHARE", &[&run_text]).await?;
    let Some(row) = locked else {
        run_number(s, run).await?;
        return store_error(StoreError::Ended { run: run.to_owned() });
    };
    let no: i64 = row.try_get(0)?;
    if message.is_answer() {
        if let Some(error) = message.find_earlier_answer(&of_run(s, run).await?) {
            return store_error(error);
        }
        for row in s.query_rows("SELECT body FROM entry WHERE run = $1 AND seq >= $2", &[&no, &as_of]).await? {
            if StoredEntry::is_about(row.try_get(0)?, &message.key) {
                return store_error(message.is_late());
            }
        }
    }
    let posted = s
        .query_row(
            "INSERT INTO inbox (run, kind, key, value, at, as_of) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
            &[&no, &kind.name(), &key, &value, &at, &as_of],
        )
        .await?;
    let Some(row) = posted else { return store_error(StoreError::Ended { run: run.to_owned() }) };
    let id: i64 = row.try_get(0)?;
    if let Some(sender) = sender {
        s.execute_statement("UPDATE inbox SET sender = $2 WHERE id = $1", &[&id, &sender]).await?;
    }
    notify_available(s).await?;
    s.commit_transaction().await?;
    Ok(uint(id))
}

fn sender_json(sender: &AnswerSender) -> Result<String, StoreError> {
    serde_json::to_string(sender).map_err(|error| StoreError::Unwritable { seq: 0, why: error.to_string() })
}

/// Whether the table has the column for senders. To a store of an earlier build, it is added with the first message that has a sender.
/// If this user may not change tables, or something reads the table for a long time (a backup), the answer counts without its sender.
async fn has_senders(s: &mut PostgresSession) -> PostgresResult<bool> {
    let known = "SELECT 1 FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = 'trefoil' AND c.relname = 'inbox' AND a.attname = 'sender' AND NOT a.attisdropped";
    if s.query_row(known, &[]).await?.is_some() {
        return Ok(true);
    }
    s.begin_transaction().await?;
    let add = "SET LOCAL lock_timeout TO '2s'; ALTER TABLE inbox ADD COLUMN IF NOT EXISTS sender text";
    match s.execute_batch(add).await {
        Ok(()) => s.commit_transaction().await.map(|()| true),
        Err(fault) if fault.sql_state().is_some_and(may_not_add) => {
            s.give_up().await;
            Ok(false)
        }
        Err(fault) => Err(fault),
    }
}

fn may_not_add(code: &SqlState) -> bool {
    [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::LOCK_NOT_AVAILABLE].contains(code)
}

/// Begins a transaction that adds messages.
pub async fn begin_posting(s: &mut PostgresSession) -> PostgresResult<()> {
    s.begin_transaction().await?;
    // Messages are added one at a time. Otherwise, a reader that asks for messages after a number could miss a message
    // with a smaller number that is committed later.
    s.query_rows("SELECT pg_advisory_xact_lock(1414677830, 1)", &[]).await?;
    Ok(())
}

/// The open runs above a run, and the runs that they have called. Only those that this run's own process does not drive; that process
/// sees the end itself.
const ABOVE: &str = "\
WITH RECURSIVE above (no, id, parent, called, own) AS (
  SELECT caller.no, caller.id, caller.parent, run.id, run.owner FROM run JOIN run AS caller ON caller.id = run.parent
    WHERE run.no = $1 AND caller.ended IS NULL AND caller.owner IS DISTINCT FROM run.owner
  UNION ALL
  SELECT caller.no, caller.id, caller.parent, above.id, above.own FROM above JOIN run AS caller ON caller.id = above.parent
    WHERE caller.ended IS NULL AND caller.owner IS DISTINCT FROM above.own
)
SELECT no, called FROM above";

/// The calling runs that must be told of a run's end.
pub async fn calling_runs(s: &mut PostgresSession, run: i64) -> PostgresResult<Vec<(i64, String)>> {
    let rows = s.query_rows(ABOVE, &[&run]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Tells calling runs that runs that they have called can continue.
pub async fn call_back(s: &mut PostgresSession, callers: &[(i64, String)], at: u64) -> PostgresResult<()> {
    for (no, called) in callers {
        let InboxMessage { kind, key, value, at, .. } = InboxMessage::goes_on(called.clone(), at);
        let value = serde_json::to_string(&WireForm(&value))
            .map_err(|error| StoreError::Unwritable { seq: 0, why: error.to_string() })?;
        // The caller may have been deleted or have ended meanwhile.
        s.query_rows(
            "INSERT INTO inbox (run, kind, key, value, at) \
             SELECT no, $2::text, $3::bytea, $4::text, $5::bigint FROM run WHERE no = $1 AND ended IS NULL FOR SHARE",
            &[no, &kind.name(), &key.as_bytes(), &value, &int(at)],
        )
        .await?;
    }
    if callers.is_empty() { Ok(()) } else { notify_available(s).await }
}

macro_rules! select {
    () => {
        // A store of an earlier build has no column for senders; the row as an object has one, or none.
        "SELECT inbox.id, run.id, kind, key, value, at, as_of, to_jsonb(inbox) ->> 'sender' \
         FROM inbox JOIN run ON run.no = inbox.run WHERE "
    };
}

/// The messages of a run.
pub async fn of_run(s: &mut PostgresSession, run: &str) -> PostgresResult<Vec<PostedMessage>> {
    run_number(s, run).await?;
    let rows = s.query_rows(concat!(select!(), "run.id = $1 ORDER BY inbox.id"), &[&text(run)]).await?;
    rows.iter().map(message_from_row).collect()
}

/// The messages of all runs of an owner.
pub async fn of_owner(s: &mut PostgresSession, owner: &str, after: u64) -> PostgresResult<Vec<PostedMessage>> {
    let select = concat!(select!(), "run.owner = $1 AND run.ended IS NULL AND inbox.id > $2 ORDER BY inbox.id");
    let rows = s.query_rows(select, &[&text(owner), &int(after)]).await?;
    rows.iter().map(message_from_row).collect()
}

fn message_from_row(row: &Row) -> PostgresResult<PostedMessage> {
    let id = uint(row.try_get(0)?);
    let unreadable = |why: &str| super::blobs::damaged_error(&format!("letter {id} cannot be read: {why}"));
    let kind: &str = row.try_get(2)?;
    let Some(kind) = MessageKind::ALL.into_iter().find(|known| known.name() == kind) else {
        return Err(unreadable("its kind is unknown").into());
    };
    let WireValue(value) =
        serde_json::from_str(row.try_get(4)?).map_err(|error: serde_json::Error| unreadable(&error.to_string()))?;
    let key = String::from_utf8_lossy(row.try_get(3)?).into_owned();
    let sender = match row.try_get::<_, Option<&str>>(7)? {
        Some(sender) => {
            Some(serde_json::from_str(sender).map_err(|error: serde_json::Error| unreadable(&error.to_string()))?)
        }
        None => None,
    };
    Ok(PostedMessage {
        id,
        run: row.try_get(1)?,
        message: InboxMessage {
            kind,
            key,
            value,
            at: uint(row.try_get(5)?),
            as_of: row.try_get::<_, Option<i64>>(6)?.map_or(0, uint),
            sender,
        },
    })
}

/// Stores drafts if the lease is valid and the run keeps all its content. Does not wait for the server's disk.
pub async fn store_drafts(s: &mut PostgresSession, lease: &Lease, drafts: &[Draft]) -> PostgresResult<()> {
    let keys: Vec<&[u8]> = drafts.iter().map(|draft| draft.key.as_str().as_bytes()).collect();
    let texts: Vec<&[u8]> = drafts.iter().map(|draft| draft.text.as_bytes()).collect();
    s.begin_transaction().await?;
    s.execute_batch("SET LOCAL synchronous_commit TO off").await?;
    // The row lock orders this before or after a claim or the end of the run.
    s.execute_statement(
        "WITH held AS (SELECT no FROM run WHERE no = $1 AND epoch = $2 AND owner IS NOT NULL AND content = 0 FOR SHARE) \
         INSERT INTO draft (run, key, text) SELECT held.no, d.key, d.text FROM held, unnest($3::bytea[], $4::bytea[]) AS d (key, text) \
         ON CONFLICT (run, key) DO UPDATE SET text = excluded.text",
        &[&lease.no, &int(lease.epoch), &keys, &texts],
    )
    .await?;
    s.commit_transaction().await
}

/// The drafts of a run.
pub async fn read_drafts(s: &mut PostgresSession, run: &str) -> PostgresResult<Vec<Draft>> {
    let no = run_number(s, run).await?;
    let rows = s.query_rows("SELECT key, text FROM draft WHERE run = $1 ORDER BY key", &[&no]).await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    rows.iter().map(|row| Ok(Draft { key: Key(text(row.try_get(0)?).into()), text: text(row.try_get(1)?) })).collect()
}
