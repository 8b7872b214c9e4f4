//! Where a text of a workflow is, and so what it can name.

use std::sync::Arc;

use trefoil_ir::Position;
use trefoil_template::Segment;

use super::known::{Moment, WorkflowNames};
use super::root;
use super::spelling::TAGS;
use crate::names::Tags;
use crate::names::{Bound, Entry, Place};

/// A place of a workflow.
pub struct WorkflowPlace {
    names: Arc<WorkflowNames>,
    moment: Moment,
    position: Position,
}

impl Place for WorkflowPlace {
    fn position(&self) -> Position {
        self.position
    }

    fn root(&self) -> Entry {
        root::entry(&self.names, self.moment)
    }

    fn tags(&self) -> Option<&'static Tags> {
        Some(&TAGS)
    }

    fn is_meant(&self, path: &[Segment], bound: &Bound, _alone: bool) -> bool {
        root::is_meant(&self.names, path, bound)
    }
}

impl WorkflowNames {
    /// The names of a moment, for a text that is for this.
    pub fn place(self: &Arc<Self>, moment: Moment, position: Position) -> WorkflowPlace {
        WorkflowPlace { names: self.clone(), moment, position }
    }
}
