//! AEGIS manifests as structs, read from the spanned tree. Every mistake is reported at its place; missing parts are
//! left out, so that one mistake does not hide the next. Knows nothing of flows and steps.

pub mod agent;
pub mod consensus;
pub mod duration;
pub mod execution;
pub mod key_synonyms;
pub mod metadata;
pub mod schema;
pub mod state;
pub mod states;
pub mod tools;
pub mod transition;
pub mod unsupported_parts;
pub mod workflow;

use std::sync::Arc;

use trefoil_syntax::Span;
use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlNodeKind, YamlScalar, YamlText};

use crate::spelling_fixes::fix_spelling;
use crate::{ManifestReader, MappingReader};
use trefoil_syntax::suggestions::NearMatch;

/// Names that have another meaning in templates, so states and Blackboard keys should not use them.
pub const RESERVED: &[&str] =
    &["input", "workflow", "blackboard", "state", "human", "execution", "iteration_number", "previous_error"];

/// The only value of `apiVersion`.
pub const API_VERSION: &str = "100monkeys.ai/v1";

/// The kind of unit that a document declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AegisUnitKind {
    /// `kind: Agent`, or `AgentManifest` in older files.
    Agent,
    /// `kind: Workflow`.
    Workflow,
}

/// The kind of unit that a document declares. Reports nothing. If `kind` contradicts the contents of `spec`, `spec`
/// counts, because a single wrong word is more likely than a wrong file.
pub fn unit_kind(root: &YamlNode) -> Option<AegisUnitKind> {
    let declared = match &*root.as_mapping()?.get("kind")?.value.as_string()?.value {
        "Agent" | "AgentManifest" => AegisUnitKind::Agent,
        "Workflow" => AegisUnitKind::Workflow,
        _ => return None,
    };
    Some(looks_like(root).unwrap_or(declared))
}

/// The kind of a document, if the keys under `spec` determine it.
pub fn looks_like(root: &YamlNode) -> Option<AegisUnitKind> {
    let spec = root.as_mapping()?.get("spec")?.value.as_mapping()?;
    match (spec.get("task").is_some(), spec.get("states").is_some()) {
        (true, false) => Some(AegisUnitKind::Agent),
        (false, true) => Some(AegisUnitKind::Workflow),
        _ => None,
    }
}

/// `metadata.name` of a document. Reports nothing.
pub fn unit_name(root: &YamlNode) -> Option<&YamlText> {
    let name = of_metadata(root, "name")?.as_string()?;
    if name.value.is_empty() { None } else { Some(name) }
}

/// `spec.input_schema` of an agent. Reports nothing.
pub fn input_schema(root: &YamlNode) -> Option<&YamlNode> {
    let schema = &root.as_mapping()?.get("spec")?.value.as_mapping()?.get("input_schema")?.value;
    if schema.is_null() { None } else { Some(schema) }
}

fn validation(root: &YamlNode) -> Option<&YamlNode> {
    let execution = &root.as_mapping()?.get("spec")?.value.as_mapping()?.get("execution")?.value;
    Some(&execution.as_mapping()?.get("validation")?.value)
}

/// The schema that an agent's answer must match. Reports nothing. `None` if there are several, because none of them
/// describes the whole answer.
pub fn answer_schema(root: &YamlNode) -> Option<&YamlNode> {
    let validation = validation(root)?;
    match &*validation.kind {
        YamlNodeKind::Sequence(items) => {
            let mut only = None;
            for item in items {
                let Some(schema) = validator_schema(item) else { continue };
                if only.is_some() {
                    return None;
                }
                only = Some(schema);
            }
            only
        }
        _ => Some(&validation.as_mapping()?.get("output")?.value.as_mapping()?.get("schema")?.value),
    }
}

/// The schema of a validator of the type `json_schema`.
fn validator_schema(item: &YamlNode) -> Option<&YamlNode> {
    let validator = item.as_mapping()?;
    let kind = validator.get("type")?.value.as_string()?;
    if &*kind.value == "json_schema" { Some(&validator.get("schema")?.value) } else { None }
}

