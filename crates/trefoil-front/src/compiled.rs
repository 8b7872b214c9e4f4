//! The result of compiling documents: each unit (a document as an agent, a workflow, or a sub-workflow with certain
//! inputs) is read, bound and lowered once, however many entries lead to it. Finders check the units afterwards.

use std::collections::BTreeSet;

use trefoil_ir::{Facts, FlowId, InvalidProgram, Program, ProgramParts};
use trefoil_syntax::hash::HashSet;
use trefoil_syntax::{Diagnostic, FileId, Severity, Shared};

use crate::CompiledUnits;
use crate::project::Lowered;
use crate::read::Findings;

/// Documents of one dialect, compiled together.
pub struct Compiled<'p> {
    /// The units, with bound names.
    pub units: CompiledUnits<'p>,
    /// Everything that can be reached from the entries; `None` if no entry could be read.
    pub program: Option<ProgramParts>,
    /// The flow of each entry that could be read, by document.
    pub entries: Vec<(usize, FlowId)>,
    /// `env_file` paths of the workflows, as project paths.
    pub env_files: Vec<String>,
    /// The findings and facts from reading and binding.
    pub found: Findings,
    /// Files that only a template may name. Mistakes in them are not mistakes of the entries.
    pub aside: BTreeSet<FileId>,
}

/// A program with several entries, and all findings.
pub struct Linked {
    /// The program. If there are errors, it is a draft: it can be checked further, but must not run.
    pub program: Option<Program>,
    /// The flow of each entry, by its document.
    pub entries: Vec<(usize, FlowId)>,
    /// `env_file` paths of the workflows, as project paths.
    pub env_files: Vec<String>,
    /// The findings.
    pub found: Vec<Diagnostic>,
    /// The facts about names.
    pub facts: Facts,
}

impl Compiled<'_> {
    /// The program with the findings of lint added.
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
        // Lowering makes drafts whose ids are right, too. If not, it is a mistake of ours, and what was not checked must be said.
        let internal = |invalid: InvalidProgram| {
            let d = Diagnostic::nowhere("internal", Severity::Error, None, invalid.to_string());
            d.help("nothing else was checked in these files; please report it")
        };
        let program = match program.map(Program::new).transpose() {
            Ok(program) => program,
            Err(invalid) => {
                found.push(internal(invalid));
                None
            }
        };
        let facts = facts.of_files(program.iter().flat_map(|program| program.files()));
        found.retain(|d| d.file.is_none_or(|file| !aside.contains(&file)));
        Linked { program, entries, env_files, found, facts }
    }
}

impl Linked {
    /// The program for a run; `None` if a finding prevents that.
    pub fn sound(&self) -> Option<Lowered> {
        let broken = self.found.iter().any(|d| d.severity == Severity::Error);
        let program = self.program.clone().filter(|_| !broken)?;
        Some(Lowered { program, env_files: self.env_files.clone() })
    }
}
