//! `agents`: the declared agents, with model and system prompt.

use std::sync::Arc;

use trefoil_syntax::yaml::{Style, Text};
use trefoil_syntax::{Diagnostic, Span, suggest};

use super::guardrail::{self, GuardList};
use super::named::{self, Named};
use super::scalar;
use crate::mend::respelt;
use crate::{Fields, Reader, providers};

/// A declared agent.
#[derive(Debug, Clone)]
pub struct Agent<'n> {
    /// Its id.
    pub id: &'n Text,
    /// The span of the whole agent.
    pub span: Span,
    /// Its model, unless it is invalid.
    pub model: Option<Model<'n>>,
    /// Its system prompt, a template.
    pub system: Option<&'n Text>,
    /// Its own guardrails; `None`: the workflow's.
    pub guardrails: Option<GuardList>,
}

/// A model by provider and name.
#[derive(Debug, Clone)]
pub struct Model<'n> {
    /// The provider.
    pub provider: Arc<str>,
    /// The provider's name for the model.
    pub name: Arc<str>,
    /// Where it is written.
    pub text: &'n Text,
}

/// The entries of `agents`.
pub fn read<'n>(fields: &mut Fields<'n, '_>) -> Vec<Agent<'n>> {
    let Some(agents) = fields.take("agents") else { return Vec::new() };
    named::read(fields.reader, &agents.value, "agents").into_iter().map(|named| one(fields.reader, &named)).collect()
}

fn one<'n>(reader: &Reader<'_>, named: &Named<'n>) -> Agent<'n> {
    let mut agent = Agent { id: named.id, span: named.span, model: None, system: None, guardrails: None };
    let Some(mut fields) = named.keys_of(reader, "agent") else { return agent };
    fields.also_called(&[
        ("prompt", "system"),
        ("instruction", "system"),
        ("instructions", "system"),
        ("system_prompt", "system"),
        ("llm", "model"),
    ]);
    agent.model = scalar::require_plain(&mut fields, "model").and_then(|text| model(reader, text));
    agent.system = fields.require_text("system");
    agent.guardrails = guardrail::read(&mut fields);
    fields.finish();
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
fn maker(reader: &Reader<'_>, text: &Text, provider: &str, name: &str) {
    let other = match providers::other_maker(provider, name) {
        Some(other) => other,
        None => {
            if let Some(rest) = name.strip_prefix(provider).and_then(|rest| rest.strip_prefix(':')) {
                let message = format!("`{}` names the provider twice", text.value);
                let d = Diagnostic::warning("bad-model", reader.at(text.span), message);
                let meant = format!("{provider}:{rest}");
                let near = suggest::Near { name: &meant, distance: provider.len() + 1, sure: true };
                reader.report(respelt(d, reader.at(text.span), text, near));
            }
            return;
        }
    };
    let message = format!("`{name}` is a model of `{other}`, not of `{provider}`");
    let d = Diagnostic::warning("bad-model", reader.at(text.span), message);
    let meant = format!("{other}:{name}");
    let near = suggest::Near { name: &meant, distance: usize::MAX, sure: false };
    reader.report(respelt(d.help(format!("write `{meant}`")), reader.at(text.span), text, near));
}

/// Reports spaces or quotes in the name of a model, because no provider has such names.
pub(super) fn tidy(reader: &Reader<'_>, text: &Text, trimmed: &str) {
    // Typographic quotes are reported separately.
    let told = |c: char| odd(c) && !TYPOGRAPHIC.contains(&c);
    let ended = trimmed.ends_with([',', ';']);
    if !(ended || text.value.contains(told)) || text.value.contains("{{") {
        return;
    }
    let what = if ended { "end with a comma or semicolon" } else { "contain spaces or quotes" };
    let message = format!("a model name cannot {what}: `{}`", text.value);
    let d = Diagnostic::warning("bad-model", reader.at(text.span), message);
    let bare = bare(trimmed).trim_end_matches([',', ';']).to_owned();
    let whole = matches!(text.style, Style::Plain | Style::Single | Style::Double) && !text.value.is_empty();
    let place = reader.at(if text.style == Style::Plain { text.span } else { text.content() });
    reader.report(if whole { d.suggestion(format!("write `{bare}`"), place, bare) } else { d });
}

fn model<'n>(reader: &Reader<'_>, text: &'n Text) -> Option<Model<'n>> {
    match providers::parts(&text.value) {
        Some((provider, name)) => {
            let start = text.value.len() - text.value.trim_start().len();
            let span = text.source(start as u32..(start + provider.len()) as u32);
            // `“openai` is reported with the quote.
            if !providers::PROVIDERS.contains(&bare(provider).as_str()) || provider == bare(provider) {
                reader.report_all(providers::check(provider, reader.providers, reader.at(span)));
            }
            tidy(reader, text, &format!("{provider}:{name}"));
            maker(reader, text, provider, name);
            Some(Model { provider: provider.into(), name: name.into(), text })
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
            reader.report(
                Diagnostic::error(
                    "bad-model",
                    reader.at(text.span),
                    format!("`{}` is not of the form `provider:model`", text.value),
                )
                .help(help),
            );
            None
        }
    }
}
