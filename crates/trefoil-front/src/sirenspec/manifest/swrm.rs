//! `swrm`: concurrent agents and a synthesis. Either a node, or the work of a factory.

use std::sync::Arc;

use trefoil_ir::OnItemFailure;
use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, FindingSeverity};

use super::agent::SirenModel;
use super::guardrail::{self, GuardList};
use super::scalar;
use crate::{ManifestReader, MappingReader};

/// A swarm.
#[derive(Debug, Clone)]
pub struct SirenSwarm<'n> {
    /// Its agents, in order; their ids are unique.
    pub members: Vec<SwarmMember<'n>>,
    /// The maximum number of concurrent agents; `None`: all.
    pub concurrency: Option<u32>,
    /// The synthesis of the answers.
    pub synthesis: Option<SwarmSynthesis<'n>>,
    /// What happens when an agent fails.
    pub on_failure: OnItemFailure,
}

/// An agent of a swarm.
#[derive(Debug, Clone)]
pub struct SwarmMember<'n> {
    /// Its id.
    pub id: &'n YamlText,
    /// The span of the whole agent.
    pub span: trefoil_syntax::Span,
    /// Its prompt and model.
    pub call: SwarmSynthesis<'n>,
}

/// A prompt and its model.
#[derive(Debug, Clone)]
pub struct SwarmSynthesis<'n> {
    /// The model, unless it is invalid.
    pub model: Option<SirenModel<'n>>,
    /// The prompt, a template.
    pub prompt: Option<&'n YamlText>,
    /// Its own guardrails; `None`: the workflow's.
    pub guardrails: Option<GuardList>,
    /// The place for findings.
    pub origin: trefoil_syntax::Span,
}

/// The keys of a swrm node.
pub fn read_swarm_node<'n>(fields: &mut MappingReader<'n, '_>) -> SirenSwarm<'n> {
    let mut swrm = read_swarm_body(fields);
    if let Some(choice) = on_failure(fields) {
        swrm.on_failure = choice;
    }
    fields.no_effect(&["writes"], "a swrm node writes `output.<its id>`; other nodes read `<its id>.output`");
    swrm
}

/// `agents`, `synthesis`, `concurrency`: the keys that a swrm node and a factory's `swrm` share.
pub fn read_swarm_body<'n>(fields: &mut MappingReader<'n, '_>) -> SirenSwarm<'n> {
    let reader = fields.reader;
    let mut members: Vec<SwarmMember<'n>> = Vec::new();
    if let Some(entry) = fields.require_entry("agents")
        && let Some(items) = reader.read_list(&entry.value, "agents")
    {
        if items.is_empty() {
            reader.report_error("out-of-range", entry.value.span, "`agents` needs at least one agent");
        }
        for item in items {
            if let Some(member) = member(reader, item) {
                add(reader, &mut members, member);
            }
        }
    }
    let concurrency = scalar::read_count(fields, "concurrency", 1);
    let mut synthesis = None;
    if let Some(mut keys) = fields.read_mapping("synthesis") {
        synthesis = Some(call(&mut keys));
        keys.finish_mapping();
    }
    SirenSwarm { members, concurrency, synthesis, on_failure: OnItemFailure::Abort }
}

/// `on_failure: abort|continue`.
pub fn on_failure(fields: &mut MappingReader<'_, '_>) -> Option<OnItemFailure> {
    fields.read_word("on_failure", &[("abort", OnItemFailure::Abort), ("continue", OnItemFailure::Continue)])
}

fn add<'n>(reader: &ManifestReader<'_>, members: &mut Vec<SwarmMember<'n>>, member: SwarmMember<'n>) {
    if let Some(first) = members.iter().find(|m| m.id.value == member.id.value) {
        let message = format!("two agents of this swarm are named `{}`", member.id.value);
        return reader.report_duplicate(member.id.span, first.id.span, message);
    }
    members.push(member);
}

fn member<'n>(reader: &ManifestReader<'_>, item: &'n YamlNode) -> Option<SwarmMember<'n>> {
    let mut fields = reader.read_mapping(item, "a swrm agent")?;
    fields.also_called(&[("name", "id"), ("system", "prompt"), ("message", "prompt"), ("llm", "model")]);
    let id = fields.require_text("id");
    if let Some(id) = id
        && id.value.trim().is_empty()
    {
        reader.report_error("invalid-name", id.span, "the `id` of a swarm agent is empty");
    }
    let call = call(&mut fields);
    fields.finish_mapping();
    Some(SwarmMember { id: id?, span: item.span, call })
}

fn call<'n>(fields: &mut MappingReader<'n, '_>) -> SwarmSynthesis<'n> {
    let origin = fields.head_span();
    let provider = scalar::require_plain(fields, "provider");
    let name = scalar::read_plain_text(fields, "model");
    let model = match provider {
        Some(provider) => model(fields.reader, provider, name),
        None => None,
    };
    let prompt = fields.require_text("prompt");
    let guardrails = guardrail::read_guardrails(fields);
    SwarmSynthesis { model, prompt, guardrails, origin }
}

