//! AEGIS manifests as structs, read from the spanned tree. Every mistake is reported at its place; missing parts are
//! left out, so that one mistake does not hide the next. Knows nothing of flows and steps.

pub mod agent;
pub mod consensus;
pub mod declared;
pub mod duration;
pub mod execution;
pub mod metadata;
pub mod schema;
pub mod state;
pub mod states;
pub mod tools;
pub mod transition;
pub mod words;
pub mod workflow;

use std::sync::Arc;

use trefoil_syntax::Span;
use trefoil_syntax::yaml::{Entry, Kind, Node, Scalar, Text};

use crate::mend::respelt;
use crate::{Fields, Reader};
use trefoil_syntax::suggest::Near;

/// Names that have another meaning in templates, so states and Blackboard keys should not use them.
pub const RESERVED: &[&str] =
    &["input", "workflow", "blackboard", "state", "human", "execution", "iteration_number", "previous_error"];

/// The only value of `apiVersion`.
pub const API_VERSION: &str = "100monkeys.ai/v1";

/// The kind of unit that a document declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// `kind: Agent`, or `AgentManifest` in older files.
    Agent,
    /// `kind: Workflow`.
    Workflow,
}

/// The kind of unit that a document declares. Reports nothing. If `kind` contradicts the contents of `spec`, `spec`
/// counts, because a single wrong word is more likely than a wrong file.
pub fn unit(root: &Node) -> Option<Unit> {
    let declared = match &*root.mapping()?.get("kind")?.value.string()?.value {
        "Agent" | "AgentManifest" => Unit::Agent,
        "Workflow" => Unit::Workflow,
        _ => return None,
    };
    Some(looks_like(root).unwrap_or(declared))
}

/// The kind of a document, if the keys under `spec` determine it.
pub fn looks_like(root: &Node) -> Option<Unit> {
    let spec = root.mapping()?.get("spec")?.value.mapping()?;
    match (spec.get("task").is_some(), spec.get("states").is_some()) {
        (true, false) => Some(Unit::Agent),
        (false, true) => Some(Unit::Workflow),
        _ => None,
    }
}

/// `metadata.name` of a document. Reports nothing.
pub fn name(root: &Node) -> Option<&Text> {
    root.mapping()?.get("metadata")?.value.mapping()?.get("name")?.value.string().filter(|t| !t.value.is_empty())
}

/// `spec.input_schema` of an agent. Reports nothing.
pub fn input_schema(root: &Node) -> Option<&Node> {
    let schema = &root.mapping()?.get("spec")?.value.mapping()?.get("input_schema")?.value;
    (!schema.is_null()).then_some(schema)
}

fn validation(root: &Node) -> Option<&Node> {
    let execution = &root.mapping()?.get("spec")?.value.mapping()?.get("execution")?.value;
    Some(&execution.mapping()?.get("validation")?.value)
}

/// The schema that an agent's answer must match. Reports nothing. `None` if there are several, because none of them
/// describes the whole answer.
pub fn answer_schema(root: &Node) -> Option<&Node> {
    let validation = validation(root)?;
    match &*validation.kind {
        Kind::Sequence(items) => {
            let of_sort = |t: &Text| &*t.value == "json_schema";
            let mut schemas = items.iter().filter_map(|item| {
                let validator = item.mapping()?;
                validator.get("type")?.value.string().filter(|t| of_sort(t))?;
                Some(&validator.get("schema")?.value)
            });
            schemas.next().filter(|_| schemas.next().is_none())
        }
        _ => Some(&validation.mapping()?.get("output")?.value.mapping()?.get("schema")?.value),
    }
}

/// A key of `metadata`. Reports nothing.
pub fn of_metadata<'n>(root: &'n Node, key: &str) -> Option<&'n Node> {
    Some(&root.mapping()?.get("metadata")?.value.mapping()?.get(key)?.value)
}

/// Reads `apiVersion` and `kind` of a document that is read as this kind of unit.
pub fn header(fields: &mut Fields<'_, '_>, read_as: Unit) {
    fields.also_called(words::TOP);
    fields.elsewhere(words::NOT_TOP);
    if let Some(version) = fields.require("apiVersion") {
        fields.reader.word(&version.value, "apiVersion", &[(API_VERSION, ())]);
    }
    let Some(kind) = fields.require("kind") else { return };
    let words = [("Agent", Unit::Agent), ("Workflow", Unit::Workflow)];
    if kind.value.string().is_some_and(|t| &*t.value == "AgentManifest") {
        let d = trefoil_syntax::Diagnostic::warning(
            "deprecated",
            fields.reader.at(kind.value.span),
            "`AgentManifest` is an old spelling",
        );
        let meant = Near { name: "Agent", distance: 0, sure: true };
        let d = d.help("write `kind: Agent`");
        fields.reader.report(match kind.value.string() {
            Some(text) => respelt(d, fields.reader.at(kind.value.span), text, meant),
            None => d,
        });
        if read_as == Unit::Agent {
            return;
        }
    }
    let declared = match kind.value.string() {
        Some(text) if &*text.value == "AgentManifest" => Some(Unit::Agent),
        _ => fields.reader.word(&kind.value, "kind", &words),
    };
    if let (Some(declared), Some(text)) = (declared, kind.value.string())
        && declared != read_as
    {
        let (meant, what) = match read_as {
            Unit::Agent => ("Agent", "`task`, as in an agent"),
            Unit::Workflow => ("Workflow", "`states`, as in a workflow"),
        };
        let at = fields.reader.at(kind.value.span);
        let message = format!("`kind` is `{}`, but `spec` has {what}", text.value);
        let d = trefoil_syntax::Diagnostic::error("unknown-value", at, message).help(format!("write `kind: {meant}`"));
        let near = Near { name: meant, distance: 0, sure: true };
        fields.reader.report(respelt(d, at, text, near));
    }
}

