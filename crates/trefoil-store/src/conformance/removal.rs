//! Deleting and pruning: what is deleted, what is kept, and that the space is freed.

use std::ops::Range;
use std::sync::Arc;

use trefoil_machine::PrivateValue;
use trefoil_machine::journal::Basis;
use trefoil_machine::{EntryKind, RunError};
use trefoil_template::Value;
use trefoil_template::wire::WireForm;

use super::{
    batch, begin_run, claim, completed, end_run, entry, equal, expect, finished, require_refusal, require_success,
    started,
};
use crate::batch::EntryBatch;
use crate::blob::{Blob, ContentHash, INLINE};
use crate::error::StoreError;
use crate::list::RunFilter;
use crate::port::{NewRun, Store};
use crate::record::{Content, UNSEEN_MS};
use crate::upkeep::RunRetention;

/// Later than the runs of the other parts of the suite.
const AT: u64 = 2_000_000;

pub async fn check_removal(store: &dyn Store) -> Result<(), String> {
    deleting(store).await?;
    content(store).await?;
    unseen(store).await?;
    pruning(store).await?;
    by_size(store).await
}

async fn deleting(store: &dyn Store) -> Result<(), String> {
    let lease = begin_run(store, "busy", "main", AT).await?;
    let held = |e: &StoreError| matches!(e, StoreError::Held { .. });
    require_refusal(store.delete_run("busy", AT + 10_000).await, "delete a run that is held", held)?;
    require_success(store.append_batch(&lease, batch(&[entry(1, finished(None))])?).await, "ending a run")?;
    require_success(store.delete_run("busy", AT).await, "deleting a run that has ended")?;
    let gone = |e: &StoreError| matches!(e, StoreError::NoRun { .. });
    require_refusal(store.read_entries("busy", 0).await, "read a deleted journal", gone)?;
    require_refusal(store.delete_run("busy", AT).await, "delete a run twice", gone)?;
    // The id can be used again, and the new run has no data of the old one.
    let again = begin_run(store, "busy", "main", AT).await?;
    equal(
        &require_success(store.read_entries("busy", 0).await, "reading")?.len(),
        &1,
        "entries of a new run with an old id",
    )?;
    let lost = |e: &StoreError| matches!(e, StoreError::NotHeld { .. });
    require_refusal(
        store.append_batch(&lease, batch(&[entry(1, finished(None))])?).await,
        "append with a lease of a deleted run",
        lost,
    )?;
    require_success(store.release_run(&again).await, "releasing")
}

/// If requested, prompts and answers are deleted when a run ends; its figures remain. A failed run can be resumed.
async fn content(store: &dyn Store) -> Result<(), String> {
    let file = Arc::new(Blob::new(b"prompt: tell me".to_vec()));
    let large = Value::from("reply ".repeat(INLINE));
    let held = [completed("a", "reply".into(), 5), completed("b", large.clone(), 5)];
    let now = store.clock().wall_ms();
    for (run, error) in [("short", None), ("short-bad", Some(RunError::new("TOOL_ERROR", "reply")))] {
        let first = batch(&[entry(0, started(run, "main", now, "in".into()))])?;
        let claim = Some(claim("suite", now, now + 10_000));
        let files = vec![file.clone()];
        let new =
            NewRun { run: run.to_owned(), claim, files, batch: first, content: Content::UntilEnd, ..NewRun::default() };
        let lease = require_success(store.create_run(new).await, "creating")?.ok_or("it has no lease")?;
        equal(&lease.content, &Content::UntilEnd, "what a lease says is kept")?;
        let entries = [entry(1, held[0].clone()), entry(2, held[1].clone())];
        require_success(store.append_batch(&lease, batch(&entries)?).await, "appending")?;
        let before = require_success(store.record(run).await, "reading")?;
        require_success(store.append_batch(&lease, batch(&[entry(3, finished(error.clone()))])?).await, "ending")?;
        let (after, kept) = (
            require_success(store.record(run).await, "reading")?,
            require_success(store.read_entries(run, 0).await, "reading")?,
        );
        equal(&(after.spent, after.entries), &(before.spent, 4), "figures after the end")?;
        let json = require_success(EntryBatch::from_entries(&kept), "writing")?
            .bodies
            .into_iter()
            .map(|body| body.json)
            .collect::<String>();
        let has_file = require_success(store.read_blob(file.hash()).await, "reading a file")?.is_some();
        let whole = kept.get(2).is_some_and(|entry| entry.kind == held[1]);
        let still = (after.content, json.contains("reply") || json.contains("\"in\""), has_file, whole);
        let wanted = match error {
            None => (Content::Result, false, false, false),
            Some(_) => (Content::UntilEnd, true, true, true),
        };
        equal(&still, &wanted, "what is left of content")?;
    }
    require_success(store.forget_result("short").await, "forgetting a result")?;
    equal(
        &require_success(store.record("short").await, "reading")?.content,
        &Content::Removed,
        "what is left when somebody has seen it",
    )?;
    require_success(store.forget_result("short-bad").await, "forgetting the result of a run that has none")?;
    require_success(store.delete_run("short-bad", now + 20_000).await, "deleting")?;
    equal(&require_success(store.read_blob(file.hash()).await, "reading a file")?, &None, "a file that no run uses")
}

