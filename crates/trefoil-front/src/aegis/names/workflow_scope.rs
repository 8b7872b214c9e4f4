//! The place of a workflow's text, which determines the names available in it.

use std::sync::Arc;

use trefoil_ir::TextRole;
use trefoil_template::PathSegment;

use super::root;
use super::spelling::TAGS;
use super::workflow_names::{RenderMoment, WorkflowNames};
use crate::names::TagNotation;
use crate::names::{BoundPath, NameEntry, NameScope};

/// A place of a workflow.
pub struct WorkflowScope {
    names: Arc<WorkflowNames>,
    moment: RenderMoment,
    position: TextRole,
}

impl NameScope for WorkflowScope {
    fn text_position(&self) -> TextRole {
        self.position
    }

    fn root_entry(&self) -> NameEntry {
        root::root_entry(&self.names, self.moment)
    }

    fn tag_notation(&self) -> Option<&'static TagNotation> {
        Some(&TAGS)
    }

    // `lint` knows what else these names are called elsewhere.
    fn scope_description(&self) -> Option<&'static str> {
        None
    }

    fn is_meant(&self, path: &[PathSegment], bound: &BoundPath, _alone: bool) -> bool {
        root::is_meant(&self.names, path, bound)
    }
}

impl WorkflowNames {
    /// The place of a text, by its moment and its position.
    pub fn scope_at(self: &Arc<Self>, moment: RenderMoment, position: TextRole) -> WorkflowScope {
        WorkflowScope { names: self.clone(), moment, position }
    }
}
