//! The model providers that manifests may name. Which of them can be called is the host's business.

use trefoil_syntax::{Diagnostic, Span, suggest};

use crate::Reader;

/// Providers that one of the original systems or this one has an adapter for. Others load with a warning.
pub const PROVIDERS: [&str; 14] = [
    "openai",
    "anthropic",
    "google",
    "mistral",
    "ollama",
    "xai",
    "groq",
    "deepseek",
    "perplexity",
    "cohere",
    "azure",
    "openrouter",
    "together",
    "openai-compatible",
];

/// Reports a provider that is not known; `span` are the bytes of its name.
pub fn check(reader: &Reader<'_>, name: &str, span: Span) {
    if PROVIDERS.contains(&name) {
        return;
    }
    let at = reader.at(span);
    let d = Diagnostic::warning("unknown-provider", at, format!("`{name}` is not a provider that is known here"));
    reader.report(match suggest::near(name, PROVIDERS) {
        Some(near) => {
            let d = d.help(format!("did you mean `{}`?", near.name));
            let message = format!("write `{}`", near.name);
            if near.sure { d.fix(message, at, near.name) } else { d.suggestion(message, at, near.name) }
        }
        None => d.help(format!("known are {}", PROVIDERS.map(|p| format!("`{p}`")).join(", "))),
    });
}
