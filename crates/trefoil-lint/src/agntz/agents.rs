//! Mistakes about an agent as a whole: inputs that no text can name, too short timeouts.

use trefoil_syntax::Diagnostic;

use trefoil_front::ManifestSource;
use trefoil_front::agntz::binding::BoundAgent;
use trefoil_front::agntz::manifest::AgntzAgentManifest;
use trefoil_front::agntz::names::NAMESPACES;
use trefoil_front::agntz::signature::AgentInputs;

use super::FindingList;

/// Checks an agent.
pub fn check_agent_settings(file: ManifestSource<'_>, bound: &BoundAgent<'_>, found: &mut FindingList) {
    shadowed_inputs(file, &bound.names.inputs, found);
    if bound.signature.calls_model {
        too_short(file, &bound.agent, found);
    }
}

/// Almost no model answers within a fifth of a second, so such a number was meant in seconds.
fn too_short(file: ManifestSource<'_>, agent: &AgntzAgentManifest<'_>, found: &mut FindingList) {
    let (Some(ms), Some(at)) = (agent.timeout_ms.filter(|ms| *ms <= 200), agent.timeout_at) else { return };
    let message = format!("`timeoutMs` is {ms} ms; hardly any model answers in that time");
    let meant = ms.saturating_mul(1000).to_string();
    let d = Diagnostic::new_warning("unlikely-timeout", file.location_of(at), message)
        .with_help(format!("write `{meant}` for {ms} seconds"));
    found.push(d.with_suggestion(format!("write `{meant}`"), file.location_of(at), meant));
}

/// An input property with the name of a namespace can never be read.
fn shadowed_inputs(file: ManifestSource<'_>, inputs: &AgentInputs, found: &mut FindingList) {
    for property in inputs.properties.iter().filter(|p| NAMESPACES.contains(&&*p.name)) {
        let name = &property.name;
        let message = format!("the input `{name}` is hidden by the namespace `{name}`");
        found.push(Diagnostic::new_warning("state-key", file.location_of(property.span), message));
    }
}
