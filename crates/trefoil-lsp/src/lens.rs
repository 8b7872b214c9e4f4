//! Code lenses: above what can be run, to run it, to plan a run, and to bring the last run up to date.

use trefoil_ir::facts::DeclarationKind;
use trefoil_syntax::{FileId, Span};

use crate::analysis::Analysis;

/// What a lens does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// `trefoil run`.
    Run,
    /// `trefoil plan`.
    Plan,
    /// `trefoil dev`.
    Dev,
    /// `trefoil resume RUN --with FILE`: the last run, with what was edited.
    Resume,
    /// What that would do, and why: nothing is run.
    Why,
}

impl Does {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Run, Self::Plan, Self::Dev, Self::Resume, Self::Why];

    /// Whether it is about a run that has been made.
    pub fn needs_run(self) -> bool {
        matches!(self, Self::Resume | Self::Why)
    }

    /// The editor's command.
    pub fn command(self) -> &'static str {
        match self {
            Self::Run => "trefoil.run",
            Self::Plan => "trefoil.plan",
            Self::Dev => "trefoil.dev",
            Self::Resume => "trefoil.resume",
            Self::Why => "trefoil.why",
        }
    }
    /// What is shown.
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

/// The name under which a file is run, if it is a program: the workflow or agent that is part of nothing else.
pub fn entry(analysis: &Analysis, file: FileId) -> Option<Span> {
    let own = analysis.facts().declarations.iter().filter(|d| d.at.file == file && d.parent.is_none());
    let mut programs = own.filter(|d| matches!(d.kind, DeclarationKind::Agent | DeclarationKind::Workflow));
    let first = programs.next().map(|d| d.at.span);
    if first.is_some() && programs.next().is_none() {
        return first;
    }
    // A workflow without a name of its own: its first key.
    let root = analysis.tree(file)?.mapping().filter(|_| analysis.dialect(file).is_some())?;
    root.entries.first().map(|e| e.key.content())
}
