//! Which files declare which id.

use std::collections::BTreeMap;

use trefoil_syntax::Location;
use trefoil_syntax::yaml::Node;

use crate::project::Project;

/// The agents of a project by id.
pub struct Index {
    ids: BTreeMap<String, Vec<(usize, Location)>>,
}

impl Index {
    /// Reads the ids of all agntz documents.
    pub fn of(project: &Project) -> Self {
        let mut ids: BTreeMap<String, Vec<(usize, Location)>> = BTreeMap::new();
        for (i, document) in project.documents.iter().enumerate() {
            if document.front.name() != crate::agntz::NAME {
                continue;
            }
            if let Some((id, span)) = id_of(&document.root) {
                ids.entry(id.to_owned()).or_default().push((i, Location::new(document.file, span)));
            }
        }
        Self { ids }
    }
    /// The documents with this id.
    pub fn get(&self, id: &str) -> &[(usize, Location)] {
        self.ids.get(id).map_or(&[], Vec::as_slice)
    }
    /// All ids, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.ids.keys().map(String::as_str)
    }
}

/// The id that a document declares.
pub fn id_of(root: &Node) -> Option<(&str, trefoil_syntax::Span)> {
    let text = root.mapping()?.get("id")?.value.string()?;
    Some((&text.value, text.span))
}
