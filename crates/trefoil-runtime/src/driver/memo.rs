//! Reads the results of earlier runs, which a run may reuse instead of performing an activity again.

use std::sync::Arc;

pub use trefoil_coordinator::memo::{
    EVERY_STEP, EarlierCall, EarlierResult, FoundAnswers, FoundEntry, Layer, LayerCollector, LostResultReason, Memo,
    MemoDecision, ReuseOutcome,
};
use trefoil_machine::PreparedProgram;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::RunStart;
use trefoil_machine::request::{Activity, Request};

use super::DriverOptions;
use super::replay_events::JournalObserver;
use super::run_context::RunContext;
pub use crate::ports::AnswerLibrary;
use crate::ports::Ports;

/// Reads all results of a run from its journal, and performs nothing.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if it belongs to another program.
pub async fn read_memo(
    prepared: Arc<PreparedProgram>,
    run: &str,
    ports: Ports,
    options: &DriverOptions,
) -> Result<Memo, RunError> {
    let context = RunContext::new(prepared.clone(), ports, run.into(), 0);
    let mut collect = LayerCollector(Layer { program: Some(prepared), ..Layer::for_run(run) });
    super::read_journal(&context, options, &mut collect).await?;
    Ok(Memo::from_layer(collect.0))
}

impl JournalObserver for LayerCollector {
    fn observe_start(&mut self, _started: &RunStart, _options: &DriverOptions) {}
}

/// Looks up answers of earlier runs.
pub(super) async fn look_up(context: &RunContext, asked: &[Arc<Activity>]) -> Vec<FoundAnswers> {
    let Some(library) = &context.library else { return Vec::new() };
    let mut all = Vec::with_capacity(asked.len());
    for one in asked {
        let Request::Model(request) = &one.request else { continue };
        let answers = library.find_answers(&context.watch.run, one.content).await;
        let model = request.provider.is_none().then(|| context.ports.models.label(request));
        all.push(FoundAnswers { content: one.content, model, answers });
    }
    all
}
