//! Small structures that recur in manifests: non-empty texts, maps of templates, trees of templates.

use trefoil_syntax::yaml::{Kind, Node, Scalar, Text};
use trefoil_syntax::{Diagnostic, Span};

use crate::read::{Reader, to_value};

/// Whether a text is not empty; reports an empty one.
pub fn not_empty(reader: &Reader<'_>, text: &Text, what: &str) -> bool {
    let full = !text.value.trim().is_empty();
    if !full {
        reader.error("wrong-type", text.span, format!("`{what}` must not be empty"));
    }
    full
}

/// Reports an invalid name.
pub fn bad_name(reader: &Reader<'_>, text: &Text, what: &str, rule: &str) {
    reader.report(
        Diagnostic::error("invalid-name", reader.at(text.span), format!("`{}` cannot be {what}", text.value))
            .help(rule.to_owned()),
    );
}

/// A map with templates as values; everything else in it is reported and left out.
pub fn text_map<'n>(reader: &Reader<'_>, node: &'n Node, what: &str) -> Vec<(&'n Text, &'n Text)> {
    let Some(mapping) = node.mapping() else {
        reader.wrong_type(node, what, "a mapping");
        return Vec::new();
    };
    let mut map = Vec::new();
    for entry in &mapping.entries {
        match entry.value.string() {
            Some(text) => map.push((&entry.key, text)),
            None if what == "headers" => template_wanted(reader, &entry.value, &entry.key.value),
            None => value_wanted(reader, &entry.value, &entry.key.value),
        }
    }
    map
}

/// Reports a value that should be a template.
pub fn template_wanted(reader: &Reader<'_>, node: &Node, what: &str) {
    let message = format!("`{what}` must be text or a template, not {}", node.describe());
    let mut d = Diagnostic::error("wrong-type", reader.at(node.span), message);
    if node.scalar().is_some() && !node.is_null() {
        d = d.help("write it in quotes");
    }
    reader.report(d);
}

/// The same if a value may have any type: with quotes it becomes text.
pub fn value_wanted(reader: &Reader<'_>, node: &Node, what: &str) {
    match node.scalar() {
        Some((Scalar::Bool(_) | Scalar::Int(_) | Scalar::UInt(_) | Scalar::Float(_), _)) => {
            let message = format!("`{what}` must be text or a template, not {}", node.describe());
            let d = Diagnostic::error("wrong-type", reader.at(node.span), message);
            reader.report(d.help(
                "put it in quotes for text; to keep its type, use the placeholder of an input with this `default`",
            ));
        }
        _ => template_wanted(reader, node, what),
    }
}

/// Data with templates in it (an http body).
pub enum Tree<'n> {
    /// A template.
    Text(&'n Text),
    /// Data without text.
    Data(trefoil_template::Value),
    /// A list.
    List(Vec<Tree<'n>>),
    /// An object.
    Object(Vec<(&'n Text, Tree<'n>)>),
}

/// Reads a tree.
pub fn body_tree(node: &Node) -> Tree<'_> {
    match &*node.kind {
        Kind::Scalar(..) => node.string().map_or_else(|| Tree::Data(to_value(node)), Tree::Text),
        Kind::Sequence(items) => Tree::List(items.iter().map(body_tree).collect()),
        Kind::Mapping(m) => Tree::Object(m.entries.iter().map(|e| (&e.key, body_tree(&e.value))).collect()),
    }
}

impl<'n> Tree<'n> {
    /// The same, but only these texts are templates; all others are literal.
    #[must_use]
    pub fn with_templates(self, templates: &[&'n Text]) -> Self {
        match self {
            Tree::Text(text) if !templates.iter().any(|known| std::ptr::eq(*known, text)) => {
                Tree::Data(trefoil_template::Value::from(&*text.value))
            }
            Tree::List(items) => Tree::List(items.into_iter().map(|t| t.with_templates(templates)).collect()),
            Tree::Object(all) => Tree::Object(all.into_iter().map(|(k, t)| (k, t.with_templates(templates))).collect()),
            other => other,
        }
    }
    /// Every template in it.
    pub fn texts(&self, into: &mut Vec<&'n Text>) {
        match self {
            Tree::Text(text) => into.push(text),
            Tree::Data(_) => {}
            Tree::List(items) => items.iter().for_each(|t| t.texts(into)),
            Tree::Object(entries) => entries.iter().for_each(|(_, t)| t.texts(into)),
        }
    }
}

/// The span of an entry on one line: its key, and its value if that is a scalar.
pub fn entry_span(entry: &trefoil_syntax::yaml::Entry) -> Span {
    match entry.value.scalar() {
        Some(_) => entry.key.span.cover(entry.value.span),
        None => entry.key.span,
    }
}
