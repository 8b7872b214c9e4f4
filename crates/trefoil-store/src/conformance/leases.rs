//! Only one process works on a run at a time, and letters reach the owner.

use trefoil_template::Value;

use super::{
    batch, begun, claim, completed, done, ended, entry, equal, expect, finished, refused, resumed, scheduled, started,
};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::inbox::{Letter, LetterKind};
use crate::lease::Claim;
use crate::port::{NewRun, Store};
use crate::record::Status;

pub async fn all(store: &dyn Store) -> Result<(), String> {
    fencing(store).await?;
    claimable(store).await?;
    claimed_together(store).await?;
    reclaimed(store).await?;
    letters(store).await
}

async fn fencing(store: &dyn Store) -> Result<(), String> {
    let first = begun(store, "fenced", "main", 1_000).await?;
    let held = |e: &StoreError| matches!(e, StoreError::Held { owner, until: 11_000, .. } if owner == "suite");
    refused(store.claim("fenced", claim("other", 11_000, 20_000)).await, "claim a run that is held", held)?;
    equal(&done(store.renew(vec![first.clone()], 12_000).await, "renewing")?, &vec![], "leases lost without reason")?;
    let late = claim("other", 11_500, 20_000);
    let held = |e: &StoreError| matches!(e, StoreError::Held { .. });
    refused(store.claim("fenced", late).await, "claim a run whose lease was renewed", held)?;
    let second = done(store.claim("fenced", claim("other", 12_001, 20_000)).await, "claiming after the lease")?;
    let lost = |e: &StoreError| matches!(e, StoreError::NotHeld { .. });
    let step = batch(&[entry(1, scheduled("a"))])?;
    refused(store.append(&first, step.clone()).await, "append to a run that somebody else has claimed", lost)?;
    equal(
        &done(store.renew(vec![first.clone()], 90_000).await, "renewing")?,
        &vec!["fenced".to_owned()],
        "lost leases",
    )?;
    done(store.release(&first).await, "releasing what is not one's own")?;
    done(store.append(&second, step.clone()).await, "appending after a claim")?;
    let wrong = |e: &StoreError| matches!(e, StoreError::Sequence { expected: 2, found: 1, .. });
    refused(store.append(&second, step).await, "append an entry twice", wrong)?;
    let record = done(store.record("fenced").await, "reading a record")?;
    equal(&(record.epoch, record.entries), &(2, 2), "epoch and entries of a claimed run")?;
    equal(&record.owner, &Some(("other".to_owned(), 20_000)), "the owner of a claimed run")?;
    done(store.release(&second).await, "releasing")?;
    refused(store.append(&second, batch(&[entry(2, scheduled("b"))])?).await, "append after releasing", lost)?;
    done(store.claim("fenced", claim("third", 12_002, 90_000)).await, "claiming what was released")?;
    // An owner that is known to have ended need not be waited for.
    let gone = Some("third".to_owned());
    let fourth = store.claim("fenced", Claim { gone, ..claim("fourth", 12_003, 90_000) }).await;
    let fourth = done(fourth, "succeeding the dead")?;
    done(store.append(&fourth, batch(&[entry(2, finished(None))])?).await, "ending a run")?;
    refused(store.append(&fourth, batch(&[entry(3, scheduled("c"))])?).await, "append after the end", lost)?;
    let over = |e: &StoreError| matches!(e, StoreError::Ended { .. });
    refused(store.claim("fenced", claim("fifth", 99_000, 99_001)).await, "claim a run that has ended", over)?;
    let nobody = |e: &StoreError| matches!(e, StoreError::NoRun { .. });
    refused(store.claim("nobody", claim("fifth", 99_000, 99_001)).await, "claim a run that is not there", nobody)
}

async fn claimable(store: &dyn Store) -> Result<(), String> {
    let lease = begun(store, "due", "main", 1_000).await?;
    let is = async |now: u64| -> Result<bool, String> {
        let runs = done(store.claimable(now, 1_000).await, "asking for runs without a process")?;
        Ok(runs.iter().any(|run| run == "due"))
    };
    expect(!is(11_000).await?, "a run that is held is not claimable")?;
    expect(is(11_001).await?, "a run whose lease has run out is claimable")?;
    let waits = Batch { status: Some(Status::Waiting), wake_at: Some(50_000), ..Batch::default() };
    done(store.append(&lease, waits).await, "appending")?;
    done(store.release(&lease).await, "releasing")?;
    expect(!is(49_999).await?, "a run that waits is not claimable before its time")?;
    expect(is(50_000).await?, "a run that waits is claimable at its time")?;
    let answer = Letter { kind: LetterKind::Answer, key: "ask".to_owned(), value: "yes".into(), at: 1 };
    done(store.post("due", answer).await, "posting")?;
    expect(is(12_000).await?, "a run that waits is claimable when a letter has come")?;
    let of_due = NewRun {
        run: "of-due".to_owned(),
        parent: Some("due".to_owned()),
        batch: batch(&[entry(0, started("of-due", "main", 1_000, "in".into()))])?,
        ..NewRun::default()
    };
    done(store.create(of_due).await, "creating a run that another one has started")?;
    let others = async || -> Result<bool, String> {
        let runs = done(store.claimable(12_000, 1_000).await, "asking for runs without a process")?;
        let some = done(store.claim_some(claim("taker", 12_000, 22_000), &runs, 10).await, "claiming some")?;
        expect(some.is_empty(), "nothing is claimed but what is claimable")?;
        Ok(runs.iter().any(|run| run == "of-due"))
    };
    expect(!others().await?, "a run is not claimable while the one that has started it has not ended")?;
    done(store.delete("due", 60_000).await, "deleting a run that nobody holds")?;
    expect(others().await?, "a run is claimable when the one that has started it is gone")?;
    done(store.delete("of-due", 60_000).await, "deleting a run that nobody holds")?;
    expect(!is(90_000).await?, "a run that is gone is not claimable")
}