fn model<'n>(reader: &ManifestReader<'_>, provider: &'n YamlText, name: Option<&YamlText>) -> Option<SirenModel<'n>> {
    let name: Arc<str> = match name {
        Some(name) => {
            alone(reader, provider);
            bare(reader, provider, name);
            foreign(reader, provider, name);
            name.value.clone()
        }
        None => match crate::providers::split_model_id(&provider.value) {
            Some(two) if crate::providers::PROVIDERS.contains(&two.0) => {
                split(reader, provider, two);
                return None;
            }
            _ => default_model(reader, provider)?.into(),
        },
    };
    Some(SirenModel { provider: provider.value.clone(), name, text: provider })
}

/// Checks a provider; reports a model written after it, because the model has a separate key here.
fn alone(reader: &ManifestReader<'_>, provider: &YamlText) {
    let name = provider.value.split([':', '/']).next().unwrap_or_default();
    if !crate::providers::PROVIDERS.contains(&name) || *name == *provider.value {
        return reader.report_all(crate::providers::check_provider(
            &provider.value,
            reader.providers,
            reader.location_of(provider.content_span()),
        ));
    }
    let at = reader.location_of(provider.span);
    let d =
        Diagnostic::new_warning("unknown-provider", at, "`provider` must be the name of the provider, without a model");
    let near = trefoil_syntax::suggestions::NearMatch { name, distance: provider.value.len() - name.len(), sure: true };
    reader.report_finding(crate::spelling_fixes::fix_spelling(
        d.with_help(format!("write `{name}`")),
        at,
        provider,
        near,
    ));
}

/// Reports a model name that starts with the provider, because the provider has a separate key here.
fn bare(reader: &ManifestReader<'_>, provider: &YamlText, name: &YamlText) {
    super::agent::check_model_text(reader, name, name.value.trim());
    let Some((first, rest)) = name.value.split_once([':', '/']) else { return };
    // Some providers use names with a colon (`llama3.2:1b`) or with the maker first (`meta/llama`).
    let colon = matches!(name.value.get(first.len()..), Some(rest) if rest.starts_with(':'));
    let known = colon && crate::providers::PROVIDERS.contains(&first);
    if rest.is_empty() || !known && (first != &*provider.value || first == "openrouter") {
        return;
    }
    let message = format!("`model` must not contain the provider `{first}`: it goes in `provider`");
    let d = Diagnostic::new_warning("bad-model", reader.location_of(name.span), message)
        .with_help(format!("write `{rest}`"));
    let near = trefoil_syntax::suggestions::NearMatch { name: rest, distance: first.len() + 1, sure: true };
    reader.report_finding(crate::spelling_fixes::fix_spelling(d, reader.location_of(name.span), name, near));
}

/// Reports a model of another provider.
fn foreign(reader: &ManifestReader<'_>, provider: &YamlText, name: &YamlText) {
    let Some(other) = crate::providers::other_maker(&provider.value, name.value.trim()) else { return };
    let message = format!("`{}` is a model of `{other}`, not of `{}`", name.value.trim(), provider.value);
    let d = Diagnostic::new_warning("bad-model", reader.location_of(name.span), message);
    let d =
        d.with_label(reader.location_of(provider.span), "the provider").with_help(format!("write `provider: {other}`"));
    let near = trefoil_syntax::suggestions::NearMatch { name: other, distance: usize::MAX, sure: false };
    reader.report_finding(crate::spelling_fixes::fix_spelling(d, reader.location_of(provider.span), provider, near));
}

/// Reports a provider that is followed by the model, without the key `model`.
fn split(reader: &ManifestReader<'_>, provider: &YamlText, (name, model): (&str, &str)) {
    let message = "`provider` must be the name of the provider, without a model";
    let d = Diagnostic::new_error("unknown-provider", reader.location_of(provider.span), message);
    reader.report_finding(d.with_help(format!("write two keys: `provider: {name}` and `model: {model}`")));
}

/// The model of a swarm's agent that names only its provider.
fn default_model(reader: &ManifestReader<'_>, provider: &YamlText) -> Option<&'static str> {
    match &*provider.value {
        "openai" => Some("gpt-4o-mini"),
        "anthropic" => Some("claude-haiku-4-5-20251001"),
        "ollama" => Some("llama3.2"),
        other => {
            if let Some(d) = crate::providers::misspelt_provider(other, reader.location_of(provider.content_span())) {
                // Without a model no call is possible, whichever adapters are available.
                reader.report_finding(Diagnostic { severity: FindingSeverity::Error, ..d });
                return None;
            }
            reader.report_finding(
                Diagnostic::new_error(
                    "missing-key",
                    reader.location_of(provider.span),
                    format!("the provider `{other}` has no default model"),
                )
                .with_help("write `model`"),
            );
            None
        }
    }
}
