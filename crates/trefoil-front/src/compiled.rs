//! What a dialect makes of documents: each unit (a document as an agent, a workflow, a sub-workflow with certain inputs) is
//! read, bound and lowered once, however many entries lead to it. Finders of mistakes look at the units afterwards.

use std::collections::BTreeSet;

use trefoil_ir::{Facts, FlowId, Program};
use trefoil_syntax::hash::HashSet;
use trefoil_syntax::{Diagnostic, FileId, Severity, Shared};

use crate::CompiledUnits;
use crate::project::Lowered;
use crate::read::Findings;

/// Documents of one dialect, compiled together.
pub struct Compiled<'p> {
    /// What is written in them, with its names bound.
    pub units: CompiledUnits<'p>,
    /// Everything that the entries lead to; none if no entry could be read.
    pub program: Option<Program>,
    /// The flow of each entry, by its document; without those that could not be read.
    pub entries: Vec<(usize, FlowId)>,
    /// `env_file` paths of the workflows, as project paths.
    pub env_files: Vec<String>,
    /// What reading and binding found, and what they learned about names.
    pub found: Findings,
    /// Files that only a template may name. Their mistakes are their own business.
    pub aside: BTreeSet<FileId>,
}

/// A program with many entries, and all that was found on the way to it.
pub struct Linked {
    /// The program. Where errors were found it is a draft: to look for further mistakes in, never to run.
    pub program: Option<Program>,
    /// The flow of each entry, by its document.
    pub entries: Vec<(usize, FlowId)>,
    /// `env_file` paths of the workflows, as project paths.
    pub env_files: Vec<String>,
    /// The findings.
    pub found: Vec<Diagnostic>,
    /// What is known about names.
    pub facts: Facts,
}

impl Compiled<'_> {
    /// The program with what else was found in its units.
    pub fn link(self, lint: Vec<Diagnostic>) -> Linked {
        let Self { mut program, entries, env_files, found, aside, .. } = self;
        let Findings { diagnostics, facts, .. } = found;
        let mut shared = Shared::default();
        diagnostics.into_sorted().into_iter().chain(lint).for_each(|d| shared.add(d));
        let mut found = shared.into_vec();
        let errors = found.iter().filter(|d| d.severity == Severity::Error);
        let broken: HashSet<FileId> = errors.filter_map(|d| d.file).filter(|f| aside.contains(f)).collect();
        if let Some(program) = program.as_mut().filter(|_| !broken.is_empty()) {
            crate::build::refuse(program, &broken);
        }
        found.retain(|d| d.file.is_none_or(|file| !aside.contains(&file)));
        Linked { program, entries, env_files, found, facts }
    }
}

impl Linked {
    /// The program for a run; none if something was found that keeps it from one.
    pub fn sound(&self) -> Option<Lowered> {
        let broken = self.found.iter().any(|d| d.severity == Severity::Error);
        let program = self.program.clone().filter(|_| !broken)?;
        Some(Lowered { program, env_files: self.env_files.clone() })
    }
}
