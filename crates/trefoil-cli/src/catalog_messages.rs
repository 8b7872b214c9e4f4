//! What a catalog of flows says, on stderr.

use trefoil_host::catalog::{CatalogNotice, CatalogWatch};

use crate::output;

/// Prints which flows are offered, and why others are not.
pub struct CatalogMessages;

impl CatalogWatch for CatalogMessages {
    fn take_notice(&self, notice: CatalogNotice<'_>) {
        match notice {
            CatalogNotice::FlowsChanged(names) => {
                output::print_note(format!("files have changed; now serving: {}", names.join(", ")));
            }
            CatalogNotice::Findings(found, files) => {
                output::print_line(output::format_message_findings(found, files).trim_end())
            }
            CatalogNotice::NotLoaded { target, kept: true } => {
                output::print_warning(format!("`{target}` does not load; its last version is still served"));
            }
            CatalogNotice::NotLoaded { target, kept: false } => {
                output::print_warning(format!("`{target}` is not served, because it does not load"));
            }
            CatalogNotice::CannotRun { name, why } => {
                output::print_warning(format!("`{name}` cannot run now: {why}"));
            }
        }
    }
}
