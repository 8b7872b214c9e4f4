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
    let all = || format!("known are {}", PROVIDERS.map(|p| format!("`{p}`")).join(", "));
    reader.report(slip(reader, name, span).unwrap_or_else(|| unknown(reader, name, span).help(all())));
}

/// The finding about a provider that is not known and is near to one that is.
pub fn slip(reader: &Reader<'_>, name: &str, span: Span) -> Option<Diagnostic> {
    let near = suggest::near(name, PROVIDERS).filter(|_| !PROVIDERS.contains(&name))?;
    let d = unknown(reader, name, span).help(format!("did you mean `{}`?", near.name));
    let (message, at) = (format!("write `{}`", near.name), reader.at(span));
    Some(if near.sure { d.fix(message, at, near.name) } else { d.suggestion(message, at, near.name) })
}

fn unknown(reader: &Reader<'_>, name: &str, span: Span) -> Diagnostic {
    Diagnostic::warning("unknown-provider", reader.at(span), format!("`{name}` is not a provider that is known here"))
}
