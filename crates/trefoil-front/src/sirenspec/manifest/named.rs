//! Things that a file names: a mapping of names. A list of things that have one each is reported, and read as it was meant, so that
//! nobody is told of each use of a name that it is not defined.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::{Node, Text};

use crate::learn::whole;
use crate::{Fields, Reader};

/// Something with a name.
pub struct Named<'n> {
    /// The name.
    pub id: &'n Text,
    /// All of it.
    pub span: Span,
    value: &'n Node,
}

/// What an entry of a list has as its name.
const NAMES: [&str; 2] = ["id", "name"];

/// Reads the value of a key.
pub fn read<'n>(reader: &Reader<'_>, node: &'n Node, key: &str) -> Vec<Named<'n>> {
    if let Some(mapping) = node.mapping() {
        let all = mapping.entries.iter();
        return all.map(|entry| Named { id: &entry.key, span: whole(entry), value: &entry.value }).collect();
    }
    reader.wrong_type(node, key, "a mapping");
    let id = |item: &'n Node| NAMES.iter().find_map(|name| item.mapping()?.get(name)?.value.string());
    let items = node.sequence().unwrap_or_default().iter();
    items.filter_map(|value| Some(Named { id: id(value)?, span: value.span, value })).collect()
}

impl<'n> Named<'n> {
    /// Its keys; `what` it is.
    pub fn keys_of<'r>(&self, reader: &'r Reader<'_>, what: &str) -> Option<Fields<'n, 'r>> {
        let mut fields = reader.fields(self.value, &format!("{what} `{}`", self.id.value))?;
        // The name of an entry of a list is one of its keys.
        for name in NAMES {
            if fields.entry(name).and_then(|e| e.value.string()).is_some_and(|text| std::ptr::eq(text, self.id)) {
                fields.take(name);
            }
        }
        Some(fields)
    }
}
