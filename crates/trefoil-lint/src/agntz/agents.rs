//! Mistakes about an agent as a whole: inputs that no text can name.

use trefoil_syntax::Diagnostic;

use trefoil_front::ManifestSource;
use trefoil_front::agntz::binding::BoundAgent;
use trefoil_front::agntz::names::NAMESPACES;
use trefoil_front::agntz::signature::AgentInputs;

use super::FindingList;

/// Checks an agent.
pub fn check_agent_settings(file: ManifestSource<'_>, bound: &BoundAgent<'_>, found: &mut FindingList) {
    shadowed_inputs(file, &bound.names.inputs, found);
}

/// An input property with the name of a namespace can never be read.
fn shadowed_inputs(file: ManifestSource<'_>, inputs: &AgentInputs, found: &mut FindingList) {
    for property in inputs.properties.iter().filter(|p| NAMESPACES.contains(&&*p.name)) {
        let name = &property.name;
        let message = format!("the input `{name}` is hidden by the namespace `{name}`");
        found.push(Diagnostic::new_warning("state-key", file.location_of(property.span), message));
    }
}