/// The result of a run whose content is not kept stays until somebody has seen it, or for a day, also if it is large or one of a called
/// run.
async fn unseen(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    let large = Value::from("result ".repeat(INLINE));
    let make = async |run: &str, parent: Option<&str>, at: u64, output: Option<&Value>| -> Result<(), String> {
        let first = [entry(0, started(run, "unseen", at, "secret".into())), entry(1, completed("a", large.clone(), 5))];
        let claim = Some(claim("suite", at, at + 10_000));
        let parent = parent.map(str::to_owned);
        let run = run.to_owned();
        let new = NewRun { run, parent, claim, batch: batch(&first)?, content: Content::UntilEnd, ..NewRun::default() };
        let lease = require_success(store.create_run(new).await, "creating")?.ok_or("it has no lease")?;
        let error = output.is_none().then(|| RunError::new("CANCELLED", "secret"));
        let end = EntryKind::Finished {
            output: output.cloned().map(PrivateValue::without_hidden),
            error,
            items: None,
            warnings: Vec::new(),
        };
        require_success(store.append_batch(&lease, batch(&[entry(2, end)])?).await, "ending")
    };
    let left = async |run: &str| -> Result<(Content, Option<Value>, bool), String> {
        let entries = require_success(store.read_entries(run, 0).await, "reading")?;
        let text = require_success(EntryBatch::from_entries(&entries), "writing")?
            .bodies
            .into_iter()
            .map(|body| body.json)
            .collect::<String>();
        let output = entries.into_iter().find_map(|entry| match entry.kind {
            EntryKind::Finished { output, .. } => output.map(PrivateValue::into_exact),
            _ => None,
        });
        let hash = Blob::new(require_success(
            serde_json::to_vec(&WireForm(&large)).map_err(|_| StoreError::Closed),
            "writing",
        )?)
        .hash();
        let has_large = require_success(store.read_blob(hash).await, "reading")?.is_some();
        expect(!text.contains("secret"), "of prompts and answers nothing is left")?;
        Ok((require_success(store.record(run).await, "reading")?.content, output, has_large))
    };
    make("unseen-small", None, now, Some(&"small".into())).await?;
    equal(&left("unseen-small").await?, &(Content::Result, Some("small".into()), false), "a result that is small")?;
    make("unseen-large", None, now, Some(&large)).await?;
    equal(&left("unseen-large").await?, &(Content::Result, Some(large.clone()), true), "a result that is large")?;
    make("unseen-none", None, now, None).await?;
    equal(&left("unseen-none").await?.0, &Content::Removed, "what is left of a run without a result")?;
    // The result of a called run is in that of its caller.
    make("unseen-called", Some("unseen-calls"), now, Some(&"of called".into())).await?;
    equal(&left("unseen-called").await?.1, &Some("of called".into()), "the result of a run that was called")?;
    make("unseen-calls", None, now, Some(&"whole".into())).await?;
    equal(&left("unseen-called").await?.0, &Content::Removed, "what is left of it when its caller has ended")?;
    for run in ["unseen-small", "unseen-large", "unseen-calls"] {
        require_success(store.reclaim_runs(now + UNSEEN_MS - 60_000).await, "deleting old results")?;
        equal(&left(run).await?.0, &Content::Result, "what is left before a day is over")?;
    }
    require_success(store.forget_result("unseen-large").await, "forgetting a result")?;
    equal(&left("unseen-large").await?, &(Content::Removed, None, false), "a result that somebody has seen")?;
    require_success(store.reclaim_runs(now + UNSEEN_MS + 60_000).await, "deleting old results")?;
    for run in ["unseen-small", "unseen-calls"] {
        equal(&left(run).await?, &(Content::Removed, None, false), "a result that nobody came for")?;
    }
    // For whoever looks, it is gone before anybody deletes it.
    make("unseen-old", None, now - 2 * UNSEEN_MS, Some(&"old".into())).await?;
    equal(
        &require_success(store.record("unseen-old").await, "reading")?.content,
        &Content::Removed,
        "an old result for whoever looks",
    )
}

