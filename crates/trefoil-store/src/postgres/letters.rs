//! Letters to runs, and drafts (partial answers).

use tokio_postgres::Row;
use trefoil_machine::Key;
use trefoil_runtime::ports::Draft;
use trefoil_template::wire::{Wire, Wired};

use super::connect::Session;
use super::fault::Done;
use super::pool::{Before, refuse};
use super::run_row::{number, tell};
use super::{int, text, uint};
use crate::batch::Body;
use crate::error::StoreError;
use crate::inbox::{Letter, LetterKind, Posted};
use crate::lease::Lease;

/// Puts a letter in the inbox of a run that has not ended. One that answers a question is refused if that has an answer, or is not
/// open any more.
pub async fn post(s: &mut Session, run: &str, letter: &Letter, before: Before) -> Done<u64> {
    let Letter { kind, key, value, at, as_of } = letter;
    let value = serde_json::to_string(&Wire(value))
        .map_err(|error| StoreError::Unwritable { seq: 0, why: error.to_string() })?;
    let (run_text, key, at) = (text(run), key.as_bytes(), int(*at));
    let as_of = letter.answers().then(|| int(*as_of));
    if before == Before::Perhaps {
        let same = "SELECT inbox.id FROM inbox JOIN run ON run.no = inbox.run \
                    WHERE run.id = $1 AND kind = $2 AND key = $3 AND value = $4 AND at = $5";
        if let Some(row) = s.row(same, &[&run_text, &kind.name(), &key, &value, &at]).await? {
            return Ok(uint(row.try_get(0)?));
        }
    }
    begin(s).await?;
    // Locks the run's row, so that nothing is appended in the meantime.
    let locked = s.row("SELECT no FROM run WHERE id = $1 AND ended IS NULL FOR SHARE", &[&run_text]).await?;
    let Some(row) = locked else {
        number(s, run).await?;
        return refuse(StoreError::Ended { run: run.to_owned() });
    };
    let no: i64 = row.try_get(0)?;
    if letter.answers() {
        if let Some(error) = letter.earlier(&of_run(s, run).await?) {
            return refuse(error);
        }
        for row in s.rows("SELECT body FROM entry WHERE run = $1 AND seq >= $2", &[&no, &as_of]).await? {
            if Body::is_about(row.try_get(0)?, &letter.key) {
                return refuse(letter.is_late());
            }
        }
    }
    let posted = s
        .row(
            "INSERT INTO inbox (run, kind, key, value, at, as_of) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
            &[&no, &kind.name(), &key, &value, &at, &as_of],
        )
        .await?;
    let Some(row) = posted else { return refuse(StoreError::Ended { run: run.to_owned() }) };
    tell(s).await?;
    s.commit().await?;
    Ok(uint(row.try_get(0)?))
}

/// Begins a transaction that adds letters.
pub async fn begin(s: &mut Session) -> Done<()> {
    s.begin().await?;
    // Letters are added one at a time. Otherwise, a reader that asks for letters after a number could miss a letter
    // with a smaller number that is committed later.
    s.rows("SELECT pg_advisory_xact_lock(1414677830, 1)", &[]).await?;
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
pub async fn callers(s: &mut Session, run: i64) -> Done<Vec<(i64, String)>> {
    let rows = s.rows(ABOVE, &[&run]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Tells calling runs that runs that they have called can continue.
pub async fn call_back(s: &mut Session, callers: &[(i64, String)], at: u64) -> Done<()> {
    for (no, called) in callers {
        let Letter { kind, key, value, at, .. } = Letter::goes_on(called.clone(), at);
        let value = serde_json::to_string(&Wire(&value))
            .map_err(|error| StoreError::Unwritable { seq: 0, why: error.to_string() })?;
        // The caller may have been deleted or have ended meanwhile.
        s.rows(
            "INSERT INTO inbox (run, kind, key, value, at) \
             SELECT no, $2::text, $3::bytea, $4::text, $5::bigint FROM run WHERE no = $1 AND ended IS NULL FOR SHARE",
            &[no, &kind.name(), &key.as_bytes(), &value, &int(at)],
        )
        .await?;
    }
    if callers.is_empty() { Ok(()) } else { tell(s).await }
}

macro_rules! select {
    () => {
        "SELECT inbox.id, run.id, kind, key, value, at, as_of FROM inbox JOIN run ON run.no = inbox.run WHERE "
    };
}

/// The letters of a run.
pub async fn of_run(s: &mut Session, run: &str) -> Done<Vec<Posted>> {
    number(s, run).await?;
    let rows = s.rows(concat!(select!(), "run.id = $1 ORDER BY inbox.id"), &[&text(run)]).await?;
    rows.iter().map(read).collect()
}

/// The letters of all runs of an owner.
pub async fn of_owner(s: &mut Session, owner: &str, after: u64) -> Done<Vec<Posted>> {
    let select = concat!(select!(), "run.owner = $1 AND run.ended IS NULL AND inbox.id > $2 ORDER BY inbox.id");
    let rows = s.rows(select, &[&text(owner), &int(after)]).await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Done<Posted> {
    let id = uint(row.try_get(0)?);
    let unreadable = |why: &str| super::blobs::damaged(&format!("letter {id} cannot be read: {why}"));
    let kind: &str = row.try_get(2)?;
    let kind = LetterKind::ALL.into_iter().find(|known| known.name() == kind);
    let kind = kind.ok_or_else(|| unreadable("its kind is unknown"))?;
    let Wired(value) =
        serde_json::from_str(row.try_get(4)?).map_err(|error: serde_json::Error| unreadable(&error.to_string()))?;
    let key = String::from_utf8_lossy(row.try_get(3)?).into_owned();
    Ok(Posted {
        id,
        run: row.try_get(1)?,
        letter: Letter {
            kind,
            key,
            value,
            at: uint(row.try_get(5)?),
            as_of: row.try_get::<_, Option<i64>>(6)?.map_or(0, uint),
        },
    })
}

/// Stores drafts if the lease is valid and the run keeps all its content. Does not wait for the server's disk.
pub async fn draft(s: &mut Session, lease: &Lease, drafts: &[Draft]) -> Done<()> {
    let keys: Vec<&[u8]> = drafts.iter().map(|draft| draft.key.as_str().as_bytes()).collect();
    let texts: Vec<&[u8]> = drafts.iter().map(|draft| draft.text.as_bytes()).collect();
    s.begin().await?;
    s.batch("SET LOCAL synchronous_commit TO off").await?;
    // The row lock orders this before or after a claim or the end of the run.
    s.execute(
        "WITH held AS (SELECT no FROM run WHERE no = $1 AND epoch = $2 AND owner IS NOT NULL AND content = 0 FOR SHARE) \
         INSERT INTO draft (run, key, text) SELECT held.no, d.key, d.text FROM held, unnest($3::bytea[], $4::bytea[]) AS d (key, text) \
         ON CONFLICT (run, key) DO UPDATE SET text = excluded.text",
        &[&lease.no, &int(lease.epoch), &keys, &texts],
    )
    .await?;
    s.commit().await
}

/// The drafts of a run.
pub async fn drafts(s: &mut Session, run: &str) -> Done<Vec<Draft>> {
    let no = number(s, run).await?;
    let rows = s.rows("SELECT key, text FROM draft WHERE run = $1 ORDER BY key", &[&no]).await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    rows.iter().map(|row| Ok(Draft { key: Key(text(row.try_get(0)?).into()), text: text(row.try_get(1)?) })).collect()
}
