//! The prompts that a run of an edited flow would send, with the data of an earlier run.

use std::sync::Arc;

use trefoil_machine::PreparedProgram;
use trefoil_store::Store;

use super::preview::{at_once, choose_program, drive_preview};
use super::request::ReuseRequest;
use super::results::results_for;
use crate::durable::StoredRun;
use crate::engine::Engine;
use trefoil_project::error::Result;
use trefoil_project::flow::Flow;
use trefoil_view::trace::{Trace, TraceSink};

/// The trace of a run of an edited flow, as it would be if each step had the result that it has in the earlier run. Of a step that the
/// earlier run did not come to, there is only the prompt, and nothing of what comes after it. Calls nothing and needs no keys.
///
/// # Errors
///
/// As [`preview_edit`](super::preview_edit).
pub async fn preview_prompts(
    engine: &Engine,
    store: Arc<dyn Store>,
    flow: &Flow,
    request: &ReuseRequest,
) -> Result<Trace> {
    let stored = StoredRun::read_run(&*store, &request.of).await?;
    let (program, _) = choose_program(engine, flow, &stored.current_start());
    let prepared = PreparedProgram::new(at_once(program));
    let memo = results_for(engine, &store, &stored, flow, request).await?.with_stand_ins();
    let tracer = Arc::new(TraceSink::default());
    // How it would end is in the trace, too.
    let _ = drive_preview(engine, &store, (&stored, flow, request), (prepared, memo), tracer.clone()).await;
    Ok(tracer.trace())
}
