//! What a catalog says. Its host decides what becomes of it: the standard output of an MCP server belongs to the protocol.

use trefoil_project::target::LoadTarget;
use trefoil_syntax::{Diagnostic, SourceFiles};

/// Something that the operator of a server should know.
#[derive(Debug)]
pub enum CatalogNotice<'n> {
    /// Files have changed, and these flows are offered now.
    FlowsChanged(&'n [&'n str]),
    /// Findings in manifests or settings, and their files.
    Findings(&'n [Diagnostic], &'n SourceFiles),
    /// A target does not load, or the settings of its project do not apply. `kept`: its last version is still offered.
    NotLoaded {
        /// The target.
        target: &'n LoadTarget,
        /// Whether an earlier version is offered.
        kept: bool,
    },
    /// A flow is offered, but cannot run now.
    CannotRun {
        /// Its name.
        name: &'n str,
        /// Why not.
        why: &'n str,
    },
}

/// Gets what a catalog says.
pub trait CatalogWatch: Send + Sync {
    /// Takes a notice, at once.
    fn take_notice(&self, notice: CatalogNotice<'_>);
}
