//! The sum of what runs have used: of the runs of a flow or with a label, since a time, with the runs that they have called.

use trefoil_machine::RunError;
use trefoil_runtime::Usage;

use super::{batch, claim, completed, entry, equal, expect, finished, require_success, scheduled, started};
use crate::lease::Lease;
use crate::list::SpendingFilter;
use crate::port::{NewRun, Store};
use crate::record::RunSpending;

/// When the first run of this part starts: later than all runs of the other parts of the suite.
const START: u64 = 1 << 45;

/// A run that has made some calls.
struct SpendingRun<'s> {
    id: &'s str,
    flow: &'s str,
    at: u64,
    key: &'s str,
    parent: Option<&'s str>,
}

/// Starts it. Each call takes 5 tokens.
async fn begin(store: &dyn Store, run: SpendingRun<'_>, calls: u64) -> Result<Lease, String> {
    let SpendingRun { id, flow, at, key, parent } = run;
    let mut entries = vec![entry(0, started(id, flow, at, "in".into()))];
    for n in 0..calls {
        let step = format!("s{n}");
        entries.extend([entry(2 * n + 1, scheduled(&step)), entry(2 * n + 2, completed(&step, "text".into(), 5))]);
    }
    let labels = vec![("trefoil.key".to_owned(), key.to_owned())];
    let claim = Some(claim("suite", at, at + 10_000));
    let (run, parent) = (id.to_owned(), parent.map(str::to_owned));
    let new = NewRun { run, parent, labels, claim, batch: batch(&entries)?, now: at, ..NewRun::default() };
    let lease = require_success(store.create_run(new).await, "creating a run")?;
    lease.ok_or_else(|| "a run that is created for somebody has no lease".to_owned())
}

async fn end(store: &dyn Store, lease: &Lease, calls: u64, error: Option<RunError>) -> Result<(), String> {
    let end = batch(&[entry(2 * calls + 1, finished(error))])?;
    require_success(store.append_batch(lease, end).await, "ending a run")
}

/// The usage of calls as [`completed`] writes them.
fn usage(calls: u64) -> RunSpending {
    let usage = Usage {
        input_tokens: 5 * calls,
        output_tokens: 2 * calls,
        cached_tokens: calls,
        cost_micro: 30 * calls,
        unpriced_calls: calls,
        ..Usage::default()
    };
    RunSpending { calls, usage }
}

