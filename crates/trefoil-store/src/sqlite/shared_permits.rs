//! Permits of limits that all processes of the store share.
//!
//! Nothing here waits for the disk: after a power failure, the calls of these permits are gone, too.

use std::time::Duration;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, params};
use trefoil_runtime::Random as _;
use trefoil_runtime::limits::shared_limits::{
    PermitAnswer, PermitLease, PermitRequest, PermitWait, ReturnedPermit, SubjectState,
};
use trefoil_runtime::ports::SystemRandom;

use super::fault::SqliteResult;
use super::owner_locks::OwnerLocks;
use super::{int, runs};

/// A process hears only its own returns, and asks for those of others after a time from here on, in milliseconds.
const PAUSE_MS: u64 = 40;
/// Up to this much longer, by chance, so that processes do not ask in step.
const JITTER_MS: u64 = 80;
/// The longest time before asking again, in milliseconds.
const LONGEST_MS: u64 = 1_000;
/// One of so many requests removes the subjects of which nothing counts any more.
const SWEEP: u64 = 64;

/// Gives permits back, and decides about a request.
pub fn take_permit(
    c: &Connection,
    request: &PermitRequest,
    lease: &PermitLease,
    returned: &[ReturnedPermit],
    alive: &OwnerLocks,
) -> SqliteResult<PermitAnswer> {
    if request.id.is_multiple_of(SWEEP) {
        c.prepare_cached("DELETE FROM shared_limit WHERE quiet_at < ?1")?.execute([int(lease.now)])?;
    }
    let (answer, gone) = change_state(c, &request.subject, |state| {
        state.forget_past(lease.now, None);
        state.return_permits(returned);
        let before = state.clone();
        let answer = state.take_permit(request, lease);
        if matches!(answer, PermitAnswer::Granted { .. }) {
            return (answer, Vec::new());
        }
        let gone = state.remove_holders(|holder| *holder != lease.holder && alive.is_alive(holder) == Some(false));
        if gone.is_empty() {
            return (answer, gone);
        }
        *state = before;
        state.remove_holders(|holder| gone.iter().any(|gone| gone == holder));
        (state.take_permit(request, lease), gone)
    })?;
    for holder in gone {
        remove_holder(c, &holder)?;
        // Its lock also says that its runs are free.
        if !runs::has_any(c, &holder)? {
            alive.remove_lock(&holder);
        }
    }
    Ok(answer)
}

/// Gives permits and places in the queue back.
pub fn return_permits(c: &Connection, subject: &str, returned: &[ReturnedPermit]) -> SqliteResult<()> {
    change_state(c, subject, |state| state.return_permits(returned))
}

/// Renews permits.
pub fn renew_permits(c: &Connection, subject: &str, ids: &[u64], until: u64) -> SqliteResult<()> {
    change_state(c, subject, |state| state.renew_permits(ids, until))
}

/// Removes what a process has that has ended.
pub fn remove_holder(c: &Connection, holder: &str) -> SqliteResult<()> {
    let mut select = c.prepare_cached("SELECT subject FROM shared_limit WHERE instr(state, ?1) > 0")?;
    let subjects = select.query_map([holder], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    for subject in subjects {
        change_state(c, &subject, |state| drop(state.remove_holders(|other| other == holder)))?;
    }
    Ok(())
}

/// Changes what is known of a subject.
fn change_state<T>(c: &Connection, subject: &str, change: impl FnOnce(&mut SubjectState) -> T) -> SqliteResult<T> {
    let stored: Option<String> = c
        .prepare_cached("SELECT state FROM shared_limit WHERE subject = ?1")?
        .query_row([subject], |row| row.get(0))
        .optional()?;
    let unusable = |error: serde_json::Error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error.into());
    let before: SubjectState = match &stored {
        Some(json) => serde_json::from_str(json).map_err(unusable)?,
        None => SubjectState::default(),
    };
    let mut state = before.clone();
    let done = change(&mut state);
    if state != before {
        let json = serde_json::to_string(&state).map_err(unusable)?;
        c.prepare_cached(
            "INSERT INTO shared_limit (subject, state, quiet_at) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET state = excluded.state, quiet_at = excluded.quiet_at",
        )?
        .execute(params![subject, json, int(state.quiet_at())])?;
    }
    Ok(done)
}

/// How long a request waits before it is asked again, if this process gives nothing back.
pub fn pause_before_asking(wait: &PermitWait) -> Duration {
    let chance = SystemRandom.next_number() % JITTER_MS;
    let pause = match wait.wait_ms {
        Some(ms) => ms.clamp(PAUSE_MS, LONGEST_MS),
        None => PAUSE_MS,
    };
    Duration::from_millis(pause.saturating_add(chance))
}