/// Concurrent claims get each run once, and no excluded runs.
async fn claimed_together(store: &dyn Store) -> Result<(), String> {
    let mut others = done(store.claimable(11_001, 1_000).await, "asking for runs without a process")?;
    for n in 0..5 {
        let lease = begun(store, &format!("some-{n}"), "main", 1_000).await?;
        done(store.release(&lease).await, "releasing")?;
    }
    others.push("some-1".to_owned());
    let mut taken = Vec::new();
    for _ in 0..3 {
        let some = done(store.claim_some(claim("taker", 2_000, 12_000), &others, 3).await, "claiming some")?;
        expect(some.len() <= 3, "not more runs are claimed than were asked for")?;
        for lease in some {
            taken.push(lease.run.clone());
            done(store.append(&lease, batch(&[entry(1, finished(None))])?).await, "ending a run that was claimed")?;
        }
    }
    taken.sort();
    equal(&taken, &["some-0", "some-2", "some-3", "some-4"].map(str::to_owned).to_vec(), "the runs that were claimed")?;
    done(store.delete("some-1", 12_001).await, "deleting what nobody holds")
}

/// A run that no process works on any more is pending, and the cost of its calls in progress is unknown.
async fn reclaimed(store: &dyn Store) -> Result<(), String> {
    let lease = begun(store, "left", "main", 1_000).await?;
    done(store.append(&lease, batch(&[entry(1, scheduled("a")), entry(2, scheduled("b"))])?).await, "appending")?;
    done(store.append(&lease, batch(&[entry(3, completed("a", "text".into(), 5))])?).await, "appending")?;
    let seen = async || -> Result<_, String> {
        let record = done(store.record("left").await, "reading a record")?;
        Ok((record.status, record.spent.calls, record.spent.usage.unknown_calls, record.in_flight))
    };
    done(store.reclaim(2_000).await, "looking for runs that were left")?;
    equal(&seen().await?, &(Status::Running, 2, 0, 1), "a run whose lease holds")?;
    done(store.release(&lease).await, "releasing")?;
    equal(&seen().await?, &(Status::Pending, 2, 1, 1), "a run that was left")?;
    let lost = |e: &StoreError| matches!(e, StoreError::NotHeld { .. });
    refused(
        store.append(&lease, batch(&[entry(4, scheduled("c"))])?).await,
        "append to a run that was taken away",
        lost,
    )?;
    let next = done(store.claim("left", claim("next", 12_000, 20_000)).await, "claiming a run that was left")?;
    done(store.append(&next, batch(&[entry(4, resumed("b")), entry(5, scheduled("b"))])?).await, "appending")?;
    equal(&seen().await?, &(Status::Running, 3, 1, 1), "a run that goes on")?;
    done(store.append(&next, batch(&[entry(6, completed("b", "text".into(), 5))])?).await, "appending")?;
    done(store.release(&next).await, "releasing")?;
    equal(&seen().await?, &(Status::Pending, 3, 1, 0), "a run that was given back")
}

async fn letters(store: &dyn Store) -> Result<(), String> {
    let lease = begun(store, "asked", "main", 1_000).await?;
    begun(store, "quiet", "main", 1_000).await?;
    ended(store, "over", "main", 1_000, None).await?;
    let value: Value = [("yes", Value::from(true)), ("n", Value::from(u64::MAX))].into_iter().collect();
    let letter = |kind, key: &str| Letter { kind, key: key.to_owned(), value: value.clone(), at: 7 };
    let answer = letter(LetterKind::Answer, "review");
    let first = done(store.post("asked", answer.clone()).await, "posting")?;
    let second = done(store.post("asked", letter(LetterKind::Cancel, "")).await, "posting")?;
    expect(second > first, "later letters have larger numbers")?;
    let over = |e: &StoreError| matches!(e, StoreError::Ended { .. });
    refused(store.post("over", answer.clone()).await, "write to a run that has ended", over)?;
    let nobody = |e: &StoreError| matches!(e, StoreError::NoRun { .. });
    refused(store.post("nobody", answer.clone()).await, "write to nobody", nobody)?;
    let inbox = done(store.inbox("asked").await, "reading letters")?;
    equal(&inbox.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![first, second], "the letters")?;
    expect(inbox.first().is_some_and(|posted| posted.letter == answer), "a letter comes as it was written")?;
    let mine = done(store.posted("suite", first).await, "reading letters of an owner")?;
    equal(&mine.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![second], "later letters")?;
    expect(mine.iter().all(|posted| posted.run == "asked"), "letters say for which run they are")?;
    // A letter is removed together with the entries that process it, or not at all.
    let mut taking = batch(&[entry(3, scheduled("b"))])?;
    taking.taken = vec![first];
    expect(store.append(&lease, taking.clone()).await.is_err(), "entries with a gap are refused")?;
    equal(&done(store.inbox("asked").await, "reading letters")?.len(), &2, "letters after a refused append")?;
    taking = Batch { taken: vec![first], ..batch(&[entry(1, scheduled("b"))])? };
    done(store.append(&lease, taking).await, "appending")?;
    let left = done(store.inbox("asked").await, "reading letters")?;
    equal(&left.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![second], "the letters that are left")
}
