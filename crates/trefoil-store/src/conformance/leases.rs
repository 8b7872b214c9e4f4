//! Only one process works on a run at a time.

use std::time::Duration;

use super::{
    batch, begin_run, claim, completed, entry, equal, expect, finished, require_refusal, require_success, resumed,
    scheduled, started,
};
use crate::batch::EntryBatch;
use crate::error::StoreError;
use crate::inbox::{InboxMessage, MessageKind};
use crate::lease::{Claim, ClaimShare, Lease};
use crate::port::{NewRun, Store};
use crate::record::Status;

pub async fn check_leases(store: &dyn Store) -> Result<(), String> {
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
    let first = begin_run(store, "fenced", "main", 1_000).await?;
    let held = |e: &StoreError| matches!(e, StoreError::Held { owner, until: 11_000, .. } if owner == "suite");
    require_refusal(store.claim_run("fenced", claim("other", 11_000, 20_000)).await, "claim a run that is held", held)?;
    equal(
        &require_success(store.renew_leases(vec![first.clone()], 12_000).await, "renewing")?,
        &vec![],
        "leases lost without reason",
    )?;
    let late = claim("other", 11_500, 20_000);
    let held = |e: &StoreError| matches!(e, StoreError::Held { .. });
    require_refusal(store.claim_run("fenced", late).await, "claim a run whose lease was renewed", held)?;
    let second = require_success(claimed_late(store, "fenced", "other", 12_001).await, "claiming after the lease")?;
    let lost = |e: &StoreError| matches!(e, StoreError::NotHeld { .. });
    let step = batch(&[entry(1, scheduled("a"))])?;
    require_refusal(
        store.append_batch(&first, step.clone()).await,
        "append to a run that somebody else has claimed",
        lost,
    )?;
    equal(
        &require_success(store.renew_leases(vec![first.clone()], 90_000).await, "renewing")?,
        &vec!["fenced".to_owned()],
        "lost leases",
    )?;
    require_success(store.release_run(&first).await, "releasing what is not one's own")?;
    require_success(store.append_batch(&second, step.clone()).await, "appending after a claim")?;
    let wrong = |e: &StoreError| matches!(e, StoreError::Sequence { expected: 2, found: 1, .. });
    require_refusal(store.append_batch(&second, step).await, "append an entry twice", wrong)?;
    let record = require_success(store.record("fenced").await, "reading a record")?;
    equal(&(record.epoch, record.entries), &(2, 2), "epoch and entries of a claimed run")?;
    equal(&record.taken_from.as_deref(), &Some("suite"), "the process from which a run was taken")?;
    require_success(store.release_run(&second).await, "releasing")?;
    require_refusal(
        store.append_batch(&second, batch(&[entry(2, scheduled("b"))])?).await,
        "append after releasing",
        lost,
    )?;
    require_success(store.claim_run("fenced", claim("third", 12_002, 90_000)).await, "claiming what was released")?;
    // An owner that is known to have ended need not be waited for.
    let gone = Some("third".to_owned());
    let fourth = store.claim_run("fenced", Claim { gone, ..claim("fourth", 12_003, 90_000) }).await;
    let fourth = require_success(fourth, "succeeding the dead")?;
    require_success(store.append_batch(&fourth, batch(&[entry(2, finished(None))])?).await, "ending a run")?;
    require_refusal(
        store.append_batch(&fourth, batch(&[entry(3, scheduled("c"))])?).await,
        "append after the end",
        lost,
    )?;
    let over = |e: &StoreError| matches!(e, StoreError::Ended { .. });
    require_refusal(
        store.claim_run("fenced", claim("fifth", 99_000, 99_001)).await,
        "claim a run that has ended",
        over,
    )?;
    let nobody = |e: &StoreError| matches!(e, StoreError::NoRun { .. });
    require_refusal(
        store.claim_run("nobody", claim("fifth", 99_000, 99_001)).await,
        "claim a run that is not there",
        nobody,
    )
}

