//! Code lenses above programs: run it, plan a run, or update the last run.

use trefoil_ir::facts::DeclarationKind;
use trefoil_syntax::{FileId, Span};

use crate::analysis::Analysis;

/// The action of a lens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// `trefoil run`.
    Run,
    /// `trefoil plan`.
    Plan,
    /// `trefoil dev`.
    Dev,
    /// `trefoil resume RUN --with FILE`: resumes the last run with the edited files.
    Resume,
    /// Shows what resuming would repeat, and why, without running anything.
    Why,
}

impl Does {
    /// All actions, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Run, Self::Plan, Self::Dev, Self::Resume, Self::Why];

    /// Whether it needs an earlier run.
    pub fn needs_run(self) -> bool {
        matches!(self, Self::Resume | Self::Why)
    }

    /// The name of the command in the editor.
    pub fn command(self) -> &'static str {
        match self {
            Self::Run => "trefoil.run",
            Self::Plan => "trefoil.plan",
            Self::Dev => "trefoil.dev",
            Self::Resume => "trefoil.resume",
            Self::Why => "trefoil.why",
        }
    }
    /// The shown text.
    pub fn title(self) -> &'static str {
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
pub fn entry(analysis: &Analysis, file: FileId) -> Option<Span> {
    let own = analysis.facts().declarations.iter().filter(|d| d.at.file == file && d.parent.is_none());
    let mut programs = own.filter(|d| matches!(d.kind, DeclarationKind::Agent | DeclarationKind::Workflow));
    let first = programs.next().map(|d| d.at.span);
    if first.is_some() && programs.next().is_none() {
        return first;
    }
    // A workflow without a name: use its first key.
    let root = analysis.tree(file)?.mapping().filter(|_| analysis.dialect(file).is_some())?;
    root.entries.first().map(|e| e.key.content())
}
