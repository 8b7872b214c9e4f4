//! From bound agents to the IR; total and silent. One flow for each agent. A file's flow is made once, however often it
//! is referenced; an agent inside a step has a separate flow.

mod agent;
mod body;
mod intake;
mod llm;
mod offers;
mod output;
mod pipeline;
mod text;
mod tool;

use std::collections::BTreeSet;

use trefoil_ir::{FlowId, ProgramParts};

use super::binding::AgntzUnits;
use crate::program_builder::ProgramBuilder;

/// A program under construction.
struct AgntzLowering<'u, 'p> {
    units: &'u AgntzUnits<'p>,
    builder: ProgramBuilder,
    /// Documents that are lowered or in progress.
    done: BTreeSet<usize>,
}

/// Lowers what can be reached from entries. Returns the flow of each entry that is an agent, by document.
pub fn lower_documents(units: &AgntzUnits<'_>, entries: &[usize]) -> (Option<ProgramParts>, Vec<(usize, FlowId)>) {
    let mut lowering = AgntzLowering { units, builder: ProgramBuilder::default(), done: BTreeSet::new() };
    lowering.builder.reserve_flows(units.flows as usize);
    // Each agent needs two steps: its call, and the step that calls it.
    lowering.builder.reserve_steps(2 * units.flows as usize);
    let mut entry_flows = Vec::with_capacity(entries.len());
    for entry in entries {
        lowering.document(*entry);
        if let Some(Some(agent)) = units.agents.get(entry) {
            entry_flows.push((*entry, agent.signature.flow));
        }
    }
    let Some((_, first)) = entry_flows.first() else { return (None, entry_flows) };
    let project = units.project;
    let mut texts = Vec::with_capacity(units.agents.len());
    for document in units.agents.keys() {
        if let Some(document) = project.documents.get(*document)
            && let Some(file) = project.files.get(document.file)
        {
            texts.push(file.text().clone());
        }
    }
    (lowering.builder.finish_program(*first, texts.iter().map(|t| &**t)), entry_flows)
}

impl AgntzLowering<'_, '_> {
    /// Lowers the agent of a document, once.
    fn document(&mut self, document: usize) {
        if !self.done.insert(document) {
            return;
        }
        if let Some(Some(bound)) = self.units.agents.get(&document) {
            self.lower_agent(bound);
        }
    }
}
