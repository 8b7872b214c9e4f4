//! The model providers that manifests may name, and what the names of models say about their makers: one list for every
//! dialect. Which of them can be called is the host's business.

use trefoil_syntax::{Diagnostic, Location, suggest};

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

/// The finding about a provider that is not known; `at` is its name.
pub fn check(name: &str, at: Location) -> Option<Diagnostic> {
    if PROVIDERS.contains(&name) {
        return None;
    }
    let all = || format!("available: {}", PROVIDERS.map(|p| format!("`{p}`")).join(", "));
    Some(slip(name, at).unwrap_or_else(|| unknown(name, at).help(all())))
}

/// The finding about a provider that is not known and is near to one that is.
pub fn slip(name: &str, at: Location) -> Option<Diagnostic> {
    let near = suggest::near(name, PROVIDERS).filter(|_| !PROVIDERS.contains(&name))?;
    let d = unknown(name, at).help(format!("did you mean `{}`?", near.name));
    let message = format!("write `{}`", near.name);
    Some(if near.sure { d.fix(message, at, near.name) } else { d.suggestion(message, at, near.name) })
}

fn unknown(name: &str, at: Location) -> Diagnostic {
    Diagnostic::warning("unknown-provider", at, format!("unknown provider `{name}`"))
}

/// Prefixes of model names that only their maker's own API uses, and the maker. Other providers serve the
/// models of many.
const MAKERS: &[(&str, &str)] = &[
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "google"),
    ("mistral-", "mistral"),
    ("grok-", "xai"),
    ("deepseek-", "deepseek"),
    ("command-", "cohere"),
];

/// Providers that serve their own models alone.
const OWN: &[&str] = &["openai", "anthropic", "google", "mistral", "xai", "deepseek", "cohere"];

/// Whose model this is, if it is not the provider's, which serves its own alone.
pub fn other_maker(provider: &str, model: &str) -> Option<&'static str> {
    let (_, maker) = MAKERS.iter().find(|(start, _)| model.starts_with(start))?;
    Some(*maker).filter(|maker| *maker != provider && serves_its_own(provider))
}

/// Whether a provider serves no models but its own.
pub fn serves_its_own(provider: &str) -> bool {
    OWN.contains(&provider)
}

/// What no model name does: contain spaces, or end with a sign that ends lines in other languages.
pub fn stray(model: &str) -> Option<&'static str> {
    match model {
        _ if model.contains(char::is_whitespace) => Some("contain spaces"),
        _ if model.ends_with([',', ';']) => Some("end with a comma or semicolon"),
        _ => None,
    }
}

/// The name without that.
pub fn without_stray(model: &str) -> String {
    let bare: String = model.chars().filter(|c| !c.is_whitespace()).collect();
    bare.trim_end_matches([',', ';']).to_owned()
}

/// Whether a name is one of those in examples that say what to write.
pub fn stands_in(model: &str) -> bool {
    let lower = model.to_ascii_lowercase();
    model.contains(['<', '>']) || ["your-", "your_"].iter().any(|s| lower.starts_with(s)) || lower == "model-name"
}

/// The words that a maker's names start with, and those that come second.
const FAMILIES: &[(&str, &str, &[&str])] = &[
    ("openai", "gpt", &[]),
    ("anthropic", "claude", &["sonnet", "opus", "haiku"]),
    ("google", "gemini", &[]),
    ("deepseek", "deepseek", &[]),
];

/// A name with a misspelling in one of those words: what was meant.
pub fn family_slip(maker: &str, model: &str) -> Option<String> {
    let (_, family, others) = FAMILIES.iter().find(|(m, ..)| *m == maker)?;
    let (first, rest) = model.split_once('-')?;
    let near = |word: &str, of: &str| {
        let letters = |w: &str| {
            let mut all: Vec<u8> = w.bytes().collect();
            all.sort_unstable();
            all
        };
        word != of
            && (letters(word) == letters(of) || of.len() > 4 && suggest::near(word, [of]).is_some_and(|n| n.sure))
    };
    if near(first, family) {
        return Some(format!("{family}-{rest}"));
    }
    if first != *family {
        return None;
    }
    let word = rest.split('-').find(|word| others.iter().any(|of| near(word, of)) && !others.contains(word))?;
    let meant = others.iter().find(|of| near(word, of))?;
    Some(model.replacen(word, meant, 1))
}

/// Prefixes and endings of the names of models that do something other than answer texts.
const OTHERWISE: &[(&str, &str)] = &[
    ("text-embedding-", "is an embedding model"),
    ("gpt-image-", "is an image model"),
    ("dall-e-", "is an image model"),
    ("whisper-", "is a speech-to-text model"),
    ("tts-", "is a text-to-speech model"),
];

/// What a model does instead of answering texts.
pub fn does_otherwise(model: &str) -> Option<&'static str> {
    let does = OTHERWISE.iter().find(|(start, _)| model.starts_with(start)).map(|(_, does)| *does);
    does.or_else(|| model.ends_with("-transcribe").then_some("is a speech-to-text model"))
}

/// Whether a model answers texts and does nothing else.
pub fn answers_texts(model: &str) -> bool {
    let text = ["gpt-5", "gpt-4", "gpt-3", "claude-"].iter().any(|s| model.starts_with(s));
    text && !["image", "transcribe", "audio", "realtime", "omni", "4o"].iter().any(|s| model.contains(s))
}
