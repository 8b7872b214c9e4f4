//! Headers of tool nodes in shell notation.

use trefoil_front::sirenspec::manifest::{NodeKind, ToolSettings};

use super::subject::{CheckedWorkflow, FindingList};
use crate::habits::find_shell_variable;

/// Checks the headers of every request: a shell would replace `$TOKEN`, but there is no shell here.
pub fn check_headers(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for node in &subject.manifest.nodes {
        let NodeKind::Tool(tool) = &node.kind else { continue };
        let Some(ToolSettings::Http { headers, .. }) = &tool.settings else { continue };
        for (_, value) in headers {
            found.extend(find_shell_variable(subject.file, value, " "));
        }
    }
}
