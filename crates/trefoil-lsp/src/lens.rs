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
    let mut programs = analysis.facts().declarations.iter().filter(|d| d.at.file == file && is_program(d));
    if let (Some(only), None) = (programs.next(), programs.next()) {
        return Some(only.at.span);
    }
    // A workflow without a name: use its first key.
    let first = analysis.manifest_tree(file)?.as_mapping()?.entries.first()?;
    Some(first.key.content_span())
}

/// Whether it is a workflow or an agent that is not part of another one.
fn is_program(declaration: &NameDeclaration) -> bool {
    declaration.parent.is_none() && matches!(declaration.kind, DeclarationKind::Agent | DeclarationKind::Workflow)
}

/// The names of the flows that probably contain a file: its own programs, and those of the files that call it, directly or
/// through others.
pub fn flow_names(analysis: &FolderAnalysis, file: FileId) -> Vec<String> {
    let facts = analysis.facts();
    let mut files = vec![file];
    let mut seen = 0;
    while let Some(called) = files.get(seen).copied() {
        seen += 1;
        for mention in &facts.mentions {
            let caller = mention.at.file;
            let is_call = !mention.template && matches!(mention.to, Some(to) if to.file == called);
            if is_call && !files.contains(&caller) {
                files.push(caller);
            }
        }
    }
    let mut names = Vec::new();
    for file in files {
        for declaration in &facts.declarations {
            if names.len() == MOST {
                return names;
            }
            if declaration.at.file == file && is_program(declaration) {
                names.push(declaration.name.to_string());
            }
        }
    }
    names
}
