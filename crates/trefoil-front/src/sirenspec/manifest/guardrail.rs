//! `guardrails` of the workflow, of an agent, or of a swarm's agent.

use std::sync::Arc;

use trefoil_ir::{Guard, PiiAction, PiiEntity};
use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, Span, suggestions};
use trefoil_template::Value;

use super::budget::to_micro_dollars;
use super::scalar;
use crate::spelling_fixes::fix_spelling;
use crate::{ManifestReader, MappingReader};

/// A list of guardrails, in order.
#[derive(Debug, Clone, Default)]
pub struct GuardList {
    /// The guardrails.
    pub guards: Vec<SirenGuardrail>,
}

/// One guardrail.
#[derive(Debug, Clone)]
pub enum SirenGuardrail {
    /// A complete guardrail.
    Ready(Guard),
    /// The answer must match this JSON Schema, written at this span.
    Schema(Value, Span),
}

impl GuardList {
    /// Whether there is a schema that the answer must match.
    pub fn has_schema(&self) -> bool {
        self.guards.iter().any(|g| matches!(g, SirenGuardrail::Schema(..)))
    }
}

const NAMES: [&str; 5] = ["injection", "length", "pii", "schema", "cost_cap"];

/// `guardrails` of a mapping; `None` if absent or null.
pub fn read_guardrails(fields: &mut MappingReader<'_, '_>) -> Option<GuardList> {
    let items = fields.read_list("guardrails")?;
    let mut list = GuardList::default();
    for (at, item) in items.iter().enumerate() {
        twin(fields.reader, items.get(..at).unwrap_or_default(), item);
        entry(fields.reader, item, &mut list);
    }
    Some(list)
}

/// Reports a guardrail that is listed twice; compares only names.
fn twin(reader: &ManifestReader<'_>, before: &[YamlNode], item: &YamlNode) {
    let Some(name) = item.as_string() else { return };
    let has_name = |node: &&YamlNode| matches!(node.as_string(), Some(text) if text.value == name.value);
    if let Some(first) = before.iter().find(has_name) {
        let message = format!("`{}` has no effect: it is already in the list", name.value);
        let d = Diagnostic::new_warning("no-effect", reader.location_of(item.span), message);
        reader.report_finding(d.with_label(reader.location_of(first.span), "the first one"));
    }
}

fn entry(reader: &ManifestReader<'_>, item: &YamlNode, list: &mut GuardList) {
    if let Some(name) = item.as_string() {
        return build(reader, name, None, list);
    }
    if item.as_mapping().is_none() {
        return reader.wrong_type(item, "guardrails", "a list of names or of `{name, config}`");
    }
    let Some(mut fields) = reader.read_mapping(item, "a guardrail") else { return };
    let name = fields.require_text("name");
    let config = fields.read_mapping("config");
    if let Some(name) = name {
        build(reader, name, config, list);
    }
    fields.finish_mapping();
}

fn build(reader: &ManifestReader<'_>, name: &YamlText, config: Option<MappingReader<'_, '_>>, list: &mut GuardList) {
    let mut config = config;
    match &*name.value {
        "injection" => list.guards.push(SirenGuardrail::Ready(Guard::Injection)),
        "length" => list.guards.push(SirenGuardrail::Ready(length(config.as_mut()))),
        "pii" => list.guards.push(SirenGuardrail::Ready(pii(config.as_mut()))),
        "schema" => match config.as_mut().and_then(|c| c.take("schema")) {
            Some(entry) if entry.value.as_mapping().is_some() => {
                let json = crate::schema::read_schema(reader, &entry.value, "schema").unwrap_or(Value::Bool(true));
                list.guards.push(SirenGuardrail::Schema(json, entry.value.span));
            }
            Some(entry) => reader.wrong_type(&entry.value, "schema", "a mapping"),
            None => reader.report_finding(
                Diagnostic::new_error(
                    "missing-key",
                    reader.location_of(name.span),
                    "the `schema` guardrail needs a schema",
                )
                .with_help("write `{name: schema, config: {schema: {type: object}}}`"),
            ),
        },
        "cost_cap" => cost_cap(reader, name, config.as_mut(), list),
        other => {
            let mut d = Diagnostic::new_error(
                "unknown-value",
                reader.location_of(name.span),
                format!("unknown guardrail `{other}`"),
            );
            d = match suggestions::find_near_match(other, NAMES) {
                Some(near) => {
                    let d = d.with_help(format!("did you mean `{}`? available: `{}`", near.name, NAMES.join("`, `")));
                    fix_spelling(d, reader.location_of(name.span), name, near)
                }
                None => d.with_help(format!("available: `{}`", NAMES.join("`, `"))),
            };
            return reader.report_finding(d);
        }
    }
    if let Some(config) = config {
        config.finish_mapping();
    }
}

