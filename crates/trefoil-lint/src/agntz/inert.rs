//! Placeholders that are not filled in: in the instructions of spawned agents.

use trefoil_front::ManifestSource;
use trefoil_front::agntz::manifest::LlmAgent;
use trefoil_syntax::Diagnostic;

use super::FindingList;

/// Checks one agent.
pub fn check_inert_placeholders(file: ManifestSource<'_>, llm: &LlmAgent<'_>, found: &mut FindingList) {
    for text in llm.spawned.iter().filter(|text| text.value.contains("{{")) {
        let message = "the `instruction` of a spawned agent cannot contain placeholders";
        found.push(Diagnostic::new_error("unresolved-name", file.location_of(text.span), message));
    }
}
