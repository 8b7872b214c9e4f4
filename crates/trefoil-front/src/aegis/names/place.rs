//! The place of a workflow's text, which determines the names available in it.

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

    // `lint` knows what else these names are called elsewhere.
    fn called(&self) -> Option<&'static str> {
        None
    }

    fn is_meant(&self, path: &[Segment], bound: &Bound, _alone: bool) -> bool {
        root::is_meant(&self.names, path, bound)
    }
}

impl WorkflowNames {
    /// The place of a text, by its moment and its position.
    pub fn place(self: &Arc<Self>, moment: Moment, position: Position) -> WorkflowPlace {
        WorkflowPlace { names: self.clone(), moment, position }
    }
}