fn length(config: Option<&mut MappingReader<'_, '_>>) -> Guard {
    let Some(config) = config else { return Guard::Length { max_chars: 4000, refuse: false } };
    let max_chars = scalar::read_count(config, "max_chars", 1).unwrap_or(4000) as usize;
    let refuse = config.read_word("mode", &[("truncate", false), ("raise", true)]).unwrap_or(false);
    Guard::Length { max_chars, refuse }
}

fn pii(config: Option<&mut MappingReader<'_, '_>>) -> Guard {
    const ENTITIES: [(&str, PiiEntity); 4] = [
        ("email", PiiEntity::Email),
        ("phone", PiiEntity::Phone),
        ("ssn", PiiEntity::Ssn),
        ("credit_card", PiiEntity::CreditCard),
    ];
    let mut entities: Vec<PiiEntity> = ENTITIES.iter().map(|(_, e)| *e).collect();
    let mut action = PiiAction::Redact;
    let mut replacement: Arc<str> = "[REDACTED]".into();
    if let Some(config) = config {
        if let Some(items) = config.read_list("entities") {
            if items.is_empty()
                && let Some(entry) = config.peek_entry("entities")
            {
                let d = Diagnostic::new_warning(
                    "no-effect",
                    config.reader.location_of(entry.value.span),
                    "`entities` is empty, so `pii` looks for nothing",
                );
                config.reader.report_finding(d.with_help("remove `entities` to look for all of them"));
            }
            entities = items.iter().filter_map(|item| config.reader.read_word(item, "entities", &ENTITIES)).collect();
            entities.dedup();
        }
        let actions = [("redact", PiiAction::Redact), ("block", PiiAction::Block), ("flag", PiiAction::Flag)];
        action = config.read_word("action", &actions).unwrap_or(action);
        if let Some(text) = config.read_text("replacement") {
            replacement = text.value.clone();
        }
    }
    Guard::Pii { entities, action, replacement }
}

fn cost_cap(
    reader: &ManifestReader<'_>,
    name: &YamlText,
    config: Option<&mut MappingReader<'_, '_>>,
    list: &mut GuardList,
) {
    let mut capped = false;
    if let Some(config) = config {
        let warn = config.read_word("action", &[("abort", false), ("warn", true)]).unwrap_or(false);
        if let Some(entry) = config.take("max_usd") {
            capped = true;
            if let Some(dollars) = reader.read_number(&entry.value, "max_usd", 0.0..=f64::INFINITY) {
                list.guards.push(SirenGuardrail::Ready(Guard::CostCap { max_micro: to_micro_dollars(dollars), warn }));
            }
        }
        if config.take("max_tokens").is_some() {
            capped = true;
        }
        if let Some(max) = scalar::read_whole_number(config, "max_tokens", 1..=i64::MAX) {
            list.guards.push(SirenGuardrail::Ready(Guard::TokenCap { max_tokens: max.unsigned_abs(), warn }));
        }
    }
    if !capped {
        reader.report_finding(
            Diagnostic::new_error(
                "missing-key",
                reader.location_of(name.span),
                "the `cost_cap` guardrail needs a limit",
            )
            .with_help("write `{name: cost_cap, config: {max_tokens: 10000}}`"),
        );
    }
}
