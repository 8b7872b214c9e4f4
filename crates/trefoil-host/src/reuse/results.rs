//! The results of earlier runs that a run of a flow uses, as requested: the same for a run that starts, for one that is resumed, and for
//! a preview.

use std::sync::Arc;

use trefoil_machine::key::unmarked;
use trefoil_runtime::driver::memo::{EVERY_STEP, Memo};
use trefoil_store::{Store, StoreError};

use super::edited_flows::without_edited;
use super::memo::{check_inside, memo, without_failed};
use super::request::ReuseRequest;
use super::step_names::{no_step, step_labels};
use crate::durable::StoredRun;
use crate::engine::Engine;
use trefoil_project::error::{Error, Result};
use trefoil_project::flow::Flow;

/// The results for a new run of a flow. Checks the names of the request.
pub(super) async fn results_for(
    engine: &Engine,
    store: &Arc<dyn Store>,
    stored: &StoredRun,
    flow: &Flow,
    request: &ReuseRequest,
) -> Result<Memo> {
    let memo = results_of(engine, store, stored, request).await?;
    if let Some(from) = &request.from {
        check_inside(store, from, &memo).await?;
    }
    check_rerun(engine, &request.rerun, flow, &memo)?;
    Ok(memo)
}

/// The results for a run that has started with this request. The run may have been deleted since.
pub(super) async fn results_again(engine: &Engine, store: &Arc<dyn Store>, request: &ReuseRequest) -> Result<Memo> {
    if request.of.is_empty() {
        return Ok(no_results(request));
    }
    match StoredRun::read(&**store, &request.of).await {
        Ok(stored) => results_of(engine, store, &stored, request).await,
        Err(Error::Store(StoreError::NoRun { .. } | StoreError::NoContent { .. })) => Ok(no_results(request)),
        Err(error) => Err(error),
    }
}

/// If no results can be read. The earlier run, if there is one, may have done anything.
pub(crate) fn no_results(request: &ReuseRequest) -> Memo {
    let memo = Memo::default().rerunning(request.rerun.iter().cloned());
    if request.of.is_empty() { memo } else { memo.cut_off() }
}

async fn results_of(
    engine: &Engine,
    store: &Arc<dyn Store>,
    stored: &StoredRun,
    request: &ReuseRequest,
) -> Result<Memo> {
    let mut memo = memo(store.clone(), engine.earlier_runs(), stored, request).await?;
    if request.forked || request.failed {
        memo = without_failed(memo, &**store, stored).await?;
    }
    Ok(if request.forked { memo } else { without_edited(memo, engine, store).await })
}

/// Checks that all names are steps of the earlier runs, of the current flow, or of the flow of a tool that one of these calls.
pub(super) fn check_rerun(engine: &Engine, names: &[String], flow: &Flow, memo: &Memo) -> Result<()> {
    // The names for a called run were checked for the run that was started.
    if engine.is_called() {
        return Ok(());
    }
    let flows = engine.flow_tools();
    let knows = |name: &str| memo.has_step(name) || step_labels(&flow.loaded().program).any(|label| label == name);
    let is_inner = |name: &str| {
        // A state is also known by the key of a visit: `REVIEW@2`.
        let step = unmarked(name.rsplit('/').next().unwrap_or_default());
        flows.as_ref().is_some_and(|flows| step == EVERY_STEP || flows.have_step(&step))
    };
    let is_known = |name: &str| {
        let mut outer = name.match_indices('/').filter_map(|(at, _)| name.get(..at));
        name == EVERY_STEP || knows(name) || outer.any(knows) && is_inner(name)
    };
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => Err(no_step(name, memo)),
        None => Ok(()),
    }
}
