//! The results of earlier runs that a run of a flow uses, as requested: the same for a run that starts, for one that is resumed, and for
//! a preview.

use std::sync::Arc;

use trefoil_machine::Request;
use trefoil_machine::key::{Key, label_path};
use trefoil_machine::step_path::{RunPath, StepPath as _, is_marked, step_places};
use trefoil_runtime::driver::memo::{EVERY_STEP, EarlierCall, Memo};
use trefoil_store::{Store, StoreError};

use super::edited_flows::without_edited;
use super::memo::{check_from, check_inner_marks, load_memo, no_step, without_failed};
use super::request::ReuseRequest;
use crate::durable::StoredRun;
use crate::engine::{Engine, FlowTools};
use trefoil_project::error::{Error, FoundErrors, Result};
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
        check_from(store, from, &memo).await?;
    }
    if let Some(only) = &request.only {
        check_only(only, flow)?;
    }
    check_rerun(engine, &request.rerun, flow, (&memo, &[]))?;
    for name in &request.rerun {
        check_inner_marks(store, name, &memo).await?;
    }
    Ok(memo)
}

/// Checks that the flow itself has the step that is to run alone.
fn check_only(only: &str, flow: &Flow) -> Result<()> {
    let places = step_places(&flow.loaded_target().program, |_| true);
    if places.iter().any(|place| place.is_named(only)) {
        return Ok(());
    }
    let message = format!("the flow has no step `{only}` of its own that could run alone");
    let help = "name a step of the flow itself, by its name in the files that are to run";
    Err(Error::NotStarted(FoundErrors::of_rule("unknown-step", &message, help)))
}

/// The results for a run that has started with this request. The run may have been deleted since.
pub(super) async fn results_again(engine: &Engine, store: &Arc<dyn Store>, request: &ReuseRequest) -> Result<Memo> {
    if request.of.is_empty() {
        return Ok(no_results(request));
    }
    match StoredRun::read_run(&**store, &request.of).await {
        Ok(stored) => results_of(engine, store, &stored, request).await,
        Err(Error::Store(StoreError::NoRun { .. } | StoreError::NoContent { .. })) => Ok(no_results(request)),
        Err(error) => Err(error),
    }
}

/// If no results can be read. The earlier run, if there is one, may have done anything.
pub(crate) fn no_results(request: &ReuseRequest) -> Memo {
    let memo = Memo::default().allow_rerun(request.rerun.iter().cloned());
    if request.of.is_empty() { memo } else { memo.cut_off() }
}

async fn results_of(
    engine: &Engine,
    store: &Arc<dyn Store>,
    stored: &StoredRun,
    request: &ReuseRequest,
) -> Result<Memo> {
    let mut memo = load_memo(store.clone(), engine.earlier_runs(), stored, request).await?;
    if request.forked || request.failed {
        memo = without_failed(memo, &**store, stored).await?;
    }
    let memo = if request.forked { memo } else { without_edited(memo, engine, store).await };
    Ok(match &request.only {
        Some(step) => memo.limited_to_step(step.clone()),
        None => memo,
    })
}

/// Checks that all names are steps of the earlier runs, of the current flow, or of the flow of a tool that one of these calls. `stopped`:
/// what the current run has stopped before.
pub(super) fn check_rerun(
    engine: &Engine,
    names: &[String],
    flow: &Flow,
    (memo, stopped): (&Memo, &[Key]),
) -> Result<()> {
    // The names for a called run were checked for the run that was started.
    if engine.is_called() {
        return Ok(());
    }
    // Without flows as tools, no step has another flow.
    let flows = engine.flow_tools().unwrap_or_else(|| Arc::new(FlowTools::new(engine)));
    // The step of a call may not be in the current flow.
    let is_inner = |name: &str, call: &EarlierCall| {
        let Request::Tool(request) = &call.activity.request else { return false };
        flows.have_inner_step(call.activity.step_path().names_inside(name), &request.name, &|_| true)
    };
    // Which passes a new step will have is not known.
    let is_new = |name: &str| {
        let has_other_marks = is_marked(name) && memo.has_step(&label_path(name));
        !has_other_marks && flows.have_step(name, &flow.loaded_target().program, &|_| true)
    };
    let is_known = |name: &str| {
        // All steps of the flow that a step calls.
        let name = name.strip_suffix("/*").unwrap_or(name);
        name == EVERY_STEP
            || memo.has_step(name)
            || stopped.iter().any(|key| RunPath::from_key(key).find_named(name).is_some())
            || is_new(name)
            || memo.tool_calls().iter().any(|call| is_inner(name, call))
    };
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => Err(no_step(name, memo)),
        None => Ok(()),
    }
}
