//! A workflow while it is lowered.

use trefoil_syntax::{FileId, Location, Span};

use crate::aegis::names::WorkflowNames;
use crate::aegis::texts::Texts;

/// What its states are lowered with.
pub struct Scene<'a> {
    pub file: FileId,
    pub names: &'a WorkflowNames,
    pub texts: &'a Texts,
    /// Whether its states follow each other without transitions.
    pub pipeline: bool,
}

impl Scene<'_> {
    /// A place of the file.
    pub fn at(&self, span: Span) -> Location {
        Location::new(self.file, span)
    }
    /// Where a state is declared.
    pub fn state_at(&self, state: usize) -> Location {
        self.names.states.get(state).map_or(self.at(Span::default()), |s| s.span)
    }
}
