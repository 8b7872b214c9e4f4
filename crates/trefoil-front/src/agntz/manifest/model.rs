//! `model`: provider, name, parameters.

use std::sync::Arc;

use trefoil_ir::ModelParameters;
use trefoil_syntax::yaml::{YamlMapping, YamlNode, YamlNodeKind, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::Value;

use super::{model_names, texts};
use crate::providers;
use crate::yaml_reader::{ManifestReader, MappingReader, to_value};

/// The model that answers, and its parameters.
pub struct AgntzModel<'n> {
    /// The provider.
    pub provider: Option<&'n YamlText>,
    /// The provider's model name.
    pub name: Option<&'n YamlText>,
    /// The places of parameters, by their names in the program.
    pub places: Vec<(&'static str, Location)>,
    /// The parameters.
    pub parameters: ModelParameters,
    /// The number of retries after a temporary failure; `None` if nothing is said about it.
    pub max_retries: Option<u32>,
}

/// Keys of parameters, and the program's names for them.
const PLACED: [(&str, &str); 7] = [
    ("maxTokens", "max_tokens"),
    ("temperature", "temperature"),
    ("topK", "top_k"),
    ("presencePenalty", "presence_penalty"),
    ("frequencyPenalty", "frequency_penalty"),
    ("seed", "seed"),
    ("stopSequences", "stop"),
];

/// Keys that belong to the host: a manifest must not contain credentials or redirect calls.
const HOST_KEYS: [&str; 10] = [
    "apikey",
    "api_key",
    "authorization",
    "header",
    "headers",
    "baseurl",
    "base_url",
    "secret",
    "clientsecret",
    "client_secret",
];

/// Reads the required `model`.
pub fn require_model<'n>(fields: &mut MappingReader<'n, '_>) -> Option<AgntzModel<'n>> {
    let entry = fields.require_entry("model")?;
    read_model(fields.reader, &entry.value)
}

fn read_model<'n>(reader: &ManifestReader<'_>, node: &'n YamlNode) -> Option<AgntzModel<'n>> {
    if let Some(text) = node.as_string() {
        let d =
            Diagnostic::new_error("wrong-type", reader.location_of(node.span), "`model` must be a mapping, not text");
        let (provider, name) = match text.value.split_once([':', '/']) {
            Some((provider, name)) if providers::PROVIDERS.contains(&provider) => (provider, name),
            _ => ("openai", &*text.value),
        };
        reader.report_finding(d.with_help(format!(
            "write `model: {{ provider: {}, name: {} }}`",
            provider.trim(),
            name.trim()
        )));
        return None;
    }
    let mut fields = reader.read_mapping(node, "model")?;
    let provider = texts::non_empty_text(reader, fields.require_text("provider"), "provider");
    if let Some(provider) = provider {
        reader.report_all(providers::check_provider(
            &provider.value,
            reader.providers,
            reader.location_of(provider.content_span()),
        ));
    }
    let name = texts::non_empty_text(reader, fields.require_text("name"), "name");
    if let (Some(provider), Some(name)) = (provider, name) {
        model_names::check_model_name(reader, provider, name);
    }
    let mut places = Vec::new();
    for (key, name) in PLACED {
        if let Some(entry) = fields.peek_entry(key) {
            places.push((name, reader.location_of(entry.value.span)));
        }
    }
    let count = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    let model = AgntzModel {
        provider,
        name,
        places,
        parameters: ModelParameters {
            temperature: usual(&mut fields, "temperature", 0.0, 2.0),
            top_p: usual(&mut fields, "topP", 0.0, 1.0),
            top_k: fields.read_integer("topK", 1..=i64::MAX).map(count),
            max_tokens: fields.read_integer("maxTokens", 1..=i64::MAX).map(count),
            presence_penalty: usual(&mut fields, "presencePenalty", -2.0, 2.0),
            frequency_penalty: usual(&mut fields, "frequencyPenalty", -2.0, 2.0),
            seed: seed(&mut fields),
            stop: stop(&mut fields),
            provider_options: options(&mut fields, provider),
            timeout_ms: None,
        },
        max_retries: fields.read_integer("maxRetries", 0..=i64::MAX).map(count),
    };
    if let Some(entry) = fields.take("options") {
        let d = Diagnostic::new_warning(
            "deprecated",
            reader.location_of(entry.key.span),
            "`options` is an old key and has no effect",
        );
        reader.report_finding(d.with_help("use `providerOptions`, with one entry for each provider"));
    }
    fields.finish_mapping();
    Some(model)
}

/// A finite number. Outside the range accepted by the most permissive provider, every request would be rejected.
fn usual(fields: &mut MappingReader<'_, '_>, key: &'static str, low: f64, high: f64) -> Option<f64> {
    let entry = fields.take(key)?;
    let value = match entry.value.as_scalar() {
        Some((YamlScalar::Int(i), _)) => i as f64,
        Some((YamlScalar::Float(f), _)) if f.is_finite() => f,
        Some((YamlScalar::Str, _)) => fields.reader.read_number(&entry.value, key, f64::MIN..=f64::MAX)?,
        _ => {
            fields.reader.wrong_type(&entry.value, key, "a number");
            return None;
        }
    };
    if !(low..=high).contains(&value) {
        let message = format!("`{key}` must be from {low} to {high}, not {value}: every provider rejects it");
        fields.reader.report_error("out-of-range", entry.value.span, message);
    }
    Some(value)
}

fn seed(fields: &mut MappingReader<'_, '_>) -> Option<i64> {
    let entry = fields.take("seed")?;
    match entry.value.as_scalar() {
        Some((YamlScalar::Int(i), _)) => Some(i),
        Some((YamlScalar::Float(f), _)) if f.fract() == 0.0 && f.abs() < 9e15 => Some(f as i64),
        _ => fields.reader.read_integer(&entry.value, "seed", i64::MIN..=i64::MAX),
    }
}

fn stop(fields: &mut MappingReader<'_, '_>) -> Vec<Arc<str>> {
    let reader = fields.reader;
    let items = fields.read_list("stopSequences").unwrap_or_default();
    texts::text_items(reader, items, "stopSequences").into_iter().map(|text| text.value.clone()).collect()
}

fn options(fields: &mut MappingReader<'_, '_>, provider: Option<&YamlText>) -> Option<Value> {
    let reader = fields.reader;
    let entry = fields.take("providerOptions")?;
    let Some(mapping) = entry.value.as_mapping() else {
        reader.wrong_type(&entry.value, "providerOptions", "a mapping keyed by provider");
        return None;
    };
    host_keys(reader, mapping);
    let provider = &*provider?.value;
    let mut found = None;
    for option in &mapping.entries {
        if &*option.key.value != provider {
            let message = format!("`{}` is not the provider of `model`", option.key.value);
            let d = Diagnostic::new_error("unknown-value", reader.location_of(option.key.span), message);
            reader.report_finding(d.with_help(format!("write the options under `{provider}`")));
        } else if option.value.as_mapping().is_some() {
            found = Some(to_value(&option.value));
        } else {
            reader.wrong_type(&option.value, provider, "a mapping");
        }
    }
    found
}

fn host_keys(reader: &ManifestReader<'_>, mapping: &YamlMapping) {
    for entry in &mapping.entries {
        if HOST_KEYS.contains(&entry.key.value.to_lowercase().as_str()) {
            let message = format!("`{}` can be set only by the host, not by a manifest", entry.key.value);
            reader.report_error("unknown-key", entry.key.span, message);
        }
        host_keys_in(reader, &entry.value);
    }
}

fn host_keys_in(reader: &ManifestReader<'_>, node: &YamlNode) {
    match &*node.kind {
        YamlNodeKind::Mapping(m) => host_keys(reader, m),
        YamlNodeKind::Sequence(items) => {
            for item in items {
                host_keys_in(reader, item);
            }
        }
        YamlNodeKind::Scalar(..) => {}
    }
}
