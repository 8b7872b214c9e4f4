//! What the name of a model says about its provider.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;

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
        let d = warning(format!("`name` is the name alone, without `{maker}`: the provider stands in `provider`"));
        return reader.report(d.suggestion(format!("write `{rest}`"), at, rest));
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
