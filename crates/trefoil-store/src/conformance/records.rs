//! Records match their journals; values and files are stored once; labels; figures that are not in entries.

use std::sync::Arc;

use trefoil_machine::event::ItemTally;
use trefoil_machine::journal::Basis;
use trefoil_machine::{EntryKind, RunError};
use trefoil_template::Value;

use super::{
    batch, begin_run, claim, completed, end_run, entry, equal, expect, finished, require_refusal, require_success,
    scheduled, started,
};
use crate::batch::EntryBatch;
use crate::blob::{Blob, ContentHash, INLINE};
use crate::error::StoreError;
use crate::list::RunFilter;
use crate::port::{NewRun, Store};
use crate::record::{RunSpending, Status};
use trefoil_runtime::Usage;

pub async fn check_records(store: &dyn Store) -> Result<(), String> {
    figures(store).await?;
    impossible_figures(store).await?;
    ends(store).await?;
    failed_items(store).await?;
    large_values(store).await?;
    files(store).await?;
    pending(store).await?;
    labels(store).await
}

async fn figures(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    let lease = begin_run(store, "figures", "main", now).await?;
    let record = require_success(store.record("figures").await, "reading a record")?;
    equal(&(record.status, record.flow.as_str(), record.started), &(Status::Running, "main", now), "a new record")?;
    equal(&record.program, &"0f".repeat(32), "the program")?;
    let kinds = [scheduled("a"), completed("a", "text".into(), 5), scheduled("b"), completed("b", "text".into(), 6)];
    let entries: Vec<_> = (1..).zip(kinds).map(|(seq, kind)| entry(seq, kind)).collect();
    require_success(store.append_batch(&lease, batch(&entries)?).await, "appending")?;
    let record = require_success(store.record("figures").await, "reading a record")?;
    let usage = Usage {
        input_tokens: 11,
        output_tokens: 4,
        cached_tokens: 2,
        cost_micro: 60,
        unpriced_calls: 2,
        ..Usage::default()
    };
    let spent = RunSpending { calls: 2, usage };
    equal(&(record.spent, record.entries), &(spent, 5), "what was spent")?;
    // A waiting status can be set without an entry, and the next entry ends it.
    let waits = EntryBatch { status: Some(Status::Waiting), wake_at: Some(90_000), ..EntryBatch::default() };
    require_success(store.append_batch(&lease, waits).await, "appending nothing but a status")?;
    let record = require_success(store.record("figures").await, "reading a record")?;
    equal(&(record.status, record.wake_at), &(Status::Waiting, Some(90_000)), "a run that waits")?;
    require_success(store.append_batch(&lease, self::batch(&[entry(5, scheduled("c"))])?).await, "appending")?;
    let record = require_success(store.record("figures").await, "reading a record")?;
    equal(&(record.status, record.wake_at), &(Status::Running, None), "a run that goes on")?;
    require_refusal(store.record("nobody").await, "read a record of nothing", |e| matches!(e, StoreError::NoRun { .. }))
}

/// Sums of impossible numbers end where those of the machine end: nothing overflows, and the record can be read.
async fn impossible_figures(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    let lease = begin_run(store, "impossible", "main", now).await?;
    for (seq, key) in [(1, "a"), (3, "b"), (5, "c")] {
        let entries = [entry(seq, scheduled(key)), entry(seq + 1, completed(key, "text".into(), Usage::MOST))];
        require_success(store.append_batch(&lease, batch(&entries)?).await, "appending")?;
    }
    let record = require_success(store.record("impossible").await, "reading a record")?;
    let usage = record.spent.usage;
    equal(&(usage.input_tokens, usage.output_tokens), &(Usage::MOST, 6), "the sum of the largest numbers")
}

async fn ends(store: &dyn Store) -> Result<(), String> {
    let before = require_success(store.count_by_status().await, "counting")?;
    let of = |code: &str| Some(RunError::new(code, "it \u{1f340} did not work"));
    end_run(store, "well", "main", 1_000, None).await?;
    end_run(store, "badly", "main", 1_000, of("MODEL_ERROR")).await?;
    end_run(store, "stopped", "main", 1_000, of("CANCELLED")).await?;
    for (run, status) in [("well", Status::Completed), ("badly", Status::Failed), ("stopped", Status::Cancelled)] {
        let record = require_success(store.record(run).await, "reading a record")?;
        equal(&(record.status, record.ended, record.owner), &(status, Some(1_010), None), "the end of a run")?;
        expect(record.error.is_some() == (run != "well"), "only failures have an error")?;
    }
    let after = require_success(store.count_by_status().await, "counting")?;
    let grown = before.iter().zip(&after).filter(|((_, before), (_, after))| *after == before + 1);
    equal(&grown.count(), &3, "the number of statuses that have one run more")
}

