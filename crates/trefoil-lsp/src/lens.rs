//! Code lenses above programs: run it, plan a run, or update the last run.

use trefoil_ir::facts::{DeclarationKind, NameDeclaration};
use trefoil_syntax::{FileId, Span};

use crate::analysis::FolderAnalysis;

/// Maximum number of flows that are looked for by their names.
const MOST: usize = 50;

/// The action of a lens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LensAction {
    /// `trefoil run`.
    Run,
    /// `trefoil plan`.
    Plan,
    /// `trefoil dev`.
    Dev,
    /// `trefoil resume RUN --with TARGET`: resumes the last run with the edited files, from the file that it started with.
    Resume,
    /// Shows what resuming would repeat, and why, without running anything.
    Why,
}

impl LensAction {
    /// All actions, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Run, Self::Plan, Self::Dev, Self::Resume, Self::Why];

    /// Whether it needs an earlier run.
    pub fn needs_run(self) -> bool {
        matches!(self, Self::Resume | Self::Why)
    }

    /// The name of the command in the editor.
    pub fn command_name(self) -> &'static str {
        match self {
            Self::Run => "trefoil.run",
            Self::Plan => "trefoil.plan",
            Self::Dev => "trefoil.dev",
            Self::Resume => "trefoil.resume",
            Self::Why => "trefoil.why",
        }
    }
    /// The shown text.
    pub fn lens_title(self) -> &'static str {
        match self {
            Self::Run => "Run",
            Self::Plan => "Plan",
            Self::Dev => "Run on save",
            Self::Resume => "Resume with this edit",
            Self::Why => "Why would a step run again?",
        }
    }
}

/// The name of the program in a file: the workflow or agent that is not part of another one.
pub fn program_name_span(analysis: &FolderAnalysis, file: FileId) -> Option<Span> {
    let own = analysis.facts().declarations.iter().filter(|d| d.at.file == file && d.parent.is_none());
    let mut programs = own.filter(|d| matches!(d.kind, DeclarationKind::Agent | DeclarationKind::Workflow));
    let first = programs.next().map(|d| d.at.span);
    if first.is_some() && programs.next().is_none() {
        return first;
    }
    // A workflow without a name: use its first key.
    let root = analysis.yaml_tree(file)?.as_mapping().filter(|_| analysis.dialect(file).is_some())?;
    root.entries.first().map(|e| e.key.content_span())
}

/// The names of the flows that probably contain a file: its own programs, and those of the files that call it, directly or
/// through others.
pub fn flow_names(analysis: &FolderAnalysis, file: FileId) -> Vec<String> {
    let facts = analysis.facts();
    let mut files = vec![file];
    let mut seen = 0;
    while let Some(called) = files.get(seen).copied() {
        seen += 1;
        let calls = facts.mentions.iter().filter(|m| !m.template && m.to.is_some_and(|to| to.file == called));
        for caller in calls.map(|mention| mention.at.file) {
            if !files.contains(&caller) {
                files.push(caller);
            }
        }
    }
    let is_program = |d: &NameDeclaration| {
        d.parent.is_none() && matches!(d.kind, DeclarationKind::Agent | DeclarationKind::Workflow)
    };
    let of = |file: &FileId| {
        let own = facts.declarations.iter().filter(|d| d.at.file == *file && is_program(d));
        own.map(|d| d.name.to_string()).collect::<Vec<_>>()
    };
    files.iter().flat_map(of).take(MOST).collect()
}
