//! `agents`: the declared agents, with model and system prompt.

use std::sync::Arc;

use trefoil_syntax::yaml::{YamlStyle, YamlText};
use trefoil_syntax::{Diagnostic, Span, suggestions};

use super::guardrail::{self, GuardList};
use super::named_items::{self, NamedItem};
use super::scalar;
use crate::spelling_fixes::fix_spelling;
use crate::{ManifestReader, MappingReader, providers};

/// A declared agent.
#[derive(Debug, Clone)]
pub struct SirenAgent<'n> {
    /// Its id.
    pub id: &'n YamlText,
    /// The span of the whole agent.
    pub span: Span,
    /// Its model, unless it is invalid.
    pub model: Option<SirenModel<'n>>,
    /// Its system prompt, a template.
    pub system: Option<&'n YamlText>,
    /// Its own guardrails; `None`: the workflow's.
    pub guardrails: Option<GuardList>,
}

/// A model by provider and name.
#[derive(Debug, Clone)]
pub struct SirenModel<'n> {
    /// The provider.
    pub provider: Arc<str>,
    /// The provider's name for the model.
    pub name: Arc<str>,
    /// Where it is written.
    pub text: &'n YamlText,
}

/// The entries of `agents`.
pub fn read_agents<'n>(fields: &mut MappingReader<'n, '_>) -> Vec<SirenAgent<'n>> {
    let Some(agents) = fields.take("agents") else { return Vec::new() };
    named_items::read_named_items(fields.reader, &agents.value, "agents")
        .into_iter()
        .map(|named| one(fields.reader, &named))
        .collect()
}

fn one<'n>(reader: &ManifestReader<'_>, named: &NamedItem<'n>) -> SirenAgent<'n> {
    let mut agent = SirenAgent { id: named.id, span: named.span, model: None, system: None, guardrails: None };
    let Some(mut fields) = named.keys_of(reader, "agent") else { return agent };
    fields.also_called(&[
        ("prompt", "system"),
        ("instruction", "system"),
        ("instructions", "system"),
        ("system_prompt", "system"),
        ("llm", "model"),
    ]);
    if let Some(text) = scalar::require_plain(&mut fields, "model") {
        agent.model = model(reader, text);
    }
    agent.system = fields.require_text("system");
    agent.guardrails = guardrail::read_guardrails(&mut fields);
    fields.finish_mapping();
    agent
}

/// Typographic quotes.
const TYPOGRAPHIC: [char; 4] = ['\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}'];

/// Whether a character cannot occur in a model name.
fn odd(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`') || TYPOGRAPHIC.contains(&c)
}

fn bare(text: &str) -> String {
    text.chars().filter(|c| !odd(*c)).collect()
}

/// Reports a model of another provider, or one that names its provider twice.
fn maker(reader: &ManifestReader<'_>, text: &YamlText, provider: &str, name: &str) {
    let other = match providers::other_maker(provider, name) {
        Some(other) => other,
        None => {
            if let Some(rest) = name.strip_prefix(provider)
                && let Some(rest) = rest.strip_prefix(':')
            {
                let message = format!("`{}` names the provider twice", text.value);
                let d = Diagnostic::new_warning("bad-model", reader.location_of(text.span), message);
                let meant = format!("{provider}:{rest}");
                let near = suggestions::NearMatch { name: &meant, distance: provider.len() + 1, sure: true };
                reader.report_finding(fix_spelling(d, reader.location_of(text.span), text, near));
            }
            return;
        }
    };
    let message = format!("`{name}` is a model of `{other}`, not of `{provider}`");
    let d = Diagnostic::new_warning("bad-model", reader.location_of(text.span), message);
    let meant = format!("{other}:{name}");
    let near = suggestions::NearMatch { name: &meant, distance: usize::MAX, sure: false };
    reader.report_finding(fix_spelling(
        d.with_help(format!("write `{meant}`")),
        reader.location_of(text.span),
        text,
        near,
    ));
}

/// Reports spaces or quotes in the name of a model, because no provider has such names.
pub(super) fn check_model_text(reader: &ManifestReader<'_>, text: &YamlText, trimmed: &str) {
    // Typographic quotes are reported separately.
    let is_reported = |c: char| odd(c) && !TYPOGRAPHIC.contains(&c);
    let ended = trimmed.ends_with([',', ';']);
    if !(ended || text.value.contains(is_reported)) || text.value.contains("{{") {
        return;
    }
    let what = if ended { "end with a comma or semicolon" } else { "contain spaces or quotes" };
    let message = format!("a model name cannot {what}: `{}`", text.value);
    let d = Diagnostic::new_warning("bad-model", reader.location_of(text.span), message);
    let bare = bare(trimmed).trim_end_matches([',', ';']).to_owned();
    let whole =
        matches!(text.style, YamlStyle::Plain | YamlStyle::Single | YamlStyle::Double) && !text.value.is_empty();
    let place = reader.location_of(if text.style == YamlStyle::Plain { text.span } else { text.content_span() });
    reader.report_finding(if whole { d.with_suggestion(format!("write `{bare}`"), place, bare) } else { d });
}

fn model<'n>(reader: &ManifestReader<'_>, text: &'n YamlText) -> Option<SirenModel<'n>> {
    match providers::split_model_id(&text.value) {
        Some((provider, name)) => {
            let start = text.value.len() - text.value.trim_start().len();
            let span = text.source_span(start as u32..(start + provider.len()) as u32);
            // `“openai` is reported with the quote.
            if !providers::PROVIDERS.contains(&bare(provider).as_str()) || provider == bare(provider) {
                reader.report_all(providers::check_provider(provider, reader.providers, reader.location_of(span)));
            }
            check_model_text(reader, text, &format!("{provider}:{name}"));
            maker(reader, text, provider, name);
            Some(SirenModel { provider: provider.into(), name: name.into(), text })
        }
        None => {
            let help = match text.value.split_once('/') {
                Some((provider, name)) => format!("write `{provider}:{name}`"),
                None => match text.value.trim_matches([':', ' ']) {
                    "" => "for example `openai:gpt-4o-mini`".to_owned(),
                    name if name.contains("{{") => "write the provider and the model: `openai:gpt-4o-mini`".to_owned(),
                    name if providers::PROVIDERS.contains(&name) => {
                        format!("write the model after the provider: `{name}:...`")
                    }
                    name => format!("for example `openai:{name}`"),
                },
            };
            reader.report_finding(
                Diagnostic::new_error(
                    "bad-model",
                    reader.location_of(text.span),
                    format!("`{}` is not of the form `provider:model`", text.value),
                )
                .with_help(help),
            );
            None
        }
    }
}
