//! The results of earlier runs that a run may use, as far as that is read from a store.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_machine::key::label_path;
use trefoil_machine::machine::FailureScan;
use trefoil_machine::step_path::{describe_alternatives, is_marked, join_path, step_places};
use trefoil_machine::{Entry, EntryKind};
use trefoil_runtime::RunError;
use trefoil_runtime::driver::memo::Memo;
use trefoil_store::{Status, Store};

use super::called_step::CalledStep;
use super::earlier_runs::{EarlierRuns, earlier_run, own_results};
use super::request::ReuseRequest;
use crate::durable::{StoredRun, each_entry};
use trefoil_project::error::{Error, FoundErrors, Result};

/// The maximum number of earlier runs whose results are used if the preceding one has none.
const BEFORE: usize = 64;

/// The results of a run, and of the runs that it reused itself.
/// `known`: those that were read before.
pub(super) async fn load_memo(
    store: Arc<dyn Store>,
    known: Option<&EarlierRuns>,
    stored: &StoredRun,
    request: &ReuseRequest,
) -> Result<Memo> {
    let of_run = |error: RunError| Error::NotStarted(FoundErrors::of_run(&stored.flow.loaded_target().files, &error));
    let mut newest = own_results(store.clone(), stored).await.map_err(of_run)?;
    let mut basis = stored.started.basis.clone();
    let mut newer = Vec::new();
    for _ in 0..BEFORE {
        let Some(before) = basis.clone() else { break };
        if before.earlier_run().is_none() {
            break;
        }
        // A run that was deleted, or that this version cannot replay, provides no results. Its activities still count
        // as done.
        let Some(earlier) = earlier_run(&store, known, &before.run).await else { break };
        newer.push((std::mem::replace(&mut newest, earlier.results), before));
        basis = earlier.basis;
    }
    // From the oldest run on. What a run was to repeat is not taken from the runs before it either, also if it did not get there.
    let mut memo = newest;
    while let Some((run, basis)) = newer.pop() {
        for step in basis.from.iter().chain(&basis.also_from) {
            drop_step(&mut memo, step, basis.only.is_some());
        }
        if basis.all {
            memo.drop_all();
        }
        memo = run.with_older(memo);
    }
    if let Some(before) = basis
        && before.earlier_run().is_some()
    {
        memo = memo.cut_off();
    }
    let mut memo = memo.allow_rerun(request.rerun.iter().cloned());
    if request.all {
        memo.drop_all();
    }
    for step in request.from.iter().chain(&request.also_from) {
        if !drop_step(&mut memo, step, request.only.is_some()) {
            let places = step_places(&stored.flow.loaded_target().program, |_| true);
            // A step of the program that has called nothing: nothing of it could be repeated.
            let is_known = places.iter().any(|place| place.is_named_as_a_whole(step));
            return Err(if is_known { missing_step_error("result of", step, &memo) } else { no_step(step, &memo) });
        }
    }
    Ok(memo)
}

/// Without the results of the step at which the run failed: as when it is resumed, that step runs again.
pub(super) async fn without_failed(memo: Memo, store: &dyn Store, stored: &StoredRun) -> Result<Memo> {
    let run = &stored.started.run;
    if store.record(run).await?.status != Status::Failed {
        return Ok(memo);
    }
    let mut entries = Vec::new();
    each_entry(store, run, |entry| entries.push(entry)).await?;
    let Some(Entry { kind: EntryKind::Finished { error: Some(error), .. }, .. }) = entries.last() else {
        return Ok(memo);
    };
    let mut scan = FailureScan::for_failure(error, &stored.flow.loaded_target().program.name);
    for entry in &entries {
        scan.scan_entry(entry);
    }
    Ok(memo.trying_again(run, &scan.finish_scan(&BTreeSet::new()), &error.code))
}

/// Drops the results of a step and, unless it is the only one that is performed, of everything that started after it. Returns whether the
/// step exists.
fn drop_step(memo: &mut Memo, from: &str, only: bool) -> bool {
    if only {
        return memo.drop_only(from);
    }
    match CalledStep::find_step(from, memo) {
        // The run of the call keeps what comes before.
        Some(inside) => memo.drop_within(&inside.call, &inside.step),
        None => memo.drop_from(from),
    }
}

/// Checks that a name means one step, and, if it is one of a called flow, that the call has run it.
pub(super) async fn check_from(store: &Arc<dyn Store>, from: &str, memo: &Memo) -> Result<()> {
    check_is_one(from, memo)?;
    let Some(inside) = CalledStep::find_step(from, memo) else { return Ok(()) };
    let Some((stored, memo)) = called_memo(store, &inside).await? else { return Err(no_step(from, memo)) };
    let request = ReuseRequest { from: Some(inside.step.clone()), ..ReuseRequest::default() };
    // Boxed, because a flow may call itself.
    Box::pin(self::load_memo(store.clone(), None, &stored, &request)).await?;
    Box::pin(check_from(store, &inside.step, &memo)).await
}

/// The run of a call, and its results.
async fn called_memo(store: &Arc<dyn Store>, inside: &CalledStep) -> Result<Option<(StoredRun, Memo)>> {
    let Some(run) = inside.find_run(&**store).await else { return Ok(None) };
    let stored = StoredRun::read_run(&**store, &run).await?;
    // Boxed, because a flow may call itself.
    let memo = Box::pin(self::load_memo(store.clone(), None, &stored, &ReuseRequest::default())).await?;
    Ok(Some((stored, memo)))
}

/// Checks the marks of a name of a step in a called flow: if the run of the call has that step, then with these marks.
pub(super) async fn check_inner_marks(store: &Arc<dyn Store>, name: &str, memo: &Memo) -> Result<()> {
    let Some(inside) = CalledStep::find_step(name, memo) else { return Ok(()) };
    if !is_marked(&inside.step) {
        return Ok(());
    }
    let Some((_, memo)) = called_memo(store, &inside).await? else { return Ok(()) };
    if !memo.has_step(&inside.step) && memo.has_step(&label_path(&inside.step)) {
        return Err(no_step(&inside.step, &memo));
    }
    // Boxed, because a flow may call itself.
    Box::pin(check_inner_marks(store, &inside.step, &memo)).await
}

/// That no step of the earlier runs has this name.
pub(super) fn no_step(step: &str, memo: &Memo) -> Error {
    missing_step_error("step", step, memo)
}

/// That the earlier runs do not have it, and what they have instead.
fn missing_step_error(what: &str, step: &str, memo: &Memo) -> Error {
    let message = format!("the run has no {what} `{step}`");
    Error::NotStarted(FoundErrors::of_rule(
        "unknown-step",
        &message,
        describe_alternatives(step, memo.activity_paths()),
    ))
}

/// Refuses a name that several steps have: the run could start at any of them.
fn check_is_one(name: &str, memo: &Memo) -> Result<()> {
    let mut inner = BTreeSet::new();
    for called in CalledStep::find_all(name, memo) {
        inner.insert(join_path(&called.call.activity.key.label_path(), &called.step));
    }
    let mut all = Vec::from_iter(memo.places_of(name));
    all.extend(inner);
    if all.len() < 2 {
        return Ok(());
    }
    let message = format!("several steps of the run are named `{name}`: `{}`", all.join("`, `"));
    Err(Error::NotStarted(FoundErrors::of_rule("ambiguous-step", &message, "name one of them")))
}
