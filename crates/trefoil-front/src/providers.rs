//! The known model providers, and what the names of models say about their makers: one list for all dialects. Which
//! providers can be called depends on the host.

use trefoil_syntax::{Diagnostic, Location, suggestions};

/// Providers for which Trefoil or one of the original systems has an adapter. Others load with a warning.
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

/// The provider and the model of `provider:model`, without spaces around them; none: it is not written like that.
pub fn split_model_id(text: &str) -> Option<(&str, &str)> {
    let (provider, model) = text.split_once(':')?;
    let (provider, model) = (provider.trim(), model.trim());
    if provider.is_empty() || model.is_empty() { None } else { Some((provider, model)) }
}

/// The finding about an unknown provider; `at` is the place of its name. `declared`: those of the operator.
pub fn check_provider(name: &str, declared: &[String], at: Location) -> Option<Diagnostic> {
    if PROVIDERS.contains(&name) || declared.iter().any(|provider| provider == name) {
        return None;
    }
    if let Some(d) = misspelt_provider(name, at) {
        return Some(d);
    }
    let mut available = PROVIDERS.map(|provider| format!("`{provider}`")).to_vec();
    for provider in declared {
        available.push(format!("`{provider}`"));
    }
    let available = available.join(", ");
    let help =
        format!("declare it with `base_url` under `[providers.{name}]` in `trefoil.toml`; available: {available}");
    Some(unknown_provider(name, at).with_help(help))
}

/// The finding about an unknown provider whose name is similar to a known one.
pub fn misspelt_provider(name: &str, at: Location) -> Option<Diagnostic> {
    if PROVIDERS.contains(&name) {
        return None;
    }
    let near = suggestions::find_near_match(name, PROVIDERS)?;
    let d = unknown_provider(name, at).with_help(format!("did you mean `{}`?", near.name));
    let message = format!("write `{}`", near.name);
    Some(if near.sure { d.with_safe_fix(message, at, near.name) } else { d.with_suggestion(message, at, near.name) })
}

fn unknown_provider(name: &str, at: Location) -> Diagnostic {
    Diagnostic::new_warning("unknown-provider", at, format!("unknown provider `{name}`"))
}

/// Prefixes of model names that only the API of their maker uses, and the maker. Other providers serve models of many
/// makers.
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

/// Providers that serve only their own models.
const OWN: &[&str] = &["openai", "anthropic", "google", "mistral", "xai", "deepseek", "cohere"];

/// The maker of this model, if the provider serves only its own models and this is not one of them.
pub fn other_maker(provider: &str, model: &str) -> Option<&'static str> {
    let (_, maker) = MAKERS.iter().find(|(start, _)| model.starts_with(start))?;
    if *maker != provider && serves_its_own(provider) { Some(maker) } else { None }
}

/// Whether a provider serves only its own models.
pub fn serves_its_own(provider: &str) -> bool {
    OWN.contains(&provider)
}

/// What is wrong with the form of a model name: it contains spaces, or ends with a sign that ends lines in other
/// languages.
pub fn stray_characters(model: &str) -> Option<&'static str> {
    match model {
        _ if model.contains(char::is_whitespace) => Some("contain spaces"),
        _ if model.ends_with([',', ';']) => Some("end with a comma or semicolon"),
        _ => None,
    }
}

/// The name without such characters.
pub fn without_stray(model: &str) -> String {
    let bare: String = model.chars().filter(|c| !c.is_whitespace()).collect();
    bare.trim_end_matches([',', ';']).to_owned()
}

/// Whether a name is a placeholder from an example.
pub fn stands_in(model: &str) -> bool {
    let lower = model.to_ascii_lowercase();
    model.contains(['<', '>']) || lower.starts_with("your-") || lower.starts_with("your_") || lower == "model-name"
}

/// The first words of a maker's model names, and the possible second words.
const FAMILIES: &[(&str, &str, &[&str])] = &[
    ("openai", "gpt", &[]),
    ("anthropic", "claude", &["sonnet", "opus", "haiku"]),
    ("google", "gemini", &[]),
    ("deepseek", "deepseek", &[]),
];

/// The correct name, if one of those words is misspelt.
pub fn family_slip(maker: &str, model: &str) -> Option<String> {
    let (_, family, others) = FAMILIES.iter().find(|(m, ..)| *m == maker)?;
    let (first, rest) = model.split_once('-')?;
    if is_slip_of(first, family) {
        return Some(format!("{family}-{rest}"));
    }
    if first != *family {
        return None;
    }
    for word in rest.split('-') {
        if others.contains(&word) {
            continue;
        }
        if let Some(meant) = others.iter().find(|other| is_slip_of(word, other)) {
            return Some(model.replacen(word, meant, 1));
        }
    }
    None
}

/// Whether a word is certainly another one, misspelt.
fn is_slip_of(word: &str, meant: &str) -> bool {
    if word == meant {
        return false;
    }
    let is_near = || matches!(suggestions::find_near_match(word, [meant]), Some(near) if near.sure);
    sorted_letters(word) == sorted_letters(meant) || meant.len() > 4 && is_near()
}

fn sorted_letters(word: &str) -> Vec<u8> {
    let mut letters: Vec<u8> = word.bytes().collect();
    letters.sort_unstable();
    letters
}

/// Prefixes and suffixes of models that do not answer texts.
const OTHERWISE: &[(&str, &str)] = &[
    ("text-embedding-", "is an embedding model"),
    ("gpt-image-", "is an image model"),
    ("dall-e-", "is an image model"),
    ("whisper-", "is a speech-to-text model"),
    ("tts-", "is a text-to-speech model"),
];

/// What a model does if it does not answer texts.
pub fn does_otherwise(model: &str) -> Option<&'static str> {
    if let Some((_, does)) = OTHERWISE.iter().find(|(start, _)| model.starts_with(start)) {
        return Some(does);
    }
    if model.ends_with("-transcribe") { Some("is a speech-to-text model") } else { None }
}

/// Whether a model only answers texts.
pub fn answers_texts(model: &str) -> bool {
    let text = ["gpt-5", "gpt-4", "gpt-3", "claude-"].iter().any(|s| model.starts_with(s));
    text && !["image", "transcribe", "audio", "realtime", "omni", "4o"].iter().any(|s| model.contains(s))
}

#[cfg(test)]
mod tests {
    use super::split_model_id;

    #[test]
    fn a_model_names_its_provider_first() {
        assert_eq!(split_model_id("openai : gpt-5 "), Some(("openai", "gpt-5")));
        assert_eq!(split_model_id("ollama:llama3.2:1b"), Some(("ollama", "llama3.2:1b")));
        assert_eq!([split_model_id("openai:"), split_model_id(": gpt-5"), split_model_id("smart")], [None; 3]);
    }
}