/// Claims a run whose owner may live. If that is certain, its lease must not have been renewed for a while.
async fn claimed_late(store: &dyn Store, run: &str, owner: &str, now: u64) -> crate::StoreResult<Lease> {
    match store.claim_run(run, claim(owner, now, now + 50)).await {
        Err(StoreError::Held { .. }) => {
            tokio::time::sleep(Duration::from_millis(60)).await;
            store.claim_run(run, claim(owner, now, now + 50)).await
        }
        claimed => claimed,
    }
}

async fn claimable(store: &dyn Store) -> Result<(), String> {
    let lease = begin_run(store, "due", "main", 1_000).await?;
    let is = async |now: u64| -> Result<bool, String> {
        let runs = require_success(store.claimable_runs(now, 1_000).await, "asking for runs without a process")?;
        Ok(runs.iter().any(|run| run == "due"))
    };
    expect(!is(11_000).await?, "a run that is held is not claimable")?;
    expect(is(11_001).await?, "a run whose lease has run out is claimable")?;
    let waits = EntryBatch { status: Some(Status::Waiting), wake_at: Some(50_000), ..EntryBatch::default() };
    require_success(store.append_batch(&lease, waits).await, "appending")?;
    require_success(store.release_run(&lease).await, "releasing")?;
    expect(!is(49_999).await?, "a run that waits is not claimable before its time")?;
    expect(is(50_000).await?, "a run that waits is claimable at its time")?;
    let answer = InboxMessage {
        kind: MessageKind::Answer,
        key: "ask".to_owned(),
        value: "yes".into(),
        at: 1,
        as_of: 1,
        sender: None,
    };
    require_success(store.post_message("due", answer).await, "posting")?;
    expect(is(12_000).await?, "a run that waits is claimable when a letter has come")?;
    let of_due = NewRun {
        run: "of-due".to_owned(),
        parent: Some("due".to_owned()),
        batch: batch(&[entry(0, started("of-due", "main", 1_000, "in".into()))])?,
        ..NewRun::default()
    };
    require_success(store.create_run(of_due).await, "creating a run that another one has started")?;
    let others = async || -> Result<bool, String> {
        let runs = require_success(store.claimable_runs(12_000, 1_000).await, "asking for runs without a process")?;
        let some =
            require_success(store.claim_some(claim("taker", 12_000, 22_000), share(&runs, 10)).await, "claiming some")?;
        expect(some.is_empty(), "nothing is claimed but what is claimable")?;
        Ok(runs.iter().any(|run| run == "of-due"))
    };
    expect(!others().await?, "a run is not claimable while the one that has started it has not ended")?;
    require_success(store.delete_run("due", 60_000).await, "deleting a run that nobody holds")?;
    expect(others().await?, "a run is claimable when the one that has started it is gone")?;
    require_success(store.delete_run("of-due", 60_000).await, "deleting a run that nobody holds")?;
    expect(!is(90_000).await?, "a run that is gone is not claimable")
}

/// Concurrent claims get each run once, and no excluded runs.
async fn claimed_together(store: &dyn Store) -> Result<(), String> {
    let mut others = require_success(store.claimable_runs(11_001, 1_000).await, "asking for runs without a process")?;
    for n in 0..5 {
        let lease = begin_run(store, &format!("some-{n}"), "main", 1_000).await?;
        require_success(store.release_run(&lease).await, "releasing")?;
    }
    others.push("some-1".to_owned());
    let mut taken = Vec::new();
    for _ in 0..3 {
        let some =
            require_success(store.claim_some(claim("taker", 2_000, 12_000), share(&others, 3)).await, "claiming some")?;
        expect(some.len() <= 3, "not more runs are claimed than were asked for")?;
        for lease in some {
            taken.push(lease.run.clone());
            require_success(
                store.append_batch(&lease, batch(&[entry(1, finished(None))])?).await,
                "ending a run that was claimed",
            )?;
        }
    }
    taken.sort();
    equal(&taken, &["some-0", "some-2", "some-3", "some-4"].map(str::to_owned).to_vec(), "the runs that were claimed")?;
    require_success(store.delete_run("some-1", 12_001).await, "deleting what nobody holds")
}