/// A key of `metadata`. Reports nothing.
pub fn of_metadata<'n>(root: &'n YamlNode, key: &str) -> Option<&'n YamlNode> {
    Some(&root.as_mapping()?.get("metadata")?.value.as_mapping()?.get(key)?.value)
}

/// Reads `apiVersion` and `kind` of a document that is read as this kind of unit.
pub fn read_header(fields: &mut MappingReader<'_, '_>, read_as: AegisUnitKind) {
    fields.also_called(key_synonyms::TOP);
    fields.set_foreign_keys(key_synonyms::NOT_TOP);
    if let Some(version) = fields.require_entry("apiVersion") {
        fields.reader.read_word(&version.value, "apiVersion", &[(API_VERSION, ())]);
    }
    let Some(kind) = fields.require_entry("kind") else { return };
    let words = [("Agent", AegisUnitKind::Agent), ("Workflow", AegisUnitKind::Workflow)];
    if let Some(text) = kind.value.as_string()
        && &*text.value == "AgentManifest"
    {
        let d = trefoil_syntax::Diagnostic::new_warning(
            "deprecated",
            fields.reader.location_of(kind.value.span),
            "`AgentManifest` is an old spelling",
        );
        let meant = NearMatch { name: "Agent", distance: 0, sure: true };
        let d = d.with_help("write `kind: Agent`");
        fields.reader.report_finding(fix_spelling(d, fields.reader.location_of(kind.value.span), text, meant));
        if read_as == AegisUnitKind::Agent {
            return;
        }
    }
    let declared = match kind.value.as_string() {
        Some(text) if &*text.value == "AgentManifest" => Some(AegisUnitKind::Agent),
        _ => fields.reader.read_word(&kind.value, "kind", &words),
    };
    if let (Some(declared), Some(text)) = (declared, kind.value.as_string())
        && declared != read_as
    {
        let (meant, what) = match read_as {
            AegisUnitKind::Agent => ("Agent", "`task`, as in an agent"),
            AegisUnitKind::Workflow => ("Workflow", "`states`, as in a workflow"),
        };
        let at = fields.reader.location_of(kind.value.span);
        let message = format!("`kind` is `{}`, but `spec` has {what}", text.value);
        let d = trefoil_syntax::Diagnostic::new_error("unknown-value", at, message)
            .with_help(format!("write `kind: {meant}`"));
        let near = NearMatch { name: meant, distance: 0, sure: true };
        fields.reader.report_finding(fix_spelling(d, at, text, near));
    }
}

/// The text of a required key; an empty text is reported.
pub fn require_filled_text<'n>(fields: &mut MappingReader<'n, '_>, key: &'static str) -> Option<&'n YamlText> {
    let text = fields.require_text(key)?;
    if text.value.trim().is_empty() {
        fields.reader.report_error("missing-key", text.span, format!("`{key}` is blank"));
        return None;
    }
    Some(text)
}

/// The entry of a key with two spellings; both at once are an error.
pub fn take_spelled<'n>(
    fields: &mut MappingReader<'n, '_>,
    one: &'static str,
    other: &'static str,
) -> Option<&'n YamlEntry> {
    match (fields.take(one), fields.take(other)) {
        (Some(a), Some(b)) => {
            let (first, second) = if a.key.span.start <= b.key.span.start { (a, b) } else { (b, a) };
            let d = trefoil_syntax::Diagnostic::new_error(
                "both-spellings",
                fields.reader.location_of(second.key.span),
                format!("`{}` and `{}` are the same key", first.key.value, second.key.value),
            );
            let d = d
                .with_label(fields.reader.location_of(first.key.span), "already set here")
                .with_help("remove one of them");
            let between =
                |e: &YamlEntry| e.key.span.start > first.key.span.start && e.key.span.start < second.key.span.start;
            let apart = fields.entries().iter().any(between);
            let end = Span::new(first.value.span.end, second.value.span.end);
            fields.reader.report_finding(
                if apart || first.value.as_string().is_none() || second.value.as_string().is_none() {
                    d
                } else {
                    d.with_suggestion(format!("remove `{}`", second.key.value), fields.reader.location_of(end), "")
                },
            );
            Some(first)
        }
        (a, b) => a.or(b),
    }
}

