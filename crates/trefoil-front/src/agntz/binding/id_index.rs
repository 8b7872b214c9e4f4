//! An index from ids to the files that declare them.

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::YamlNode;
use trefoil_syntax::{Location, Span};

use crate::project::Project;

/// The ids of a project.
pub struct AgntzIdIndex<'p> {
    project: &'p Project,
    by_id: HashMap<&'p str, Vec<usize>>,
    /// Each id once, sorted, with the documents that have it.
    names: Vec<(&'p str, u32)>,
}

impl<'p> AgntzIdIndex<'p> {
    /// The ids of a project's documents.
    pub fn for_project(project: &'p Project) -> Self {
        let mut by_id: HashMap<&str, Vec<usize>> = HashMap::default();
        let mut names = Vec::new();
        for (at, document) in project.documents.iter().enumerate() {
            if document.front.name() == crate::agntz::NAME
                && let Some((id, _)) = id_of(&document.root)
            {
                by_id.entry(id).or_default().push(at);
                names.push((id, document.project));
            }
        }
        names.sort_unstable();
        names.dedup();
        Self { project, by_id, names }
    }

    /// The documents with this id that are nearest to the referring document, in the order of the project.
    pub fn find_documents(&self, from: usize, id: &str) -> Vec<(usize, Location)> {
        let Some(with_id) = self.by_id.get(id) else { return Vec::new() };
        let mut nearest = Vec::new();
        for at in self.project.nearest_documents(from, with_id) {
            if let Some(document) = self.project.documents.get(at)
                && let Some((_, span)) = id_of(&document.root)
            {
                nearest.push((at, Location::new(document.file, span)));
            }
        }
        nearest
    }

    /// The ids that a document may name, sorted.
    pub fn visible_ids(&self, from: usize) -> impl Iterator<Item = &'p str> {
        let own_project = self.project.documents.get(from).map(|document| document.project);
        let is_visible = move |project: u32| own_project.is_none() || own_project == Some(project);
        self.names.iter().filter(move |(_, project)| is_visible(*project)).map(|(id, _)| *id)
    }
}

/// The id that a document declares.
pub fn id_of(root: &YamlNode) -> Option<(&str, Span)> {
    let text = root.as_mapping()?.get("id")?.value.as_string()?;
    Some((&text.value, text.span))
}

/// The place of a document's id, without quotes.
pub fn id_location(project: &Project, document: usize) -> Option<Location> {
    let document = project.documents.get(document)?;
    let id = document.root.as_mapping()?.get("id")?.value.as_string()?;
    Some(Location::new(document.file, id.content_span()))
}
