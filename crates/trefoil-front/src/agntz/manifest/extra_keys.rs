//! The other keys of an llm agent: `spawnable`, `skills`, `resources`, `reply`, `retention`. Read and checked.
//! Unsupported features that would change the agent's work are refused; features of the hosted product alone have no
//! effect.

use std::sync::Arc;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlScalar, YamlText};

use super::llm::{AgntzRefusal, LlmAgent};
use super::{AgentPlace, AgntzAgentKind, StepTarget, read_agent, texts};
use crate::agntz::ids::{check_version, is_skill_name, referenced_id};
use crate::yaml_reader::{ManifestReader, MappingReader};

/// `retention`: how long the hosted product keeps a run.
pub fn read_retention(fields: &mut MappingReader<'_, '_>) {
    if let Some(mut inner) = fields.read_mapping("retention") {
        inner.require_entry("mode");
        inner.read_word("mode", &[("none", ()), ("result", ()), ("session", ())]);
        inner.read_integer("ttlSeconds", 60..=i64::MAX);
        inner.read_integer("artifactTtlSeconds", 60..=i64::MAX);
        inner.finish_mapping();
    }
    fields.no_effect(&["retention"], "sessions and artifacts are not kept");
}

/// `reply`: interim answers.
pub fn read_reply(fields: &mut MappingReader<'_, '_>) {
    let Some(entry) = fields.take("reply") else { return };
    let reader = fields.reader;
    match entry.value.as_scalar() {
        Some((YamlScalar::Bool(false), _)) => return,
        Some((YamlScalar::Bool(true), _)) => {}
        _ if entry.value.as_mapping().is_some() => {
            if let Some(mut inner) = reader.read_mapping(&entry.value, "reply") {
                inner.read_integer("maxPerRun", 1..=i64::MAX);
                inner.finish_mapping();
            }
        }
        _ => reader.wrong_type(&entry.value, "reply", "true, false, or a mapping with `maxPerRun`"),
    }
    reader.report_warning("no-effect", entry.key.span, "`reply` has no effect: interim replies are not supported yet");
}

/// `skills`: instructions that the model may load.
pub fn read_skills<'n>(fields: &mut MappingReader<'n, '_>, llm: &mut LlmAgent<'n>) {
    let Some(entry) = fields.take("skills") else { return };
    let reader = fields.reader;
    let items = reader.read_list(&entry.value, "skills").unwrap_or_default();
    let names = texts::text_items(reader, items, "skills");
    for (i, name) in names.iter().copied().enumerate() {
        if let Some(first) = names.iter().take(i).find(|n| n.value == name.value) {
            let message = format!("`{}` is listed twice", name.value);
            let d = Diagnostic::new_warning("duplicate-id", reader.location_of(name.span), message);
            reader.report_finding(d.with_label(reader.location_of(first.span), "the first one"));
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
        llm.refusals.push(AgntzRefusal::report_feature(
            reader,
            "skills",
            entry.key.span,
            "write the text of the skill into `instruction`",
        ));
    }
}

/// `resources`: memory and documents of the hosted product.
pub fn read_resources<'n>(fields: &mut MappingReader<'n, '_>, llm: &mut LlmAgent<'n>) {
    let Some(entry) = fields.take("resources") else { return };
    let reader = fields.reader;
    let Some(resources) = reader.read_mapping(&entry.value, "resources") else { return };
    for resource in resources.entries() {
        check_resource_name(reader, &resource.key);
        let Some(mut inner) = reader.read_mapping(&resource.value, &resource.key.value) else { continue };
        if let Some(kind) = inner.read_text("kind") {
            check_resource_name(reader, kind);
        }
        inner.read_word("mode", &[("read", ()), ("read-write", ())]);
        if let Some(namespace) = inner.take("namespace") {
            namespaces(reader, &namespace.value);
        }
        // all other keys are configuration of the resource provider
    }
    if !resources.entries().is_empty() {
        let help = "pass what the agent should know as input";
        llm.refusals.push(AgntzRefusal::report_feature(reader, "resources", entry.key.span, help));
    }
}