/// The record of a run that went on without some items says how many, and nothing more once the run goes on; and it names the run whose
/// results it reuses.
async fn failed_items(store: &dyn Store) -> Result<(), String> {
    let now = store.clock().wall_ms();
    let mut start = started("in-part", "main", now, "in".into());
    if let EntryKind::Started(started) = &mut start {
        started.basis = Some(Box::new(Basis { run: "earlier".to_owned(), ..Basis::default() }));
    }
    let claim = Some(claim("suite", now, now + 10_000));
    let new = NewRun { run: "in-part".into(), claim, batch: batch(&[entry(0, start)])?, ..NewRun::default() };
    let lease = require_success(store.create_run(new).await, "creating")?.ok_or("no lease")?;
    let items = Some(ItemTally { total: 200, failed: 9 });
    let error = Some(RunError::new("MODEL_ERROR", "no"));
    let end = EntryKind::Finished { output: None, error, items, warnings: Vec::new() };
    require_success(store.append_batch(&lease, batch(&[entry(1, end)])?).await, "ending with failed items")?;
    let record = require_success(store.record("in-part").await, "reading a record")?;
    equal(&(record.items, record.base.as_deref()), &(items, Some("earlier")), "the items that failed, and the base")?;
    let listed = require_success(store.list_runs(&RunFilter::default(), None, 1_000).await, "listing")?.runs;
    expect(listed.iter().any(|listed| listed.run == record.run && listed.items == items), "a list has them, too")?;
    let other = require_success(store.record("well").await, "reading a record")?;
    equal(&(other.items, other.base), &(None, None), "a run without either")
}

async fn large_values(store: &dyn Store) -> Result<(), String> {
    let small: Value = "s".repeat(INLINE / 2).into();
    let large: Value =
        [("text", Value::from("l\u{e9}\u{0}".repeat(INLINE))), ("n", Value::from(u64::MAX))].into_iter().collect();
    let input = started("large", "main", 1_000, large.clone());
    let claim = Some(claim("suite", 0, 10_000));
    let new = NewRun { run: "large".into(), claim, batch: batch(&[entry(0, input.clone())])?, ..NewRun::default() };
    let lease = require_success(store.create_run(new).await, "creating")?.ok_or("no lease")?;
    let kinds = [completed("a", small, 1), completed("b", large.clone(), 1), finished(None)];
    let mut entries: Vec<_> = (1..).zip(kinds).map(|(seq, kind)| entry(seq, kind)).collect();
    require_success(store.append_batch(&lease, batch(&entries)?).await, "appending large values")?;
    entries.insert(0, entry(0, input));
    let found = require_success(store.read_entries("large", 0).await, "reading large values")?;
    expect(found == entries, "large values come back as they were")
}

async fn files(store: &dyn Store) -> Result<(), String> {
    let file = |text: &str| Arc::new(Blob::new(text.repeat(3_000).into_bytes()));
    for (run, files) in [("files-a", ["one ", "two "]), ("files-b", ["two ", "three "])] {
        let files = files.map(file).to_vec();
        require_success(
            store.create_run(NewRun { run: run.into(), files, ..NewRun::default() }).await,
            "creating a run with files",
        )?;
    }
    for text in ["one ", "two ", "three "] {
        let found = require_success(store.read_blob(file(text).hash()).await, "reading a file")?;
        expect(found.as_deref() == Some(file(text).content_bytes()), "a file comes back as it was")?;
    }
    require_success(store.delete_run("files-a", 0).await, "deleting a run with files")?;
    expect(
        require_success(store.read_blob(file("one ").hash()).await, "reading")?.is_none(),
        "a deleted run frees its files",
    )?;
    expect(
        require_success(store.read_blob(file("two ").hash()).await, "reading")?.is_some(),
        "what another run uses stays",
    )?;
    expect(
        require_success(store.read_blob(ContentHash::from_bytes(b"?")).await, "reading")?.is_none(),
        "there are no files that nobody put there",
    )
}

async fn pending(store: &dyn Store) -> Result<(), String> {
    let first = batch(&[entry(0, started("later", "main", 5, "in".into()))])?;
    let new = NewRun { run: "later".into(), batch: first, now: 7, ..NewRun::default() };
    let lease = require_success(store.create_run(new.clone()).await, "creating a run for nobody")?;
    expect(lease.is_none(), "a run that nobody has claimed has no lease")?;
    let record = require_success(store.record("later").await, "reading a record")?;
    equal(&(record.status, record.entries, record.epoch), &(Status::Pending, 1, 0), "a pending run")?;
    require_refusal(store.create_run(new).await, "create a run twice", |e| matches!(e, StoreError::RunExists { .. }))
}

async fn labels(store: &dyn Store) -> Result<(), String> {
    let labels = vec![("session".to_owned(), "s1".to_owned())];
    require_success(
        store.create_run(NewRun { run: "labels".into(), labels, ..NewRun::default() }).await,
        "creating with labels",
    )?;
    for (key, value) in [("a", Some("1")), ("b", Some("2")), ("b", Some("3")), ("a", None), ("none", None)] {
        require_success(store.set_label("labels", key, value).await, "setting a label")?;
    }
    let record = require_success(store.record("labels").await, "reading a record")?;
    let wanted = [("b", "3"), ("session", "s1")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    equal(&record.labels, &wanted.to_vec(), "labels")?;
    let labels = vec![("b".to_owned(), "own".to_owned())];
    let called = NewRun { run: "labels-called".into(), parent: Some("labels".into()), labels, ..NewRun::default() };
    require_success(store.create_run(called).await, "creating a run for another one")?;
    let record = require_success(store.record("labels-called").await, "reading a record")?;
    let wanted = [("b", "own"), ("session", "s1")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    equal(&record.labels, &wanted.to_vec(), "the labels of a run that another one has started")
}
