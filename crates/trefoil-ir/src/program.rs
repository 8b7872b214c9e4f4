//! A program, whose ids are proved.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use trefoil_syntax::FileId;

use crate::effect::ModelChoice;
use crate::flow::{FlowDefinition, ProgramParts};
use crate::ids::StepId;
use crate::step::StepKind;
use crate::validation::unproved_ids;

/// A whole program. Every id in it is one of its own: [`Program::new`] is the only way to make one. So `program.steps[id]` needs no answer
/// for a step that does not exist, as long as `id` came from this program.
#[derive(Debug, Clone)]
pub struct Program(ProgramParts);

/// The ids of its parts that a program does not have: a mistake in a front end, never a user's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("internal error: the program is not valid: {}", .0.join("; "))]
pub struct InvalidProgram(pub Vec<String>);

impl Program {
    /// The program of these parts, if all ids in them are theirs.
    pub fn new(parts: ProgramParts) -> Result<Self, InvalidProgram> {
        let faults = unproved_ids(&parts);
        if faults.is_empty() { Ok(Self(parts)) } else { Err(InvalidProgram(faults)) }
    }
    /// Its parts.
    pub fn into_parts(self) -> ProgramParts {
        self.0
    }
    /// The entry flow.
    pub fn entry_flow(&self) -> &FlowDefinition {
        &self.0.flows[self.0.entry]
    }
    /// The files that contain its flows and steps, each once, in the order of their ids.
    pub fn file_ids(&self) -> Vec<FileId> {
        let mut files: BTreeSet<FileId> = self.flows.iter().map(|flow| flow.origin.file).collect();
        files.extend(self.steps.iter().map(|step| step.origin.file));
        files.into_iter().collect()
    }
    /// The models of its calls, to choose others. They contain no ids, so the program stays valid.
    pub fn model_choices(&mut self) -> impl Iterator<Item = (ModelCaller<'_>, &mut ModelChoice)> {
        self.0.steps.entries_mut().filter_map(|(step, found)| {
            let StepKind::Model(call) = &mut found.kind else { return None };
            Some((ModelCaller { step, label: found.label.as_deref(), speaker: &call.speaker }, &mut call.model))
        })
    }
    /// The limits of what its fan-outs and parallel steps run at the same time, to change them. They contain no ids, either.
    pub fn concurrency_limits(&mut self) -> impl Iterator<Item = &mut Option<u32>> {
        self.0.steps.iter_mut().filter_map(|step| match &mut step.kind {
            StepKind::ForEach(each) => Some(&mut each.concurrency),
            StepKind::Parallel(parallel) => Some(&mut parallel.concurrency),
            _ => None,
        })
    }
}

/// Who calls a model.
#[derive(Debug, Clone, Copy)]
pub struct ModelCaller<'p> {
    /// The step.
    pub step: StepId,
    /// Its label.
    pub label: Option<&'p str>,
    /// The agent that speaks.
    pub speaker: &'p Arc<str>,
}

impl Deref for Program {
    type Target = ProgramParts;
    fn deref(&self) -> &ProgramParts {
        &self.0
    }
}
