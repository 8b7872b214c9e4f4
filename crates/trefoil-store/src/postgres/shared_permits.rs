//! Permits of limits that all processes of the store share.
//!
//! A request locks its subject, reads, decides, writes and commits, in two round trips. Nothing here waits for the server's disk: a
//! permit that is lost when the server crashes is missing for the rest of one call.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use trefoil_runtime::Random as _;
use trefoil_runtime::limits::shared_limits::{
    PermitAnswer, PermitLease, PermitRequest, PermitUse, PermitWait, ReturnedPermit, SubjectState,
};
use trefoil_runtime::ports::SystemRandom;

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::EarlierTry;
use super::{int, text, uint};
use crate::error::StoreError;

/// The channel for notifications that permits were given back, for which somebody waits.
pub const CHANNEL: &str = "trefoil_permits";

/// The longest time before asking again, in milliseconds: a notification may be missed, and permits may expire.
const LONGEST_MS: u64 = 1_000;
/// Up to this much longer, by chance, so that processes do not ask in step.
const JITTER_MS: u64 = 100;
/// The shortest time before asking again, in milliseconds.
const SHORTEST_MS: u64 = 20;
/// Leases that expired longer before the start of the server, in milliseconds, have nothing to do with its outage.
const DAY_MS: u64 = 86_400_000;
/// One of so many requests removes the subjects of which nothing counts any more.
const SWEEP: u64 = 64;

/// What is known of a subject, the server's time, and, for a while after it was started, when a client first saw it.
const READ: &str = concat!(
    "SELECT (SELECT state FROM shared_limit WHERE subject = $1), ",
    server_now!(),
    ", (SELECT (extract(epoch FROM seen) * 1000)::bigint FROM ",
    restarted_server!(),
    ")"
);

/// Writes what is known of a subject. `$4`: the channel, `$5`: whether somebody has to be notified.
const WRITE: &str = "WITH written AS (INSERT INTO shared_limit (subject, state, quiet_at) VALUES ($1, $2, $3) \
       ON CONFLICT (subject) DO UPDATE SET state = excluded.state, quiet_at = excluded.quiet_at) \
     SELECT pg_notify($4, '') WHERE $5::boolean";

/// Removes the subjects of which nothing counts any more, except those that others use just now. Not while leases count that ended
/// while the server was down: see `lease_expired!`.
const SWEEP_ALL: &str = concat!(
    "DELETE FROM shared_limit WHERE subject IN \
     (SELECT subject FROM shared_limit WHERE quiet_at < $1 FOR UPDATE SKIP LOCKED) AND NOT EXISTS (SELECT 1 FROM ",
    restarted_server!(),
    ")"
);

/// A subject that nobody else changes until the transaction ends.
struct LockedSubject<'s> {
    s: &'s mut PostgresSession,
    subject: &'s str,
    before: SubjectState,
    state: SubjectState,
    server_now: u64,
    /// Leases that ended in this time could not be renewed: see `lease_expired!`.
    spared: Option<RangeInclusive<u64>>,
}

impl<'s> LockedSubject<'s> {
    async fn begin(s: &'s mut PostgresSession, subject: &'s str) -> PostgresResult<Self> {
        let rows = s.begin_and_query(&lock_statements(subject), READ, &[&text(subject)]).await?;
        let (mut before, mut server_now, mut spared) = (SubjectState::default(), u64::MAX, None);
        if let Some(row) = rows.first() {
            if let Some(json) = row.try_get::<_, Option<&str>>(0)? {
                before = serde_json::from_str(json).map_err(unusable)?;
            }
            server_now = uint(row.try_get(1)?);
            let seen = row.try_get::<_, Option<i64>>(2)?.map(uint);
            spared = seen.map(|seen| seen.saturating_sub(DAY_MS)..=seen);
        }
        Ok(Self { s, subject, state: before.clone(), before, server_now, spared })
    }

    /// Forgets what does not count any more. A host whose clock is ahead forgets nothing too early.
    fn forget_past(&mut self, now: u64) {
        self.state.forget_past(now.min(self.server_now), self.spared.as_ref());
    }

    /// Writes what has changed. `tells`: whether somebody who waits may have room now.
    async fn commit(self, tells: bool) -> PostgresResult<()> {
        if self.state == self.before {
            return self.s.commit_transaction().await;
        }
        let json = serde_json::to_string(&self.state).map_err(unusable)?;
        let (quiet_at, tells) = (int(self.state.quiet_at()), tells && self.state.has_places());
        self.s.query_and_commit(WRITE, &[&text(self.subject), &json, &quiet_at, &CHANNEL, &tells]).await?;
        Ok(())
    }
}

fn unusable(error: serde_json::Error) -> StoreError {
    // The store adds its address.
    StoreError::Corrupt { path: PathBuf::new(), why: format!("what it has of a limit cannot be read: {error}") }
}

/// The beginning of a transaction that is alone with a subject. Different subjects may have the same lock, which does no harm.
fn lock_statements(subject: &str) -> String {
    let hash = subject.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let lock = hash.cast_signed();
    format!("BEGIN; SET LOCAL synchronous_commit TO off; SELECT pg_advisory_xact_lock(1414677831, {lock})")
}

/// Gives permits back, and decides about a request.
pub async fn take_permit(
    s: &mut PostgresSession,
    request: &PermitRequest,
    lease: &PermitLease,
    returned: &[ReturnedPermit],
    before: EarlierTry,
) -> PostgresResult<PermitAnswer> {
    if request.id.is_multiple_of(SWEEP) {
        s.execute_statement(SWEEP_ALL, &[&int(lease.now)]).await?;
    }
    let mut subject = LockedSubject::begin(s, &request.subject).await?;
    subject.forget_past(lease.now);
    subject.state.return_permits(&corrected_once(returned, before));
    let answer = subject.state.take_permit(request, lease);
    subject.commit(!returned.is_empty()).await?;
    Ok(answer)
}

/// Gives permits and places in the queue back.
pub async fn return_permits(
    s: &mut PostgresSession,
    subject: &str,
    returned: &[ReturnedPermit],
    before: EarlierTry,
) -> PostgresResult<()> {
    let mut subject = LockedSubject::begin(s, subject).await?;
    subject.state.return_permits(&corrected_once(returned, before));
    subject.commit(true).await
}

/// If an earlier try may have corrected what was counted, what was expected counts: too much rather than too little.
fn corrected_once(returned: &[ReturnedPermit], before: EarlierTry) -> Vec<ReturnedPermit> {
    let mut returned = returned.to_vec();
    if before == EarlierTry::Perhaps {
        returned.iter_mut().for_each(|permit| permit.used = PermitUse::Unknown);
    }
    returned
}

/// Renews permits.
pub async fn renew_permits(s: &mut PostgresSession, subject: &str, ids: &[u64], until: u64) -> PostgresResult<()> {
    let mut subject = LockedSubject::begin(s, subject).await?;
    subject.state.renew_permits(ids, until);
    subject.commit(false).await
}

/// How long a request waits before it is asked again, if there is no notification.
pub fn pause_before_asking(wait: &PermitWait) -> Duration {
    let chance = SystemRandom.next_number() % JITTER_MS;
    let pause = wait.wait_ms.unwrap_or(LONGEST_MS).clamp(SHORTEST_MS, LONGEST_MS);
    Duration::from_millis(pause.saturating_add(chance))
}