/// Like [`take_spelled`], but a missing key is reported.
pub fn require_spelled<'n>(
    fields: &mut MappingReader<'n, '_>,
    what: &str,
    one: &'static str,
    other: &'static str,
) -> Option<&'n YamlEntry> {
    let entry = take_spelled(fields, one, other);
    if entry.is_none() {
        fields.mark_settled(&[one, other]);
        fields.reader.report_error(
            "missing-key",
            fields.missing_key_span(&[one, other]),
            format!("{what} needs `{one}`"),
        );
    }
    if let Some(entry) = entry
        && let Some(text) = entry.value.as_string()
        && text.value.trim().is_empty()
    {
        fields.reader.report_error("missing-key", entry.value.span, format!("`{}` is blank", entry.key.value));
        return None;
    }
    entry
}

/// The text of a required key with two spellings.
pub fn require_spelled_text(
    fields: &mut MappingReader<'_, '_>,
    what: &str,
    one: &'static str,
    other: &'static str,
) -> Option<YamlText> {
    let entry = require_spelled(fields, what, one, other)?;
    fields.reader.read_text(&entry.value, &entry.key.value).cloned()
}

/// The text of a key with two spellings.
pub fn spelled_text(fields: &mut MappingReader<'_, '_>, one: &'static str, other: &'static str) -> Option<YamlText> {
    let entry = take_spelled(fields, one, other)?;
    fields.reader.read_text(&entry.value, &entry.key.value).cloned()
}

/// A map with text values. Numbers and booleans are converted to text.
pub fn read_text_map(reader: &ManifestReader<'_>, node: &YamlNode, what: &str) -> Vec<(YamlText, YamlText)> {
    let Some(mapping) = node.as_mapping() else {
        reader.wrong_type(node, what, "a mapping");
        return Vec::new();
    };
    let mut texts = Vec::new();
    for entry in &mapping.entries {
        match &*entry.value.kind {
            YamlNodeKind::Scalar(YamlScalar::Null, _) => {}
            YamlNodeKind::Scalar(_, text) => texts.push((entry.key.clone(), text.clone())),
            _ => reader.wrong_type(&entry.value, &entry.key.value, "text"),
        }
    }
    texts
}

/// A list of texts.
pub fn text_list(reader: &ManifestReader<'_>, node: &YamlNode, what: &str) -> Vec<YamlText> {
    let items = reader.read_list(node, what).unwrap_or_default();
    items.iter().filter_map(|item| reader.read_text(item, what).cloned()).collect()
}

/// A feature that is recognised but not supported.
#[derive(Debug, Clone)]
pub struct RefusedFeature {
    /// Its name in the warning.
    pub feature: Arc<str>,
    /// Why, and what to do.
    pub message: Arc<str>,
    /// Where it is written.
    pub span: Span,
}

impl RefusedFeature {
    /// Reports the warning and returns the data for the step.
    pub fn report_feature(reader: &ManifestReader<'_>, span: Span, feature: &str, why: &str) -> Self {
        reader.report_finding(
            trefoil_syntax::Diagnostic::new_warning(
                "refused",
                reader.location_of(span),
                format!("{feature} is not supported yet: {why}"),
            )
            .with_help("you can check and draw this file, but not run it"),
        );
        Self { feature: feature.into(), message: why.into(), span }
    }
    /// The step kind for it.
    pub fn to_refused(&self) -> trefoil_ir::UnsupportedFeature {
        trefoil_ir::UnsupportedFeature {
            feature: self.feature.clone(),
            message: self.message.clone(),
            ..trefoil_ir::UnsupportedFeature::default()
        }
    }
}
