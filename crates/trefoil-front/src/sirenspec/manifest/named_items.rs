//! Things that a file names: a mapping of names. A list of things that have one each is reported, and read as it was meant, so that
//! nobody is told of each use of a name that it is not defined.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlText};

use crate::name_facts::key_value_span;
use crate::{ManifestReader, MappingReader};

/// Something with a name.
pub struct NamedItem<'n> {
    /// The name.
    pub id: &'n YamlText,
    /// All of it.
    pub span: Span,
    value: &'n YamlNode,
}

/// What an entry of a list has as its name.
const NAMES: [&str; 2] = ["id", "name"];

/// Reads the value of a key.
pub fn read_named_items<'n>(reader: &ManifestReader<'_>, node: &'n YamlNode, key: &str) -> Vec<NamedItem<'n>> {
    if let Some(mapping) = node.as_mapping() {
        let named =
            |entry: &'n YamlEntry| NamedItem { id: &entry.key, span: key_value_span(entry), value: &entry.value };
        return mapping.entries.iter().map(named).collect();
    }
    reader.wrong_type(node, key, "a mapping");
    let mut items = Vec::new();
    for value in node.as_sequence().unwrap_or_default() {
        if let Some(id) = item_name(value) {
            items.push(NamedItem { id, span: value.span, value });
        }
    }
    items
}

/// The name of an entry of a list.
fn item_name(item: &YamlNode) -> Option<&YamlText> {
    let mapping = item.as_mapping()?;
    NAMES.iter().find_map(|name| mapping.get(name)?.value.as_string())
}

impl<'n> NamedItem<'n> {
    /// Its keys; `what` it is.
    pub fn keys_of<'r>(&self, reader: &'r ManifestReader<'_>, what: &str) -> Option<MappingReader<'n, 'r>> {
        let mut fields = reader.read_mapping(self.value, &format!("{what} `{}`", self.id.value))?;
        // The name of an entry of a list is one of its keys.
        for name in NAMES {
            if let Some(entry) = fields.peek_entry(name)
                && let Some(text) = entry.value.as_string()
                && std::ptr::eq(text, self.id)
            {
                fields.take(name);
            }
        }
        Some(fields)
    }
}
