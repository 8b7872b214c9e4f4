//! The results of earlier runs that a run of a flow uses, as requested: the same for a run that starts, for one that is resumed, and for
//! a preview.

use std::sync::Arc;

use trefoil_runtime::driver::memo::{EVERY_STEP, Memo};
use trefoil_store::Store;

use super::edited_flows::without_edited;
use super::memo::{check_inside, memo, without_failed};
use super::request::Edit;
use super::step_names::{no_step, step_labels};
use crate::durable::Stored;
use crate::engine::Engine;
use crate::error::Result;
use crate::flow::Flow;

/// The results for a new run of a flow. Checks the names of the request.
pub(super) async fn results_for(
    engine: &Engine,
    store: &Arc<dyn Store>,
    stored: &Stored,
    flow: &Flow,
    edit: &Edit,
) -> Result<Memo> {
    let memo = results_again(engine, store, stored, edit).await?;
    if let Some(from) = &edit.from {
        check_inside(store, from, &memo).await?;
    }
    check_rerun(engine, &edit.rerun, flow, &memo)?;
    Ok(memo)
}

/// The results for a run that has started with this request.
pub(super) async fn results_again(
    engine: &Engine,
    store: &Arc<dyn Store>,
    stored: &Stored,
    edit: &Edit,
) -> Result<Memo> {
    let mut memo = memo(store.clone(), engine.earlier_runs(), stored, edit).await?;
    if edit.forked || edit.failed {
        memo = without_failed(memo, &**store, stored).await?;
    }
    Ok(if edit.forked { memo } else { without_edited(memo, engine, store).await })
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
        let step = name.rsplit('/').next().unwrap_or_default();
        flows.as_ref().is_some_and(|flows| step == EVERY_STEP || flows.have_step(step))
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
