//! `swrm`: concurrent agents and a synthesis. Either a node, or the work of a factory.

use std::sync::Arc;

use trefoil_ir::OnItemFailure;
use trefoil_syntax::yaml::{Node, Text};
use trefoil_syntax::{Diagnostic, Severity};

use super::agent::Model;
use super::guardrail::{self, GuardList};
use super::scalar;
use crate::{Fields, Reader};

/// A swarm.
#[derive(Debug, Clone)]
pub struct Swrm<'n> {
    /// Its agents, in order; their ids are unique.
    pub members: Vec<Member<'n>>,
    /// The maximum number of concurrent agents; `None`: all.
    pub concurrency: Option<u32>,
    /// The synthesis of the answers.
    pub synthesis: Option<Synthesis<'n>>,
    /// What happens when an agent fails.
    pub on_failure: OnItemFailure,
}

/// An agent of a swarm.
#[derive(Debug, Clone)]
pub struct Member<'n> {
    /// Its id.
    pub id: &'n Text,
    /// The span of the whole agent.
    pub span: trefoil_syntax::Span,
    /// Its prompt and model.
    pub call: Synthesis<'n>,
}

/// A prompt and its model.
#[derive(Debug, Clone)]
pub struct Synthesis<'n> {
    /// The model, unless it is invalid.
    pub model: Option<Model<'n>>,
    /// The prompt, a template.
    pub prompt: Option<&'n Text>,
    /// Its own guardrails; `None`: the workflow's.
    pub guardrails: Option<GuardList>,
    /// The place for findings.
    pub origin: trefoil_syntax::Span,
}

/// The keys of a swrm node.
pub fn node<'n>(fields: &mut Fields<'n, '_>) -> Swrm<'n> {
    let mut swrm = body(fields);
    if let Some(choice) = on_failure(fields) {
        swrm.on_failure = choice;
    }
    fields.no_effect(&["writes"], "a swrm node writes `output.<its id>`; other nodes read `<its id>.output`");
    swrm
}

/// `agents`, `synthesis`, `concurrency`: the keys that a swrm node and a factory's `swrm` share.
pub fn body<'n>(fields: &mut Fields<'n, '_>) -> Swrm<'n> {
    let reader = fields.reader;
    let mut members: Vec<Member<'n>> = Vec::new();
    if let Some(items) = fields.require("agents").and_then(|e| reader.list(&e.value, "agents")) {
        if items.is_empty() {
            let at = fields.take("agents").map_or(fields.head(), |e| e.value.span);
            reader.error("out-of-range", at, "`agents` needs at least one agent");
        }
        for item in items {
            if let Some(member) = member(reader, item) {
                add(reader, &mut members, member);
            }
        }
    }
    let concurrency = scalar::count(fields, "concurrency", 1);
    let synthesis = fields.fields("synthesis").map(|mut f| {
        let call = call(&mut f);
        f.finish();
        call
    });
    Swrm { members, concurrency, synthesis, on_failure: OnItemFailure::Abort }
}

/// `on_failure: abort|continue`.
pub fn on_failure(fields: &mut Fields<'_, '_>) -> Option<OnItemFailure> {
    fields.word("on_failure", &[("abort", OnItemFailure::Abort), ("continue", OnItemFailure::Continue)])
}

fn add<'n>(reader: &Reader<'_>, members: &mut Vec<Member<'n>>, member: Member<'n>) {
    if let Some(first) = members.iter().find(|m| m.id.value == member.id.value) {
        let message = format!("two agents of this swarm are named `{}`", member.id.value);
        return reader.twice(member.id.span, first.id.span, message);
    }
    members.push(member);
}

fn member<'n>(reader: &Reader<'_>, item: &'n Node) -> Option<Member<'n>> {
    let mut fields = reader.fields(item, "a swrm agent")?;
    fields.also_called(&[("name", "id"), ("system", "prompt"), ("message", "prompt"), ("llm", "model")]);
    let id = fields.require_text("id");
    if let Some(id) = id.filter(|id| id.value.trim().is_empty()) {
        reader.error("invalid-name", id.span, "the `id` of a swarm agent is empty");
    }
    let call = call(&mut fields);
    fields.finish();
    Some(Member { id: id?, span: item.span, call })
}