async fn pruning(store: &dyn Store) -> Result<(), String> {
    let failure = || Some(RunError::new("TOOL_ERROR", "no"));
    for (run, at, error) in
        [("old", 0, None), ("old-bad", 0, failure()), ("new", 500, None), ("new-bad", 500, failure())]
    {
        end_run(store, run, "prune", AT + at, error).await?;
    }
    begin_run(store, "open", "prune", AT).await?;
    let left = async || -> Result<Vec<&str>, String> {
        let mut left = Vec::new();
        for run in ["old", "old-bad", "new", "new-bad", "open"] {
            match store.record(run).await {
                Ok(_) => left.push(run),
                Err(StoreError::NoRun { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(left)
    };
    require_success(store.prune_runs(&RunRetention::default()).await, "pruning nothing")?;
    equal(&left().await?, &vec!["old", "old-bad", "new", "new-bad", "open"], "what nothing was said about")?;
    let retention = RunRetention { ended_before: Some(AT + 100), failed_before: None, max_bytes: None };
    require_success(store.prune_runs(&retention).await, "pruning")?;
    equal(&left().await?, &vec!["old-bad", "new", "new-bad", "open"], "what is left when failures are kept")?;
    let retention = RunRetention { ended_before: Some(AT + 100), failed_before: Some(AT), max_bytes: None };
    require_success(store.prune_some(&retention).await, "pruning some")?;
    equal(&left().await?, &vec!["old-bad", "new", "new-bad", "open"], "what is left when nothing more is due")?;
    let retention = RunRetention { ended_before: None, failed_before: Some(AT + 100), max_bytes: None };
    // Includes runs of the other parts of the suite.
    let gone = require_success(store.prune_runs(&retention).await, "pruning")?;
    expect(gone.runs > 0 && gone.failed == gone.runs, "pruning says how many runs went, and how many had failed")?;
    equal(&left().await?, &vec!["new", "new-bad", "open"], "what is left then")?;
    called(store).await?;
    based(store).await
}

/// A run whose results an open run reuses stays as long as that one is open.
async fn based(store: &dyn Store) -> Result<(), String> {
    let retention = RunRetention { ended_before: Some(AT + 10_000), failed_before: Some(AT), max_bytes: None };
    let runs = ["first", "second", "third"];
    let mut last = None;
    for (at, run) in runs.into_iter().enumerate() {
        let mut kind = started(run, "prune", AT + 700, "in".into());
        if let (EntryKind::Started(started), Some(base)) = (&mut kind, at.checked_sub(1).and_then(|at| runs.get(at))) {
            started.basis = Some(Box::new(Basis { run: (*base).to_owned(), ..Basis::default() }));
        }
        let claim = Some(claim("suite", AT + 700, AT + 10_700));
        let first = batch(&[entry(0, kind)])?;
        let new = NewRun { run: run.to_owned(), claim, batch: first, now: AT + 700, ..NewRun::default() };
        let lease = require_success(store.create_run(new).await, "creating a run that reuses results")?;
        let lease = lease.ok_or_else(|| "a run that is created for somebody has no lease".to_owned())?;
        if run == "third" {
            last = Some(lease);
        } else {
            require_success(store.append_batch(&lease, batch(&[entry(1, finished(None))])?).await, "ending")?;
        }
    }
    let filter = RunFilter { base: Some("first".to_owned()), ..RunFilter::default() };
    let listed = require_success(store.list_runs(&filter, None, 10).await, "listing")?;
    let listed: Vec<&str> = listed.runs.iter().map(|record| record.run.as_str()).collect();
    equal(&listed, &vec!["second"], "the runs that reuse the results of a run")?;
    require_success(store.prune_runs(&retention).await, "pruning")?;
    for run in runs {
        expect(store.record(run).await.is_ok(), "what an open run needs stays")?;
    }
    let last = last.ok_or_else(|| "there is no open run".to_owned())?;
    require_success(store.append_batch(&last, batch(&[entry(1, finished(None))])?).await, "ending")?;
    require_success(store.prune_runs(&retention).await, "pruning")?;
    for run in runs {
        expect(store.record(run).await.is_err(), "what no open run needs goes")?;
    }
    Ok(())
}

/// A run that another one has called goes with that one.
async fn called(store: &dyn Store) -> Result<(), String> {
    let retention = RunRetention { ended_before: Some(AT + 10_000), failed_before: Some(AT), max_bytes: None };
    let caller = begin_run(store, "caller", "prune", AT + 600).await?;
    let first = batch(&[entry(0, started("called", "prune", AT + 600, "in".into()))])?;
    let claim = Some(claim("suite", AT + 600, AT + 10_600));
    let parent = Some("caller".to_owned());
    let new = NewRun { run: "called".into(), claim, batch: first, parent, now: AT + 600, ..NewRun::default() };
    let lease = require_success(store.create_run(new).await, "creating a called run")?;
    let lease = lease.ok_or_else(|| "a run that is created for somebody has no lease".to_owned())?;
    require_success(store.append_batch(&lease, batch(&[entry(1, finished(None))])?).await, "ending the called run")?;
    require_success(store.prune_runs(&retention).await, "pruning")?;
    expect(store.record("called").await.is_ok(), "what an open run has called stays")?;
    require_success(store.append_batch(&caller, batch(&[entry(1, finished(None))])?).await, "ending the caller")?;
    require_success(store.prune_runs(&retention).await, "pruning")?;
    expect(store.record("caller").await.is_err(), "the caller has ended")?;
    expect(store.record("called").await.is_err(), "it goes with its caller")
}

async fn by_size(store: &dyn Store) -> Result<(), String> {
    // Pruning also moves what was written into its place, which otherwise happens at some time.
    let measure = async || {
        require_success(store.prune_runs(&RunRetention::default()).await, "pruning nothing")?;
        require_success(store.measure_size().await, "measuring")
    };
    let empty = measure().await?;
    fill(store, 0..20).await?;
    let full = measure().await?;
    expect(full.used > empty.used + 500_000 && full.runs == empty.runs + 20, "twenty runs take up room")?;
    let limit = empty.used + (full.used - empty.used) / 2;
    let pruned = require_success(
        store.prune_runs(&RunRetention { max_bytes: Some(limit), ..RunRetention::default() }).await,
        "pruning",
    )?;
    let half = require_success(store.measure_size().await, "measuring")?;
    expect(half.used <= limit, "a store is not larger than was allowed")?;
    expect(pruned.bytes > 0 && half.used < full.used, "runs that are gone take up no room")?;
    expect(store.record("size-19").await.is_ok(), "the newest run stays")?;
    expect(store.record("size-0").await.is_err(), "the run that ended first goes")?;
    // The space was returned to the disk, or is reused by new runs.
    fill(store, 20..28).await?;
    let again = measure().await?;
    expect(again.disk <= full.disk + full.disk / 20, "the space of runs that are gone is used again")
}

/// Runs with large values.
async fn fill(store: &dyn Store, runs: Range<u64>) -> Result<(), String> {
    for n in runs {
        let run = format!("size-{n}");
        let lease = begin_run(store, &run, "size", AT + 10_000 + n).await?;
        // Random enough that compression does not help.
        let noise = (0..2 * INLINE / 64).map(|i| ContentHash::from_bytes(format!("{n} {i}").as_bytes()).to_string());
        let noise: String = noise.collect();
        let entries = [entry(1, completed("a", Value::from(noise), 1)), entry(2, finished(None))];
        require_success(store.append_batch(&lease, batch(&entries)?).await, "appending")?;
    }
    Ok(())
}
