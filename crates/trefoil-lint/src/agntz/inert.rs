//! Placeholders that are not filled in: in callback tools, whose texts are literal, and in the instructions of spawned
//! agents.

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
    for callback in &llm.callbacks {
        if let Some(url) = callback.url.filter(|url| url.value.contains("{{")) {
            let message = "the URL of a callback cannot be a template";
            let d = Diagnostic::new_warning("not-a-placeholder", file.location_of(url.span), message);
            found.push(d.with_help("write the URL to call"));
        }
        if let Some(secret) = callback.secret.filter(|secret| secret.value.contains("{{")) {
            let message = "`secret` must be the name of a signing secret, not a template";
            let d = Diagnostic::new_warning("not-a-placeholder", file.location_of(secret.span), message);
            let name = secret.value.trim().strip_prefix("{{secrets.").and_then(|t| t.strip_suffix("}}"));
            found.push(match name {
                Some(name) => d.with_suggestion(format!("write `{name}`"), file.location_of(secret.span), name),
                None => d.with_help("write only the name"),
            });
        }
    }
}
