//! The result of compiling documents: each unit (a document as an agent, a workflow, or a sub-workflow with certain
//! inputs) is read, bound and lowered once, however many entries lead to it. Finders check the units afterwards.

use std::collections::BTreeSet;

use trefoil_ir::{Facts, FlowId, Program, ProgramParts};
use trefoil_syntax::hash::HashSet;
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, MergedDiagnostics};

use crate::CompiledUnits;
use crate::project::LoweredDocument;
use crate::yaml_reader::CompileFindings;

/// Documents of one dialect, compiled together.
pub struct DialectCompilation<'p> {
    /// The units, with bound names.
    pub units: CompiledUnits<'p>,
    /// Everything that can be reached from the entries; `None` if no entry could be read.
    pub program: Option<ProgramParts>,
    /// The flow of each entry that could be read, by document.
    pub entries: Vec<(usize, FlowId)>,
    /// `env_file` paths of the workflows, as project paths.
    pub env_files: Vec<String>,
    /// The findings and facts from reading and binding.
    pub found: CompileFindings,
    /// Files that only a template may name. Mistakes in them are not mistakes of the entries.
    pub aside: BTreeSet<FileId>,
}

/// A program with several entries, and all findings.
pub struct LinkedDocuments {
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

impl DialectCompilation<'_> {
    /// The program with the findings of lint added.
    pub fn link_program(self, lint: Vec<Diagnostic>) -> LinkedDocuments {
        let Self { mut program, entries, env_files, found, aside, .. } = self;
        let CompileFindings { diagnostics, facts, .. } = found;
        let mut shared = MergedDiagnostics::default();
        for diagnostic in diagnostics.into_sorted() {
            shared.add_or_merge(diagnostic);
        }
        for diagnostic in lint {
            shared.add_or_merge(diagnostic);
        }
        let mut found = shared.into_vec();
        let mut broken: HashSet<FileId> = HashSet::default();
        for diagnostic in &found {
            if diagnostic.severity == FindingSeverity::Error
                && let Some(file) = diagnostic.file
                && aside.contains(&file)
            {
                broken.insert(file);
            }
        }
        if let Some(program) = &mut program
            && !broken.is_empty()
        {
            crate::program_builder::refuse_files(program, &broken);
        }
        let program = match program.map(Program::new).transpose() {
            Ok(program) => program,
            // Lowering makes drafts whose ids are right, too. If not, it is a mistake of ours, and what was not checked must be said.
            Err(invalid) => {
                let d = Diagnostic::without_location("internal", FindingSeverity::Error, None, invalid.to_string());
                found.push(d.with_help("nothing else was checked in these files; please report it"));
                None
            }
        };
        let facts = facts.of_files(program.iter().flat_map(|program| program.file_ids()));
        found.retain(|d| !matches!(d.file, Some(file) if aside.contains(&file)));
        LinkedDocuments { program, entries, env_files, found, facts }
    }
}

impl LinkedDocuments {
    /// The program for a run; `None` if a finding prevents that.
    pub fn runnable_program(&self) -> Option<LoweredDocument> {
        if self.found.iter().any(|d| d.severity == FindingSeverity::Error) {
            return None;
        }
        let program = self.program.clone()?;
        Some(LoweredDocument { program, env_files: self.env_files.clone() })
    }
}
