//! A unit as seen by finders.

use std::sync::Arc;

use trefoil_syntax::Diagnostic;

use trefoil_front::aegis::callees::AegisCallee;
use trefoil_front::aegis::directory::AegisDirectory;
use trefoil_front::aegis::manifest;
use trefoil_front::aegis::names::{AegisAgentNames, WorkflowNames};
use trefoil_front::aegis::texts::AegisTexts;
use trefoil_front::{ManifestDocument, ManifestSource, Project};

/// A workflow.
pub struct WorkflowUnit<'a, 'd> {
    /// Its file.
    pub file: ManifestSource<'d>,
    /// Its manifest.
    pub workflow: &'a manifest::workflow::AegisWorkflowManifest,
    /// The names available in its texts.
    pub names: &'a Arc<WorkflowNames>,
    /// Its texts.
    pub texts: &'a AegisTexts,
    /// The units that it calls.
    pub callees: &'a [AegisCallee<'a>],
    /// The units that can be called.
    pub directory: &'a AegisDirectory<'a>,
}

/// An agent.
pub struct AgentUnit<'a, 'd> {
    /// Its file.
    pub file: ManifestSource<'d>,
    /// Its document.
    pub document: &'a ManifestDocument,
    /// Its manifest.
    pub agent: &'a manifest::agent::AegisAgentManifest,
    /// The names available in its prompt.
    pub names: &'a AegisAgentNames,
    /// Its prompt.
    pub texts: &'a AegisTexts,
    /// The project, with the texts of other files.
    pub project: &'a Project,
}

pub(crate) use crate::FindingList;

/// The finding with help, if there is any.
pub fn with_help(d: Diagnostic, help: &str) -> Diagnostic {
    if help.is_empty() { d } else { d.with_help(help) }
}
