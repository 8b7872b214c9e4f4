//! What the name of a model says about its provider.

use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, suggest};

use crate::read::Reader;

/// How the names of models begin that only their maker's own interface calls so, and who that is. Other providers serve the
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

/// Says that a model is another maker's, names its provider twice, or cannot be a model's name.
pub fn check(reader: &Reader<'_>, provider: &Text, name: &Text) {
    let at = reader.at(name.span);
    let warning = |message: String| Diagnostic::warning("bad-model", at, message);
    let (maker, model) = (&*provider.value, &*name.value);
    if model.contains("{{") {
        let d = warning(format!("`{model}` is no template here: the model is fixed"));
        return reader.report(d.help("write the model's name; a run can call another one with `--model`"));
    }
    if model.trim().contains(char::is_whitespace) {
        return reader.report(warning(format!("`{model}` has a blank in it, and no model's name has")));
    }
    let twice = model.strip_prefix(maker).and_then(|rest| rest.strip_prefix(['/', ':']));
    if let Some(rest) = twice.filter(|rest| !rest.is_empty() && OWN.contains(&maker)) {
        let d = warning(format!("`name` is the name alone, without `{maker}`: the provider goes in `provider`"));
        return reader.report(d.suggestion(format!("write `{rest}`"), at, rest));
    }
    if stands_in(model) {
        return reader.report(
            warning(format!("`{model}` is a placeholder, not a model name"))
                .help("write the model that is to be called"),
        );
    }
    if let Some(meant) = family_slip(maker, model) {
        let d = warning(format!("`{model}` does not look like a model of `{maker}`"))
            .help(format!("did you mean `{meant}`?"));
        return reader.report(d.suggestion(format!("write `{meant}`"), reader.at(name.content()), meant));
    }
    let other = MAKERS.iter().find(|(start, _)| model.starts_with(start)).map(|(_, other)| *other);
    if let Some(other) = other.filter(|other| *other != maker && OWN.contains(&maker)) {
        // Either can be the slip; a provider is the one that is copied from elsewhere.
        let at = reader.at(provider.span);
        let d = Diagnostic::warning("bad-model", at, format!("`{model}` is a model of `{other}`, not of `{maker}`"));
        let d = d.label(reader.at(name.span), "the model");
        let d = d.help(format!("write `provider: {other}`, or the name of one of its own models"));
        reader.report(d.suggestion(format!("write `{other}`"), reader.at(provider.content()), other));
    }
}

/// Whether a name is one of those in examples that say what to write.
fn stands_in(model: &str) -> bool {
    let lower = model.to_ascii_lowercase();
    model.contains(['<', '>']) || ["your-", "your_"].iter().any(|s| lower.starts_with(s)) || lower == "model-name"
}

/// The words that a maker's names begin with, and those that come second.
const FAMILIES: &[(&str, &str, &[&str])] = &[
    ("openai", "gpt", &[]),
    ("anthropic", "claude", &["sonnet", "opus", "haiku"]),
    ("google", "gemini", &[]),
    ("deepseek", "deepseek", &[]),
];

/// A name with a slip in one of those words: what was meant.
fn family_slip(maker: &str, model: &str) -> Option<String> {
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

/// How the names of models begin or end that do something else than answer texts.
const OTHERWISE: &[(&str, &str)] = &[
    ("text-embedding-", "makes embeddings"),
    ("gpt-image-", "is an image model"),
    ("dall-e-", "is an image model"),
    ("whisper-", "is a speech-to-text model"),
    ("tts-", "is a text-to-speech model"),
];

/// Says that a model is none of those that answer texts.
pub fn answers(reader: &Reader<'_>, name: &Text) {
    let does = OTHERWISE.iter().find(|(start, _)| name.value.starts_with(start)).map(|(_, does)| *does);
    let does = does.or_else(|| name.value.ends_with("-transcribe").then_some("is a speech-to-text model"));
    if let Some(does) = does {
        let d = Diagnostic::warning(
            "bad-model",
            reader.at(name.span),
            format!("`{}` {does} and cannot answer prompts", name.value),
        );
        reader.report(d.help("`kind: llm` takes a model for texts"));
    }
}

/// Says that a model answers texts, where something else is asked of it.
pub fn answers_only(reader: &Reader<'_>, name: &Text, kind: &str) {
    let text = ["gpt-5", "gpt-4", "gpt-3", "claude-"].iter().any(|s| name.value.starts_with(s));
    let other = ["image", "transcribe", "audio", "realtime", "omni", "4o"].iter().any(|s| name.value.contains(s));
    if text && !other {
        let message = format!("`{}` is a text model; `kind: {kind}` needs another kind of model", name.value);
        reader.report(Diagnostic::warning("bad-model", reader.at(name.span), message));
    }
}
