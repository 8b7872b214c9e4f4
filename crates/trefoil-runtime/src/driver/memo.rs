//! Reads the results of earlier runs, which a run may reuse instead of performing an activity again.

use std::sync::Arc;

pub use trefoil_coordinator::memo::{
    Collect, Decision, EVERY_STEP, Earlier, EarlierCall, FoundAnswers, FoundEntry, Layer, Lost, Memo, Reuse,
};
use trefoil_machine::Prepared;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::Started;
use trefoil_machine::request::{Activity, Request};

use super::Options;
use super::past::Reader;
use super::world::World;
pub use crate::ports::Library;
use crate::ports::Ports;

/// Reads all results of a run from its journal, and performs nothing.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if it belongs to another program.
pub async fn read_memo(prepared: Arc<Prepared>, run: &str, ports: Ports, options: &Options) -> Result<Memo, RunError> {
    let world = World::new(prepared.clone(), ports, run.into(), 0);
    let mut collect = Collect(Layer { program: Some(prepared), ..Layer::of(run) });
    super::read(&world, options, &mut collect).await?;
    Ok(Memo::of(collect.0))
}

impl Reader for Collect {
    fn began(&mut self, _started: &Started, _options: &Options) {}
}

/// Looks up answers of earlier runs.
pub(super) async fn look_up(world: &World, asked: &[Arc<Activity>]) -> Vec<FoundAnswers> {
    let Some(library) = &world.library else { return Vec::new() };
    let mut all = Vec::with_capacity(asked.len());
    for one in asked {
        let Request::Model(request) = &one.request else { continue };
        let answers = library.answers(&world.watch.run, one.content).await;
        let model = request.provider.is_none().then(|| world.ports.models.label(request));
        all.push(FoundAnswers { content: one.content, model, answers });
    }
    all
}
