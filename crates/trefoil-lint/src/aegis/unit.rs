//! A unit, as finders of mistakes see it.

use std::sync::Arc;

use trefoil_syntax::Diagnostic;

use trefoil_front::aegis::callees::Callee;
use trefoil_front::aegis::directory::Directory;
use trefoil_front::aegis::manifest;
use trefoil_front::aegis::names::{AgentNames, WorkflowNames};
use trefoil_front::aegis::texts::Texts;
use trefoil_front::{Document, Project, Source};

/// A workflow.
pub struct Workflow<'a, 'd> {
    /// Its file.
    pub file: Source<'d>,
    /// What is written.
    pub workflow: &'a manifest::workflow::Workflow,
    /// What its texts can name.
    pub names: &'a Arc<WorkflowNames>,
    /// Its texts.
    pub texts: &'a Texts,
    /// Whom it calls.
    pub callees: &'a [Callee<'a>],
    /// Who can be called.
    pub directory: &'a Directory<'a>,
}

/// An agent.
pub struct AgentUnit<'a, 'd> {
    /// Its file.
    pub file: Source<'d>,
    /// The same as a document.
    pub document: &'a Document,
    /// What is written.
    pub agent: &'a manifest::agent::Agent,
    /// What its prompt can name.
    pub names: &'a AgentNames,
    /// Its prompt.
    pub texts: &'a Texts,
    /// The texts of other files.
    pub project: &'a Project,
}

pub(crate) use crate::Found;

/// The finding with help, if there is some.
pub fn helped(d: Diagnostic, help: &str) -> Diagnostic {
    if help.is_empty() { d } else { d.help(help) }
}
