//! Mistakes about an agent as a whole: inputs that no text can name, too short timeouts.

use trefoil_syntax::Diagnostic;

use trefoil_front::Source;
use trefoil_front::agntz::bind::BoundAgent;
use trefoil_front::agntz::manifest::Agent;
use trefoil_front::agntz::names::NAMESPACES;
use trefoil_front::agntz::signature::Inputs;

use super::Found;

/// Checks an agent.
pub fn check(file: Source<'_>, bound: &BoundAgent<'_>, found: &mut Found) {
    shadowed_inputs(file, &bound.names.inputs, found);
    if bound.signature.calls_model {
        too_short(file, &bound.agent, found);
    }
}

/// Almost no model answers within a fifth of a second, so such a number was meant in seconds.
fn too_short(file: Source<'_>, agent: &Agent<'_>, found: &mut Found) {
    let (Some(ms), Some(at)) = (agent.timeout_ms.filter(|ms| *ms <= 200), agent.timeout_at) else { return };
    let message = format!("`timeoutMs` is {ms} ms; hardly any model answers in that time");
    let meant = ms.saturating_mul(1000).to_string();
    let d =
        Diagnostic::warning("unlikely-timeout", file.at(at), message).help(format!("write `{meant}` for {ms} seconds"));
    found.push(d.suggestion(format!("write `{meant}`"), file.at(at), meant));
}

/// An input property with the name of a namespace can never be read.
fn shadowed_inputs(file: Source<'_>, inputs: &Inputs, found: &mut Found) {
    for property in inputs.properties.iter().filter(|p| NAMESPACES.contains(&&*p.name)) {
        let name = &property.name;
        let message = format!("the input `{name}` is hidden by the namespace `{name}`");
        found.push(Diagnostic::warning("state-key", file.at(property.span), message));
    }
}
