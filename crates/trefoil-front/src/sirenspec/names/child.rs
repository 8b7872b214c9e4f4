//! A sub-workflow as seen by its callers.

use std::sync::Arc;

use trefoil_ir::FlowId;
use trefoil_ir::types::Type;
use trefoil_syntax::{FileId, Location};

use crate::names::Members;

/// A lowered workflow.
#[derive(Debug, Clone)]
pub struct Child {
    /// Its flow.
    pub flow: FlowId,
    /// The type of its output tree.
    pub output: Type,
    /// The type of the output tree, with the results of its nodes under it.
    pub readable: Type,
    /// Its input.
    pub wanted: Wanted,
    /// Its file.
    pub file: FileId,
    /// The declarations of what callers can read.
    pub members: Members,
}

/// What callers need to know about a sub-workflow's input.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Fields that are declared or read.
    pub known: Vec<Arc<str>>,
    /// Fields that are read and have no default.
    pub needed: Vec<Arc<str>>,
    /// Fields that are read but neither declared nor passed.
    pub lacking: Vec<Arc<str>>,
    /// Where fields are declared.
    pub places: Vec<(Arc<str>, Location)>,
}
