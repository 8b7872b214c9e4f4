//! Placeholders that are not filled in: in callback tools, whose texts are literal, and in the instructions of spawned
//! agents.

use trefoil_front::Source;
use trefoil_front::agntz::manifest::Llm;
use trefoil_syntax::Diagnostic;

use super::Found;

/// Checks one agent.
pub fn check(file: Source<'_>, llm: &Llm<'_>, found: &mut Found) {
    for text in llm.spawned.iter().filter(|text| text.value.contains("{{")) {
        let message = "the `instruction` of a spawned agent cannot contain placeholders";
        found.push(Diagnostic::error("unresolved-name", file.at(text.span), message));
    }
    for callback in &llm.callbacks {
        if let Some(url) = callback.url.filter(|url| url.value.contains("{{")) {
            let message = "the URL of a callback cannot be a template";
            let d = Diagnostic::warning("not-a-placeholder", file.at(url.span), message);
            found.push(d.help("write the URL to call"));
        }
        if let Some(secret) = callback.secret.filter(|secret| secret.value.contains("{{")) {
            let message = "`secret` must be the name of a signing secret, not a template";
            let d = Diagnostic::warning("not-a-placeholder", file.at(secret.span), message);
            let name = secret.value.trim().strip_prefix("{{secrets.").and_then(|t| t.strip_suffix("}}"));
            found.push(match name {
                Some(name) => d.suggestion(format!("write `{name}`"), file.at(secret.span), name),
                None => d.help("write only the name"),
            });
        }
    }
}