// reason: a table of filters and what they sum up.
pub async fn check_spending(store: &dyn Store) -> Result<(), String> {
    let mut open = Vec::new();
    let cancelled = || Some(RunError::new("CANCELLED", "stopped"));
    for (id, flow, at, key, calls) in [
        ("spent-1", "spent-a", START, "k1", 1),
        ("spent-2", "spent-a", START + 10, "k2", 10),
        ("spent-3", "spent-b", START + 20, "k1", 100),
        ("spent-4", "spent-b", START + 30, "k1", 1_000),
    ] {
        let lease = begin(store, SpendingRun { id, flow, at, key, parent: None }, calls).await?;
        if id == "spent-4" {
            open.push((lease, calls));
        } else {
            end(store, &lease, calls, None).await?;
        }
    }
    let filter = |flow: Option<&str>, key: Option<&str>| SpendingFilter {
        flow: flow.map(str::to_owned),
        label: key.map(|key| ("trefoil.key".to_owned(), key.to_owned())),
    };
    let sum = async |filter: &SpendingFilter, since: u64| {
        require_success(store.spending_since(filter, since).await, "adding up what runs have used")
    };
    for (flow, key, since, calls) in [
        (None, None, START, 1_111),
        (None, None, START + 1, 1_110),
        (None, None, START + 31, 0),
        (Some("spent-a"), None, 0, 11),
        (Some("spent-b"), None, START + 30, 1_000),
        (Some("spent-b"), Some("k2"), 0, 0),
        (None, Some("k1"), START, 1_101),
        (None, Some("k1"), START + 20, 1_100),
        (None, Some("k3"), 0, 0),
        (Some("spent-b"), Some("k1"), START + 20, 1_100),
    ] {
        let what = format!("what was used by {flow:?} with {key:?} since {since}");
        equal(&sum(&filter(flow, key), since).await?, &usage(calls), &what)?;
    }

    // A run has the usage of those that it has called, once they have ended.
    let all = filter(None, Some("k4"));
    let top = SpendingRun { id: "spent-top", flow: "spent-top", at: START + 40, key: "k4", parent: None };
    let top = begin(store, top, 3).await?;
    let mid = SpendingRun { id: "spent-mid", flow: "spent-mid", at: START + 41, key: "k4", parent: Some("spent-top") };
    let mid = begin(store, mid, 20).await?;
    let low = SpendingRun { id: "spent-low", flow: "spent-low", at: START + 42, key: "k4", parent: Some("spent-mid") };
    let low = begin(store, low, 400).await?;
    equal(&sum(&all, START).await?, &usage(423), "what a run has used, with those in progress that it has called")?;
    equal(&sum(&filter(Some("spent-top"), None), 0).await?, &usage(423), "the same by its flow")?;
    equal(&sum(&filter(Some("spent-low"), None), 0).await?, &usage(0), "what a called run has used by itself")?;
    equal(&sum(&all, START + 41).await?, &usage(0), "since after the start of the run that has called them")?;
    end(store, &low, 400, None).await?;
    equal(&sum(&all, START).await?, &usage(23), "what a run has used whose calls have ended, as its journal has it")?;
    // Whoever is cancelled does not learn what was used meanwhile.
    end(store, &mid, 20, cancelled()).await?;
    equal(&sum(&all, START).await?, &usage(3), "what a run has used that has cancelled a call")?;
    end(store, &top, 3, cancelled()).await?;
    equal(&sum(&all, START).await?, &usage(23), "what a run has used that was cancelled with its calls")?;

    // Calls in progress when a process ends have an unknown cost.
    let left = SpendingRun { id: "spent-left", flow: "spent-left", at: START + 50, key: "k5", parent: None };
    let left = begin(store, left, 1).await?;
    let calls = [entry(3, scheduled("x")), entry(4, scheduled("y"))];
    require_success(store.append_batch(&left, batch(&calls)?).await, "appending")?;
    let of_left = filter(None, Some("k5"));
    let in_progress = RunSpending { calls: 3, ..usage(1) };
    equal(&sum(&of_left, START).await?, &in_progress, "what a run has used while it makes calls")?;
    require_success(store.release_run(&left).await, "releasing")?;
    equal(
        &sum(&of_left, START).await?,
        &in_progress.with_lost(2, false),
        "what it has used when its process has ended",
    )?;
    let record = require_success(store.record("spent-left").await, "reading a record")?;
    expect(record.spent == in_progress.with_lost(2, false), "the record says the same")?;
    // Numbers that are too large stay so.
    for n in 0..3 {
        let (id, at) = (format!("spent-most-{n}"), START + 60);
        let run = SpendingRun { id: &id, flow: "spent-most", at, key: "k6", parent: None };
        let lease = begin(store, run, 0).await?;
        let most = [entry(1, scheduled("a")), entry(2, completed("a", "text".into(), Usage::MOST))];
        require_success(store.append_batch(&lease, batch(&most)?).await, "appending")?;
        open.push((lease, 1));
    }
    let most = sum(&filter(Some("spent-most"), None), 0).await?;
    equal(&(most.calls, most.usage.input_tokens), &(3, Usage::MOST), "the sum of the largest numbers")?;
    // Other parts of the suite look for runs in progress.
    for (lease, calls) in open {
        end(store, &lease, calls, None).await?;
    }
    require_success(store.delete_run("spent-left", START).await, "deleting a run")
}
