//! A sub-workflow as seen by its callers.

use std::sync::Arc;

use trefoil_ir::FlowId;
use trefoil_ir::types::ValueType;
use trefoil_syntax::{FileId, Location};

use crate::names::MemberDeclarations;

/// A lowered workflow.
#[derive(Debug, Clone)]
pub struct SirenCallee {
    /// Its flow.
    pub flow: FlowId,
    /// The type of its output tree.
    pub output: ValueType,
    /// The type of the output tree, with the results of its nodes under it.
    pub readable: ValueType,
    /// Its input.
    pub wanted: CalleeInputs,
    /// Its file.
    pub file: FileId,
    /// The declarations of what callers can read.
    pub members: MemberDeclarations,
}

/// What callers need to know about a sub-workflow's input.
#[derive(Debug, Clone, Default)]
pub struct CalleeInputs {
    /// Fields that are declared or read.
    pub known: Vec<Arc<str>>,
    /// Fields that are read and have no default.
    pub needed: Vec<Arc<str>>,
    /// Fields that are read but neither declared nor passed.
    pub lacking: Vec<Arc<str>>,
    /// Where fields are declared.
    pub places: Vec<(Arc<str>, Location)>,
}
