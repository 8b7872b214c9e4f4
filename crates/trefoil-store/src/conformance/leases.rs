//! Only one process works on a run at a time.

use std::time::Duration;

use super::{
    batch, begun, claim, completed, done, entry, equal, expect, finished, refused, resumed, scheduled, started,
};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::inbox::{Letter, LetterKind};
use crate::lease::{Claim, ClaimShare, Lease};
use crate::port::{NewRun, Store};
use crate::record::Status;

pub async fn all(store: &dyn Store) -> Result<(), String> {
    fencing(store).await?;
    claimable(store).await?;
    claimed_together(store).await?;
    shared_fairly(store).await?;
    evicted(store).await?;
    reclaimed(store).await
}

fn share(except: &[String], most: usize) -> ClaimShare {
    ClaimShare { except: except.to_vec(), most, per_flow: None }
}

async fn fencing(store: &dyn Store) -> Result<(), String> {
    let first = begun(store, "fenced", "main", 1_000).await?;
    let held = |e: &StoreError| matches!(e, StoreError::Held { owner, until: 11_000, .. } if owner == "suite");
    refused(store.claim("fenced", claim("other", 11_000, 20_000)).await, "claim a run that is held", held)?;
    equal(&done(store.renew(vec![first.clone()], 12_000).await, "renewing")?, &vec![], "leases lost without reason")?;
    let late = claim("other", 11_500, 20_000);
    let held = |e: &StoreError| matches!(e, StoreError::Held { .. });
    refused(store.claim("fenced", late).await, "claim a run whose lease was renewed", held)?;
    let second = done(claimed_late(store, "fenced", "other", 12_001).await, "claiming after the lease")?;
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
    equal(&record.taken_from.as_deref(), &Some("suite"), "the process from which a run was taken")?;
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

/// Claims a run whose owner may live. If that is certain, its lease must not have been renewed for a while.
async fn claimed_late(store: &dyn Store, run: &str, owner: &str, now: u64) -> crate::Result<Lease> {
    match store.claim(run, claim(owner, now, now + 50)).await {
        Err(StoreError::Held { .. }) => {
            tokio::time::sleep(Duration::from_millis(60)).await;
            store.claim(run, claim(owner, now, now + 50)).await
        }
        claimed => claimed,
    }
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
    let answer = Letter { kind: LetterKind::Answer, key: "ask".to_owned(), value: "yes".into(), at: 1, as_of: 1 };
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
        let some = done(store.claim_some(claim("taker", 12_000, 22_000), share(&runs, 10)).await, "claiming some")?;
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
        let some = done(store.claim_some(claim("taker", 2_000, 12_000), share(&others, 3)).await, "claiming some")?;
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

/// A flow that waits with many runs delays the first runs of others by one run each, and a process has no more of one flow than it
/// wants.
async fn shared_fairly(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    let ready = async |run: String, flow: &str| -> Result<(), String> {
        let batch = batch(&[entry(0, started(&run, flow, now, "in".into()))])?;
        let new = NewRun { run, batch, now, ..NewRun::default() };
        done(store.create(new).await, "creating a run for anybody").map(drop)
    };
    let others = done(store.claimable(now, 1_000).await, "asking for runs without a process")?;
    for n in 0..40 {
        ready(format!("many-{n:02}"), "fair-many").await?;
    }
    for n in 0..3 {
        ready(format!("few-{n}"), "fair-few").await?;
        ready(format!("one-{n}"), &format!("fair-{n}")).await?;
    }
    let next = done(store.claimable(now, 1_000).await, "asking for runs without a process")?;
    let next: Vec<&str> = next.iter().filter(|run| !others.contains(run)).map(String::as_str).collect();
    let wanted = ["many-00", "few-0", "one-0", "one-1", "one-2", "many-01", "few-1", "many-02", "few-2", "many-03"];
    equal(&next.get(..10).unwrap_or_default(), &wanted.as_slice(), "the order of runs that wait")?;
    equal(&next.len(), &46, "how many of them wait")?;
    let some = async |owner: &str, most, per_flow| -> Result<Vec<String>, String> {
        let share = ClaimShare { except: others.clone(), most, per_flow };
        let leases = done(store.claim_some(claim(owner, now, now + 60_000), share).await, "claiming some")?;
        let mut runs: Vec<String> = leases.into_iter().map(|lease| lease.run).collect();
        runs.sort();
        Ok(runs)
    };
    // Those in progress count, too.
    equal(&some("fair-a", 2, None).await?, &vec!["few-0".to_owned(), "many-00".to_owned()], "what is claimed first")?;
    let then = ["one-0", "one-1", "one-2"].map(str::to_owned).to_vec();
    equal(&some("fair-b", 3, None).await?, &then, "what is claimed then")?;
    let more = some("fair-a", 40, Some(2)).await?;
    equal(
        &more.iter().filter(|run| run.starts_with("many")).count(),
        &1,
        "how many of one flow are claimed within a limit",
    )?;
    equal(&some("fair-a", 40, Some(2)).await?.len(), &0, "what is claimed beyond a limit")?;
    let attended = NewRun { run: "attended".to_owned(), attended: true, now, ..NewRun::default() };
    done(store.create(attended).await, "creating a run that a person attends to")?;
    let next = done(store.claimable(now, 1_000).await, "asking for runs without a process")?;
    expect(!next.iter().any(|run| run == "attended"), "a run that a person attends to is not for workers")?;
    done(store.claim("attended", claim("person", now, now + 60_000)).await, "claiming it by its id").map(drop)
}

/// Whoever is taken away from a run cannot write to it any more, although its lease holds.
async fn evicted(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    let lease = begun(store, "evicted", "main", now).await?;
    equal(&done(store.evict_owner("evicted").await, "evicting")?.as_deref(), &Some("suite"), "the former owner")?;
    equal(&done(store.evict_owner("evicted").await, "evicting")?, &None, "the owner of a run without one")?;
    let lost = |e: &StoreError| matches!(e, StoreError::NotHeld { .. });
    refused(store.append(&lease, batch(&[entry(1, scheduled("a"))])?).await, "append after an eviction", lost)?;
    let record = done(store.record("evicted").await, "reading a record")?;
    equal(
        &(record.status, record.taken_from.as_deref()),
        &(Status::Interrupted, Some("suite")),
        "a run that was taken away",
    )?;
    done(store.claim("evicted", claim("next", now, now + 60_000)).await, "claiming it at once").map(drop)
}

/// A run that no process works on any more is interrupted, and the cost of its calls in progress is unknown.
async fn reclaimed(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    let lease = begun(store, "left", "main", now).await?;
    done(store.append(&lease, batch(&[entry(1, scheduled("a")), entry(2, scheduled("b"))])?).await, "appending")?;
    done(store.append(&lease, batch(&[entry(3, completed("a", "text".into(), 5))])?).await, "appending")?;
    let seen = async || -> Result<_, String> {
        let record = done(store.record("left").await, "reading a record")?;
        Ok((record.status, record.spent.calls, record.spent.usage.unknown_calls, record.in_flight))
    };
    done(store.reclaim(2_000).await, "looking for runs that were left")?;
    equal(&seen().await?, &(Status::Running, 2, 0, 1), "a run whose lease holds")?;
    done(store.release(&lease).await, "releasing")?;
    equal(&seen().await?, &(Status::Interrupted, 2, 1, 1), "a run that was left")?;
    let lost = |e: &StoreError| matches!(e, StoreError::NotHeld { .. });
    refused(
        store.append(&lease, batch(&[entry(4, scheduled("c"))])?).await,
        "append to a run that was taken away",
        lost,
    )?;
    let next = done(store.claim("left", claim("next", now, now + 20_000)).await, "claiming a run that was left")?;
    done(store.append(&next, batch(&[entry(4, resumed("b")), entry(5, scheduled("b"))])?).await, "appending")?;
    equal(&seen().await?, &(Status::Running, 3, 1, 1), "a run that goes on")?;
    done(store.append(&next, batch(&[entry(6, completed("b", "text".into(), 5))])?).await, "appending")?;
    done(store.release(&next).await, "releasing")?;
    equal(&seen().await?, &(Status::Interrupted, 3, 1, 0), "a run that was given back")
}

/// Whoever looks at a run sees that no process works on it any more, before anybody records that.
pub async fn looked_at(store: &dyn Store) -> Result<(), String> {
    use crate::list::Filter;
    let now = store.clock().wall_ms();
    let before = done(store.counts().await, "counting")?;
    for run in ["lapsed-1", "lapsed-2"] {
        let lease = begun(store, run, "lapsed", now).await?;
        done(store.append(&lease, batch(&[entry(1, scheduled("a"))])?).await, "appending")?;
        // Its owner is gone without a word.
        done(store.renew(vec![lease], 2_000).await, "letting a lease expire")?;
    }
    begun(store, "live", "lapsed", now).await?;
    let record = done(store.record("lapsed-1").await, "reading a record")?;
    let seen = (record.status, record.spent.usage.unknown_calls);
    equal(&seen, &(Status::Interrupted, 1), "a run whose lease has expired")?;
    let flow = Filter { flow: Some("lapsed".to_owned()), ..Filter::default() };
    for (status, wanted) in [
        (vec![Status::Interrupted], 2),
        (vec![Status::Running], 1),
        (vec![Status::Running, Status::Interrupted], 3),
        (Vec::new(), 3),
    ] {
        let page = done(store.list(&Filter { status: status.clone(), ..flow.clone() }, None, 10).await, "listing")?;
        equal(&page.runs.len(), &wanted, &format!("the number of runs that are {status:?}"))?;
    }
    let after = done(store.counts().await, "counting")?;
    let of = |all: &[(Status, u64)], wanted| all.iter().find(|(status, _)| *status == wanted).map_or(0, |(_, n)| *n);
    let grown = |status| of(&after, status).saturating_sub(of(&before, status));
    equal(&(grown(Status::Interrupted), grown(Status::Running)), &(2, 1), "what the counts have more")
}
