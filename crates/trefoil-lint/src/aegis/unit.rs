//! A unit as seen by finders.

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
    /// Its manifest.
    pub workflow: &'a manifest::workflow::Workflow,
    /// The names available in its texts.
    pub names: &'a Arc<WorkflowNames>,
    /// Its texts.
    pub texts: &'a Texts,
    /// The units that it calls.
    pub callees: &'a [Callee<'a>],
    /// The units that can be called.
    pub directory: &'a Directory<'a>,
}

/// An agent.
pub struct AgentUnit<'a, 'd> {
    /// Its file.
    pub file: Source<'d>,
    /// Its document.
    pub document: &'a Document,
    /// Its manifest.
    pub agent: &'a manifest::agent::Agent,
    /// The names available in its prompt.
    pub names: &'a AgentNames,
    /// Its prompt.
    pub texts: &'a Texts,
    /// The project, with the texts of other files.
    pub project: &'a Project,
}

pub(crate) use crate::Found;

/// The finding with help, if there is any.
pub fn helped(d: Diagnostic, help: &str) -> Diagnostic {
    if help.is_empty() { d } else { d.help(help) }
}
