//! What a server says. Its host decides what becomes of it: stdout belongs to the protocol.

use trefoil_project::target::LoadTarget;
use trefoil_syntax::{Diagnostic, SourceFiles};

/// Something that the operator of a server should know.
#[derive(Debug)]
pub enum ServerNotice<'n> {
    /// Files have changed, and these flows are served now.
    FlowsChanged(&'n [&'n str]),
    /// Findings in manifests or settings, and their files.
    Findings(&'n [Diagnostic], &'n SourceFiles),
    /// A flow is not served, because the settings of its project do not apply.
    ProjectIgnored(&'n LoadTarget),
    /// A flow is not served, because it does not load.
    NotLoaded(&'n LoadTarget),
    /// A flow is served, but cannot run now.
    CannotRun {
        /// The name of its tool.
        name: &'n str,
        /// Why not.
        why: &'n str,
    },
    /// A message of the client is rejected, and why.
    MessageRejected(&'n str),
}

/// Gets what a server says.
pub trait ServerWatch: Send + Sync {
    /// Takes a notice, at once.
    fn take_notice(&self, notice: ServerNotice<'_>);
}