fn call<'n>(fields: &mut Fields<'n, '_>) -> Synthesis<'n> {
    let origin = fields.head();
    let provider = scalar::require_plain(fields, "provider");
    let name = scalar::plain(fields, "model");
    let model = provider.and_then(|provider| {
        let name: Arc<str> = match name {
            Some(name) => {
                alone(fields.reader, provider);
                bare(fields.reader, provider, name);
                foreign(fields.reader, provider, name);
                name.value.clone()
            }
            None => match crate::providers::parts(&provider.value)
                .filter(|(p, _)| crate::providers::PROVIDERS.contains(p))
            {
                Some(two) => {
                    split(fields.reader, provider, two);
                    return None;
                }
                None => default_model(fields.reader, provider)?.into(),
            },
        };
        Some(Model { provider: provider.value.clone(), name, text: provider })
    });
    let prompt = fields.require_text("prompt");
    let guardrails = guardrail::read(fields);
    Synthesis { model, prompt, guardrails, origin }
}

/// Checks a provider; reports a model written after it, because the model has a separate key here.
fn alone(reader: &Reader<'_>, provider: &Text) {
    let known = |name: &&str| crate::providers::PROVIDERS.contains(name);
    let Some(name) = provider.value.split([':', '/']).next().filter(known).filter(|n| **n != *provider.value) else {
        return reader.report_all(crate::providers::check(
            &provider.value,
            reader.providers,
            reader.at(provider.content()),
        ));
    };
    let at = reader.at(provider.span);
    let d = Diagnostic::warning("unknown-provider", at, "`provider` must be the name of the provider, without a model");
    let near = trefoil_syntax::suggest::Near { name, distance: provider.value.len() - name.len(), sure: true };
    reader.report(crate::mend::respelt(d.help(format!("write `{name}`")), at, provider, near));
}

/// Reports a model name that starts with the provider, because the provider has a separate key here.
fn bare(reader: &Reader<'_>, provider: &Text, name: &Text) {
    super::agent::tidy(reader, name, name.value.trim());
    let Some((first, rest)) = name.value.split_once([':', '/']) else { return };
    // Some providers use names with a colon (`llama3.2:1b`) or with the maker first (`meta/llama`).
    let colon = name.value.get(first.len()..).is_some_and(|t| t.starts_with(':'));
    let known = colon && crate::providers::PROVIDERS.contains(&first);
    if rest.is_empty() || !known && (first != &*provider.value || first == "openrouter") {
        return;
    }
    let message = format!("`model` must not contain the provider `{first}`: it goes in `provider`");
    let d = Diagnostic::warning("bad-model", reader.at(name.span), message).help(format!("write `{rest}`"));
    let near = trefoil_syntax::suggest::Near { name: rest, distance: first.len() + 1, sure: true };
    reader.report(crate::mend::respelt(d, reader.at(name.span), name, near));
}

/// Reports a model of another provider.
fn foreign(reader: &Reader<'_>, provider: &Text, name: &Text) {
    let Some(other) = crate::providers::other_maker(&provider.value, name.value.trim()) else { return };
    let message = format!("`{}` is a model of `{other}`, not of `{}`", name.value.trim(), provider.value);
    let d = Diagnostic::warning("bad-model", reader.at(name.span), message);
    let d = d.label(reader.at(provider.span), "the provider").help(format!("write `provider: {other}`"));
    let near = trefoil_syntax::suggest::Near { name: other, distance: usize::MAX, sure: false };
    reader.report(crate::mend::respelt(d, reader.at(provider.span), provider, near));
}

/// Reports a provider that is followed by the model, without the key `model`.
fn split(reader: &Reader<'_>, provider: &Text, (name, model): (&str, &str)) {
    let message = "`provider` must be the name of the provider, without a model";
    let d = Diagnostic::error("unknown-provider", reader.at(provider.span), message);
    reader.report(d.help(format!("write two keys: `provider: {name}` and `model: {model}`")));
}

/// The model of a swarm's agent that names only its provider.
fn default_model(reader: &Reader<'_>, provider: &Text) -> Option<&'static str> {
    match &*provider.value {
        "openai" => Some("gpt-4o-mini"),
        "anthropic" => Some("claude-haiku-4-5-20251001"),
        "ollama" => Some("llama3.2"),
        other => {
            if let Some(d) = crate::providers::slip(other, reader.at(provider.content())) {
                // Without a model no call is possible, whichever adapters are available.
                reader.report(Diagnostic { severity: Severity::Error, ..d });
                return None;
            }
            reader.report(
                Diagnostic::error(
                    "missing-key",
                    reader.at(provider.span),
                    format!("the provider `{other}` has no default model"),
                )
                .help("write `model`"),
            );
            None
        }
    }
}
