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

/// Those of them that this version cannot call.
pub const NOT_CALLED: [&str; 3] = ["google", "cohere", "azure"];

/// Reports a provider that is not known, or known and not called; `span` are the bytes of its name.
pub fn check(reader: &Reader<'_>, name: &str, span: Span) {
    if PROVIDERS.contains(&name) {
        return not_called(reader, name, span);
    }
    let all = || format!("known are {}", PROVIDERS.map(|p| format!("`{p}`")).join(", "));
    reader.report(slip(reader, name, span).unwrap_or_else(|| unknown(reader, name, span).help(all())));
}

/// Reports a provider that is known and that this version cannot call.
pub fn not_called(reader: &Reader<'_>, name: &str, span: Span) {
    if NOT_CALLED.contains(&name) {
        let d = Diagnostic::warning("unknown-provider", reader.at(span), format!("this version cannot call `{name}`"));
        reader.report(d.help("choose another model when you run it (`--model provider:name`), or in the manifest"));
    }
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