fn namespaces(reader: &ManifestReader<'_>, node: &YamlNode) {
    match node.as_sequence() {
        Some(items) => {
            for item in items {
                reader.read_text(item, "namespace");
            }
        }
        None if node.as_string().is_some() => {}
        None => reader.wrong_type(node, "namespace", "text or a list of texts"),
    }
}

fn check_resource_name(reader: &ManifestReader<'_>, name: &YamlText) {
    let good = name.value.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if !good {
        texts::bad_name(reader, name, "a resource", "start with a letter, then use letters, digits, `_` and `-`");
    }
}

/// `spawnable`: agents that the model may start.
pub fn read_spawnable<'n>(fields: &mut MappingReader<'n, '_>, llm: &mut LlmAgent<'n>, own: Option<&YamlText>) {
    let Some(entry) = fields.take("spawnable") else { return };
    let reader = fields.reader;
    llm.spawnable_at = Some(entry.key.span);
    let items = reader.read_list(&entry.value, "spawnable").unwrap_or_default();
    let mut named: Vec<&str> = Vec::new();
    for item in items {
        let Some(mut inner) = reader.read_mapping(item, "a spawnable agent") else { continue };
        inner.require_entry("kind");
        match inner.read_word("kind", &[("ref", true), ("inline", false)]) {
            Some(true) => {
                if let Some(id) = inner.require_text("agentId")
                    && spawn_ref(reader, id, &mut named)
                {
                    llm.spawnable.push(StepTarget::Ref(id));
                }
                if let Some(version) = inner.read_text("version") {
                    report_version(reader, version);
                }
                inner.finish_mapping();
            }
            Some(false) => {
                if let Some(definition) = inner.require_entry("definition") {
                    llm.spawnable.extend(spawn_inline(reader, definition, own, &mut llm.spawned));
                }
                inner.finish_mapping();
            }
            None => {}
        }
    }
}

/// Reads a reference; returns whether it names another agent.
fn spawn_ref<'n>(reader: &ManifestReader<'_>, id: &'n YamlText, named: &mut Vec<&'n str>) -> bool {
    let target = referenced_id(&id.value);
    let is_known = named.contains(&target);
    if is_known {
        reader.report_warning("duplicate-id", id.span, format!("`{target}` is listed twice"));
    }
    named.push(target);
    !is_known
}

fn spawn_inline<'n>(
    reader: &ManifestReader<'_>,
    definition: &'n YamlEntry,
    own: Option<&YamlText>,
    instructions: &mut Vec<&'n YamlText>,
) -> Option<StepTarget<'n>> {
    let child = read_agent(reader, &definition.value, AgentPlace::Spawnable)?;
    if let (Some(own), Some(id)) = (own, child.id)
        && own.value == id.value
    {
        let d = Diagnostic::new_error(
            "duplicate-id",
            reader.location_of(id.span),
            format!("`{}` is the id of its parent", id.value),
        );
        reader.report_finding(d.with_label(reader.location_of(own.span), "the parent"));
    }
    match &child.kind {
        AgntzAgentKind::Llm(llm) => {
            instructions.extend(llm.instruction);
            // The names that its placeholders read are not known here.
            if matches!(llm.instruction, Some(text) if text.value.contains("{{")) {
                return None;
            }
        }
        AgntzAgentKind::Unknown => {}
        _ => {
            reader.report_error("unknown-value", child.head, "only `kind: llm` agents can be spawned");
            return None;
        }
    }
    Some(StepTarget::Inline(Arc::new(child)))
}

/// Reports an invalid version.
pub fn report_version(reader: &ManifestReader<'_>, version: &YamlText) {
    if let Err(why) = check_version(&version.value) {
        reader.report_error("invalid-reference", version.span, why);
    }
}
