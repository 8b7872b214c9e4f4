//! Messages to runs.

use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params};
use trefoil_machine::{AnswerSender, Key};
use trefoil_template::wire::{WireForm, WireValue};

use super::fault::SqliteResult;
use super::{int, uint};
use crate::batch::StoredEntry;
use crate::error::StoreError;
use crate::inbox::{InboxMessage, MessageKind, PostedMessage};

/// Puts a message in the inbox of a run that has not ended. One that answers a question is refused if that has an answer, or is not
/// open any more.
pub fn post_message(c: &Connection, run: &str, message: &InboxMessage) -> SqliteResult<u64> {
    let found = c
        .prepare_cached("SELECT no, ended FROM run WHERE id = ?1")?
        .query_row([run], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?)))
        .optional()?;
    let no = match found {
        None => return Err(StoreError::NoRun { run: run.to_owned() }.into()),
        Some((_, Some(_))) => return Err(StoreError::Ended { run: run.to_owned() }.into()),
        Some((no, None)) => no,
    };
    if message.is_answer() {
        if let Some(error) = message.find_earlier_answer(&of_run(c, run)?) {
            return Err(error.into());
        }
        let mut select = c.prepare_cached("SELECT body FROM entry WHERE id BETWEEN ?1 AND ?2")?;
        let mut since =
            select.query([super::entries::entry_id(no, message.as_of), super::entries::entry_id(no, u64::MAX)])?;
        while let Some(row) = since.next()? {
            if StoredEntry::is_about(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?, &message.key) {
                return Err(message.is_late().into());
            }
        }
    }
    let InboxMessage { kind, key, value, at, as_of, sender } = message;
    let as_of = if message.is_answer() { Some(int(*as_of)) } else { None };
    let value = serde_json::to_string(&WireForm(value))
        .map_err(|error| StoreError::Unwritable { seq: 0, why: error.to_string() })?;
    c.prepare_cached("INSERT INTO inbox (run, kind, key, value, at, as_of) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![no, kind.name(), key, value, int(*at), as_of])?;
    let id = c.last_insert_rowid();
    if let Some(sender) = sender {
        write_sender(c, id, sender)?;
    }
    Ok(uint(id))
}

/// Whether the table has the column for senders. It is added with the first message that has one, so that a store of an earlier build
/// is used as it is, and such a build uses this one.
fn has_senders(c: &Connection) -> SqliteResult<bool> {
    Ok(c.prepare_cached("SELECT 1 FROM pragma_table_info('inbox') WHERE name = 'sender'")?.exists([])?)
}

fn write_sender(c: &Connection, id: i64, sender: &AnswerSender) -> SqliteResult<()> {
    if !has_senders(c)? {
        c.execute_batch("ALTER TABLE inbox ADD COLUMN sender TEXT")?;
    }
    let sender =
        serde_json::to_string(sender).map_err(|error| StoreError::Unwritable { seq: 0, why: error.to_string() })?;
    c.prepare_cached("UPDATE inbox SET sender = ?2 WHERE id = ?1")?.execute(params![id, sender])?;
    Ok(())
}

/// Only callers that this run's own process does not drive get a message; that process sees the end itself.
const CALL_BACK: &str = "\
WITH RECURSIVE above (no, id, parent, called, own) AS (
  SELECT caller.no, caller.id, caller.parent, run.id, run.owner FROM run JOIN run AS caller ON caller.id = run.parent
    WHERE run.no = ?1 AND caller.ended IS NULL AND caller.owner IS NOT run.owner
  UNION ALL
  SELECT caller.no, caller.id, caller.parent, above.id, above.own FROM above JOIN run AS caller ON caller.id = above.parent
    WHERE caller.ended IS NULL AND caller.owner IS NOT above.own
)
INSERT INTO inbox (run, kind, key, value, at, as_of) SELECT no, ?2, called, ?3, ?4, NULL FROM above";

/// Tells the calling runs that a run, which is about to end, has ended: they can continue.
pub fn call_back(c: &Connection, no: i64, at: u64) -> SqliteResult<()> {
    let InboxMessage { kind, value, .. } = InboxMessage::goes_on(String::new(), at);
    let value = serde_json::to_string(&WireForm(&value))
        .map_err(|error| StoreError::Unwritable { seq: 0, why: error.to_string() })?;
    c.prepare_cached(CALL_BACK)?.execute(params![no, kind.name(), value, int(at)])?;
    Ok(())
}

/// Deletes the answers to questions that entries have closed.
pub fn delete_closed(c: &Connection, no: i64, about: &[Key]) -> SqliteResult<()> {
    let has_any = || c.prepare_cached("SELECT 1 FROM inbox WHERE run = ?1 LIMIT 1")?.exists([no]);
    if about.is_empty() || !has_any()? {
        return Ok(());
    }
    let mut delete = c.prepare_cached("DELETE FROM inbox WHERE run = ?1 AND key = ?2 AND as_of IS NOT NULL")?;
    for key in about {
        delete.execute(params![no, key.as_str()])?;
    }
    Ok(())
}

/// The messages of a run.
pub fn of_run(c: &Connection, run: &str) -> SqliteResult<Vec<PostedMessage>> {
    super::entries::run_number(c, run)?;
    select(c, "run.id = ?1", &[&run])
}

/// The messages of all runs of an owner.
pub fn of_owner(c: &Connection, owner: &str, after: u64) -> SqliteResult<Vec<PostedMessage>> {
    select(c, "run.owner = ?1 AND run.ended IS NULL AND inbox.id > ?2", &[&owner, &int(after)])
}

fn select(c: &Connection, condition: &str, parameters: &[&dyn ToSql]) -> SqliteResult<Vec<PostedMessage>> {
    let sender = if has_senders(c)? { "sender" } else { "NULL" };
    let sql = format!(
        "SELECT inbox.id, run.id, kind, key, value, at, as_of, {sender} FROM inbox JOIN run ON run.no = inbox.run WHERE {condition} \
         ORDER BY inbox.id"
    );
    let mut select = c.prepare_cached(&sql)?;
    let messages = select.query_map(parameters, read)?;
    Ok(messages.collect::<Result<_, _>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<PostedMessage> {
    let unreadable = |why: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Text, why)
    };
    let kind: String = row.get(2)?;
    let kind = MessageKind::ALL.into_iter().find(|known| known.name() == kind);
    let kind = kind.ok_or_else(|| unreadable("unknown kind of letter".into()))?;
    let value: String = row.get(4)?;
    let WireValue(value) = serde_json::from_str(&value).map_err(|error| unreadable(error.into()))?;
    let sender: Option<String> = row.get(7)?;
    let sender = match sender {
        Some(sender) => Some(serde_json::from_str(&sender).map_err(|error| unreadable(error.into()))?),
        None => None,
    };
    let message = InboxMessage {
        kind,
        key: row.get(3)?,
        value,
        at: uint(row.get(5)?),
        as_of: row.get::<_, Option<i64>>(6)?.map_or(0, uint),
        sender,
    };
    Ok(PostedMessage { id: uint(row.get(0)?), run: row.get(1)?, message })
}