/// The text of a required key; an empty text is reported.
pub fn filled<'n>(fields: &mut Fields<'n, '_>, key: &'static str) -> Option<&'n Text> {
    let text = fields.require_text(key)?;
    if text.value.trim().is_empty() {
        fields.reader.error("missing-key", text.span, format!("`{key}` is blank"));
        return None;
    }
    Some(text)
}

/// The entry of a key with two spellings; both at once are an error.
pub fn spelled<'n>(fields: &mut Fields<'n, '_>, one: &'static str, other: &'static str) -> Option<&'n Entry> {
    match (fields.take(one), fields.take(other)) {
        (Some(a), Some(b)) => {
            let (first, second) = if a.key.span.start <= b.key.span.start { (a, b) } else { (b, a) };
            let d = trefoil_syntax::Diagnostic::error(
                "both-spellings",
                fields.reader.at(second.key.span),
                format!("`{}` and `{}` are the same key", first.key.value, second.key.value),
            );
            let d = d.label(fields.reader.at(first.key.span), "already set here").help("remove one of them");
            let between =
                |e: &Entry| e.key.span.start > first.key.span.start && e.key.span.start < second.key.span.start;
            let apart = fields.entries().iter().any(between);
            let end = Span::new(first.value.span.end, second.value.span.end);
            fields.reader.report(if apart || first.value.string().is_none() || second.value.string().is_none() {
                d
            } else {
                d.suggestion(format!("remove `{}`", second.key.value), fields.reader.at(end), "")
            });
            Some(first)
        }
        (a, b) => a.or(b),
    }
}

/// Like [`spelled`], but a missing key is reported.
pub fn require_spelled<'n>(
    fields: &mut Fields<'n, '_>,
    what: &str,
    one: &'static str,
    other: &'static str,
) -> Option<&'n Entry> {
    let entry = spelled(fields, one, other);
    if entry.is_none() {
        fields.settle(&[one, other]);
        fields.reader.error("missing-key", fields.lack(&[one, other]), format!("{what} needs `{one}`"));
    }
    let blank = |e: &&Entry| e.value.string().is_some_and(|t| t.value.trim().is_empty());
    if let Some(entry) = entry.filter(blank) {
        fields.reader.error("missing-key", entry.value.span, format!("`{}` is blank", entry.key.value));
        return None;
    }
    entry
}

/// The text of a key with two spellings.
pub fn spelled_text(fields: &mut Fields<'_, '_>, one: &'static str, other: &'static str) -> Option<Text> {
    let entry = spelled(fields, one, other)?;
    fields.reader.text(&entry.value, &entry.key.value).cloned()
}

/// A map with text values. Numbers and booleans are converted to text.
pub fn texts(reader: &Reader<'_>, node: &Node, what: &str) -> Vec<(Text, Text)> {
    let Some(mapping) = node.mapping() else {
        reader.wrong_type(node, what, "a mapping");
        return Vec::new();
    };
    mapping
        .entries
        .iter()
        .filter_map(|e| match &*e.value.kind {
            Kind::Scalar(Scalar::Null, _) => None,
            Kind::Scalar(_, text) => Some((e.key.clone(), text.clone())),
            _ => {
                reader.wrong_type(&e.value, &e.key.value, "text");
                None
            }
        })
        .collect()
}

/// A list of texts.
pub fn text_list(reader: &Reader<'_>, node: &Node, what: &str) -> Vec<Text> {
    let items = reader.list(node, what).unwrap_or_default();
    items.iter().filter_map(|item| reader.text(item, what).cloned()).collect()
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
    pub fn report(reader: &Reader<'_>, span: Span, feature: &str, why: &str) -> Self {
        reader.report(
            trefoil_syntax::Diagnostic::warning(
                "refused",
                reader.at(span),
                format!("{feature} is not supported yet: {why}"),
            )
            .help("you can check and draw this file, but not run it"),
        );
        Self { feature: feature.into(), message: why.into(), span }
    }
    /// The step kind for it.
    pub fn refused(&self) -> trefoil_ir::Refused {
        trefoil_ir::Refused {
            feature: self.feature.clone(),
            message: self.message.clone(),
            ..trefoil_ir::Refused::default()
        }
    }
}
