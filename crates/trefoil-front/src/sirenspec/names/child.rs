//! A sub-workflow, as its callers see it.

use std::sync::Arc;

use trefoil_ir::FlowId;
use trefoil_syntax::{FileId, Location};
use trefoil_template::Value;

use crate::names::Members;

/// A lowered workflow.
#[derive(Debug, Clone)]
pub struct Child {
    /// Its flow.
    pub flow: FlowId,
    /// The type of its output tree.
    pub output: Value,
    /// That of the output tree and, under it, the results of its nodes.
    pub readable: Value,
    /// What it wants as input.
    pub wanted: Wanted,
    /// Its file.
    pub file: FileId,
    /// Where what callers read is declared.
    pub members: Members,
}

/// What callers have to know about a sub-workflow's input.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Fields that are declared or read.
    pub known: Vec<Arc<str>>,
    /// Fields that have no default and somebody reads.
    pub needed: Vec<Arc<str>>,
    /// Fields that are read although they are neither declared nor passed.
    pub lacking: Vec<Arc<str>>,
    /// Where fields are declared.
    pub places: Vec<(Arc<str>, Location)>,
}
