//! Small structures that recur in manifests: non-empty texts, maps of templates, trees of templates.

use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, Span};

use crate::yaml_reader::{ManifestReader, MappingReader, to_value};

/// The text, unless it is empty, which is reported.
pub fn non_empty_text<'n>(reader: &ManifestReader<'_>, text: Option<&'n YamlText>, what: &str) -> Option<&'n YamlText> {
    text.filter(|text| not_empty(reader, text, what))
}

/// Whether a text is not empty; reports an empty one.
fn not_empty(reader: &ManifestReader<'_>, text: &YamlText, what: &str) -> bool {
    let full = !text.value.trim().is_empty();
    if !full {
        reader.report_error("wrong-type", text.span, format!("`{what}` must not be empty"));
    }
    full
}

/// Reports an invalid name.
pub fn bad_name(reader: &ManifestReader<'_>, text: &YamlText, what: &str, rule: &str) {
    reader.report_finding(
        Diagnostic::new_error(
            "invalid-name",
            reader.location_of(text.span),
            format!("`{}` cannot be {what}", text.value),
        )
        .with_help(rule.to_owned()),
    );
}

/// The texts in a list; everything else in it is reported and left out.
pub fn text_items<'n>(reader: &ManifestReader<'_>, items: &'n [YamlNode], what: &str) -> Vec<&'n YamlText> {
    items.iter().filter_map(|item| reader.read_text(item, what)).collect()
}

/// The map of templates under a key; empty if the key is missing.
pub fn take_text_map<'n>(fields: &mut MappingReader<'n, '_>, key: &'static str) -> Vec<(&'n YamlText, &'n YamlText)> {
    match fields.take(key) {
        Some(entry) => text_map(fields.reader, &entry.value, key),
        None => Vec::new(),
    }
}

/// A map with templates as values; everything else in it is reported and left out.
pub fn text_map<'n>(reader: &ManifestReader<'_>, node: &'n YamlNode, what: &str) -> Vec<(&'n YamlText, &'n YamlText)> {
    let Some(mapping) = node.as_mapping() else {
        reader.wrong_type(node, what, "a mapping");
        return Vec::new();
    };
    let mut map = Vec::new();
    for entry in &mapping.entries {
        match entry.value.as_string() {
            Some(text) => map.push((&entry.key, text)),
            None if what == "headers" => template_wanted(reader, &entry.value, &entry.key.value),
            None => value_wanted(reader, &entry.value, &entry.key.value),
        }
    }
    map
}

/// Reports a value that should be a template.
pub fn template_wanted(reader: &ManifestReader<'_>, node: &YamlNode, what: &str) {
    let message = format!("`{what}` must be text or a template, not {}", node.kind_description());
    let mut d = Diagnostic::new_error("wrong-type", reader.location_of(node.span), message);
    if node.as_scalar().is_some() && !node.is_null() {
        d = d.with_help("write it in quotes");
    }
    reader.report_finding(d);
}

/// The same if a value may have any type: with quotes it becomes text.
pub fn value_wanted(reader: &ManifestReader<'_>, node: &YamlNode, what: &str) {
    match node.as_scalar() {
        Some((YamlScalar::Bool(_) | YamlScalar::Int(_) | YamlScalar::UInt(_) | YamlScalar::Float(_), _)) => {
            let message = format!("`{what}` must be text or a template, not {}", node.kind_description());
            let d = Diagnostic::new_error("wrong-type", reader.location_of(node.span), message);
            reader.report_finding(d.with_help(
                "put it in quotes for text; to keep its type, use the placeholder of an input with this `default`",
            ));
        }
        _ => template_wanted(reader, node, what),
    }
}

/// Data with templates in it (an http body).
pub enum TemplateTree<'n> {
    /// A template.
    Text(&'n YamlText),
    /// Data without text.
    Data(trefoil_template::Value),
    /// A list.
    List(Vec<TemplateTree<'n>>),
    /// An object.
    Object(Vec<(&'n YamlText, TemplateTree<'n>)>),
}

/// Reads a tree.
pub fn body_tree(node: &YamlNode) -> TemplateTree<'_> {
    match &*node.kind {
        YamlNodeKind::Scalar(..) => match node.as_string() {
            Some(text) => TemplateTree::Text(text),
            None => TemplateTree::Data(to_value(node)),
        },
        YamlNodeKind::Sequence(items) => TemplateTree::List(items.iter().map(body_tree).collect()),
        YamlNodeKind::Mapping(m) => {
            TemplateTree::Object(m.entries.iter().map(|e| (&e.key, body_tree(&e.value))).collect())
        }
    }
}

impl<'n> TemplateTree<'n> {
    /// The same, but only these texts are templates; all others are literal.
    #[must_use]
    pub fn with_templates(self, templates: &[&'n YamlText]) -> Self {
        match self {
            TemplateTree::Text(text) if !templates.iter().any(|known| std::ptr::eq(*known, text)) => {
                TemplateTree::Data(trefoil_template::Value::from(&*text.value))
            }
            TemplateTree::List(items) => {
                TemplateTree::List(items.into_iter().map(|t| t.with_templates(templates)).collect())
            }
            TemplateTree::Object(all) => {
                TemplateTree::Object(all.into_iter().map(|(k, t)| (k, t.with_templates(templates))).collect())
            }
            other => other,
        }
    }
    /// Every template in it.
    pub fn collect_texts(&self, into: &mut Vec<&'n YamlText>) {
        match self {
            TemplateTree::Text(text) => into.push(text),
            TemplateTree::Data(_) => {}
            TemplateTree::List(items) => {
                for item in items {
                    item.collect_texts(into);
                }
            }
            TemplateTree::Object(entries) => {
                for (_, value) in entries {
                    value.collect_texts(into);
                }
            }
        }
    }
}

/// The span of an entry on one line: its key, and its value if that is a scalar.
pub fn entry_span(entry: &trefoil_syntax::yaml::YamlEntry) -> Span {
    match entry.value.as_scalar() {
        Some(_) => entry.key.span.cover_both(entry.value.span),
        None => entry.key.span,
    }
}
