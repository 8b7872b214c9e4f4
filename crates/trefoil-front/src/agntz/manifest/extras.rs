//! The other keys of an llm agent: `spawnable`, `skills`, `resources`, `reply`, `retention`. Read and checked.
//! Unsupported features that would change the agent's work are refused; features of the hosted product alone have no
//! effect.

use std::sync::Arc;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{Entry, Node, Scalar, Text};

use super::llm::{Llm, Refusal};
use super::{AgentPlace, Kind, Target, agent, texts};
use crate::agntz::ids::{AgentRef, check_version, is_skill_name};
use crate::read::{Fields, Reader};

/// `retention`: how long the hosted product keeps a run.
pub fn retention(fields: &mut Fields<'_, '_>) {
    if let Some(mut inner) = fields.fields("retention") {
        inner.require("mode");
        inner.word("mode", &[("none", ()), ("result", ()), ("session", ())]);
        inner.integer("ttlSeconds", 60..=i64::MAX);
        inner.integer("artifactTtlSeconds", 60..=i64::MAX);
        inner.finish();
    }
    fields.no_effect(&["retention"], "sessions and artifacts are not kept");
}

/// `reply`: interim answers.
pub fn reply(fields: &mut Fields<'_, '_>) {
    let Some(entry) = fields.take("reply") else { return };
    let reader = fields.reader;
    match entry.value.scalar() {
        Some((Scalar::Bool(false), _)) => return,
        Some((Scalar::Bool(true), _)) => {}
        _ if entry.value.mapping().is_some() => {
            if let Some(mut inner) = reader.fields(&entry.value, "reply") {
                inner.integer("maxPerRun", 1..=i64::MAX);
                inner.finish();
            }
        }
        _ => reader.wrong_type(&entry.value, "reply", "true, false, or a mapping with `maxPerRun`"),
    }
    reader.warning("no-effect", entry.key.span, "`reply` has no effect: interim replies are not supported yet");
}

/// `skills`: instructions that the model may load.
pub fn skills<'n>(fields: &mut Fields<'n, '_>, llm: &mut Llm<'n>) {
    let Some(entry) = fields.take("skills") else { return };
    let reader = fields.reader;
    let items = reader.list(&entry.value, "skills").unwrap_or_default();
    let names: Vec<&Text> = items.iter().filter_map(|n| reader.text(n, "skills")).collect();
    for (i, name) in names.iter().copied().enumerate() {
        if let Some(first) = names.iter().take(i).find(|n| n.value == name.value) {
            let message = format!("`{}` is listed twice", name.value);
            let d = Diagnostic::warning("duplicate-id", reader.at(name.span), message);
            reader.report(d.label(reader.at(first.span), "the first one"));
        }
        if !is_skill_name(&name.value) {
            texts::bad_name(
                reader,
                name,
                "a skill",
                "start with a lower-case letter, then use letters, digits and `-`",
            );
        }
    }
    if !items.is_empty() {
        llm.refusals.push(Refusal::report(
            reader,
            "skills",
            entry.key.span,
            "write the text of the skill into `instruction`",
        ));
    }
}

/// `resources`: memory and documents of the hosted product.
pub fn resources<'n>(fields: &mut Fields<'n, '_>, llm: &mut Llm<'n>) {
    let Some(entry) = fields.take("resources") else { return };
    let reader = fields.reader;
    let Some(resources) = reader.fields(&entry.value, "resources") else { return };
    for resource in resources.entries() {
        check_resource_name(reader, &resource.key);
        let Some(mut inner) = reader.fields(&resource.value, &resource.key.value) else { continue };
        if let Some(kind) = inner.text("kind") {
            check_resource_name(reader, kind);
        }
        inner.word("mode", &[("read", ()), ("read-write", ())]);
        if let Some(namespace) = inner.take("namespace") {
            namespaces(reader, &namespace.value);
        }
        // all other keys are configuration of the resource provider
    }
    if !resources.entries().is_empty() {
        let help = "pass what the agent should know as input";
        llm.refusals.push(Refusal::report(reader, "resources", entry.key.span, help));
    }
}

fn namespaces(reader: &Reader<'_>, node: &Node) {
    match node.sequence() {
        Some(items) => items.iter().for_each(|n| {
            reader.text(n, "namespace");
        }),
        None if node.string().is_some() => {}
        None => reader.wrong_type(node, "namespace", "text or a list of texts"),
    }
}

fn check_resource_name(reader: &Reader<'_>, name: &Text) {
    let mut letters = name.value.chars();
    let good = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if !good {
        texts::bad_name(reader, name, "a resource", "start with a letter, then use letters, digits, `_` and `-`");
    }
}

/// `spawnable`: agents that the model may start.
pub fn spawnable<'n>(fields: &mut Fields<'n, '_>, llm: &mut Llm<'n>, own: Option<&Text>) {
    let Some(entry) = fields.take("spawnable") else { return };
    let reader = fields.reader;
    llm.spawnable_at = Some(entry.key.span);
    let items = reader.list(&entry.value, "spawnable").unwrap_or_default();
    let mut named: Vec<&str> = Vec::new();
    for item in items {
        let Some(mut inner) = reader.fields(item, "a spawnable agent") else { continue };
        inner.require("kind");
        match inner.word("kind", &[("ref", true), ("inline", false)]) {
            Some(true) => {
                if let Some(id) = inner.require_text("agentId")
                    && spawn_ref(reader, id, &mut named)
                {
                    llm.spawnable.push(Target::Ref(id));
                }
                if let Some(version) = inner.text("version") {
                    versions(reader, version);
                }
                inner.finish();
            }
            Some(false) => {
                if let Some(definition) = inner.require("definition") {
                    llm.spawnable.extend(spawn_inline(reader, definition, own, &mut llm.spawned));
                }
                inner.finish();
            }
            None => {}
        }
    }
}

/// Reads a reference; returns whether it names another agent.
fn spawn_ref<'n>(reader: &Reader<'_>, id: &'n Text, named: &mut Vec<&'n str>) -> bool {
    let target = AgentRef::parse(&id.value).map_or(&*id.value, |r| r.id);
    let is_known = named.contains(&target);
    if is_known {
        reader.warning("duplicate-id", id.span, format!("`{target}` is listed twice"));
    }
    named.push(target);
    !is_known
}

fn spawn_inline<'n>(
    reader: &Reader<'_>,
    definition: &'n Entry,
    own: Option<&Text>,
    instructions: &mut Vec<&'n Text>,
) -> Option<Target<'n>> {
    let child = agent(reader, &definition.value, AgentPlace::Spawnable)?;
    if let (Some(own), Some(id)) = (own, child.id)
        && own.value == id.value
    {
        let d =
            Diagnostic::error("duplicate-id", reader.at(id.span), format!("`{}` is the id of its parent", id.value));
        reader.report(d.label(reader.at(own.span), "the parent"));
    }
    match &child.kind {
        Kind::Llm(llm) => {
            instructions.extend(llm.instruction);
            // The names that its placeholders read are not known here.
            if llm.instruction.is_some_and(|text| text.value.contains("{{")) {
                return None;
            }
        }
        Kind::Unknown => {}
        _ => {
            reader.error("unknown-value", child.head, "only `kind: llm` agents can be spawned");
            return None;
        }
    }
    Some(Target::Inline(Arc::new(child)))
}

/// Reports an invalid version.
pub fn versions(reader: &Reader<'_>, version: &Text) {
    if let Err(why) = check_version(&version.value) {
        reader.error("invalid-reference", version.span, why);
    }
}