/// A flow that waits with many runs delays the first runs of others by one run each, and a process has no more of one flow than it
/// wants.
async fn shared_fairly(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    let ready = async |run: String, flow: &str| -> Result<(), String> {
        let batch = batch(&[entry(0, started(&run, flow, now, "in".into()))])?;
        let new = NewRun { run, batch, now, ..NewRun::default() };
        require_success(store.create_run(new).await, "creating a run for anybody").map(drop)
    };
    let others = require_success(store.claimable_runs(now, 1_000).await, "asking for runs without a process")?;
    for n in 0..40 {
        ready(format!("many-{n:02}"), "fair-many").await?;
    }
    for n in 0..3 {
        ready(format!("few-{n}"), "fair-few").await?;
        ready(format!("one-{n}"), &format!("fair-{n}")).await?;
    }
    let next = require_success(store.claimable_runs(now, 1_000).await, "asking for runs without a process")?;
    let next: Vec<&str> = next.iter().filter(|run| !others.contains(run)).map(String::as_str).collect();
    let wanted = ["many-00", "few-0", "one-0", "one-1", "one-2", "many-01", "few-1", "many-02", "few-2", "many-03"];
    equal(&next.get(..10).unwrap_or_default(), &wanted.as_slice(), "the order of runs that wait")?;
    equal(&next.len(), &46, "how many of them wait")?;
    let some = async |owner: &str, most, per_flow| -> Result<Vec<String>, String> {
        let share = ClaimShare { except: others.clone(), most, per_flow };
        let leases = require_success(store.claim_some(claim(owner, now, now + 60_000), share).await, "claiming some")?;
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
    require_success(store.create_run(attended).await, "creating a run that a person attends to")?;
    let next = require_success(store.claimable_runs(now, 1_000).await, "asking for runs without a process")?;
    expect(!next.iter().any(|run| run == "attended"), "a run that a person attends to is not for workers")?;
    require_success(store.claim_run("attended", claim("person", now, now + 60_000)).await, "claiming it by its id")
        .map(drop)
}

/// Whoever is taken away from a run cannot write to it any more, although its lease holds.
async fn evicted(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    let lease = begin_run(store, "evicted", "main", now).await?;
    equal(
        &require_success(store.evict_owner("evicted").await, "evicting")?.as_deref(),
        &Some("suite"),
        "the former owner",
    )?;
    equal(&require_success(store.evict_owner("evicted").await, "evicting")?, &None, "the owner of a run without one")?;
    let lost = |e: &StoreError| matches!(e, StoreError::NotHeld { .. });
    require_refusal(
        store.append_batch(&lease, batch(&[entry(1, scheduled("a"))])?).await,
        "append after an eviction",
        lost,
    )?;
    let record = require_success(store.record("evicted").await, "reading a record")?;
    equal(
        &(record.status, record.taken_from.as_deref()),
        &(Status::Interrupted, Some("suite")),
        "a run that was taken away",
    )?;
    require_success(store.claim_run("evicted", claim("next", now, now + 60_000)).await, "claiming it at once").map(drop)
}

/// A run that no process works on any more is interrupted, and the cost of its calls in progress is unknown.
async fn reclaimed(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    let lease = begin_run(store, "left", "main", now).await?;
    require_success(
        store.append_batch(&lease, batch(&[entry(1, scheduled("a")), entry(2, scheduled("b"))])?).await,
        "appending",
    )?;
    require_success(
        store.append_batch(&lease, batch(&[entry(3, completed("a", "text".into(), 5))])?).await,
        "appending",
    )?;
    let seen = async || -> Result<_, String> {
        let record = require_success(store.record("left").await, "reading a record")?;
        Ok((record.status, record.spent.calls, record.spent.usage.unknown_calls, record.in_flight))
    };
    require_success(store.reclaim_runs(2_000).await, "looking for runs that were left")?;
    equal(&seen().await?, &(Status::Running, 2, 0, 1), "a run whose lease holds")?;
    require_success(store.release_run(&lease).await, "releasing")?;
    equal(&seen().await?, &(Status::Interrupted, 2, 1, 1), "a run that was left")?;
    let lost = |e: &StoreError| matches!(e, StoreError::NotHeld { .. });
    require_refusal(
        store.append_batch(&lease, batch(&[entry(4, scheduled("c"))])?).await,
        "append to a run that was taken away",
        lost,
    )?;
    let next = require_success(
        store.claim_run("left", claim("next", now, now + 20_000)).await,
        "claiming a run that was left",
    )?;
    require_success(
        store.append_batch(&next, batch(&[entry(4, resumed("b")), entry(5, scheduled("b"))])?).await,
        "appending",
    )?;
    equal(&seen().await?, &(Status::Running, 3, 1, 1), "a run that goes on")?;
    require_success(
        store.append_batch(&next, batch(&[entry(6, completed("b", "text".into(), 5))])?).await,
        "appending",
    )?;
    require_success(store.release_run(&next).await, "releasing")?;
    equal(&seen().await?, &(Status::Interrupted, 3, 1, 0), "a run that was given back")
}

/// An owner that has lost track of a run, because the store failed, gives it back and keeps what it holds.
pub async fn lost_track(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    for (run, owner) in [("lost-1", "forgetful"), ("lost-2", "forgetful"), ("lost-3", "forgetful"), ("lost-4", "other")]
    {
        let begun = begin_run(store, run, "lost", now).await?;
        require_success(store.release_run(&begun).await, "releasing")?;
        let lease = require_success(store.claim_run(run, claim(owner, now, now + 20_000)).await, "claiming")?;
        require_success(store.append_batch(&lease, batch(&[entry(1, scheduled("a"))])?).await, "appending")?;
    }
    let released = require_success(store.release_others("forgetful", vec!["lost-2".to_owned()]).await, "releasing")?;
    equal(&released, &2, "the number of released runs")?;
    for (run, status) in [
        ("lost-1", Status::Interrupted),
        ("lost-2", Status::Running),
        ("lost-3", Status::Interrupted),
        ("lost-4", Status::Running),
    ] {
        let record = require_success(store.record(run).await, "reading a record")?;
        equal(&record.status, &status, run)?;
    }
    let next =
        require_success(store.claim_run("lost-1", claim("next", now, now + 20_000)).await, "claiming a lost run")?;
    require_success(store.release_run(&next).await, "releasing")?;
    Ok(())
}

/// Whoever looks at a run sees that no process works on it any more, before anybody records that.
pub async fn looked_at(store: &dyn Store) -> Result<(), String> {
    use crate::list::RunFilter;
    let now = store.clock().wall_ms();
    let before = require_success(store.count_by_status().await, "counting")?;
    for run in ["lapsed-1", "lapsed-2"] {
        let lease = begin_run(store, run, "lapsed", now).await?;
        require_success(store.append_batch(&lease, batch(&[entry(1, scheduled("a"))])?).await, "appending")?;
        // Its owner is gone without a word.
        require_success(store.renew_leases(vec![lease], 2_000).await, "letting a lease expire")?;
    }
    begin_run(store, "live", "lapsed", now).await?;
    let record = require_success(store.record("lapsed-1").await, "reading a record")?;
    let seen = (record.status, record.spent.usage.unknown_calls);
    equal(&seen, &(Status::Interrupted, 1), "a run whose lease has expired")?;
    let flow = RunFilter { flow: Some("lapsed".to_owned()), ..RunFilter::default() };
    for (status, wanted) in [
        (vec![Status::Interrupted], 2),
        (vec![Status::Running], 1),
        (vec![Status::Running, Status::Interrupted], 3),
        (Vec::new(), 3),
    ] {
        let page = require_success(
            store.list_runs(&RunFilter { status: status.clone(), ..flow.clone() }, None, 10).await,
            "listing",
        )?;
        equal(&page.runs.len(), &wanted, &format!("the number of runs that are {status:?}"))?;
    }
    let after = require_success(store.count_by_status().await, "counting")?;
    let of = |all: &[(Status, u64)], wanted| all.iter().find(|(status, _)| *status == wanted).map_or(0, |(_, n)| *n);
    let grown = |status| of(&after, status).saturating_sub(of(&before, status));
    equal(&(grown(Status::Interrupted), grown(Status::Running)), &(2, 1), "what the counts have more")
}
