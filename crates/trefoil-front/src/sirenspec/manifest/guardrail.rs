//! `guardrails` of the workflow, of an agent, or of a swarm's agent.

use std::sync::Arc;

use trefoil_ir::{Guard, PiiAction, PiiEntity};
use trefoil_syntax::yaml::{Node, Text};
use trefoil_syntax::{Diagnostic, Span, suggest};
use trefoil_template::Value;

use super::budget::micro;
use super::scalar;
use crate::mend::respelt;
use crate::{Fields, Reader};

/// A list of guardrails, in order.
#[derive(Debug, Clone, Default)]
pub struct GuardList {
    /// The guardrails.
    pub guards: Vec<Guardrail>,
}

/// One guardrail.
#[derive(Debug, Clone)]
pub enum Guardrail {
    /// A complete guardrail.
    Ready(Guard),
    /// The answer must match this JSON Schema, written at this span.
    Schema(Value, Span),
}

impl GuardList {
    /// Whether there is a schema that the answer must match.
    pub fn has_schema(&self) -> bool {
        self.guards.iter().any(|g| matches!(g, Guardrail::Schema(..)))
    }
}

const NAMES: [&str; 5] = ["injection", "length", "pii", "schema", "cost_cap"];

/// `guardrails` of a mapping; `None` if absent or null.
pub fn read(fields: &mut Fields<'_, '_>) -> Option<GuardList> {
    let items = fields.list("guardrails")?;
    let mut list = GuardList::default();
    for (at, item) in items.iter().enumerate() {
        twin(fields.reader, items.get(..at).unwrap_or_default(), item);
        entry(fields.reader, item, &mut list);
    }
    Some(list)
}

/// Reports a guardrail that is listed twice; compares only names.
fn twin(reader: &Reader<'_>, before: &[Node], item: &Node) {
    let Some(name) = item.string() else { return };
    if let Some(first) = before.iter().find(|b| b.string().is_some_and(|b| b.value == name.value)) {
        let message = format!("`{}` has no effect: it is already in the list", name.value);
        let d = Diagnostic::warning("no-effect", reader.at(item.span), message);
        reader.report(d.label(reader.at(first.span), "the first one"));
    }
}

fn entry(reader: &Reader<'_>, item: &Node, list: &mut GuardList) {
    if let Some(name) = item.string() {
        return build(reader, name, None, list);
    }
    if item.mapping().is_none() {
        return reader.wrong_type(item, "guardrails", "a list of names or of `{name, config}`");
    }
    let Some(mut fields) = reader.fields(item, "a guardrail") else { return };
    let name = fields.require_text("name");
    let config = fields.fields("config");
    if let Some(name) = name {
        build(reader, name, config, list);
    }
    fields.finish();
}

fn build(reader: &Reader<'_>, name: &Text, config: Option<Fields<'_, '_>>, list: &mut GuardList) {
    let mut config = config;
    match &*name.value {
        "injection" => list.guards.push(Guardrail::Ready(Guard::Injection)),
        "length" => list.guards.push(Guardrail::Ready(length(config.as_mut()))),
        "pii" => list.guards.push(Guardrail::Ready(pii(config.as_mut()))),
        "schema" => match config.as_mut().and_then(|c| c.take("schema")) {
            Some(entry) if entry.value.mapping().is_some() => {
                let json = crate::schema::read(reader, &entry.value, "schema").unwrap_or(Value::Bool(true));
                list.guards.push(Guardrail::Schema(json, entry.value.span));
            }
            Some(entry) => reader.wrong_type(&entry.value, "schema", "a mapping"),
            None => reader.report(
                Diagnostic::error("missing-key", reader.at(name.span), "the `schema` guardrail needs a schema")
                    .help("write `{name: schema, config: {schema: {type: object}}}`"),
            ),
        },
        "cost_cap" => cost_cap(reader, name, config.as_mut(), list),
        other => {
            let mut d =
                Diagnostic::error("unknown-value", reader.at(name.span), format!("unknown guardrail `{other}`"));
            d = match suggest::near(other, NAMES) {
                Some(near) => {
                    let d = d.help(format!("did you mean `{}`? available: `{}`", near.name, NAMES.join("`, `")));
                    respelt(d, reader.at(name.span), name, near)
                }
                None => d.help(format!("available: `{}`", NAMES.join("`, `"))),
            };
            return reader.report(d);
        }
    }
    if let Some(config) = config {
        config.finish();
    }
}

fn length(config: Option<&mut Fields<'_, '_>>) -> Guard {
    let Some(config) = config else { return Guard::Length { max_chars: 4000, refuse: false } };
    let max_chars = scalar::count(config, "max_chars", 1).unwrap_or(4000) as usize;
    let refuse = config.word("mode", &[("truncate", false), ("raise", true)]).unwrap_or(false);
    Guard::Length { max_chars, refuse }
}

fn pii(config: Option<&mut Fields<'_, '_>>) -> Guard {
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
        if let Some(items) = config.list("entities") {
            if let Some(entry) = config.entry("entities").filter(|_| items.is_empty()) {
                let d = Diagnostic::warning(
                    "no-effect",
                    config.reader.at(entry.value.span),
                    "`entities` is empty, so `pii` looks for nothing",
                );
                config.reader.report(d.help("remove `entities` to look for all of them"));
            }
            entities = items.iter().filter_map(|item| config.reader.word(item, "entities", &ENTITIES)).collect();
            entities.dedup();
        }
        let actions = [("redact", PiiAction::Redact), ("block", PiiAction::Block), ("flag", PiiAction::Flag)];
        action = config.word("action", &actions).unwrap_or(action);
        if let Some(text) = config.text("replacement") {
            replacement = text.value.clone();
        }
    }
    Guard::Pii { entities, action, replacement }
}

fn cost_cap(reader: &Reader<'_>, name: &Text, config: Option<&mut Fields<'_, '_>>, list: &mut GuardList) {
    let mut capped = false;
    if let Some(config) = config {
        let warn = config.word("action", &[("abort", false), ("warn", true)]).unwrap_or(false);
        if let Some(entry) = config.take("max_usd") {
            capped = true;
            if let Some(dollars) = reader.number(&entry.value, "max_usd", 0.0..=f64::INFINITY) {
                list.guards.push(Guardrail::Ready(Guard::CostCap { max_micro: micro(dollars), warn }));
            }
        }
        if config.take("max_tokens").is_some() {
            capped = true;
        }
        if let Some(max) = scalar::whole(config, "max_tokens", 1..=i64::MAX) {
            list.guards.push(Guardrail::Ready(Guard::TokenCap { max_tokens: max.unsigned_abs(), warn }));
        }
    }
    if !capped {
        reader.report(
            Diagnostic::error("missing-key", reader.at(name.span), "the `cost_cap` guardrail needs a limit")
                .help("write `{name: cost_cap, config: {max_tokens: 10000}}`"),
        );
    }
}
