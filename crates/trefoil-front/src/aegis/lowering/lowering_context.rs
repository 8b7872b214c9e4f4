//! The context in which the states of a workflow are lowered.

use trefoil_syntax::{FileId, Location, Span};

use crate::aegis::names::WorkflowNames;
use crate::aegis::texts::AegisTexts;

/// The workflow, its names and its texts.
pub struct LoweringContext<'a> {
    pub file: FileId,
    pub names: &'a WorkflowNames,
    pub texts: &'a AegisTexts,
    /// Whether its states run in order, without transitions.
    pub pipeline: bool,
}

impl LoweringContext<'_> {
    /// The location of a span in the file.
    pub fn location_of(&self, span: Span) -> Location {
        Location::new(self.file, span)
    }
    /// Where a state is declared.
    pub fn state_at(&self, state: usize) -> Location {
        self.names.states.get(state).map_or(self.location_of(Span::default()), |s| s.span)
    }
}
