//! The versions of prompts: which definition of a model call was used by which runs.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest as _, Sha256};
use trefoil_ir::printer::step_definition;
use trefoil_ir::{FlowId, Program, StepId, StepKind, walk};
use trefoil_machine::step_path::step_places;
use trefoil_store::Record;

use super::step_spending::StepSpending;

/// The versions of the prompt of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptHistory {
    /// The labels on the way to the step.
    pub step: String,
    /// Its versions, newest first.
    pub versions: Vec<PromptVersion>,
}

/// A version of a prompt: its texts, its model and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptVersion {
    /// Its hash; `None`: the program of its runs was not read.
    pub version: Option<String>,
    /// When the first and the last run with it started: milliseconds since 1970-01-01 UTC.
    pub first: u64,
    /// See [`Self::first`].
    pub last: u64,
    /// The last run with it.
    pub last_run: String,
    /// What its calls used.
    pub spending: StepSpending,
}

/// The hash of the definition of each model call of a program, by the labels on the way to it.
pub(super) type PromptHashes = BTreeMap<String, String>;

/// The hashes of the prompts of a program.
pub(super) fn hash_prompts(program: &Program) -> PromptHashes {
    let flows: HashMap<StepId, FlowId> =
        walk::reachable_steps(program, program.entry).into_iter().map(|(flow, step)| (step, flow)).collect();
    let mut texts: BTreeMap<String, Sha256> = BTreeMap::new();
    for place in step_places(program, |step| matches!(step.kind, StepKind::Model(_))) {
        if let Some(flow) = flows.get(&place.id) {
            // Two steps may have the same labels.
            texts.entry(place.key).or_default().update(step_definition(program, *flow, place.id));
        }
    }
    texts.into_iter().map(|(path, text)| (path, hex_text(&text.finalize()))).collect()
}

fn hex_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds what the steps of a run used to the versions of their prompts. Runs come newest first. `hashes`: `None` if its program was not
/// read.
pub(super) fn add_run(
    all: &mut BTreeMap<String, Vec<PromptVersion>>,
    record: &Record,
    steps: &[StepSpending],
    hashes: Option<&PromptHashes>,
) {
    for step in steps {
        let version = hashes.and_then(|hashes| hashes.get(&step.step)).cloned();
        let versions = all.entry(step.step.clone()).or_default();
        match versions.iter_mut().find(|known| known.version == version) {
            Some(known) => {
                known.first = known.first.min(record.started);
                known.spending.add_spending(step);
            }
            None => versions.push(PromptVersion {
                version,
                first: record.started,
                last: record.started,
                last_run: record.run.clone(),
                spending: step.clone(),
            }),
        }
    }
}
