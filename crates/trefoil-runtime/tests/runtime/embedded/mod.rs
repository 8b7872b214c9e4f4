//! The embedded model: whole runs on it, over many seeds.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail the test"
)]

mod branches;
mod judged;
mod loops;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use trefoil_ir::{AnswerFormat, Expr, Program, StepId, StepKind};
use trefoil_runtime::{Embedded, EventKind};

use crate::build::Build;
use crate::world::World;

/// A run that went through.
pub struct Seen {
    /// Its output.
    pub output: Json,
    /// The labels of the steps that ran, in order, skipped ones left out.
    pub ran: Vec<String>,
    /// Model answers by key.
    pub answers: BTreeMap<String, Json>,
}

/// Runs a program on the embedded model.
pub fn run(program: &Arc<Program>, seed: u64) -> Seen {
    let world = World::new(Embedded::new(program, seed));
    let outcome = world.run(program, "a question about tea");
    let output = outcome.result.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let mut seen = Seen { output: output.to_json(), ran: Vec::new(), answers: BTreeMap::new() };
    for event in world.events.seen() {
        let key = event.key.as_ref().map(ToString::to_string).unwrap_or_default();
        match event.kind {
            EventKind::StepStarted { label, .. } => seen.ran.push(label),
            EventKind::ModelFinished { answer, .. } => {
                seen.answers.insert(key, answer.to_json());
            }
            _ => {}
        }
    }
    seen
}

/// How often each of these came up over the seeds.
pub fn tally(seeds: u64, mut what: impl FnMut(u64) -> String) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    for seed in 0..seeds {
        *all.entry(what(seed)).or_default() += 1;
    }
    all
}

/// What came up over the seeds.
pub fn kinds(seeds: u64, what: impl FnMut(u64) -> String) -> Vec<String> {
    tally(seeds, what).into_keys().collect()
}

impl Build {
    /// A model call whose answer fits a schema.
    pub fn model_with(&mut self, label: &str, schema: Json) -> StepId {
        let schema = self.schema(schema);
        let id = self.model(label, "{{input}}");
        self.call_of(id).format = AnswerFormat::Json(schema);
        id
    }

    /// The call of a model step.
    pub fn call_of(&mut self, id: StepId) -> &mut trefoil_ir::ModelCall {
        match &mut self.at(id).kind {
            StepKind::Model(call) => call,
            other => panic!("not a model step: {other:?}"),
        }
    }

    /// A step that gives its label.
    pub fn mark(&mut self, label: &str) -> StepId {
        let id = self.compute("", "x");
        self.at(id).kind = StepKind::Compute(Expr::Const(label.into()));
        self.at(id).label = Some(label.into());
        id
    }
}
