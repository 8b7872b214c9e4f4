//! Entries of a list that run concurrently, as written.

use trefoil_syntax::yaml::{YamlMapping, YamlNode, YamlNodeKind, YamlText};

/// Calls `look` with the mappings of each list under such a key that has at least two.
pub(super) fn visit_lists<'n>(
    at: &'n YamlNode,
    is_list: &dyn Fn(&str) -> bool,
    look: &mut dyn FnMut(&[&'n YamlMapping]),
) {
    match &*at.kind {
        YamlNodeKind::Scalar(..) => {}
        YamlNodeKind::Sequence(items) => items.iter().for_each(|item| visit_lists(item, is_list, look)),
        YamlNodeKind::Mapping(mapping) => {
            for entry in &mapping.entries {
                if let YamlNodeKind::Sequence(items) = &*entry.value.kind
                    && is_list(&entry.key.value)
                {
                    let all: Vec<&YamlMapping> = items.iter().filter_map(YamlNode::as_mapping).collect();
                    if all.len() > 1 && all.len() == items.len() {
                        look(&all);
                    }
                }
                visit_lists(&entry.value, is_list, look);
            }
        }
    }
}

/// The place for findings about an entry: its first key.
pub(super) fn first_key(one: &YamlMapping) -> Option<&YamlText> {
    one.entries.first().map(|entry| &entry.key)
}
