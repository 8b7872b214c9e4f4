//! Entries of a list that run concurrently, as written.

use trefoil_syntax::yaml::{Kind, Mapping, Node, Text};

/// Calls `look` with the mappings of each list under such a key that has at least two.
pub(super) fn lists<'n>(at: &'n Node, is_list: &dyn Fn(&str) -> bool, look: &mut dyn FnMut(&[&'n Mapping])) {
    match &*at.kind {
        Kind::Scalar(..) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| lists(item, is_list, look)),
        Kind::Mapping(mapping) => {
            for entry in &mapping.entries {
                if let Kind::Sequence(items) = &*entry.value.kind
                    && is_list(&entry.key.value)
                {
                    let all: Vec<&Mapping> = items.iter().filter_map(Node::mapping).collect();
                    if all.len() > 1 && all.len() == items.len() {
                        look(&all);
                    }
                }
                lists(&entry.value, is_list, look);
            }
        }
    }
}

/// The place for findings about an entry: its first key.
pub(super) fn head(one: &Mapping) -> Option<&Text> {
    one.entries.first().map(|entry| &entry.key)
}
